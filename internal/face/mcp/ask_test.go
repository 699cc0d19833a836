package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	askable = `"capabilities":{"elicitation":{}}`
	ask     = `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"lab__ask","arguments":{}}}`
	decline = `{"jsonrpc":"2.0","id":"tc-1","result":{"action":"decline"}}`
)

// askableAs is an initialize request of a client that can be asked.
func askableAs(revision string) string {
	return strings.NewReplacer(`"capabilities":{}`, askable, "2025-06-18", revision).Replace(initialize)
}

// answered fails the test unless a response is that of the tool that has asked.
func answered(t *testing.T, door, response string) {
	t.Helper()
	if !strings.Contains(response, `"id":8,"result"`) || !strings.Contains(response, "to decline") {
		t.Errorf("%s: the call is answered with %s", door, response)
	}
}

// question fails the test unless a message is the tool's question.
func question(t *testing.T, door, message string) {
	t.Helper()
	if !strings.Contains(message, `"id":"tc-1"`) || !strings.Contains(message, `"method":"elicitation/create"`) {
		t.Fatalf("%s: the question is %s", door, message)
	}
}

// Callers are asked through all doors, and answer through the same, also in a
// batch.
func TestAsk(t *testing.T) {
	h := open(t)
	close(h.release)

	s := h.dial(t, "")
	s.ask("%s", askableAs("2025-06-18"))
	question(t, "websocket", s.ask(ask))
	answered(t, "websocket", s.ask(decline))

	e := h.listen(t, "")
	e.post(askableAs("2024-11-05"))
	e.next()
	e.post(ask)
	_, asked := e.next()
	question(t, "sse", asked)
	e.post(decline)
	_, response := e.next()
	answered(t, "sse", response)

	for _, revision := range []string{"2025-03-26", "2025-11-25"} {
		p := &poster{tb: t, h: h, path: "/mcp"}
		p.session = p.do(t.Context(), http.MethodPost, askableAs(revision), "").Header.Get("Mcp-Session-Id")
		call, reply := ask, decline
		if revision == "2025-03-26" {
			call, reply = "["+ask+"]", "["+decline+"]"
		}
		f := p.stream(http.MethodPost, call, "")
		e := f.next()
		if e.data == "" {
			e = f.next() // behind the first, which has only an id
		}
		question(t, revision, e.data)
		if res := p.do(t.Context(), http.MethodPost, reply, ""); res.StatusCode != http.StatusAccepted {
			t.Errorf("%s: the reply is answered with %s", revision, res.Status)
		}
		answered(t, revision, f.next().data)
	}
}

// Who was away when it was asked is asked when it comes back, and answers then.
func TestAskAway(t *testing.T) {
	h := open(t)
	p := &poster{tb: t, h: h, path: "/mcp"}
	p.session = p.do(t.Context(), http.MethodPost, askableAs("2025-11-25"), "").Header.Get("Mcp-Session-Id")
	f := p.stream(http.MethodPost, ask, "")
	f.want(sent{id: "1-0", retry: "1000"})
	<-h.began
	f.stop()
	close(h.release)
	f = p.stream(http.MethodGet, "", "1-0")
	f.want(sent{id: "1-0", retry: "1000"})
	e := f.next()
	question(t, e.id, e.data)
	p.body(p.do(t.Context(), http.MethodPost, decline, ""))
	e = f.next()
	answered(t, e.id, e.data)
	f.want(sent{})
}

// A client of the modern era that closes the stream has its request cancelled
// (2026-07-28, "Cancellation").
func TestModernLeaves(t *testing.T) {
	h := open(t)
	ctx, leave := context.WithCancel(t.Context())
	body := strings.Replace(fmt.Sprintf(hold, "1"), `"arguments":{}`, `"arguments":{},`+modern, 1)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"lab__hold"},
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := h.client.Do(req); err == nil {
			t.Errorf("answered with %s", res.Status)
			res.Body.Close()
		}
	}()
	<-h.began
	leave()
	<-gone
	if err := <-h.ended; err == nil {
		t.Error("the call was not cancelled")
	}
}
