package xiaozhi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// stateOf is the state of a server.
func (h *house) stateOf(key string) hub.State {
	for _, st := range h.fleet.Status() {
		if st.Key == key {
			return st.State
		}
	}
	return ""
}

// held are the leases that there are: by which endpoint, and on what.
func (h *house) held() string {
	var all []string
	for _, l := range h.control.Leases() {
		all = append(all, fmt.Sprintf("%s %s of %s: %s", l.Subject, l.Holder, l.Server, l.Tool))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// What an endpoint needs is started when it is connected, runs for as long as it is, and
// no longer.
func TestEndpointKeepsWhatItNeeds(t *testing.T) {
	needs := func(names ...string) func(*hub.Endpoint) {
		return func(e *hub.Endpoint) { e.RequiredTools = names }
	}
	for name, end := range map[string]func(h *house, s *voice.Socket){
		"removed": func(h *house, _ *voice.Socket) { h.set.Apply(nil) },
		"disabled": func(h *house, _ *voice.Socket) {
			h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Enabled = false })})
		},
		"lost":          func(_ *house, s *voice.Socket) { s.Drop() },
		"needs nothing": func(h *house, _ *voice.Socket) { h.set.Apply([]hub.Endpoint{having("a")}) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, map[string]string{"lazy": calculator, "lazy-too": calculator, "lazy-not": calculator}, func(t *testing.T, h *house) {
				var once atomic.Bool
				h.peer.Status = func(*http.Request) int {
					if once.Swap(true) {
						return http.StatusServiceUnavailable
					}
					return 0
				}
				time.Sleep(10 * time.Minute)
				if st := h.stateOf("lazy"); st != hub.StateIdle {
					t.Fatalf("it is %s before", st)
				}
				h.set.Apply([]hub.Endpoint{having("a", needs("lazy__add", "lazy-too"))})
				s := h.next()
				time.Sleep(time.Hour) // many times what ends one that is not needed
				if one, two, other := h.stateOf("lazy"), h.stateOf("lazy-too"), h.stateOf("lazy-not"); one != hub.StateReady || two != hub.StateReady || other != hub.StateIdle {
					t.Errorf("they are %s, %s and %s", one, two, other)
				}
				if got := h.held(); got != "xiaozhi:a endpoint:a of lazy-too: \nxiaozhi:a endpoint:a of lazy: add" {
					t.Errorf("held are %s", got)
				}
				if w := h.status("a").Warnings; len(w) > 0 || !strings.Contains(h.journal("a"), `starts what it needs`) {
					t.Errorf("%v\n%s", w, h.journal("a"))
				}
				end(h, s)
				synctest.Wait()
				if got := h.held(); got != "" {
					t.Errorf("still held are %s", got)
				}
				time.Sleep(10 * time.Minute)
				if one, two := h.stateOf("lazy"), h.stateOf("lazy-too"); one != hub.StateIdle || two != hub.StateIdle {
					t.Errorf("they are %s and %s afterwards", one, two)
				}
			})
		})
	}
}

// What is not there is told of, and kept running as soon as it is.
func TestEndpointNeedsWhatComesLater(t *testing.T) {
	bubble(t, map[string]string{"calc": calculator, "lazy": calculator}, func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.RequiredTools = []string{"calc__sub", "lazy"} })})
		s := h.next()
		synctest.Wait()
		w := h.status("a").Warnings
		if len(w) != 1 || w[0].Code != message.EndpointToolsMissing || !strings.Contains(w[0].In(message.English), "calc__sub") || strings.Contains(w[0].In(message.English), "lazy") {
			t.Errorf("%v", w)
		}
		if got := h.held(); got != "xiaozhi:a endpoint:a of lazy: " || !strings.Contains(h.journal("a"), "calc__sub") {
			t.Errorf("held are %s\n%s", got, h.journal("a"))
		}
		h.setTools("calc", calculator+","+strings.ReplaceAll(calculator, "add", "sub"))
		synctest.Wait()
		if got := h.held(); got != "xiaozhi:a endpoint:a of calc: sub\nxiaozhi:a endpoint:a of lazy: " || len(h.status("a").Warnings) > 0 {
			t.Errorf("held are %s; %v", got, h.status("a").Warnings)
		}
		if !strings.Contains(h.journal("a"), "all that it needs is there") {
			t.Errorf("%s", h.journal("a"))
		}
		// A connection that takes the place of another has them as well.
		h.set.Reconnect("a")
		h.next()
		<-s.Over()
		synctest.Wait()
		if got := h.held(); got != "xiaozhi:a endpoint:a of calc: sub\nxiaozhi:a endpoint:a of lazy: " {
			t.Errorf("held are %s", got)
		}
	})
}

// A server that somebody stops is not there, and is kept running again when it is started.
func TestEndpointNeedsWhatIsStopped(t *testing.T) {
	bubble(t, map[string]string{"calc": calculator}, func(t *testing.T, h *house) {
		must(t, h.fleet.Stop(wait(t), "calc"))
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.RequiredTools = []string{"calc"} })})
		h.next()
		synctest.Wait()
		if w := h.status("a").Warnings; len(w) != 1 || w[0].Code != message.EndpointToolsMissing {
			t.Errorf("%v", w)
		}
		must(t, h.fleet.Start(wait(t), "calc"))
		synctest.Wait()
		if got := h.held(); got != "xiaozhi:a endpoint:a of calc: " || len(h.status("a").Warnings) > 0 {
			t.Errorf("held are %s; %v", got, h.status("a").Warnings)
		}
	})
}

// So is one that is stopped, or disabled, while it is kept running: there is a warning until
// it is started again.
func TestEndpointNeedsWhatIsStoppedLater(t *testing.T) {
	bubble(t, map[string]string{"calc": calculator}, func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.RequiredTools = []string{"calc", "calc__add"} })})
		h.next()
		synctest.Wait()
		for range 2 {
			if w := h.status("a").Warnings; len(w) > 0 {
				t.Errorf("%v", w)
			}
			must(t, h.fleet.Stop(wait(t), "calc"))
			synctest.Wait()
			if w := h.status("a").Warnings; len(w) != 1 || w[0].Code != message.EndpointToolsMissing || !strings.Contains(w[0].In(message.English), "calc") {
				t.Errorf("it was stopped, and there is %v", w)
			}
			must(t, h.fleet.Start(wait(t), "calc"))
			synctest.Wait()
			if got := h.held(); got != "xiaozhi:a endpoint:a of calc: \nxiaozhi:a endpoint:a of calc: add" {
				t.Errorf("held are %s", got)
			}
		}
		if w := h.status("a").Warnings; len(w) > 0 {
			t.Errorf("%v", w)
		}
	})
}
