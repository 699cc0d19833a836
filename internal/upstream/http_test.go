package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// endpoint is a legacy HTTP server that leaves its calls, and its GET streams,
// to the test.
func endpoint(t *testing.T, call func(w http.ResponseWriter, n note), stream http.HandlerFunc) *upstream.Conn {
	t.Helper()
	return endpointWith(t, `{"tools":{}}`, func(w http.ResponseWriter, n note) {
		if n.Method == "tools/call" {
			call(w, n)
		}
	}, stream)
}

// endpointWith leaves all requests but the handshake, and what the client
// answers, to the test.
func endpointWith(t *testing.T, capabilities string, call func(w http.ResponseWriter, n note), stream http.HandlerFunc, with ...func(*upstream.Options)) *upstream.Conn {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			stream(w, r)
			return
		}
		var n note
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		switch n.Method {
		case "server/discover":
			w.WriteHeader(http.StatusBadRequest)
		case "initialize":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "the-session")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":{"name":"s","version":"1"}}}`, n.ID, capabilities)
		case "notifications/initialized", "notifications/cancelled":
			w.WriteHeader(http.StatusAccepted)
		default:
			call(w, n)
		}
	}))
	t.Cleanup(srv.Close)
	opt := options(at(srv.URL))
	for _, set := range with {
		set(&opt)
	}
	return dial(t, opt)
}

// modernEndpoint is a modern HTTP server that leaves its streams of news to the
// test.
func modernEndpoint(t *testing.T, capabilities string, listen func(ctx context.Context, n note, uris []string, send func(format string, args ...any))) hub.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n note
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		switch n.Method {
		case "server/discover":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":%s,"ttlMs":0,"cacheScope":"private"}}`, n.ID, capabilities)
		case "subscriptions/listen":
			if r.Header.Get("Mcp-Method") != n.Method {
				t.Errorf("the header says %q", r.Header.Get("Mcp-Method"))
			}
			events(w, ": \n\n")
			listen(r.Context(), n, n.Params.Notifications.Resources, func(format string, args ...any) {
				events(w, "data: "+format+"\n\n", args...)
				w.(http.Flusher).Flush()
			})
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(srv.Close)
	return at(srv.URL)
}

func events(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, format, args...)
}

// An answer that ends too early is asked for once more by its last event. If
// that fails, in whatever way, the call may have been carried out: it is never
// taken for one that was not sent.
func TestResume(t *testing.T) {
	var id atomic.Value
	for _, tt := range []struct {
		name   string
		stream http.HandlerFunc
		want   message.Code // "" for the answer
	}{
		{"the rest comes", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Last-Event-Id") != "e1" || r.Header.Get("Mcp-Session-Id") != "the-session" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			events(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n", id.Load())
		}, ""},
		{"the session is gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, message.OutcomeUnknown},
		{"the server is broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, message.OutcomeUnknown},
		{"nothing more comes", func(w http.ResponseWriter, _ *http.Request) { events(w, ": \n\n") }, message.OutcomeUnknown},
		{"what comes is no message", func(w http.ResponseWriter, _ *http.Request) { events(w, "id: e2\ndata: oh\n\n") }, message.ServerBadReply},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var posts atomic.Int32
			c := endpoint(t, func(w http.ResponseWriter, n note) {
				posts.Add(1)
				id.Store(string(n.ID))
				events(w, "id: e1\nretry: 1\ndata:\n\n")
			}, tt.stream)
			r, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{})
			switch {
			case tt.want == "" && (err != nil || text(r) != "late"):
				t.Errorf("got %v, %v", r, err)
			case tt.want != "" && (!hub.IsCode(err, tt.want) || errors.Is(err, transport.ErrNotSent)):
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if n := posts.Load(); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
		})
	}
}

// When a server says that the session is gone, what it has taken before may be
// answered yet, and the connection waits for nothing else.
func TestLostSession(t *testing.T) {
	taken, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	c := endpoint(t, func(w http.ResponseWriter, n note) {
		if calls.Add(1) > 1 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		close(taken)
		<-release
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"in time"}]}}`, n.ID)
	}, http.NotFound)

	type outcome struct {
		reply *upstream.Reply
		err   error
	}
	slow := make(chan outcome, 1)
	go func() {
		r, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{})
		slow <- outcome{r, err}
	}()
	<-taken
	_, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{})
	if !errors.Is(err, transport.ErrNotSent) || !hub.IsCode(c.Err(), message.SessionLost) {
		t.Errorf("the call over the lost session: %v; the connection: %v", err, c.Err())
	}
	c.Close(t.Context())
	close(release)
	if got := <-slow; got.err != nil || text(got.reply) != "in time" {
		t.Errorf("the call before: %v", got.err)
	}
}

// Until 2025-03-26 a server could send several messages as one; what is in it
// counts as if it had come one by one, on the stream of a call and on that of none.
func TestBatchOverHTTP(t *testing.T) {
	news := make(chan string, 2)
	c := endpointWith(t, `{"tools":{},"logging":{},"resources":{"subscribe":true}}`, func(w http.ResponseWriter, n note) {
		events(w, "data: [{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"1\"}},"+
			"{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}]\n\n", n.ID)
	}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			return
		}
		events(w, "data: [{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"a:/1\"}},"+
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"a:/2\"}}]\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(o *upstream.Options) { o.Updated = func(uri string, _ []byte) { news <- uri } })
	who := &caller{}
	r, err := c.Do(t.Context(), request(t, "x", "{}", ""), who)
	if err != nil {
		t.Fatal(err)
	}
	if got := who.notes("notifications/message"); text(r) != "done" || len(got) != 1 {
		t.Errorf("got %s after %d lines", text(r), len(got))
	}
	if one, two := <-news, <-news; one != "a:/1" || two != "a:/2" {
		t.Errorf("told of %s and %s", one, two)
	}
}
