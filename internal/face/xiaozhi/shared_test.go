package xiaozhi

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
	"github.com/toolcrib/toolcrib/test/voice"
)

func tools() map[string]string { return map[string]string{"calc": calculator} }

func TestReq1IdsComeBackAsTheyWere(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		for _, id := range []string{`0`, `1`, `"a_b_c"`, `"2f02fcec-aaaa_n_2"`, `9007199254740993`, `-1`, `1.0`, `"\u0041"`, `""`, `"中"`} {
			for _, method := range []string{"ping", "tools/list", "nonsense"} {
				if got := h.ask(s, id, method, ""); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,`) {
					t.Errorf("%s %s: %.200s", method, id, got)
				}
			}
			if got := h.callTool(s, id, "calc__add", `{}`); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"result"`) {
				t.Errorf("a call: %s", got)
			}
		}
	})
}

func TestReq2WhatIsAnsweredAndWhatIsNot(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		for _, text := range []string{
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/whatever","params":{}}`,
			`{"jsonrpc":"2.0","method":"tools/list"}`, `{"jsonrpc":"2.0","method":"ping","id":null}`, `{"jsonrpc":"2.0","id":7,"result":{}}`,
			`{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`,
		} {
			must(t, s.Send(text))
		}
		synctest.Wait()
		if heard := s.Heard(); len(heard) > 0 {
			t.Errorf("answered: %q", heard)
		}
		began := time.Now()
		for i, params := range []string{``, `null`, `{}`, `{"serialNumber":null,"x":[1]}`} {
			if got := h.ask(s, fmt.Sprint(10+i), "tools/list", params); !strings.Contains(got, "calc__add") {
				t.Errorf("params %q: %s", params, got)
			}
		}
		if got := h.ask(s, "20", "resources/list", ""); !strings.Contains(got, "-32601") {
			t.Errorf("an unknown method: %s", got)
		}
		if got := h.ask(s, "21", "tools/call", `{"name":"calc__add","arguments":null,"serialNumber":null,"Name2":1}`); !strings.Contains(got, `"add"`) {
			t.Errorf("extra keys: %s", got)
		}
		if got := h.ask(s, "22", "tools/call", `{"name":"calc__add"}`); !strings.Contains(got, `"add"`) {
			t.Errorf("no arguments: %s", got)
		}
		must(t, s.Send(`{"id":23,"method":"ping","params":{}} `+"\n"))
		if _, err := s.Hear(wait(t), `"id":23,`); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestReq3JunkLeavesTheSocketOpen(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		junk := 0
		for _, text := range []string{
			`not json`, `null`, `5`, `"x"`, `{"jsonrpc":"2.0","id":1,"met`, `{}`, `[]`, `[`, ``, "\xff", `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
			`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 5000) + `","method":"ping"}`,
		} {
			must(t, s.Send(text))
			junk++
			must(t, s.SendBinary([]byte(text+"\x00")))
			junk++
			if got := h.ask(s, "99", "ping", ""); !strings.Contains(got, `"result":{}`) {
				t.Errorf("after %q: %s", text, got)
			}
		}
		if n := h.status("a").Junk; n != junk {
			t.Errorf("%d counted of %d", n, junk)
		}
		must(t, s.Send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},5,{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`))
		for _, id := range []string{"1", "2"} {
			if got, err := s.Hear(wait(t), `"id":`+id+`,`); err != nil || got[0] != '{' {
				t.Errorf("of a batch: %s, %v", got, err)
			}
		}
		if got := h.status("a"); got.State != hub.EndpointConnected || got.Connects != 1 || got.Junk != junk+1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestReq4Limits(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.answer = func(string, string) string {
			return `"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 3<<20) + `"}]}`
		}
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.MaxMessage = 64 << 10; e.MaxResult = 100 << 20 })})
		s := h.next()
		got := h.callTool(s, "1", "calc__add", `{}`)
		if len(got) > 1<<20-4<<10 || !strings.Contains(got, "3145728") {
			t.Errorf("%d bytes: …%s", len(got), got[len(got)-100:])
		}
		if err := s.Send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("y", 64<<10) + `"}}`); err != nil {
			t.Log(err) // the close may come first
		}
		<-s.Over()
		if err := s.Err(); !strings.Contains(err.Error(), "StatusMessageTooBig") {
			t.Errorf("closed with %v", err)
		}
		synctest.Wait()
		st := h.status("a")
		if st.Reason == nil || st.Reason.Code != message.EndpointTooBig || st.CloseCode != 1009 || st.State != hub.EndpointWaiting || !strings.Contains(h.journal("a"), "65594") {
			t.Errorf("%+v\n%s", st, h.journal("a"))
		}
		h.next() // and it is back
	})
}

