package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// apart has callers that can be asked get connections of their own.
func apart(def *hub.Server) {
	def.Kind, def.Connection, def.AutoRestart = hub.KindStdio, hub.ConnectionPerCaller, true
}

// What a server logs outside of calls on a connection of a caller's own is told
// to that caller, from the level on that it has set, and to nobody else.
func TestOwnLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &scripted{def: apart, call: func(request, func(string, ...any)) string { return `"result":{}` }}
		h := start(t, server, gateway.Options{})
		defer h.stop()
		synctest.Wait()
		mine, other := h.greet(t, `{"roots":{}}`), h.greet(t, `{"roots":{}}`)
		e, o := &ear{}, &ear{}
		go h.Stream(t.Context(), mine, "", e)
		go h.Stream(t.Context(), other, "", o)
		for _, s := range []*gateway.Session{other, mine} { // whose connection is the newest
			if a := <-h.ask(t, s, &ear{}); !strings.Contains(a, `"result"`) {
				t.Fatal(a)
			}
		}
		const line = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":1.0}}`
		log := func() (heard []string) {
			for _, level := range []string{"debug", "warning", "error"} {
				server.send(line, level)
			}
			synctest.Wait()
			heard, e.heard = e.heard, nil
			return heard
		}
		if got := log(); len(got) != 3 {
			t.Errorf("who has set no level heard %q", got)
		}
		for _, level := range []string{"warning", "error"} {
			if a := h.Request(t.Context(), mine.Caller(), msg(t, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":%q}}`, level), &ear{}); a.Code != 0 {
				t.Error(text(a))
			}
			want := []string{fmt.Sprintf(line, "warning"), fmt.Sprintf(line, "error")}
			if level == "error" {
				want = want[1:]
			}
			if got := log(); !slices.Equal(got, want) {
				t.Errorf("from %s on it heard %q", level, got)
			}
		}
		if len(o.heard) > 0 {
			t.Errorf("somebody else heard %q", o.heard)
		}
	})
}

// Who has subscribed to a resource goes on hearing of it when the server has been
// connected anew, on shared connections and on one of its own.
func TestSubscriptionSurvives(t *testing.T) {
	for name, def := range map[string]func(*hub.Server){"shared": nil, "own": apart} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				server := library(&asked)
				server.def = def
				h := start(t, server, gateway.Options{})
				defer h.stop()
				synctest.Wait()
				s, e := h.greet(t, `{"roots":{}}`), &ear{}
				go h.Stream(t.Context(), s, "", e)
				if a := h.Request(t.Context(), s.Caller(), msg(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:/1"}}`), &ear{}); a.Code != 0 {
					t.Fatal(text(a))
				}
				for n := range 2 {
					server.hangUp()
					time.Sleep(time.Minute)
					synctest.Wait()
					server.send(updated, "a:/1")
					synctest.Wait()
					// What the server has told meanwhile is lost, and so it may have changed.
					want := []string{`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:/1"}}`, fmt.Sprintf(updated, "a:/1")}
					if len(asked) != n+2 || len(e.heard) != 2*(n+1) || !slices.Equal(e.heard[2*n:], want) {
						t.Fatalf("connected anew, the server was asked %q and the caller heard %q", asked, e.heard)
					}
				}
				h.End(s)
				synctest.Wait()
				if got := asked[len(asked)-1]; name == "shared" && got != "unsubscribe a:/1" {
					t.Errorf("at the end the server was asked %s", got)
				}
			})
		})
	}
}

// A question ends with the connection on which it was put: the caller is told,
// and its answer does not become that to a question which the server puts when it
// has been connected anew.
func TestQuestionEndsWithConnection(t *testing.T) {
	for name, def := range map[string]func(*hub.Server){"shared": nil, "own": apart} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, told, lost, calls := &scripted{def: def}, make(chan string, 8), make(chan struct{}), 0
				server.told = func(raw string, m request) {
					if m.Method == "" {
						told <- raw
					}
				}
				server.call = func(_ request, send func(string, ...any)) string {
					send(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
					if calls++; calls == 1 {
						<-lost
						return `"result":{}` // which nobody hears
					}
					return `"result":{"told":` + <-told + `}`
				}
				h := start(t, server, gateway.Options{})
				defer h.stop()
				defer close(told)
				synctest.Wait()
				s, first, second := h.greet(t, `{"roots":{}}`), &ear{}, &ear{}
				answer := h.ask(t, s, first)
				synctest.Wait()
				server.hangUp()
				close(lost)
				if a := <-answer; !strings.Contains(a, `"code":"outcome_unknown"`) {
					t.Errorf("the call was answered with %s", a)
				}
				if len(first.heard) != 2 || !strings.Contains(first.heard[1], `"method":"notifications/cancelled","params":{"requestId":"tc-1"`) {
					t.Errorf("its caller heard %q", first.heard)
				}
				time.Sleep(time.Minute)
				answer = h.ask(t, s, second)
				synctest.Wait()
				h.Reply(s.Caller(), msg(t, `{"jsonrpc":"2.0","id":"tc-1","result":{"n":1}}`))
				synctest.Wait()
				if len(answer) > 0 || len(told) > 0 {
					t.Error("the late answer was taken")
				}
				h.Reply(s.Caller(), msg(t, `{"jsonrpc":"2.0","id":"tc-2","result":{"n":2}}`))
				if a := <-answer; !strings.Contains(a, `"told":{"jsonrpc":"2.0","id":"q","result":{"n":2}}`) {
					t.Errorf("the call was answered with %s", a)
				}
			})
		})
	}
}
