package faults

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// codeFor is the JSON-RPC code by which a caller learns of an error of the hub.
func codeFor(e era, code string) int {
	switch {
	case code == "tool_unknown":
		return -32602
	case e == modern:
		return -32603
	case code == "timeout":
		return -32001
	}
	return -32000
}

// eras are those of the callers.
func eras() []era { return []era{legacy, modern} }

// beside calls the healthy server, from callers of both eras, for as long as f
// runs and at least a few times. Each of these calls has to succeed.
func (h *running) beside(f func()) {
	h.t.Helper()
	callers := []*caller{h.connect(legacy), h.connect(modern)}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-stop:
				if n >= 10 {
					return
				}
			default:
			}
			a, err := callers[n%len(callers)].call("healthy__echo", `{"text":"well"}`)
			if err != nil || a.text() != "well" {
				h.t.Errorf("beside it, the healthy server answered %s, %v", a.raw, err)
				return
			}
		}
	}()
	defer func() {
		close(stop)
		<-done
	}()
	f()
}

// A server that never becomes ready is away for a clear reason, which whoever
// calls a tool of it is told, though none is known; what others offer is listed
// and can be called.
func TestNeverReady(t *testing.T) {
	const brief = 300 * time.Millisecond
	for _, tt := range []struct {
		name      string
		server    func(t *testing.T, args ...string) hub.Server
		args      []string
		handshake time.Duration // 0 for that of all others
		code      string
		says      string
	}{
		{"crashstart", local, []string{"-fault", "crashstart"}, 0, "server_crash_loop", "6 times within 2m0s, last with exit status 1. Its last words: faultserver: cannot find the database"},
		{"neverinit", local, []string{"-fault", "neverinit"}, brief, "server_silent", "initialize"},
		{"garbage", local, []string{"-fault", "garbage"}, brief, "server_not_mcp", "1 lines that are no messages"},
		{"badproto", local, []string{"-fault", "badproto"}, 0, "server_protocol", "1999-01-01"},
		{"notool", local, []string{"-fault", "notool"}, 0, "server_refused", "the list of tools is not available"},
		{"endlesspages", local, []string{"-fault", "endlesspages"}, 0, "server_bad_reply", "circle"},
		{"endlessnew", local, []string{"-fault", "endlessnew"}, 0, "server_bad_reply", "1000 pages"},
		{"hugeline", local, []string{"-fault", "hugeline", "-on", "*"}, 0, "server_reply_too_big", "64 MiB"},

		{"http neverinit", far, []string{"-fault", "neverinit"}, brief, "server_silent", "initialize"},
		{"http garbage", far, []string{"-fault", "garbage"}, 0, "server_not_mcp", "initialize"},
		{"http badproto", far, []string{"-fault", "badproto"}, 0, "server_protocol", "1999-01-01"},
		{"http notool", far, []string{"-fault", "notool"}, 0, "server_refused", "the list of tools is not available"},
		{"http endlesspages", far, []string{"-fault", "endlesspages"}, 0, "server_bad_reply", "circle"},
		{"http hang", far, []string{"-fault", "hang", "-on", "*"}, brief, "server_silent", "initialize"},
		{"http slowloris", far, []string{"-fault", "slowloris", "-on", "*", "-delay", "20ms"}, brief, "server_silent", "initialize"},
		{"http noreply", far, []string{"-fault", "noreply", "-on", "*"}, 0, "server_not_mcp", "did not answer"},
		{"http wrongtype", far, []string{"-fault", "wrongtype", "-on", "*"}, 0, "server_not_mcp", "text/html"},
		{"http status500", far, []string{"-fault", "status500", "-on", "*"}, 0, "server_http_status", "500"},
		{"http redirect", far, []string{"-fault", "redirect", "-on", "*"}, 0, "server_http_status", "307"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := budget()
			if tt.handshake > 0 {
				b.Handshake = tt.handshake
				b.Pause, b.Backoff = time.Minute, time.Minute // one attempt is enough
			}
			server := tt.server(t, tt.args...)
			server.Timeout = impatience
			h := start(t, b, server)
			h.beside(func() {
				s := h.awaitCode("faulty", tt.code)
				if text := s.Reason + " " + s.Remedy; !strings.Contains(text, tt.says) {
					t.Errorf("/readyz says %q, want %q in it", text, tt.says)
				}
			})
			for _, e := range eras() {
				c := h.connect(e)
				if a, err := c.request("tools/list", "", ""); err != nil || !strings.Contains(string(a.Result), `"healthy__echo"`) || strings.Contains(string(a.Result), "faulty__") {
					t.Errorf("%s: the list is %s, %v", e, a.raw, err)
				}
				a, err := c.call("faulty__echo", `{"text":"x"}`)
				if err != nil {
					t.Errorf("%s: %v", e, err)
				} else if code, number := a.codes(); code != "server_down" || number != codeFor(e, code) || !strings.Contains(a.Error.Data.Reason, tt.says) {
					t.Errorf("%s: got %s", e, a.raw)
				}
			}
		})
	}
}

