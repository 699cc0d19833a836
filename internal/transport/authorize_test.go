package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/toolcrib/toolcrib/internal/transport"
)

// wallet has credentials "Bearer N", of which the next one is taken out when one is
// refused.
type wallet struct {
	n       atomic.Int64
	fail    error // of Authorization
	refused error
	stand   bool // the answer stands
	seen    atomic.Int64
}

func (w *wallet) header() string { return "Bearer " + string(rune('0'+w.n.Load())) }

func (w *wallet) Authorization(context.Context) (string, error) { return w.header(), w.fail }

func (w *wallet) Refused(_ context.Context, used string, status int, _ http.Header) (bool, error) {
	w.seen.Add(1)
	if used != w.header() || status != 401 && status != 403 {
		return false, errors.New("told of something else")
	}
	w.n.Add(1)
	return !w.stand && w.refused == nil, w.refused
}

// What is refused is sent again with other credentials, whole, and only so often;
// what never left is told so.
func TestAuthorizer(t *testing.T) {
	good := "Bearer 2"
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && string(body) != "{}" {
			t.Errorf("the body is %q", body)
		}
		if r.Header.Get("Authorization") != good {
			w.WriteHeader(401)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	post := func(by *wallet) error {
		c, err := transport.NewHTTP(transport.HTTPOptions{URL: server.URL, Authorize: by})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		requests = 0
		_, err = c.Post(t.Context(), &transport.Outbound{Body: []byte("{}")}, func([]byte) bool { return false })
		return err
	}
	if err := post(&wallet{}); err != nil || requests != 3 {
		t.Errorf("%v after %d requests", err, requests)
	}
	good = "Bearer 5"
	if err, ok := errors.AsType[*transport.StatusError](post(&wallet{})); !ok || err.Status != 401 || requests != 3 {
		t.Errorf("%v after %d requests", err, requests)
	}
	if err, ok := errors.AsType[*transport.StatusError](post(&wallet{stand: true})); !ok || err.Status != 401 || requests != 1 {
		t.Errorf("%v after %d requests", err, requests)
	}
	want := errors.New("log in")
	if err := post(&wallet{refused: want}); !errors.Is(err, want) || errors.Is(err, transport.ErrNotSent) || requests != 1 {
		t.Errorf("%v after %d requests", err, requests)
	}
	if err := post(&wallet{fail: want}); !errors.Is(err, want) || !errors.Is(err, transport.ErrNotSent) || requests != 0 {
		t.Errorf("%v after %d requests", err, requests)
	}
	ws := &wallet{}
	_, err := transport.DialWebSocket(t.Context(), transport.HTTPOptions{URL: "ws" + server.URL[4:], Authorize: ws})
	if bad, ok := errors.AsType[*transport.StatusError](err); !ok || bad.Status != 401 || ws.seen.Load() != 2 {
		t.Errorf("WebSocket: %v after %d", err, ws.seen.Load())
	}
	if _, err := transport.DialWebSocket(t.Context(), transport.HTTPOptions{URL: "ws" + server.URL[4:], Authorize: &wallet{refused: want}}); !errors.Is(err, want) {
		t.Errorf("WebSocket: %v", err)
	}
	if _, err := transport.DialSSE(t.Context(), transport.HTTPOptions{URL: server.URL, Authorize: &wallet{refused: want}}); !errors.Is(err, want) {
		t.Errorf("SSE: %v", err)
	}
}

// Credentials go to no other origin, whatever a server says.
func TestAuthorizerStays(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin got %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	c, err := transport.NewHTTP(transport.HTTPOptions{URL: server.URL, Authorize: &wallet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Post(t.Context(), &transport.Outbound{Body: []byte("{}")}, func([]byte) bool { return false }); err == nil {
		t.Error("there is an answer")
	}
}
