package xiaozhi

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// retries are the pauses between connections, each of which end ends.
func (h *house) retries(n int, end func(s *voice.Socket)) []time.Duration {
	var pauses []time.Duration
	for range n {
		s := h.next()
		end(s)
		<-s.Over()
		began := time.Now()
		synctest.Wait()

		if h.status("a").State == hub.EndpointConnected {
			h.t.Error("connected after a close")
		}
		time.Sleep(time.Until(h.status("a").Retry))
		pauses = append(pauses, time.Since(began))
	}
	return pauses
}

func TestReq20Backoff(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		want := time.Second
		for i, pause := range h.retries(9, func(s *voice.Socket) { s.Close(1011, "oops") }) {
			if pause < want*8/10 || pause > want*12/10 {
				t.Errorf("pause %d is %v, not about %v", i, pause, want)
			}
			want = min(2*want, time.Minute)
		}
		// After less than a minute it goes on as before, after more it begins anew.
		if p := h.retries(1, func(s *voice.Socket) { time.Sleep(50 * time.Second); s.Drop() }); p[0] < 40*time.Second {
			t.Errorf("after 50 s: %v", p)
		}
		if p := h.retries(1, func(s *voice.Socket) { time.Sleep(61 * time.Second); s.Drop() }); p[0] > 1200*time.Millisecond {
			t.Errorf("after 61 s: %v", p)
		}
		h.next().Drop()
		synctest.Wait()
		if st := h.status("a"); st.Reason == nil || st.Reason.Code != message.EndpointLost {
			t.Errorf("after a drop: %+v", st)
		}
	})
}

func TestReq20Endings(t *testing.T) {
	for _, tt := range []struct {
		code       int
		reason     string
		state      hub.EndpointState
		told       message.Code
		least, max time.Duration
	}{
		{4004, "Internal server error", hub.EndpointWaiting, message.EndpointFailing, 5 * time.Second, 6 * time.Second},
		{1008, "token无效", hub.EndpointAuthFailed, message.EndpointAuth, 4 * time.Minute, 6 * time.Minute},
		{1000, "新连接替换", hub.EndpointReplaced, message.EndpointReplacedBy, 30 * time.Second, 37 * time.Second},
		{1000, "replaced by a new connection", hub.EndpointReplaced, message.EndpointReplacedBy, 30 * time.Second, 37 * time.Second},
		{1000, "", hub.EndpointWaiting, message.EndpointClosed, 800 * time.Millisecond, 1200 * time.Millisecond},
	} {
		bubble(t, tools(), func(t *testing.T, h *house) {
			h.set.Apply([]hub.Endpoint{having("a")})
			p := h.retries(1, func(s *voice.Socket) { s.Close(tt.code, tt.reason) })
			_ = p
			h.next().Close(tt.code, tt.reason)
			synctest.Wait()
			st := h.status("a")
			if st.State != tt.state || st.Reason.Code != tt.told || st.CloseCode != tt.code || st.CloseReason != tt.reason || p[0] < tt.least || p[0] > tt.max {
				t.Errorf("%d %s: after %v, %+v", tt.code, tt.reason, p, st)
			}
		})
	}
}

func TestReq20RefusedBeforeTheUpgrade(t *testing.T) {
	for status, state := range map[int]hub.EndpointState{401: hub.EndpointAuthFailed, 403: hub.EndpointAuthFailed, 500: hub.EndpointWaiting, 302: hub.EndpointWaiting} {
		bubble(t, tools(), func(t *testing.T, h *house) {
			var asked atomic.Int64
			var mended atomic.Bool
			h.peer.Status = func(*http.Request) int {
				if asked.Add(1); mended.Load() {
					return 0
				}
				return status
			}
			h.set.Apply([]hub.Endpoint{having("a")})
			synctest.Wait()
			st := h.status("a")
			if st.State != state || st.Retry.IsZero() || st.Reason == nil {
				t.Errorf("%d: %+v", status, st)
			}
			time.Sleep(3*time.Minute + 50*time.Second)
			if state == hub.EndpointAuthFailed && asked.Load() != 1 {
				t.Errorf("asked %d times", asked.Load())
			}
			// Somebody has mended it, and does not want to wait.
			mended.Store(true)
			if !h.set.Reconnect("a") {
				t.Error("not to be had")
			}
			h.next()
		})
	}
}

func TestReq20ThreeDialsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		h := open(t, tools())
		h.peer.Status = func(*http.Request) int {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return 503
		}
		var all []hub.Endpoint
		for i := range 20 {
			all = append(all, having(fmt.Sprint("e", i)))
		}
		h.set.Apply(all)
		time.Sleep(30 * time.Second)
		h.quit()
		time.Sleep(2 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if most != maxDials {
			t.Errorf("%d at once", most)
		}
	})
}

// Two programs on one token do not chase each other: the endpoint server closes one
// with each connection of the other.
func TestReq20NoFlapping(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		var eps voice.EPS
		h.set.Apply([]hub.Endpoint{having("a"), having("b", func(e *hub.Endpoint) { e.URL += "?" })})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				s, err := h.peer.Next(ctx)
				cancel()
				if err != nil || t.Context().Err() != nil {
					return
				}
				eps.Join(s)
			}
		}()
		time.Sleep(10 * time.Minute)
		if n := h.status("a").Connects + h.status("b").Connects; n > 40 {
			t.Errorf("%d connections in 10 minutes", n)
		}
		h.set.Apply(nil)
		<-done
	})
}

// A close counts as what it says also while the hub writes, which fails then, too.
func TestReq20EndingsWhileWriting(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		for range 300 {
			s := h.next()
			for id := range 5 {
				must(t, s.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id)))
			}
			s.Close(4004, "Internal server error")
			<-s.Over()
			synctest.Wait()
			if st := h.status("a"); st.Reason == nil || st.Reason.Code != message.EndpointFailing || st.CloseCode != 4004 {
				t.Fatalf("closed with %d: %v", st.CloseCode, st.Reason)
			}
		}
	})
}