func local(t *testing.T, args ...string) hub.Server { return stdio(t, "faulty", args...) }
func far(t *testing.T, args ...string) hub.Server   { return remote(t, "faulty", args...) }

// deed is what a test calls at the faulty server: the tool note, whose side
// effect is to be counted. The faults below hit it alone.
const (
	deed     = "note"
	onlyDeed = "tools/call:note"
)

// A call that a server spoils is an error that says so, within the time of the
// call, or the right answer where the fault is none; and the server gets it
// once, whatever happens.
func TestSpoiltCalls(t *testing.T) {
	const right = "" // no error
	for _, tt := range []struct {
		name    string
		server  func(t *testing.T, args ...string) hub.Server
		args    []string
		timeout time.Duration
		want    string // stable code of the error
		usable  bool   // other calls to the server work afterwards
	}{
		{"banner", local, []string{"-fault", "banner"}, patience, right, true},
		{"halfline", local, []string{"-fault", "halfline", "-on", onlyDeed}, impatience, "timeout", false},
		{"hugeline", local, []string{"-fault", "hugeline", "-on", onlyDeed}, patience, "server_reply_too_big", true},
		{"wrongid", local, []string{"-fault", "wrongid", "-on", onlyDeed}, impatience, "timeout", true},
		{"strid", local, []string{"-fault", "strid", "-on", onlyDeed}, impatience, "timeout", true},
		{"dupreply", local, []string{"-fault", "dupreply"}, patience, right, true},
		{"noreply", local, []string{"-fault", "noreply", "-on", onlyDeed}, impatience, "timeout", true},
		{"nostop", local, []string{"-fault", "nostop"}, patience, right, true},
		{"modernonly", local, []string{"-fault", "modernonly"}, patience, right, true},
		{"silentunknown", local, []string{"-fault", "silentunknown"}, patience, right, true},
		{"slowlist", local, []string{"-fault", "slowlist", "-delay", "1s"}, patience, right, true},

		{"http, no fault", far, nil, patience, right, true},
		{"http sse", far, []string{"-sse"}, patience, right, true},
		{"http sseonly", far, []string{"-fault", "sseonly"}, patience, right, true},
		{"http jsononly", far, []string{"-fault", "jsononly"}, patience, right, true},
		{"http modernonly", far, []string{"-fault", "modernonly"}, patience, right, true},
		{"http silentunknown", far, []string{"-fault", "silentunknown"}, patience, right, true},
		{"http slowlist", far, []string{"-fault", "slowlist", "-delay", "1s"}, patience, right, true},
		{"http wrongid", far, []string{"-fault", "wrongid", "-on", onlyDeed}, patience, "outcome_unknown", true},
		{"http strid", far, []string{"-fault", "strid", "-on", onlyDeed}, patience, "outcome_unknown", true},
		{"http dupreply", far, []string{"-fault", "dupreply"}, patience, right, true},
		{"http noreply", far, []string{"-fault", "noreply", "-on", onlyDeed}, patience, "outcome_unknown", true},
		{"http truncated", far, []string{"-fault", "truncated", "-on", onlyDeed}, patience, "outcome_unknown", true},
		{"http hugejson", far, []string{"-fault", "hugejson", "-on", onlyDeed}, patience, "server_reply_too_big", true},
		{"http hugejson sse", far, []string{"-sse", "-fault", "hugejson", "-size", "70000000", "-on", onlyDeed}, patience, "server_reply_too_big", true},
		{"http wrongtype", far, []string{"-fault", "wrongtype", "-on", onlyDeed}, patience, "server_bad_reply", true},
		{"http status500", far, []string{"-fault", "status500", "-on", onlyDeed}, patience, "server_http_status", true},
		{"http redirect", far, []string{"-fault", "redirect", "-on", onlyDeed}, patience, "server_http_status", true},
		{"http slowloris", far, []string{"-fault", "slowloris", "-on", onlyDeed, "-delay", "20ms"}, impatience, "timeout", true},
		{"http hang", far, []string{"-fault", "hang", "-on", onlyDeed}, impatience, "timeout", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.server(t, tt.args...)
			s.Timeout = tt.timeout
			h := start(t, budget(), s)
			h.await("faulty", hub.StateReady)
			h.beside(func() {
				for _, e := range eras() {
					a, err := h.connect(e).call("faulty__"+deed, `{"text":"done"}`)
					if err != nil {
						t.Errorf("%s: %v", e, err)
						continue
					}
					code, number := a.codes()
					if tt.want == right && a.text() != "done" || code != tt.want || code != right && number != codeFor(e, code) {
						t.Errorf("%s: got %.300s, want %q", e, a.raw, tt.want)
					}
				}
			})
			if !tt.usable {
				return
			}
			if got, want := h.calls(s)[deed], len(eras()); got != want {
				t.Errorf("the server got %d calls, want %d", got, want)
			}
			a, err := h.connect(legacy).call("faulty__echo", `{"text":"still here"}`)
			if err != nil || a.text() != "still here" {
				t.Errorf("another call got %s, %v", a.raw, err)
			}
			h.await("faulty", hub.StateReady)
		})
	}
}

