package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/protocol"
)

const (
	maxErrorBody = 64 << 10
	maxRedirects = 3
	tailLimit    = time.Second
)

// HTTP is the client's side of streamable HTTP, of both eras: it posts single
// messages and reads what comes back. It keeps connections open between
// requests, and no other state. Safe for concurrent use.
type HTTP struct {
	opt     HTTPOptions
	url     *url.URL
	header  http.Header
	pool    *http.Transport // without an http.Client: its layers cost more than they do here
	tails   sync.WaitGroup  // ends of answers still being read
	closed  context.Context // ends with Close
	retired atomic.Bool
	mu      sync.Mutex
	done    bool // Close was called: no more tails
	close   context.CancelFunc
}

// NewHTTP returns a client, which nothing is sent by yet. Close ends it. The
// error is that of the URL.
func NewHTTP(opt HTTPOptions) (*HTTP, error) {
	endpoint, header, err := opt.endpoint()
	if err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	header.Set("Accept", protocol.ContentJSON+", "+protocol.ContentEvents)
	h := &HTTP{
		opt:    opt,
		url:    endpoint,
		header: header,
		pool:   opt.pool(),
	}
	h.closed, h.close = context.WithCancel(context.Background())
	return h, nil
}

// Close ends the requests under way and drops all connections.
func (h *HTTP) Close() {
	h.close()
	h.mu.Lock()
	h.done = true
	h.mu.Unlock()
	h.tails.Wait()
	h.pool.CloseIdleConnections()
}

// aside runs f beside the requests; Close waits for it. It reports false, and
// does not run f, once the client is closed.
func (h *HTTP) aside(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.done {
		h.tails.Go(f)
	}
	return !h.done
}

// Retire drops all connections but those of requests under way, which are
// dropped after them. It is for a client that is not used for anything new.
func (h *HTTP) Retire() {
	h.retired.Store(true)
	h.pool.CloseIdleConnections()
}

// tidy is called when a request has ended: its connection may be idle only now.
func (h *HTTP) tidy() {
	if h.retired.Load() {
		h.pool.CloseIdleConnections()
	}
}

// Param is a mirrored argument: the part of the header's name after
// Mcp-Param-, and the value, not encoded yet.
type Param struct{ Name, Value string }

// Outbound is one message to post, with what the headers say of it.
type Outbound struct {
	Body     []byte
	Session  string            // legacy: Mcp-Session-Id, once there is one
	Revision protocol.Revision // "" before it is agreed upon
	Method   string            // modern: mirrored into headers
	Name     string            // modern: mirrored if the method has a routing key
	Params   []Param           // modern
}

// Stream tells how an answer ended.
type Stream struct {
	Session string        // Mcp-Session-Id of the answer
	LastID  string        // last event id, "" if the answer was no event stream or had none
	Retry   time.Duration // what the server asked to wait before resuming
	Ended   bool          // the stream ended before on was satisfied
}

// Post sends one message and gives each message of the answer to on, in the
// order of arrival, until on returns false or the answer ends. The bytes
// belong to on. An answer without a body (202) gives nothing.
//
// The error is one for which errors.Is(err, ErrNotSent) holds if the message
// provably never left, a [*StatusError], a [*ContentTypeError], a
// [*TooLargeError], [ErrIdle], or that of the connection or of ctx.
func (h *HTTP) Post(ctx context.Context, out *Outbound, on func(raw []byte) (more bool)) (Stream, error) {
	return h.exchange(ctx, h.request(http.MethodPost, out), out.Body, on)
}

// Listen opens the event stream of a legacy session and gives each of its
// messages to on; lastID, if not empty, asks for what came after that event.
// A server that has no such stream answers 405, a [*StatusError].
func (h *HTTP) Listen(ctx context.Context, session string, rev protocol.Revision, lastID string, on func(raw []byte) (more bool)) (Stream, error) {
	req := h.request(http.MethodGet, &Outbound{Session: session, Revision: rev})
	req.Header.Set("Accept", protocol.ContentEvents)
	if lastID != "" {
		req.Header.Set(protocol.HeaderEventID, lastID)
	}
	return h.exchange(ctx, req, nil, on)
}