// What is longer than any peer bears is not sent: an error in its place says how long it
// would have been.
func TestReq4LongerThanAnyPeerBears(t *testing.T) {
	info := `{"name":"toolcrib","version":"` + strings.Repeat("1", words.MaxFrame) + `"}`
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		got := h.ask(s, "7", "initialize", `{"protocolVersion":"2024-11-05"}`)
		size := len(`{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}},"serverInfo":}}`) + len(info)
		if said, fault, wrong := text(t, got); !wrong || fault != said || !strings.Contains(said, number(size)) || len(got) > words.DefaultResult {
			t.Errorf("%d bytes, without %d: %.500s", len(got), size, got)
		}
		if got := h.ask(s, "8", "ping", ""); !strings.Contains(got, `"result":{}`) {
			t.Errorf("%s", got)
		}
	}, func(o *Options) { o.ServerInfo = []byte(info) })
}

// hold has the tools answer when they are told to.
func (h *house) hold() (release chan struct{}) {
	release = make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = func(name, args string) string {
		if name != "quick" {
			<-release
		}
		return `"result":{"content":[{"type":"text","text":"done ` + name + `"}]}`
	}
	return release
}

func TestReq5ManyAtOnce(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		release := h.hold()
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Deadline = time.Hour })})
		s := h.next()
		for i := range 80 {
			must(t, s.Send(voice.CloudCall(100+i, "calc__add", fmt.Sprintf(`{"n":%d}`, i))))
		}
		synctest.Wait()
		if n, st := h.calls("add"), h.status("a"); n != 16 || st.Running != 80 {
			t.Errorf("%d reach the tool, %d are under way", n, st.Running)
		}
		began := time.Now()
		if got := h.callTool(s, "999", "calc__add", `{}`); !strings.Contains(got, `"code":-32000`) || !strings.Contains(got, "endpoint_busy") {
			t.Errorf("one too many: %s", got)
		}
		h.ask(s, `"p"`, "ping", "")
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("a ping took %v", took)
		}
		close(release)
		for i := range 80 {
			if _, err := s.Hear(wait(t), fmt.Sprintf(`"id":%d,`, 100+i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := h.calls("add"); n != 80 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestReq5EqualIds(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		release := h.hold()
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		for i := range 3 {
			must(t, s.Send(voice.CloudCall(1, "calc__add", fmt.Sprintf(`{"n":%d}`, i))))
		}
		synctest.Wait()
		close(release)
		for range 3 {
			if _, err := s.Hear(wait(t), `"id":1,`); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestReq6OneWriter is for the race detector: it runs in real time.
func TestReq6OneWriter(t *testing.T) {
	h := open(t, tools())
	for len(h.catalog.Snapshot().Entries()) == 0 {
		time.Sleep(time.Millisecond)
	}
	h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Delay = time.Millisecond; e.MaxDelay = time.Millisecond })})
	for round := range 2 {
		s := h.next()
		var all sync.WaitGroup
		for i := range 500 {
			all.Go(func() { _ = s.Send(voice.CloudCall(1000+i, "calc__add", `{}`)) })
			all.Go(func() { _ = s.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 5000+i)) })
			if i == 250 && round == 0 {
				all.Go(func() { s.Close(1011, "in the middle") })
			}
			if i == 250 {
				h.setTools("calc", calculator+`,{"name":"more","inputSchema":{"type":"object"}}`)
			}
		}
		all.Wait()
		for i := range 500 {
			if round == 0 {
				break
			}
			for _, id := range []int{1000 + i, 5000 + i} {
				if got, err := s.Hear(wait(t), fmt.Sprintf(`"id":%d,`, id)); err != nil || !strings.HasSuffix(got, "}") {
					t.Fatalf("%s, %v", got, err)
				}
			}
		}
	}
}

