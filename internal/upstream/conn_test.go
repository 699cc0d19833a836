package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// everyWay runs a test over each kind of connection there is.
func everyWay(t *testing.T, test func(t *testing.T, s hub.Server)) {
	t.Run("stdio legacy", func(t *testing.T) { test(t, stdio(t)) })
	t.Run("stdio modern", func(t *testing.T) { test(t, stdio(t, "-fault", "modernonly")) })
	t.Run("http legacy", func(t *testing.T) { test(t, remote(t)) })
	t.Run("http modern", func(t *testing.T) { test(t, remote(t, "-fault", "modernonly")) })
	t.Run("sse", func(t *testing.T) { test(t, overSSE(t)) })
	t.Run("ws legacy", func(t *testing.T) { test(t, overWebSocket(t)) })
	t.Run("ws modern", func(t *testing.T) { test(t, overWebSocket(t, "-fault", "modernonly")) })
}

// Many callers use the same ids and the same progress tokens at the same time,
// and each gets its own progress, in order, and its own result.
func TestCallsAtTheSameTime(t *testing.T) {
	const calls, steps = 64, 5
	everyWay(t, func(t *testing.T, s hub.Server) {
		c := dial(t, options(s))
		var all sync.WaitGroup
		for n := range calls {
			all.Go(func() {
				var who caller
				// Every second one has no token, and so hears nothing.
				token := `"same"`
				if n%2 == 1 {
					token = ""
				}
				r, err := c.Do(t.Context(), request(t, "progress", fmt.Sprintf(`{"n":%d}`, steps+n), token), &who)
				if err != nil {
					t.Errorf("call %d: %v", n, err)
					return
				}
				if want := strconv.Itoa(steps+n) + " steps"; text(r) != want {
					t.Errorf("call %d: %s, want %s", n, text(r), want)
				}
				heard := who.notes("notifications/progress")
				want := steps + n
				if token == "" {
					want = 0
				}
				if len(heard) != want {
					t.Errorf("call %d: heard of %d steps, want %d", n, len(heard), want)
				}
				for i, h := range heard {
					if h.Params.Progress != i+1 || string(h.Params.ProgressToken) != token {
						t.Errorf("call %d: step %d is %d, with the token %s", n, i+1, h.Params.Progress, h.Params.ProgressToken)
					}
				}
			})
		}
		all.Wait()
	})
}

// The server gets an id and a token of this connection, never the caller's.
func TestOwnIDs(t *testing.T) {
	seen := make(chan note, 2)
	c := scripted(t, func(p *peer) {
		for range cap(seen) {
			n, _ := p.next()
			seen <- n
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, n.ID)
		}
	})
	ids := make(map[string]bool)
	for range cap(seen) {
		if _, err := c.Do(t.Context(), request(t, "x", "{}", `{"a":"token"}`), &caller{}); err != nil {
			t.Fatal(err)
		}
		n := <-seen
		if ids[string(n.ID)] {
			t.Errorf("the id %s was used twice", n.ID)
		}
		ids[string(n.ID)] = true
		if string(n.Params.Meta.ProgressToken) != string(n.ID) {
			t.Errorf("the token is %s in the request %s", n.Params.Meta.ProgressToken, n.ID)
		}
	}
}

