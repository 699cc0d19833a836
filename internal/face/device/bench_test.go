package device_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/voice"
)

// BenchmarkSound is what 50 devices cost that speak: each an operation of a second, in
// which each sends 20 binary frames of 2 KB over real sockets. cpu-% is the share of one
// processor; the fakes run in the same process, and cost more than half of it,
// so that this shows what has changed and not what it is: test/bench (scenario_voice.go) compares the hub alone, in a
// process of its own, with the goal of less than 5 %.
func BenchmarkSound(b *testing.B) {
	const devices, frames = 50, 20
	conf := hub.Devices{}
	for n := range devices {
		conf.Allow = append(conf.Allow, id(n))
	}
	d := device.New(device.Options{
		Devices: conf, Key: []byte("key"), Bus: &bus.Bus{}, Log: slog.New(slog.DiscardHandler),
		Attach: func(context.Context, hub.Server) error { return nil }, Detach: func(string, string) {},
	})
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = d.Run(ctx) })
	server := httptest.NewServer(d.Handler())
	defer all.Wait()
	defer server.Close()
	defer cancel()
	var fakes []*voice.DeviceSocket
	for n := range devices {
		s, _, err := voice.LumiKt(id(n)).Dial(b.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+device.PathSocket)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Drop()
		fakes = append(fakes, s)
	}
	sound := make([]byte, 2000)
	want := int64(0)
	b.ReportAllocs()
	used := processor()
	for b.Loop() {
		for range frames {
			next := time.Now().Add(time.Second / frames)
			for _, s := range fakes {
				s.Speak(sound)
			}
			time.Sleep(time.Until(next))
		}
		want += devices * frames
		for heard(d) < want {
			time.Sleep(5 * time.Millisecond)
		}
	}
	b.ReportMetric(100*(processor()-used).Seconds()/float64(b.N), "cpu-%")
}

func id(n int) string { return "00:00:00:00:00:" + string(rune('a'+n/16)) + string(rune('a'+n%16)) }

func heard(d *device.Door) (n int64) {
	for _, s := range d.Statuses() {
		n += s.Audio
	}
	return n
}
