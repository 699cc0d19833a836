package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// wallet has a token, and what is to follow when it is refused.
type wallet struct {
	token   atomic.Pointer[string]
	refused func(status int) (string, error) // the next token, "" for none
}

func (w *wallet) Authorization(context.Context) (string, error) {
	return "Bearer " + *w.token.Load(), nil
}

func (w *wallet) Refused(_ context.Context, _ string, status int, _ http.Header) (bool, error) {
	next, err := w.refused(status)
	if next != "" {
		w.token.Store(&next)
	}
	return next != "", err
}

// A call that is refused since the token is old is sent again with the new one,
// which is then taken out of what the server says; where somebody has to log in
// first, the connection ends, and where rights are missing it stays.
func TestCredentials(t *testing.T) {
	first := "first-token-value"
	for name, test := range map[string]struct {
		status  int
		refused func(status int) (string, error)
		want    message.Code // "" for an answer
		ends    bool
	}{
		"a new token": {401, func(int) (string, error) { return "second-token-value", nil }, "", false},
		"a login is needed": {401, func(int) (string, error) {
			return "", hub.E(message.UpstreamLoginNeeded, nil, "server", "s", "issuer", "i")
		}, message.UpstreamLoginNeeded, true},
		"rights are missing": {403, func(int) (string, error) {
			return "", hub.E(message.UpstreamScopeNeeded, nil, "server", "s", "scopes", "x")
		}, message.UpstreamScopeNeeded, false},
		"no login would help": {403, func(int) (string, error) { return "", nil }, message.ServerUnauthorized, false},
	} {
		t.Run(name, func(t *testing.T) {
			by := &wallet{refused: test.refused}
			by.token.Store(&first)
			calls := 0
			c := endpointWith(t, `{"tools":{}}`, func(w http.ResponseWriter, n note) {
				if n.Method != "tools/call" {
					return
				}
				if calls++; calls == 1 {
					w.WriteHeader(test.status)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"who is %s?"}}`, n.ID, "second-token-value")
			}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
				func(o *upstream.Options) { o.Authorize = func(hub.Server) transport.Authorizer { return by } })
			_, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{})
			if test.want == "" {
				if err != nil || calls != 2 {
					t.Errorf("%v after %d calls", err, calls)
				}
			} else if !hub.IsCode(err, test.want) || calls != 1 {
				t.Errorf("%v after %d calls", err, calls)
			}
			if ended := c.Err() != nil; ended != test.ends {
				t.Errorf("the connection has ended: %v, %v", ended, c.Err())
			}
			if err != nil && strings.Contains(err.Error(), "token-value") {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}
