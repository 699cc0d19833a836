package apiclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
}

func TestFollowCall(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" {
			t.Error("no event stream is asked for")
		}
		stream(w, ": hello\n\nevent: progress\ndata: {\"progress\":\ndata: {\"progress\":1}}\n\n"+
			"event: log\r\ndata: {\"log\":{}}\r\n\r\nevent: result\ndata: {\"result\":{\"tool\":\"t\"}}\n\n")
	})
	var got []string
	for e, err := range c.FollowCall(t.Context(), api.Call{Tool: "t"}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Progress != nil:
			got = append(got, string(e.Progress))
		case e.Log != nil:
			got = append(got, string(e.Log))
		case e.Result != nil:
			got = append(got, e.Result.Tool)
		}
	}
	if diff := cmp.Diff([]string{`{"progress":1}`, "{}", "t"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFollowCallFails(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want message.Code
	}{
		"a problem":      {"event: problem\ndata: {\"problem\":{\"code\":\"tool_unknown\",\"title\":\"no\"}}\n\n", message.ToolUnknown},
		"an early end":   {"event: progress\ndata: {\"progress\":{}}\n\n", message.HubUnreachable},
		"no JSON":        {"data: x\n\n", message.HubAnswerUnusable},
		"a cut-off end":  {"event: result\ndata: {\"result\":{}}\n", message.HubUnreachable},
		"nothing at all": {"", message.HubUnreachable},
	} {
		c := newClient(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, test.text) })
		var last error
		for _, err := range c.FollowCall(t.Context(), api.Call{Tool: "t"}) {
			last = err
		}
		if !IsCode(last, test.want) {
			t.Errorf("%s: got %v, want %s", name, last, test.want)
		}
	}
}

// Leaving the loop ends the request.
func TestLeavingCancels(t *testing.T) {
	ended := make(chan struct{})
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, "event: progress\ndata: {\"progress\":{}}\n\n")
		<-r.Context().Done()
		close(ended)
	})
	for _, err := range c.FollowCall(t.Context(), api.Call{Tool: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-ended
}

func TestFollowLog(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.RequestURI(); got != api.Base+"/servers/k/log?after=4&follow=true" {
			t.Errorf("asked for %s", got)
		}
		stream(w, "event: news\ndata: ?\n\nevent: line\ndata: {\"seq\":5,\"text\":\"a\"}\n\nevent: line\ndata: {\"seq\":6}\n\n")
	})
	var got []uint64
	for line, err := range c.FollowLog(t.Context(), "k", 4) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line.Seq)
	}
	if diff := cmp.Diff([]uint64{5, 6}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFollowLogEndsWithItsContext(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, "event: line\ndata: {\"seq\":1}\n\n")
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range c.FollowLog(ctx, "k", 0) {
		last = err
		cancel()
	}
	if last != context.Canceled {
		t.Errorf("got %v", last)
	}
}

func TestStreamOfAnotherKind(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	for _, err := range c.FollowLog(t.Context(), "k", 0) {
		if !hub.IsCode(err, message.HubAnswerUnusable) {
			t.Errorf("got %v", err)
		}
	}
}

// Whatever comes, reading it ends, and no line of a text gets lost.
func FuzzRead(f *testing.F) {
	f.Add("event: a\ndata: b\n\n")
	f.Add(": c\r\ndata:\r\n\r\ndata")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for e, err := range read(strings.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			n += 1 + strings.Count(e.data, "\n")
		}
		if lines := strings.Count(text, "data"); n > lines {
			t.Errorf("%d lines of data out of %d", n, lines)
		}
	})
}

func TestReadTellsOfALoss(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "data: a\n\ndata: b")
		w.CloseWithError(io.ErrUnexpectedEOF)
	}()
	var got []string
	for e, err := range read(r) {
		got = append(got, fmt.Sprint(e.data, err))
	}
	if diff := cmp.Diff([]string{"a<nil>", "unexpected EOF"}, got); diff != "" {
		t.Error(diff)
	}
}
