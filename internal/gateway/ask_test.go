package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// asker is a server whose tool asks its caller, and answers with what it was
// told.
func asker(question string) *scripted {
	told := make(chan string, 8)
	s := &scripted{over: make(chan struct{}), told: func(raw string, m request) {
		if m.Method == "" {
			told <- raw
		}
	}}
	s.call = func(_ request, send func(string, ...any)) string {
		send("%s", question)
		select {
		case raw := <-told:
			return fmt.Sprintf(`"result":{"told":%s}`, raw)
		case <-s.over:
			return ""
		}
	}
	return s
}

// greet opens a session of a caller that declares the capabilities.
func (h *hall) greet(t *testing.T, capabilities string) *gateway.Session {
	t.Helper()
	s, a := h.begin(msg(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`, capabilities))
	if s == nil {
		t.Fatal(text(a))
	}
	return s
}

// ask has a session call the tool, and returns where the answer comes.
func (h *hall) ask(t *testing.T, s *gateway.Session, e *ear) <-chan string {
	answer := make(chan string, 1)
	go func() { answer <- text(h.Request(t.Context(), s.Caller(), msg(t, callT), e)) }()
	return answer
}

// A question reaches the caller in whose call it was raised, and the answer the
// server, with nothing changed but the ids.
func TestAsk(t *testing.T) {
	const all = `{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"roots":{}}`
	for _, tt := range []struct{ name, capabilities, method, params, reply, told string }{
		{"sampling", all, "sampling/createMessage", `{"messages":[],"maxTokens":1.0}`, `"result":{"content":[1.50]}`, `"result":{"content":[1.50]}`},
		{"sampling with tools", all, "sampling/createMessage", `{"tools":[{}]}`, `"result":{}`, `"result":{}`},
		{"a form", all, "elicitation/create", `{"requestedSchema":{}}`, `"result":{"action":"accept","content":{"a":9007199254740993}}`, `"result":{"action":"accept","content":{"a":9007199254740993}}`},
		{"a URL", all, "elicitation/create", `{"mode":"url","elicitationId":"e","url":"https://x"}`, `"result":{"action":"decline"}`, `"result":{"action":"decline"}`},
		{"roots", all, "roots/list", `{}`, `"result":{"roots":[]}`, `"result":{"roots":[]}`},
		{"an error", all, "roots/list", `{}`, `"error":{"code":-1,"message":"no","data":[1.0]}`, `"error":{"code":-1,"message":"no","data":[1.0]}`},
		{"not declared", `{"roots":{}}`, "sampling/createMessage", `{}`, "", `did not declare sampling.`},
		{"declared in part", `{"sampling":{}}`, "sampling/createMessage", `{"tools":[]}`, "", `did not declare sampling.tools.`},
		{"forms only", `{"elicitation":{}}`, "elicitation/create", `{"mode":"url"}`, "", `did not declare elicitation.url.`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, asker(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s7","method":%q,"params":%s}`, tt.method, tt.params)), gateway.Options{})
				defer h.stop()
				synctest.Wait() // what came with the start has been told
				s, e, other := h.greet(t, tt.capabilities), &ear{}, &ear{}
				go h.Stream(t.Context(), h.greet(t, all), "", other)
				answer := h.ask(t, s, e)
				synctest.Wait()
				if tt.reply == "" {
					if a := <-answer; !strings.Contains(a, `"told":{"jsonrpc":"2.0","id":"s7","error":{"code":-32601,`) || !strings.Contains(a, tt.told) || len(e.heard) > 0 {
						t.Errorf("answered %s, heard %q", a, e.heard)
					}
					return
				}
				want := fmt.Sprintf(`{"jsonrpc":"2.0","id":"tc-1","method":%q,"params":%s}`, tt.method, tt.params)
				if len(e.heard) != 1 || e.heard[0] != want {
					t.Fatalf("heard %q, want %s", e.heard, want)
				}
				h.Reply(s.Caller(), msg(t, `{"jsonrpc":"2.0","id":"tc-1",%s}`, tt.reply))
				if a, want := <-answer, `{"jsonrpc":"2.0","id":"x","result":{"told":{"jsonrpc":"2.0","id":"s7",`+tt.told+`}}}`; a != want {
					t.Errorf("answered %s, want %s", a, want)
				}
				if len(e.heard) != 1 || len(other.heard) > 0 {
					t.Errorf("heard %q, and somebody else %q", e.heard, other.heard)
				}
			})
		})
	}
}

