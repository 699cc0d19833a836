package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/protocol"
)

// SSE is the client's side of HTTP with server-sent events (2024-11-05,
// "Transports"): a duplex stream of which one direction is an event stream and
// the other one a POST for each message.
//
// Read is for one goroutine; everything else may be called from any.
type SSE struct {
	http   *HTTP
	to     *url.URL     // where messages are posted
	in     chan arrival // unbuffered: who reads slowly slows the server down
	done   chan struct{}
	ended  error // why the stream ended; to be read after done
	junked atomic.Int64
}

// arrival is a message, or that one was too large.
type arrival struct {
	msg []byte
	err error
}

// DialSSE opens the event stream and waits until the server has said where
// messages go to. ctx bounds that, and not the stream, which is to be closed.
//
// The error is that of the URL or of ctx, a [*StatusError], a
// [*ContentTypeError], an [*EndpointError], [io.EOF] if the stream ended before
// it began, or that of the connection.
func DialSSE(ctx context.Context, opt HTTPOptions) (*SSE, error) {
	client, err := NewHTTP(opt)
	if err != nil {
		return nil, err
	}
	s := &SSE{http: client, in: make(chan arrival), done: make(chan struct{})}
	life, end := context.WithCancelCause(client.closed)
	inTime := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	events, err := s.open(life, end)
	if err == nil && !inTime() {
		events.close()
		err = context.Cause(ctx)
	}
	if err != nil {
		end(nil)
		client.Close()
		return nil, err
	}
	go s.receive(life, end, events)
	return s, nil
}

// open gets the stream and reads it up to the endpoint.
func (s *SSE) open(life context.Context, end context.CancelCauseFunc) (*eventStream, error) {
	req := s.http.request(http.MethodGet, &Outbound{})
	req.Header.Set("Accept", protocol.ContentEvents)
	res, err := s.http.ask(req.WithContext(life), nil)
	if err != nil {
		return nil, causeOf(life, err)
	}
	if kind := contentType(res); !strings.EqualFold(kind, protocol.ContentEvents) {
		drain(res.Body)
		return nil, &ContentTypeError{Type: kind}
	}
	events := s.http.stream(end, res.Body)
	for {
		e, err := events.Next()
		if err == nil && e.Name != "endpoint" {
			s.skip(e.Data)
			continue
		}
		if err == nil {
			s.to, err = endpointOf(res.Request.URL, string(e.Data))
		}
		if err != nil {
			events.close()
			return nil, causeOf(life, err)
		}
		return events, nil
	}
}

// endpointOf is where a server has messages sent to: an address relative to
// the stream's, and on the same origin.
func endpointOf(stream *url.URL, said string) (*url.URL, error) {
	to, err := stream.Parse(strings.TrimSpace(said))
	if err != nil {
		return nil, fmt.Errorf("read the endpoint's address: %w", plain(err))
	}
	if to.Scheme != stream.Scheme || !strings.EqualFold(to.Hostname(), stream.Hostname()) || port(to) != port(stream) {
		return nil, &EndpointError{Origin: to.Scheme + "://" + to.Host}
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	return to, nil
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// receive reads the stream to its end.
func (s *SSE) receive(life context.Context, end context.CancelCauseFunc, events *eventStream) {
	defer close(s.done)
	defer end(nil)
	defer events.close()
	for {
		e, err := events.Next()
		tooLarge := err != nil && isTooLarge(err)
		switch {
		case tooLarge:
			s.hand(life, arrival{err: err})
		case err != nil:
			if err = causeOf(life, err); s.http.closed.Err() != nil {
				err = io.EOF
			} else if !errors.Is(err, ErrIdle) {
				err = final(err)
			}
			s.ended = err
			return
		default:
			// The name of an event says nothing: there are servers that send
			// notifications as "notification".
			if msg, ok := message(e.Data); ok {
				s.hand(life, arrival{msg: msg})
			} else if e.Name != "endpoint" {
				s.skip(e.Data)
			}
		}
	}
}

// hand gives a message to the reader, if there is going to be one.
func (s *SSE) hand(life context.Context, a arrival) {
	select {
	case s.in <- a:
	case <-life.Done():
	}
}

// skip accounts for an event whose data is no message. Events without data are
// no junk: they carry an id or a time, or only keep the connection open.
func (s *SSE) skip(data []byte) {
	if len(data) == 0 {
		return
	}
	s.junked.Add(1)
	if s.http.opt.Junk != nil {
		s.http.opt.Junk(data[:min(len(data), maxJunk)])
	}
}

// Junked is the number of events so far that were skipped because their data
// was no message.
func (s *SSE) Junked() int64 { return s.junked.Load() }

// Read returns the next message, be it from the stream or from the answer to a
// POST. The bytes are the caller's.
//
// An event of more than MaxMessage bytes is discarded as it comes, and Read
// returns a [*TooLargeError]; the next Read goes on behind it. Every other
// error is final, and is [io.EOF] when the server ended the stream or it was
// closed on this side, and [ErrIdle] when it was silent for longer than
// StreamIdle.
func (s *SSE) Read() ([]byte, error) {
	select {
	case a := <-s.in:
		return a.msg, a.err
	case <-s.done:
		return nil, s.ended
	}
}

// Write posts a message and returns when the server has answered the POST.
// There are servers that do so only when they have answered the message itself.
//
// If errors.Is(err, [ErrNotSent]), the message provably never left. A
// [*StatusError] or [*TooLargeError] is about this message alone. Any other
// error leaves open whether the server has got it.
func (s *SSE) Write(ctx context.Context, msg []byte) error {
	if ctx.Err() != nil {
		return notSent(context.Cause(ctx))
	}
	select {
	case <-s.done:
		return notSent(errStreamClosed)
	default:
	}
	defer s.http.tidy()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.http.closed, func() { cancel(errStreamClosed) })()
	req := s.http.request(http.MethodPost, &Outbound{Body: msg})
	req.URL, req.Host = s.to, s.to.Host
	res, err := s.http.ask(req.WithContext(ctx), msg)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !strings.EqualFold(contentType(res), protocol.ContentJSON) {
		// 202, as it should be. Some servers send the answer in its body as
		// well as on the stream.
		drain(res.Body)
		return nil
	}
	body, err := readBody(res, s.http.opt.MaxMessage)
	if err != nil {
		return plain(err)
	}
	if msg, ok := message(body); ok {
		select {
		case s.in <- arrival{msg: msg}:
		case <-s.done:
		case <-ctx.Done():
		}
	}
	return nil
}

// Close ends the stream and the POSTs under way, and returns when the stream
// has ended. It may be called again.
func (s *SSE) Close() error {
	s.http.Retire()
	s.http.Close()
	<-s.done
	return nil
}