// calls returns how often the faulty server was asked for each tool.
func (h *running) calls(s hub.Server) map[string]int {
	h.t.Helper()
	if s.Kind == hub.KindHTTP {
		return stats(h.t, s).Calls
	}
	a, err := h.connect(legacy).call("faulty__calls_count", `{}`)
	if err != nil {
		h.t.Fatal(err)
	}
	calls := make(map[string]int)
	if err := json.Unmarshal([]byte(a.text()), &calls); err != nil {
		h.t.Fatalf("%s: %v", a.raw, err)
	}
	return calls
}

type serverStats struct {
	Calls      map[string]int `json:"calls"`
	Redirected int            `json:"redirected"`
	Opened     int            `json:"sessions_opened"`
	Live       int            `json:"sessions_live"`
}

// stats asks a remote server itself, not by way of the hub.
func stats(t *testing.T, s hub.Server) serverStats {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.URL, "/mcp")+"/stats", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var st serverStats
	if err := json.NewDecoder(res.Body).Decode(&st); err != nil {
		t.Fatal(err)
	}
	return st
}

// A server that fails once has failed one call, and no other.
func TestFailsOnce(t *testing.T) {
	s := far(t, "-fault", "status500once")
	h := start(t, budget(), s)
	h.await("faulty", hub.StateReady)
	var got []string
	for range 3 {
		a, err := h.connect(modern).call("faulty__"+deed, `{"text":"done"}`)
		if err != nil {
			t.Fatal(err)
		}
		code, _ := a.codes()
		got = append(got, code)
	}
	if want := []string{"server_http_status", "", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A server that forgets the session after every call is greeted again each time,
// and no caller hears of it.
func TestForgottenSessions(t *testing.T) {
	const calls = 10
	s := far(t, "-fault", "status404session")
	h := start(t, budget(), s)
	h.await("faulty", hub.StateReady)
	callers := []*caller{h.connect(legacy), h.connect(modern)}
	for n := range calls {
		a, err := callers[n%len(callers)].call("faulty__"+deed, `{"text":"done"}`)
		if err != nil || a.text() != "done" {
			t.Fatalf("call %d: %s, %v", n+1, a.raw, err)
		}
	}
	if n := stats(t, s).Opened; n < calls {
		t.Errorf("%d sessions for %d calls", n, calls)
	}
}

// Nobody is sent on to another host, with the server's credentials.
func TestRedirectIsNotFollowed(t *testing.T) {
	s := far(t, "-fault", "redirect")
	h := start(t, budget(), s)
	h.await("faulty", hub.StateReady)
	for _, e := range eras() {
		if _, err := h.connect(e).call("faulty__echo", `{"text":"x"}`); err != nil {
			t.Error(err)
		}
	}
	if n := stats(t, s).Redirected; n != 0 {
		t.Errorf("%d requests went to another host", n)
	}
}
