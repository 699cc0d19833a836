package gateway_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// heap is how many bytes are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// 10,000 sessions, each with a stream, a request that has sent events, and
// messages that nobody has taken, leave nothing behind: neither those that were
// ended, all at once, nor those that expired.
func TestNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions = 10_000
		h := start(t, &scripted{}, gateway.Options{Idle: 10 * time.Minute})
		defer h.stop()
		round := func() {
			var open []*gateway.Session
			for range sessions {
				s := h.open(t)
				open = append(open, s)
				post := h.Post(s)
				post.Record(nil, func() {})
				for range 3 {
					post.Record([]byte(strings.Repeat("x", 100)), nil)
				}
				post.End(true)
				for range 3 {
					s.Push([]byte("y"), "")
				}
			}
			var all sync.WaitGroup
			leave := make(chan struct{})
			for i, s := range open {
				ctx, cancel := context.WithCancel(t.Context())
				all.Go(func() {
					if e := h.Stream(ctx, s, "", &ear{}); e != nil {
						t.Error(e)
					}
				})
				all.Go(func() {
					defer cancel()
					if <-leave; i%2 == 0 {
						h.End(s)
					}
				})
			}
			synctest.Wait() // all goroutines are there, as many as in any other round
			close(leave)
			all.Wait()
			if n := h.Sessions(); n != sessions/2 {
				t.Errorf("%d sessions are there, half of %d were ended", n, sessions)
			}
			time.Sleep(12 * time.Minute)
			synctest.Wait()
			if n := h.Sessions(); n != 0 {
				t.Errorf("%d sessions have not expired", n)
			}
		}
		// What stays as large as it once was, such as maps and the runtime's own
		// records of goroutines, grows first.
		round()
		before := heap()
		round()
		if grown := heap() - before; grown > 64*sessions {
			t.Errorf("%d bytes of each session stay", grown/sessions)
		}
	})
}

// What a client says about itself is checked, and bounded.
func TestIntroduction(t *testing.T) {
	h := start(t, &scripted{}, gateway.Options{})
	defer h.stop()
	for _, tt := range []struct{ params, detail string }{
		{`"capabilities":[]`, `\"capabilities\" has to be an object`},
		{`"capabilities":{},"clientInfo":"me"`, `\"clientInfo\" has to be an object`},
		{`"capabilities":{"x":"` + strings.Repeat("x", 64<<10) + `"}`, `\"capabilities\" has more than 64 KiB`},
	} {
		s, a := h.Initialize(&gateway.Caller{Principal: hub.Local(hub.DoorMCP)}, msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",%s}}`, tt.params))
		if s != nil || !strings.Contains(text(a), tt.detail) {
			t.Errorf("%.60s is answered with %s", tt.params, text(a))
		}
	}
	for name, want := range map[string]string{`"c"`: "c", `7`: "", `"` + strings.Repeat("x", 257) + `"`: "", `"\u0063"`: "c"} {
		s, a := h.Initialize(&gateway.Caller{Principal: hub.Local(hub.DoorMCP)}, msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":%s}}}`, name))
		if s == nil || s.Caller().Viewer.Client != want {
			t.Errorf("the client %s: %s", name, text(a))
		}
	}
}

// Messages for a session wait until somebody takes them, in their order; those
// that a stream has taken are not taken again.
func TestPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, &scripted{}, gateway.Options{})
		defer h.stop()
		synctest.Wait()
		s := h.open(t)
		push := func(from, to int) {
			for i := from; i < to; i++ {
				s.Push(fmt.Append(nil, i), "")
			}
			s.Push([]byte("changed"), "key")
		}
		push(0, 2)
		push(2, 3)
		for _, want := range []string{"0 1 changed 2", "3 changed"} {
			e := &ear{}
			ctx, cancel := context.WithCancel(t.Context())
			go h.Stream(ctx, s, "", e)
			synctest.Wait()
			cancel()
			synctest.Wait()
			if got := strings.Join(e.heard, " "); got != want {
				t.Errorf("the stream got %q, want %q", got, want)
			}
			push(3, 4)
		}
	})
}

// Servers log from the most verbose level on that any session wants, and are
// told when that changes only.
func TestVerbosest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		levels := make(chan string, 8)
		h := start(t, &scripted{other: func(r request) string {
			if r.Method == "logging/setLevel" {
				levels <- r.Params.Level
			}
			return ""
		}}, gateway.Options{})
		defer h.stop()
		set := func(s *gateway.Session, level string) {
			if a := h.Request(t.Context(), s.Caller(), msg(t, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":%q}}`, level), &ear{}); a.Code != 0 {
				t.Error(text(a))
			}
			synctest.Wait()
		}
		one, two := h.open(t), h.open(t)
		for _, step := range []struct {
			do   func()
			told string // "" for nothing
		}{
			{func() { set(one, "warning") }, "warning"},
			{func() { set(two, "error") }, ""},
			{func() { set(two, "debug") }, "debug"},
			{func() { set(one, "debug") }, ""},
			{func() { h.End(two) }, ""},
			{func() { set(one, "error") }, "error"},
			{func() { h.End(one) }, "info"},
		} {
			step.do()
			synctest.Wait()
			told := ""
			for len(levels) > 0 {
				told += <-levels
			}
			if told != step.told {
				t.Errorf("the server was told %q, want %q", told, step.told)
			}
		}
	})
}
