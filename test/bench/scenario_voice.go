//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/test/voice"
)

// Of voice assistants: how many devices speak at once, and how many endpoints are idle.
const (
	speaking      = 50
	soundFrames   = 20      // a second, of each device
	soundBytes    = 2 << 10 // as devices were seen to send
	idleEndpoints = 100
	voiceFor      = 10 * time.Second
)

// voices measures what assistants cost that use no tool: devices that speak, and endpoints that wait. The fakes are in
// the runner's process, which is not in the figures.
func voices(ctx context.Context, t *trial) error {
	rows := table{
		title: fmt.Sprintf("for %v", voiceFor),
		head:  []string{"", "% of a core", "KiB each", "worst initialize ms"},
	}
	if err := t.devicesSpeak(ctx, &rows); err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	if err := t.endpointsIdle(ctx, &rows); err != nil {
		return fmt.Errorf("endpoints: %w", err)
	}
	t.report.tables = append(t.report.tables, rows)
	return nil
}

// share is how much of a core the hub takes meanwhile, in per cent.
func (h *hub) share(ctx context.Context, last time.Duration) (float64, error) {
	before, err := treeUsage(h.pid)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := pause(ctx, last); err != nil {
		return 0, err
	}
	after, err := treeUsage(h.pid)
	return 100 * (after.cpu - before.cpu).Seconds() / time.Since(began).Seconds(), err
}

// devicesSpeak has devices send sound to a hub that drops it.
func (t *trial) devicesSpeak(ctx context.Context, rows *table) (err error) {
	up, err := t.lab.startUpstream(ctx, toolsEach)
	if err != nil {
		return err
	}
	config := up.servers(1)
	config.Devices = &hubDevices{}
	for n := range speaking {
		config.Devices.Allow = append(config.Devices.Allow, deviceID(n))
	}
	at, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	h, err := t.lab.spawnHub(ctx, subject, config, t.lab.path("data"), "--device-listen", at)
	if err != nil {
		return err
	}
	if _, err := h.awaitTools(ctx, toolsEach); err != nil {
		return err
	}
	fresh, err := h.rssMiB()
	if err != nil {
		return err
	}
	speak, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	for n := range speaking {
		d := voice.FW(deviceID(n))
		s, _, err := d.Dial(ctx, "ws://"+at+"/xiaozhi/v1/") //nolint:bodyclose // the library closes it
		if err != nil {
			return err
		}
		all.Go(func() {
			defer s.Drop()
			tick := time.NewTicker(time.Second / soundFrames)
			defer tick.Stop()
			sound := make([]byte, soundBytes)
			for {
				select {
				case <-tick.C:
					s.Speak(sound)
				case <-speak.Done():
					return
				}
			}
		})
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	used, err := h.share(ctx, voiceFor)
	if err != nil {
		return err
	}
	now, err := h.rssMiB()
	if err != nil {
		return err
	}
	t.report.goal(fmt.Sprintf("%d devices that speak, %d frames a second each", speaking, soundFrames), 5, "% of a core", used, true)
	rows.rows = append(rows.rows, []string{
		fmt.Sprintf("%d devices that speak", speaking), fmt.Sprintf("%.2f", used), fmt.Sprintf("%.0f", (now-fresh)*1024/speaking), "-",
	})
	return nil
}

func deviceID(n int) string { return fmt.Sprintf("02:00:00:00:01:%02x", n) }

// endpointsIdle has a hub dial endpoints that ask for its tools and then for nothing, while its own servers cannot be
// reached.
func (t *trial) endpointsIdle(ctx context.Context, rows *table) error {
	var door voice.Endpoint
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &door, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(ln) // which ends by Close
	}()
	var sockets []*voice.Socket
	defer func() {
		for _, s := range sockets {
			s.Drop()
			<-s.Over()
		}
		_ = server.Close()
		<-served
	}()
	dead, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	servers := map[string]hubServer{"u1": {Type: "http", URL: "http://" + dead + "/mcp", AutoStart: true}}
	used, memory := map[int]float64{}, map[int]float64{}
	var worst time.Duration
	for _, n := range []int{0, idleEndpoints} {
		config := hubConfig{Servers: servers, XiaoZhi: &hubVoice{Endpoints: map[string]hubServer{}}}
		for i := range n {
			config.XiaoZhi.Endpoints["e"+strconv.Itoa(i)] = hubServer{URL: fmt.Sprintf("ws://%s/mcp/?token=%d", ln.Addr(), i)}
		}
		h, err := t.lab.spawnHub(ctx, subject, config, t.lab.path("data"))
		if err != nil {
			return err
		}
		for range n {
			s, err := door.Next(ctx)
			if err != nil {
				return err
			}
			sockets = append(sockets, s)
			began := time.Now()
			if _, err := s.Ask(ctx, "1", "initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
				return err
			}
			worst = max(worst, time.Since(began))
			if _, err := s.Ask(ctx, "2", "tools/list", ""); err != nil {
				return err
			}
		}
		if err := pause(ctx, calmTime); err != nil {
			return err
		}
		if used[n], err = h.share(ctx, 3*voiceFor); err != nil {
			return err
		}
		if memory[n], err = h.rssMiB(); err != nil {
			return err
		}
		for _, s := range sockets {
			if err := s.Err(); err != nil {
				return errors.Join(errors.New("an endpoint was closed meanwhile"), err)
			}
		}
		h.child.stop()
	}
	each := (memory[idleEndpoints] - memory[0]) * 1024 / idleEndpoints
	more := used[idleEndpoints] - used[0]
	what := fmt.Sprintf("%d endpoints that are idle", idleEndpoints)
	t.report.goal(what, 1, "% of a core", more, true)
	t.report.goal("an endpoint that is idle", 200, "KiB", each, true)
	milliseconds := float64(worst) / float64(time.Millisecond)
	t.report.goal("worst initialize at an endpoint, no server reachable", 50, "ms", milliseconds, true)
	rows.rows = append(rows.rows, []string{what, fmt.Sprintf("%.2f", more), fmt.Sprintf("%.0f", each), fmt.Sprintf("%.1f", milliseconds)})
	return nil
}