// Delete ends a legacy session. A server may not allow it (405).
func (h *HTTP) Delete(ctx context.Context, session string, rev protocol.Revision) error {
	req := h.request(http.MethodDelete, &Outbound{Session: session, Revision: rev})
	res, err := h.authorized(req.WithContext(ctx), nil)
	if err != nil {
		return plain(err)
	}
	defer drain(res.Body)
	if res.StatusCode >= 300 {
		return &StatusError{Status: res.StatusCode, Header: res.Header}
	}
	return nil
}

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
	if err := ctx.Err(); err != nil {
		// Over TLS the server may still answer to the end of its connection, which
		// is taken for the answer to the request now and then.
		return causeOf(ctx, err)
	}
	return nil
}

// request builds what http.NewRequest would, with the URL parsed before.
func (h *HTTP) request(method string, out *Outbound) *http.Request {
	req := &http.Request{
		Method: method, URL: h.url, Host: h.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(h.header)+4),
	}
	if method == http.MethodPost {
		// There is no GetBody: with it net/http sends a request again by itself,
		// also one that a server has taken (design D6).
		req.ContentLength = int64(len(out.Body))
		req.Body = io.NopCloser(bytes.NewReader(out.Body))
	}
	h.setHeader(req.Header, out)
	return req
}

// send gets the answer's header, after a few redirects at most. body is that of
// the request, nil for none.
func (h *HTTP) send(req *http.Request, body []byte) (*http.Response, error) {
	for hop := 0; ; hop++ {
		res, err := h.pool.RoundTrip(req)
		if err != nil || hop == maxRedirects {
			return res, err
		}
		to, ok := redirected(res)
		if !ok {
			return res, nil
		}
		drain(res.Body)
		req = req.WithContext(req.Context()) // a copy: a transport may hold on to the first
		req.URL, req.Host = to, to.Host
		if body != nil {
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
	}
}

// ask is send for whoever wants a success: any other status is an error, and
// so is a request that was not answered, with what is known of whether it left.
func (h *HTTP) ask(req *http.Request, body []byte) (*http.Response, error) {
	res, err := h.authorized(req, body)
	if err != nil {
		if neverLeft(err) {
			return nil, fmt.Errorf("%w: %w", ErrNotSent, plain(err))
		}
		return nil, plain(err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, refusal(res)
	}
	return res, nil
}

// refusal is the error for an answer that is no success, of which it reads the
// body and closes it.
func refusal(res *http.Response) *StatusError {
	defer drain(res.Body)
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	return &StatusError{Status: res.StatusCode, Header: res.Header, Body: body}
}

// contentType is the type of an answer's body, without parameters.
func contentType(res *http.Response) string {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(kind)
}

// redirected returns where a request is to be sent instead, as it is. That is
// only what 307 and 308 say (RFC 9110, section 15.4); with any other answer the
// request may have been carried out. Another host is never gone to: the headers
// hold this server's credentials.
func redirected(res *http.Response) (*url.URL, bool) {
	switch res.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		from := res.Request.URL
		to, err := res.Location()
		return to, err == nil && to.Scheme == from.Scheme && to.Host == from.Host
	}
	return nil, false
}

func (h *HTTP) setHeader(to http.Header, out *Outbound) {
	maps.Copy(to, h.header)
	if out.Body != nil {
		to["Content-Type"] = jsonType
	}
	if out.Session != "" {
		to[protocol.HeaderSession] = []string{out.Session}
	}
	if out.Revision != "" {
		to[protocol.HeaderVersion] = []string{string(out.Revision)}
	}
	if out.Revision.Era() == protocol.Legacy {
		return
	}
	if out.Method != "" {
		to[protocol.HeaderMethod] = []string{out.Method}
	}
	if out.Name != "" {
		to[protocol.HeaderName] = []string{protocol.EncodeHeader(out.Name)}
	}
	for _, p := range out.Params {
		to.Set(protocol.HeaderParam+p.Name, protocol.EncodeHeader(p.Value))
	}
}

// exchange sends the request and reads the answer.
func (h *HTTP) exchange(ctx context.Context, req *http.Request, body []byte, on func([]byte) bool) (Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	loose := context.AfterFunc(h.closed, func() { cancel(errStreamClosed) })
	tail := false
	defer func() {
		if !tail {
			loose()
			cancel(nil)
		}
		h.tidy()
	}()
	res, err := h.ask(req.WithContext(ctx), body)
	if err != nil {
		return Stream{}, err
	}
	got := Stream{Session: res.Header.Get(protocol.HeaderSession)}
	kind := contentType(res)
	switch {
	case strings.EqualFold(kind, protocol.ContentJSON):
		body, err := readBody(res, h.opt.MaxMessage)
		if err != nil {
			return got, plain(err)
		}
		got.Ended = len(body) == 0 || on(body)
		return got, nil
	case strings.EqualFold(kind, protocol.ContentEvents):
		end := func(cause error) { loose(); cancel(cause) }
		tail, err = h.events(ctx, end, res.Body, &got, on)
		return got, err
	case res.StatusCode == http.StatusAccepted || res.ContentLength == 0:
		drain(res.Body)
		got.Ended = true
		return got, nil
	}
	drain(res.Body)
	return got, &ContentTypeError{Type: kind}
}

// events reads a stream to its end or until on is satisfied. In the second
// case it reports tail: what follows is read aside, and ctx ended then.
func (h *HTTP) events(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser, got *Stream, on func([]byte) bool) (tail bool, err error) {
	events := h.stream(cancel, body)
	for {
		e, err := events.Next()
		if err != nil {
			events.close()
			got.Ended = true
			if errors.Is(err, io.EOF) {
				return false, nil
			}
			return false, causeOf(ctx, err)
		}
		if e.ID != "" {
			got.LastID = e.ID
		}
		if e.Retry > 0 {
			got.Retry = e.Retry
		}
		if len(e.Data) == 0 || on(e.Data) {
			continue
		}
		// Most servers end the stream right behind the response; the
		// connection can be used again if that end is read. The caller need
		// not wait for it, and a server that leaves the stream open loses it.
		events.watch.Stop()
		tail = h.aside(func() {
			defer cancel(nil)
			defer events.Release()
			limit := time.AfterFunc(tailLimit, func() { cancel(nil) })
			defer limit.Stop()
			drain(body)
		})
		if !tail {
			events.close()
		}
		return tail, nil
	}
}

// readBody reads a whole body of up to limit bytes into a slice of its size.
func readBody(res *http.Response, limit int) ([]byte, error) {
	defer drain(res.Body)
	if res.ContentLength > int64(limit) {
		return nil, &TooLargeError{Limit: limit}
	}
	if res.ContentLength >= 0 {
		body := buffer(int(res.ContentLength))
		_, err := io.ReadFull(res.Body, body)
		return body, err
	}
	return readUpTo(res.Body, limit)
}

// readUpTo reads what r has, up to limit bytes.
func readUpTo(r io.Reader, limit int) ([]byte, error) {
	all := make([]byte, 0, 4<<10)
	for {
		if len(all) > limit {
			return nil, &TooLargeError{Limit: limit}
		}
		if all = grow(all, 1); len(all) == cap(all) {
			all = append(all, 0)[:len(all)]
		}
		n, err := r.Read(all[len(all):cap(all)])
		all = all[:len(all)+n]
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// drain reads what little is left of a body, so that the connection can be
// used again, and closes it.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}

// plain takes method and URL off an error of net/http: the URL may hold a
// secret, and who reports the error names the server.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// causeOf returns why ctx ended, if it has, and else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return plain(err)
}