// Only the session that was asked can answer, and only once.
func TestAnswerOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, asker(`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`), gateway.Options{})
		defer h.stop()
		s, mallory := h.greet(t, `{"roots":{}}`), h.greet(t, `{"roots":{}}`)
		answer := h.ask(t, s, &ear{})
		synctest.Wait()
		for _, id := range []string{`"tc-1"`, `"tc-2"`, `0`, `"0"`} {
			h.Reply(mallory.Caller(), msg(t, `{"jsonrpc":"2.0","id":%s,"result":{"by":"mallory"}}`, id))
		}
		h.Reply(s.Caller(), msg(t, `{"jsonrpc":"2.0","id":0,"result":{"by":"another id"}}`))
		synctest.Wait()
		if len(answer) > 0 {
			t.Fatalf("answered %s", <-answer)
		}
		for _, by := range []string{"s", "s again"} {
			h.Reply(s.Caller(), msg(t, `{"jsonrpc":"2.0","id":"tc-1","result":{"by":%q}}`, by))
		}
		if a := <-answer; a != `{"jsonrpc":"2.0","id":"x","result":{"told":{"jsonrpc":"2.0","id":0,"result":{"by":"s"}}}}` {
			t.Errorf("answered %s", a)
		}
	})
}

// When a call is cancelled its question is, too; and so it is when the session
// ends.
func TestAskedAndCancelled(t *testing.T) {
	for _, end := range []bool{false, true} {
		t.Run(fmt.Sprintf("the session ends: %t", end), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, asker(`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`), gateway.Options{})
				defer h.stop()
				s, e := h.greet(t, `{"roots":{}}`), &ear{}
				answer := h.ask(t, s, e)
				synctest.Wait()
				if end {
					h.End(s)
				} else {
					h.Notification(s.Caller(), msg(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x","reason":"enough"}}`))
				}
				if a := <-answer; !strings.Contains(a, `"code":"cancelled"`) {
					t.Errorf("answered %s", a)
				}
				if !end && (len(e.heard) != 2 || e.heard[1] != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"tc-1","reason":"enough"}}`) {
					t.Errorf("heard %q", e.heard)
				}
				h.Reply(s.Caller(), msg(t, `{"jsonrpc":"2.0","id":"tc-1","result":{}}`)) // too late
			})
		})
	}
}

// That the caller is at work on a question is told to the server by its own
// token.
func TestAskedProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := make(chan string, 2)
		server := asker(`{"jsonrpc":"2.0","id":0,"method":"roots/list","params":{"_meta":{"progressToken":5}}}`)
		answers := server.told
		server.told = func(raw string, m request) {
			if m.Method == "notifications/progress" {
				said <- raw
			}
			answers(raw, m)
		}
		h := start(t, server, gateway.Options{})
		defer h.stop()
		s, e := h.greet(t, `{"roots":{}}`), &ear{}
		answer := h.ask(t, s, e)
		synctest.Wait()
		if len(e.heard) != 1 || e.heard[0] != `{"jsonrpc":"2.0","id":"tc-1","method":"roots/list","params":{"_meta":{"progressToken":"tc-1"}}}` {
			t.Fatalf("heard %q", e.heard)
		}
		const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":0.10}}`
		h.Notification(h.greet(t, `{"roots":{}}`).Caller(), msg(t, progress, `"tc-1"`))
		h.Notification(s.Caller(), msg(t, progress, `5`))
		h.Notification(s.Caller(), msg(t, progress, `"tc-1"`))
		if got, want := <-said, fmt.Sprintf(progress, "5"); got != want {
			t.Errorf("told %s, want %s", got, want)
		}
		h.Reply(s.Caller(), msg(t, `{"jsonrpc":"2.0","id":"tc-1","result":{}}`))
		<-answer
		if len(said) > 0 {
			t.Errorf("also told %s", <-said)
		}
	})
}

// That a person is done at a URL is told to the session which sent it there.
func TestElicited(t *testing.T) {
	const done = `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1","more":1.0}}`
	for _, way := range []string{"question", "error"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := asker(`{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"mode":"url","elicitationId":"e1","url":"https://x"}}`)
				if way == "error" {
					server.call = func(request, func(string, ...any)) string {
						return `"error":{"code":-32042,"message":"go there","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://x"}]}}`
					}
				}
				h := start(t, server, gateway.Options{})
				defer h.stop()
				synctest.Wait() // what came with the start has been told
				s, mine, other := h.greet(t, `{"elicitation":{"url":{}}}`), &ear{}, &ear{}
				go h.Stream(t.Context(), s, "", mine)
				go h.Stream(t.Context(), h.greet(t, `{"elicitation":{"url":{}}}`), "", other)
				answer := h.ask(t, s, &ear{})
				synctest.Wait()
				h.Reply(s.Caller(), msg(t, `{"jsonrpc":"2.0","id":"tc-1","result":{"action":"accept"}}`))
				if a := <-answer; way == "error" && !strings.Contains(a, `"data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://x"}]}`) {
					t.Errorf("answered %s", a)
				}
				for range 2 {
					server.send(done)
				}
				server.send(strings.Replace(done, "e1", "e2", 1))
				synctest.Wait()
				if len(mine.heard) != 1 || mine.heard[0] != done || len(other.heard) > 0 {
					t.Errorf("heard %q, and somebody else %q", mine.heard, other.heard)
				}
			})
		})
	}
}

// begin opens a session.
func (h *hall) begin(m *wire.Message) (*gateway.Session, gateway.Answer) {
	return h.Initialize(&gateway.Caller{Principal: hub.Local(hub.DoorMCP)}, m)
}