func TestReq7NoTokenAnywhere(t *testing.T) {
	const token, encoded = "QUJDREVGR0hJSktMTU5PUA+/secret==", "eyJhbGciOi%2BJIUzI1NiJ9%2Fsecret%3D"
	for name, its := range map[string][2]string{
		"plain":    {"ws://peer/mcp_endpoint/mcp/?token=" + token, token},
		"encoded":  {"ws://peer/mcp/?x=1&token=" + encoded, "eyJhbGciOi+JIUzI1NiJ9/secret="},
		"path":     {"ws://peer/mcp/" + strings.Repeat("tokeninpath", 4), strings.Repeat("tokeninpath", 4)},
		"user":     {"ws://who:passwordsecret@peer/mcp/", "passwordsecret"},
		"key":      {"ws://peer/mcp/sk-abcdef1234secret0ab/x", "sk-abcdef1234secret0ab"},
		"nameless": {"ws://peer/mcp/x?mysecretword", "mysecretword"},
		"filled":   {"ws://peer/mcp/${secret:a}/x", "mysecretword"},
	} {
		url, echo := its[0], its[1]
		t.Run(name, func(t *testing.T) {
			bubble(t, tools(), func(t *testing.T, h *house) {
				e := having("a")
				e.URL = url
				var up atomic.Bool
				h.peer.Status = func(*http.Request) int {
					if up.Load() {
						return 0
					}
					return 500
				}
				h.set.Apply([]hub.Endpoint{e})
				time.Sleep(10 * time.Second)
				up.Store(true)
				s := h.next()
				s.Send(`{"id":0,"jsonrpc":"2.0","method":"initialize","params":{"clientInfo":{"name":"` + echo + `"}}}`)
				synctest.Wait()
				s.Close(4000, "go away with "+echo)
				synctest.Wait()
				st := h.status("a")
				all := fmt.Sprintf("%+v %v", st, st.Reason) + h.journal("a") + h.logged()
				for _, w := range st.Warnings {
					all += w.Error()
				}
				for _, secret := range []string{"secret", "SktMTU5", "tokeninpathtoken", "QUJD", "eyJhb"} {
					all = strings.ReplaceAll(all, "${secret:a}", "")
					if strings.Contains(url, secret) && strings.Contains(all, secret) {
						at := strings.Index(all, secret)
						t.Errorf("%q stands in …%s…", secret, all[max(0, at-100):min(len(all), at+50)])
					}
				}
			}, func(o *Options) {
				o.Resolve = func(text string) (string, []string, error) {
					if filled := strings.ReplaceAll(text, "${secret:a}", "mysecretword"); filled != text {
						return filled, []string{"mysecretword"}, nil
					}
					return text, nil, nil
				}
			})
		})
	}
	// A dialler's own error has the whole address.
	synctest.Test(t, func(t *testing.T) {
		h := open(t, tools(), func(o *Options) {
			o.Dial = nil
		})
		e := having("a")
		e.URL = "ws://127.0.0.1:1/mcp/?token=" + token
		h.set.Apply([]hub.Endpoint{e})
		time.Sleep(time.Second)
		if st := h.status("a"); st.Reason == nil || st.Reason.Code != message.EndpointUnreachable {
			t.Fatalf("%+v", st)
		}
		if all := fmt.Sprintf("%+v", h.status("a")) + h.status("a").Reason.Error() + h.journal("a") + h.logged(); strings.Contains(all, "SktMTU5") || !strings.Contains(all, "not reached") {
			t.Error(all)
		}
	})
}