// A call that its caller gives up is cancelled on the server's side by exactly
// one notification, with the id that the server knows; one whose time is up is
// cancelled as well, and says so.
func TestCancel(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cause  error
		code   message.Code
		reason string
	}{
		{"by the caller", hub.E(message.Cancelled, nil), message.Cancelled, "cancelled by the caller"},
		{"by the time limit", hub.E(message.Timeout, nil, "limit", "1s"), message.Timeout, "timeout"},
		{"for no reason", nil, message.Cancelled, "cancelled by the caller"},
		{"as the caller says", hub.E(message.Cancelled, &hub.Cancellation{Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"too late","requestId":"x"}}`)}), message.Cancelled, "too late"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls, cancels, rest := make(chan note, 1), make(chan note, 1), make(chan string, 16)
			c := scripted(t, func(p *peer) {
				defer close(rest)
				n, _ := p.next()
				calls <- n
				n, _ = p.next()
				cancels <- n
				for {
					n, ok := p.next()
					if !ok {
						return
					}
					rest <- n.Method
				}
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := c.Do(ctx, request(t, "sleep", "{}", ""), &caller{})
				done <- err
			}()
			call := <-calls
			cancel(tt.cause)
			if err := <-done; !hub.IsCode(err, tt.code) {
				t.Errorf("the call ended with %v, want %s", err, tt.code)
			}
			n := <-cancels
			if n.Method != "notifications/cancelled" || string(n.Params.RequestID) != string(call.ID) || n.Params.Reason != tt.reason {
				t.Errorf("the server got %+v, want the end of request %s, %q", n, call.ID, tt.reason)
			}
			c.Close(t.Context())
			for method := range rest {
				t.Errorf("after that the server got %q", method)
			}
		})
	}
}

// A cancelled call ends on the server, whatever is between.
func TestCancelReachesTheServer(t *testing.T) {
	everyWay(t, func(t *testing.T, s hub.Server) {
		c := dial(t, options(s))
		ctx, cancel := context.WithCancel(t.Context())
		begun := caller{hears: make(chan struct{}, 1)}
		done := make(chan error, 1)
		go func() {
			// One step of progress says that the call has begun; it then lasts.
			_, err := c.Do(ctx, request(t, "progress", `{"n":1,"ms":60000}`, `"t"`), &begun)
			done <- err
		}()
		<-begun.hears
		cancel()
		if err := <-done; !hub.IsCode(err, message.Cancelled) {
			t.Errorf("got %v", err)
		}
		rig.Await(t, "the call is cancelled on the server", func() bool {
			return strings.Contains(do(t, c, "cancelled_count", "{}"), `"cancelled":1`)
		})
	})
}

// What a server has answered counts, also if it ends right after that.
func TestAnswersBeforeTheEnd(t *testing.T) {
	const calls = 100
	c := scripted(t, func(p *peer) {
		var ids []json.RawMessage
		for range calls {
			n, _ := p.next()
			ids = append(ids, n.ID)
		}
		var answers strings.Builder
		for _, id := range ids {
			fmt.Fprintf(&answers, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", id)
		}
		p.send("%s", answers.String())
	})
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if _, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	<-c.Done()
}

// A call to a connection that has ended provably was not sent; one that was
// under way then may have been carried out.
func TestEnd(t *testing.T) {
	everyWay(t, func(t *testing.T, s hub.Server) {
		c := dial(t, options(s))
		begun := caller{hears: make(chan struct{}, 1)}
		done := make(chan error, 1)
		go func() {
			_, err := c.Do(t.Context(), request(t, "progress", `{"n":1,"ms":60000}`, `"t"`), &begun)
			done <- err
		}()
		<-begun.hears
		c.Close(t.Context())
		if err := <-done; !hub.IsCode(err, message.OutcomeUnknown) || errors.Is(err, transport.ErrNotSent) {
			t.Errorf("the call under way: %v", err)
		}
		if _, err := c.Do(t.Context(), request(t, "echo", `{"text":""}`, ""), &caller{}); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("a call after the end: %v", err)
		}
		if err := c.Err(); err != nil {
			t.Errorf("Err after Close: %v", err)
		}
		c.Close(t.Context())
	})
}

// A server's question goes to the one caller it can be for, else it is refused
// as a method that is not there; a ping is answered by the hub itself.
func TestQuestions(t *testing.T) {
	const question = `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`
	answers := make(chan note, 3)
	c := scripted(t, func(p *peer) {
		p.send(question)
		n, _ := p.next()
		answers <- n
		p.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		n, _ = p.next()
		answers <- n
		call, _ := p.next()
		p.send(question)
		n, _ = p.next()
		answers <- n
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, call.ID)
	})
	if n := <-answers; string(n.ID) != `"q"` || n.Error.Code != -32601 {
		t.Errorf("a question while nothing runs was answered with %+v", n)
	}
	if n := <-answers; string(n.ID) != `"p"` || n.Error.Code != 0 {
		t.Errorf("a ping was answered with %+v", n)
	}
	if _, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{}); err != nil {
		t.Error(err)
	}
	if n := <-answers; string(n.ID) != `"q"` || n.Error.Code != -32601 {
		t.Errorf("a question to a caller who cannot be asked was answered with %+v", n)
	}
}

// News of changed tools comes by whatever stream the server has for it.
func TestToolsChanged(t *testing.T) {
	everyWay(t, func(t *testing.T, s hub.Server) {
		news := make(chan struct{}, 1)
		opt := options(s)
		opt.ListsChanged = func(hub.ListSet) {
			select {
			case news <- struct{}{}:
			default:
			}
		}
		c := dial(t, opt)
		// The stream is opened beside Dial; a change before that is not told.
		rig.Await(t, "the change is told", func() bool {
			do(t, c, "set_tools", `{"n":3,"only":true}`)
			select {
			case <-news:
				return true
			default:
				return false
			}
		})
		tools, err := c.Tools(t.Context())
		if err != nil || len(tools) != 3 || !strings.Contains(string(tools[2]), `"filler_3"`) {
			t.Errorf("then the tools are %s, %v", tools, err)
		}
	})
}

// Log lines come from the level on that was asked for: before 2026-07-28 of
// the connection, since then of each request.
func TestLevel(t *testing.T) {
	everyWay(t, func(t *testing.T, s hub.Server) {
		c := dial(t, options(s))
		lines := func(level string) int {
			if err := c.SetLevel(t.Context(), level); err != nil {
				t.Fatal(err)
			}
			req := request(t, "progress", `{"n":3,"logs":true}`, "")
			req.Level = level
			var who caller
			if _, err := c.Do(t.Context(), req, &who); err != nil {
				t.Fatal(err)
			}
			return len(who.notes("notifications/message"))
		}
		if n := lines("error"); n != 0 {
			t.Errorf("%d lines from the level error on, want none", n)
		}
		if n := lines("debug"); n != 3 {
			t.Errorf("%d lines from the level debug on, want 3", n)
		}
	})
}

// What nobody here knows reaches the caller of the one call under way, and nobody
// if there are two, since then it is not certain whose it is.
func TestUnknownNotification(t *testing.T) {
	const tell, answer = `{"jsonrpc":"2.0","method":"notifications/vendor"}`, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`
	c := scripted(t, func(p *peer) {
		n, _ := p.next()
		p.send(tell)
		p.send(answer, n.ID)
		first, _ := p.next()
		second, _ := p.next()
		p.send(tell)
		p.send(answer, first.ID)
		p.send(answer, second.ID)
	})
	var alone, together caller
	ends := make(chan error)
	call := func(who *caller) {
		_, err := c.Do(t.Context(), request(t, "x", "{}", ""), who)
		ends <- err
	}
	for _, all := range [][]*caller{{&alone}, {&together, &together}} {
		for _, who := range all {
			go call(who)
		}
		for range all {
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
	}
	if a, b := alone.notes("notifications/vendor"), together.notes("notifications/vendor"); len(a) != 1 || len(b) != 0 {
		t.Errorf("told %d and %d times, want once and never", len(a), len(b))
	}
}

// What goes wrong on a connection without being anybody's is counted.
func TestHealth(t *testing.T) {
	s := stdio(t, "-fault", "banner,wrongid", "-on", "tools/call:note")
	c := dial(t, options(s))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, request(t, "note", `{"text":"x"}`, ""), &caller{}); !hub.IsCode(err, message.Timeout) {
		t.Errorf("got %v", err)
	}
	rig.Await(t, "junk and the stray answer are counted", func() bool {
		h := c.Health()
		return h.Junk > 0 && h.Stray == 1 && h.PID > 0
	})
	if got := do(t, c, "echo", `{"text":"still here"}`); got != "still here" {
		t.Errorf("echo answered %q", got)
	}
}

// A legacy session is ended when its connection is, so that the server need
// not keep it.
func TestGoodbye(t *testing.T) {
	_, url := rig.StartFaultServer(t, "127.0.0.1:0")
	c := dial(t, options(at(url)))
	c.Close(t.Context())
	var stats struct {
		Live    int `json:"sessions_live"`
		Deletes int `json:"deletes"`
	}
	get(t, strings.TrimSuffix(url, "/mcp")+"/stats", &stats)
	if stats.Live != 0 || stats.Deletes != 1 {
		t.Errorf("the server has %d sessions and was told goodbye %d times", stats.Live, stats.Deletes)
	}
}

func get(t *testing.T, url string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

var _ hub.Exchange = (*caller)(nil)
