package transport_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// What is sent on an event stream is recorded before, as it is sent, and goes on
// being recorded when nothing can be sent any more. An answer that needs no
// stream is not.
func TestReplyRecord(t *testing.T) {
	var kept []string
	record := func(_ *transport.Reply, raw []byte) string {
		if raw != nil {
			kept = append(kept, string(raw))
		}
		return "7-" + strconv.Itoa(len(kept))
	}
	opt := transport.ReplyOptions{JSON: true, Events: true, Record: record}

	w := httptest.NewRecorder()
	p := transport.NewReply(w, opt)
	p.Respond(http.StatusOK, []byte(`{"a":1}`))
	if w.Body.String() != `{"a":1}` || len(kept) > 0 {
		t.Errorf("the answer is %s, and %q is kept", w.Body, kept)
	}

	w = httptest.NewRecorder()
	p = transport.NewReply(w, opt)
	p.Notify([]byte("{\n}"))
	p.Detach()
	if err := p.Stream(); err != nil {
		t.Errorf("who can come back is not reached: %v", err)
	}
	p.Notify([]byte(`{"b":1}`))
	p.Respond(http.StatusOK, []byte(`{"c":1}`), wire.Edit{Start: 5, End: 6, Text: []byte("22")})
	p.Notify([]byte(`{"d":1}`)) // behind the end
	if p.Stream() == nil {
		t.Error("behind the end somebody is reached")
	}
	want := "retry: 1000\nid: 7-0\ndata: \n\nevent: message\nid: 7-1\ndata: { }\n\n"
	if w.Body.String() != want || p.Err() == nil {
		t.Errorf("sent is %q, %v", w.Body, p.Err())
	}
	if got := strings.Join(kept, " "); got != `{ } {"b":1} {"c":22}` {
		t.Errorf("kept is %s", got)
	}

	// Who has not got an id cannot come back for anything.
	kept, w = nil, httptest.NewRecorder()
	p = transport.NewReply(w, opt)
	p.Detach()
	if p.Stream() == nil {
		t.Error("a stream has begun that nobody can come back for")
	}
	p.Notify([]byte(`{"e":1}`))
	p.Respond(http.StatusOK, []byte(`{"f":1}`))
	if w.Body.Len() > 0 || len(kept) > 0 {
		t.Errorf("sent is %q, kept %q", w.Body, kept)
	}
}

// Event sends with ids that are given, and begins a stream with or without one.
func TestReplyEvent(t *testing.T) {
	for _, tt := range []struct{ id, want string }{
		{"0-4", "retry: 1000\nid: 0-4\ndata: \n\nevent: message\nid: 0-5\ndata: {}\n\n"},
		{"", "event: message\nid: 0-5\ndata: {}\n\n"},
	} {
		w := httptest.NewRecorder()
		p := transport.NewReply(w, transport.ReplyOptions{Events: true})
		if err := p.Event(tt.id, nil); err != nil || !w.Flushed {
			t.Errorf("the stream has not begun: %v", err)
		}
		if err := p.Event("0-5", []byte("{}")); err != nil || w.Body.String() != tt.want {
			t.Errorf("sent is %q, %v", w.Body, err)
		}
		p.Close()
		if _ = p.Event("0-6", []byte("{}")); w.Body.String() != tt.want {
			t.Errorf("behind the end sent is %q", w.Body)
		}
	}
}
