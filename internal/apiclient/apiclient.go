// Package apiclient is the Go client of the HTTP API that package api
// describes: one method for each operation, over a hub's local socket or over
// the network.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// maxAnswer bounds an answer. A tool's result is 64 MiB at most.
const maxAnswer = 128 << 20

// maxTries is how often a request is made whose connection was lost.
const maxTries = 5

// askLimit is how long the hub may take to ask for a request's body.
const askLimit = 10 * time.Second

// Options say which hub is meant, and who asks.
type Options struct {
	// URL is where the hub listens, such as "http://127.0.0.1:8080". What
	// stands after the host is ignored. Not needed with Socket.
	URL string

	// Socket is the path of the hub's local socket, used in place of URL.
	Socket string

	// Dial makes the connections to the socket, in place of the usual way to
	// Socket, which is then only a name for people. It may lead to another hub
	// each time: a request whose connection was lost is made again if doing it
	// twice does no harm, or if the hub cannot have done it.
	Dial func(ctx context.Context) (net.Conn, error)

	// Token is sent as a bearer token if it is not empty.
	Token string

	// Lang is the language of the hub's texts; English if empty.
	Lang message.Lang
}

// Client asks one hub. Its methods may be called from any goroutine.
//
// Their errors are an [*Error] if the hub refused, with the code and the texts
// that it gave, or a [*hub.Error]: hub_unreachable if nobody answered, and
// hub_answer_unusable if what answered is no hub that this client
// understands. A context's end is returned as its own error.
type Client struct {
	base  string
	where string // for texts; no secret
	token string
	lang  message.Lang
	http  *http.Client
	tries int // of a request, if it may be made again
}

// New returns a client; it connects to nobody yet. The error is a
// [*hub.Error] about the URL. The caller closes the client.
func New(opt Options) (*Client, error) {
	c := &Client{token: opt.Token, lang: opt.Lang, http: &http.Client{
		// The token is for this hub alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, tries: 1}
	if c.lang == "" {
		c.lang = message.English
	}
	if opt.Socket != "" {
		c.base, c.where = SocketURL+api.Base, opt.Socket
		t := SocketTransport(opt.Socket)
		if opt.Dial != nil {
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return opt.Dial(ctx) }
			t.ExpectContinueTimeout = askLimit
			c.tries = maxTries
		}
		c.http.Transport = t
		return c, nil
	}
	u, err := url.Parse(opt.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, hub.E(message.HubURLInvalid, nil)
	}
	c.http.Transport = http.DefaultTransport.(*http.Transport).Clone()
	c.where = u.Scheme + "://" + u.Host
	c.base = c.where + api.Base
	return c, nil
}

// SocketURL is the URL, without a path, of whatever is asked over a
// [SocketTransport].
const SocketURL = "http://localhost"

// SocketTransport returns a transport that connects to the local socket at
// path, whichever host is asked for, and to nothing else.
func SocketTransport(path string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
}

// Where is how to name the hub to a person: its address or socket.
func (c *Client) Where() string { return c.where }

// Close gives idle connections back. Calls under way go on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one request of the API.
type request struct {
	method string
	path   string // below Base
	query  url.Values
	body   any               // marshalled if it is not nil
	header map[string]string // besides the usual ones
	again  bool              // doing it twice does no harm, whatever its method
}

// send makes the request. The answer is one of success, and the caller closes
// its body; everything else is an error.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = encode(r.body); err != nil {
			return nil, err
		}
	}
	for tries := c.tries; ; {
		content := &content{Reader: bytes.NewReader(body)}
		req, err := c.request(ctx, r, content, len(body))
		if err != nil {
			return nil, err
		}
		resp, err := c.http.Do(req)
		undone := r.again || r.method == http.MethodGet || len(body) > 0 && !content.sent.Load()
		if tries--; err != nil && undone && tries > 0 && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, c.lost(ctx, err)
		}
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			defer resp.Body.Close()
			return nil, c.refusal(resp)
		}
		return resp, nil
	}
}

// content is the body of a request. As long as nothing was read of it the hub
// has not got it, and does nothing.
type content struct {
	io.Reader
	sent atomic.Bool
}

// Read implements [io.Reader].
func (c *content) Read(b []byte) (int, error) {
	c.sent.Store(true)
	return c.Reader.Read(b)
}

// request is the request as it goes over HTTP.
func (c *Client) request(ctx context.Context, r request, body io.Reader, size int) (*http.Request, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	if size == 0 {
		body = nil
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("make a request of the API: %w", err)
	}
	if size > 0 {
		req.ContentLength = int64(size)
		req.Header.Set("Content-Type", "application/json")
	}
	if size > 0 && c.tries > 1 {
		// The body is sent when the hub asks for it (RFC 9110, section 10.1.1).
		req.Header.Set("Expect", "100-continue")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Language", string(c.lang))
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// lost is the error of a hub that did not answer, or not to the end.
func (c *Client) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*hub.Error](err); ok {
		return e // of Options.Dial
	}
	cause := err
	if u, ok := errors.AsType[*url.Error](err); ok {
		cause = u.Err
	}
	return hub.E(message.HubUnreachable, err, "where", c.where).With("detail", message.Cause(cause))
}

// into makes the request and decodes its answer into out, unless that is nil.
func (c *Client) into(ctx context.Context, r request, out any) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.lost(ctx, err)
	case len(raw) > maxAnswer:
		return c.unusable("the answer is larger than %d MiB", maxAnswer>>20)
	case out == nil:
		return nil
	}
	if text, ok := out.(*json.RawMessage); ok && json.Valid(raw) {
		*text = raw
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return c.unusable("the answer to %s %s is not the JSON that was expected", r.method, r.path)
	}
	return nil
}

func (c *Client) unusable(format string, args ...any) error {
	return hub.E(message.HubAnswerUnusable, nil, "where", c.where).With("detail", message.Say(format, args...))
}

// encode is json.Marshal that leaves the letters of texts as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a request of the API: %w", err)
	}
	return b.Bytes(), nil
}

// Error is a refusal of the hub. Its texts are the hub's, in the client's
// language.
type Error struct {
	Problem api.Problem
}

// Error is what went wrong.
func (e *Error) Error() string { return e.Text().What }

// Text is what a person is told.
func (e *Error) Text() message.Text {
	what := e.Problem.Title
	if what == "" {
		what = e.Problem.Detail
	}
	if what == "" {
		what = fmt.Sprintf("HTTP %d", e.Problem.Status)
	}
	return message.Text{What: what, Remedy: e.Problem.Remedy}
}

// IsCode reports whether err is a refusal of the hub, or an error of this
// side, with the code.
func IsCode(err error, code message.Code) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Problem.Code == string(code)
	}
	return hub.IsCode(err, code)
}

// refusal reads the problem document of an answer (RFC 9457).
func (c *Client) refusal(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return c.lost(resp.Request.Context(), err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var p api.Problem
	if !strings.HasSuffix(kind, "json") || json.Unmarshal(raw, &p) != nil || p.Code == "" {
		return c.unusable("HTTP %d without a problem that this program understands", resp.StatusCode)
	}
	p.Status = resp.StatusCode
	return &Error{Problem: p}
}
