package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// Authorizer gives requests to one server their credentials. Its methods are
// called from any goroutine.
type Authorizer interface {
	// Authorization returns the value of the header Authorization for the next
	// request, "" for none. After an error nothing is sent.
	Authorization(ctx context.Context) (string, error)

	// Refused is told that the server has answered a request with that header by
	// 401 or 403: it has not carried it out. It reports whether to send it once
	// more, with what Authorization returns then. An error stands in place of the
	// answer.
	Refused(ctx context.Context, used string, status int, header http.Header) (again bool, err error)
}

// maxRefusals is how often a request is sent again because its credentials were
// refused: once since they were old, and once since they were not enough.
const maxRefusals = 2

// authorized is send with the credentials that there are for the server.
func (h *HTTP) authorized(req *http.Request, body []byte) (*http.Response, error) {
	by := h.opt.Authorize
	if by == nil {
		return h.send(req, body)
	}
	ctx := req.Context()
	for try := 0; ; try++ {
		used, err := by.Authorization(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		if used != "" {
			req.Header["Authorization"] = []string{used}
		} else {
			delete(req.Header, "Authorization")
		}
		res, err := h.send(req, body)
		if err != nil || !isRefused(res.StatusCode) || try == maxRefusals {
			return res, err
		}
		again, err := by.Refused(ctx, used, res.StatusCode, res.Header)
		if err != nil || again {
			drain(res.Body)
		}
		if err != nil {
			return nil, err
		}
		if !again {
			return res, nil
		}
		req = req.Clone(ctx) // a transport may hold on to the first
		if body != nil {
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
	}
}

func isRefused(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// unauthorizedError is an error of an [Authorizer].
type unauthorizedError struct{ error }

func (e *unauthorizedError) Unwrap() error { return e.error }

// openWebSocket opens the connection, with the credentials that there are for the
// server.
func openWebSocket(ctx context.Context, opt *HTTPOptions, pool *http.Transport, to string, header http.Header) (*websocket.Conn, *http.Response, error) {
	for try := 0; ; try++ {
		used := ""
		if opt.Authorize != nil {
			var err error
			if used, err = opt.Authorize.Authorization(ctx); err != nil {
				return nil, nil, &unauthorizedError{fmt.Errorf("%w: %w", ErrNotSent, err)}
			}
			header.Del("Authorization")
			if used != "" {
				header.Set("Authorization", used)
			}
		}
		conn, res, err := websocket.Dial(ctx, to, &websocket.DialOptions{
			HTTPClient: &http.Client{
				Transport:     pool,
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			},
			HTTPHeader:   header,
			Subprotocols: []string{Subprotocol},
		})
		if err == nil || opt.Authorize == nil || res == nil || !isRefused(res.StatusCode) || try == maxRefusals {
			return conn, res, err
		}
		again, refused := opt.Authorize.Refused(ctx, used, res.StatusCode, res.Header)
		switch {
		case refused != nil:
			return nil, nil, &unauthorizedError{refused}
		case !again:
			return conn, res, err
		}
	}
}
