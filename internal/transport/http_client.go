package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/protocol"
)

// Limits of one HTTP server. Zero values stand for the defaults.
const (
	DefaultConnect    = 10 * time.Second
	DefaultStreamIdle = 300 * time.Second
	DefaultMaxMessage = 64 << 20

	maxErrorBody = 64 << 10
	maxRedirects = 3
	tailLimit    = time.Second
)

// HTTPOptions describe an MCP endpoint.
type HTTPOptions struct {
	URL        string
	Header     map[string]string // sent with every request; may not be one of the transport's own
	Connect    time.Duration     // to open a connection, TLS included
	StreamIdle time.Duration     // an event stream may be silent so long
	MaxMessage int               // bytes
}

// HTTP is the client's side of streamable HTTP, of both eras: it posts single
// messages and reads what comes back. It keeps connections open between
// requests, and no other state. Safe for concurrent use.
type HTTP struct {
	opt    HTTPOptions
	header http.Header
	client *http.Client
	pool   *http.Transport
	tails  sync.WaitGroup // ends of answers still being read
}

// NewHTTP returns a client; Close drops its idle connections.
func NewHTTP(opt HTTPOptions) *HTTP {
	if opt.Connect <= 0 {
		opt.Connect = DefaultConnect
	}
	if opt.StreamIdle <= 0 {
		opt.StreamIdle = DefaultStreamIdle
	}
	if opt.MaxMessage <= 0 {
		opt.MaxMessage = DefaultMaxMessage
	}
	header := http.Header{}
	for k, v := range opt.Header {
		header.Set(k, v)
	}
	header.Set("Accept", protocol.ContentJSON+", "+protocol.ContentEvents)
	header.Set("Content-Type", protocol.ContentJSON)
	dialer := &net.Dialer{Timeout: opt.Connect, KeepAlive: 30 * time.Second}
	pool := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    opt.Connect,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		WriteBufferSize:        16 << 10,
		ReadBufferSize:         16 << 10,
	}
	return &HTTP{
		opt:    opt,
		header: header,
		pool:   pool,
		client: &http.Client{Transport: pool, CheckRedirect: sameHost},
	}
}

// sameHost follows a few redirects, but never to another host: the headers
// hold this server's credentials.
func sameHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Close waits for the ends of answers that are still being read, a second at
// most, and drops idle connections. Requests under way go on.
func (h *HTTP) Close() {
	h.tails.Wait()
	h.pool.CloseIdleConnections()
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
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.opt.URL, bytes.NewReader(out.Body))
	if err != nil {
		cancel(nil)
		return Stream{}, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	h.setHeader(req.Header, out)
	return h.exchange(ctx, cancel, req, on)
}

// Listen opens the event stream of a legacy session and gives each of its
// messages to on; lastID, if not empty, asks for what came after that event.
// A server that has no such stream answers 405, a [*StatusError].
func (h *HTTP) Listen(ctx context.Context, session string, rev protocol.Revision, lastID string, on func(raw []byte) (more bool)) (Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.opt.URL, nil)
	if err != nil {
		cancel(nil)
		return Stream{}, err
	}
	h.setHeader(req.Header, &Outbound{Session: session, Revision: rev})
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", protocol.ContentEvents)
	if lastID != "" {
		req.Header.Set(protocol.HeaderEventID, lastID)
	}
	return h.exchange(ctx, cancel, req, on)
}

// Delete ends a legacy session. A server may not allow it (405).
func (h *HTTP) Delete(ctx context.Context, session string, rev protocol.Revision) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, h.opt.URL, nil)
	if err != nil {
		return err
	}
	h.setHeader(req.Header, &Outbound{Session: session, Revision: rev})
	res, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer drain(res.Body)
	if res.StatusCode >= 300 {
		return &StatusError{Status: res.StatusCode, Header: res.Header}
	}
	return nil
}

func (h *HTTP) setHeader(to http.Header, out *Outbound) {
	for k, v := range h.header {
		to[k] = v
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

// exchange sends the request and reads the answer. It ends ctx by cancel when
// no more is to be read.
func (h *HTTP) exchange(ctx context.Context, cancel context.CancelCauseFunc, req *http.Request, on func([]byte) bool) (Stream, error) {
	tail := false
	defer func() {
		if !tail {
			cancel(nil)
		}
	}()
	res, err := h.client.Do(req)
	if err != nil {
		if neverLeft(err) {
			return Stream{}, fmt.Errorf("%w: %w", ErrNotSent, plain(err))
		}
		return Stream{}, plain(err)
	}
	got := Stream{Session: res.Header.Get(protocol.HeaderSession)}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer drain(res.Body)
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		return got, &StatusError{Status: res.StatusCode, Header: res.Header, Body: body}
	}
	kind := res.Header.Get("Content-Type")
	if i := strings.IndexByte(kind, ';'); i >= 0 {
		kind = strings.TrimSpace(kind[:i])
	}
	switch {
	case strings.EqualFold(kind, protocol.ContentJSON):
		body, err := readBody(res, h.opt.MaxMessage)
		if err != nil {
			return got, plain(err)
		}
		got.Ended = len(body) == 0 || on(body)
		return got, nil
	case strings.EqualFold(kind, protocol.ContentEvents):
		tail, err = h.events(ctx, cancel, res.Body, &got, on)
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
	watch := time.AfterFunc(h.opt.StreamIdle, func() { cancel(ErrIdle) })
	events := NewEventReader(&touched{body, watch, h.opt.StreamIdle}, h.opt.MaxMessage)
	for {
		e, err := events.Next()
		if err != nil {
			watch.Stop()
			events.Release()
			_ = body.Close()
			got.Ended = true
			if errors.Is(err, io.EOF) {
				return false, nil
			}
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return false, plain(err)
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
		watch.Stop()
		h.tails.Go(func() {
			defer cancel(nil)
			defer events.Release()
			limit := time.AfterFunc(tailLimit, func() { cancel(nil) })
			defer limit.Stop()
			drain(body)
		})
		return true, nil
	}
}

// touched puts off the idle watch at every byte that comes.
type touched struct {
	r     io.Reader
	watch *time.Timer
	idle  time.Duration
}

func (t *touched) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n > 0 {
		t.watch.Reset(t.idle)
	}
	return n, err
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
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(limit)+1))
	if err == nil && len(body) > limit {
		return nil, &TooLargeError{Limit: limit}
	}
	return body, err
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
