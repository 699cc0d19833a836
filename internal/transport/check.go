package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Check sends a GET for the path, and a query behind it, to the endpoint's host,
// with the endpoint's headers and nothing else. It returns nil if the answer is
// a success; its body is dropped. As with everything, no other host is gone to.
//
// The error is one for which errors.Is(err, ErrNotSent) holds if the request
// provably never left, a [*StatusError], or that of the path, of the connection
// or of ctx.
func (h *HTTP) Check(ctx context.Context, path string) error {
	to, err := url.ParseRequestURI(path)
	if err != nil || to.Scheme != "" || to.Host != "" {
		return fmt.Errorf("check %q: it is no path", path)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.closed, func() { cancel(errStreamClosed) })()
	req := h.request(http.MethodGet, &Outbound{})
	req.Header.Set("Accept", "*/*")
	req.URL = &url.URL{Scheme: h.url.Scheme, Host: h.url.Host, Path: to.Path, RawPath: to.RawPath, RawQuery: to.RawQuery}
	res, err := h.ask(req.WithContext(ctx), nil)
	if err != nil {
		return causeOf(ctx, err)
	}
	drain(res.Body)
	return nil
}
