package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	pingEvery = 30 * time.Second
	pongLimit = 10 * time.Second

	// keepBuffer is the largest buffer that a connection keeps for the next
	// message.
	keepBuffer = 64 << 10
)

// WebSocket is the handler of MCP over a WebSocket, to be served at /ws/mcp:
// one message in each frame, in both directions; the subprotocol "mcp" is
// agreed to if it is offered. The query client=stdio says that the client is
// "toolcrib stdio", see [Door.Attached]; group=NAME names a group.
//
// Whoever serves it has checked the request's Origin: browsers let any page
// open a WebSocket to anywhere.
func (d *Door) WebSocket() http.Handler { return http.HandlerFunc(d.webSocket) }

func (d *Door) webSocket(w http.ResponseWriter, r *http.Request) {
	if d.refuseMethod(w, r, http.MethodGet) {
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		d.refuse(w, r, http.StatusUpgradeRequired, hub.E(message.UpgradeRequired, nil))
		return
	}
	door := hub.DoorWebSocket
	if r.URL.Query().Get("client") == "stdio" {
		door = hub.DoorStdio
	}
	group := r.URL.Query().Get(groupParam)
	if d.refuseCaller(w, r, door, group) {
		return
	}
	if e := d.gateway.Known(viewer(principal(r, door), group)); e != nil {
		d.refuse(w, r, statusOf(e), e)
		return
	}
	k := &socket{turn: make(chan struct{}, 1)}
	s, e := d.newStream(r.Context(), gateway.Caller{
		Principal: principal(r, door), Viewer: viewer(principal(r, door), group), Accept: language(r), Device: door == hub.DoorWebSocket,
	}, "", k)
	if e != nil {
		d.refuse(w, r, http.StatusServiceUnavailable, e)
		return
	}
	defer s.end()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{"mcp"},
		// The listener judges the Origin of all requests by one rule, which
		// knows more names of this machine than the request's Host.
		InsecureSkipVerify: true,
	})
	if err != nil {
		return // Accept has answered
	}
	k.conn = conn
	k.converse(s)
}

// socket is the WebSocket of a stream.
type socket struct {
	conn *websocket.Conn

	in      bytes.Buffer // for the reader
	reading atomic.Bool  // the reader waits for the client
	heard   atomic.Int64 // how often the client sent something

	turn  chan struct{} // is full while a message is being written; guards:
	out   []byte        // a message with its edits made
	fault error         // why nothing can be sent any more
}

// converse takes the client's messages until the stream or the connection
// ends.
func (k *socket) converse(s *stream) {
	k.conn.SetReadLimit(-1) // read has a limit that leaves the connection usable
	var all sync.WaitGroup
	defer all.Wait()
	defer func() { _ = k.conn.CloseNow() }() // if it is not closed yet
	defer s.cancel(errEnded)
	all.Go(func() { k.keepAlive(s) })
	all.Go(func() {
		select {
		case <-s.quiet:
			if s.closing() {
				_ = k.conn.Close(websocket.StatusNormalClosure, "")
				return
			}
			_ = k.conn.Close(websocket.StatusGoingAway, "Toolcrib is stopping")
		case <-s.ctx.Done():
		}
	})
	for {
		raw, err := k.read(s.ctx, s.door.limits.MaxBytes)
		if _, large := errors.AsType[*transport.TooLargeError](err); large {
			s.refuse(s.caller(protocol.Legacy), nil, s.door.tooBig())
			continue
		}
		if err != nil {
			return
		}
		s.take(s.ctx, raw)
	}
}

// read returns the next message. One of more than limit bytes is discarded as it
// comes, with a [*transport.TooLargeError]; all other errors are final.
func (k *socket) read(ctx context.Context, limit int) ([]byte, error) {
	k.reading.Store(true)
	defer k.reading.Store(false)
	_, frame, err := k.conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	frame = &overheard{frame, &k.heard}
	k.in.Reset()
	n, err := k.in.ReadFrom(io.LimitReader(frame, int64(limit)+1))
	if n > int64(limit) {
		k.in = bytes.Buffer{}
		if _, err = io.Copy(io.Discard, frame); err == nil {
			err = &transport.TooLargeError{Limit: limit}
		}
	}
	if err != nil {
		return nil, err
	}
	if k.in.Cap() <= keepBuffer {
		return bytes.Clone(k.in.Bytes()), nil
	}
	raw := k.in.Bytes()
	k.in = bytes.Buffer{}
	return raw, nil
}

// overheard counts what is read.
type overheard struct {
	io.Reader
	times *atomic.Int64
}

func (o *overheard) Read(p []byte) (int, error) {
	o.times.Add(1)
	return o.Reader.Read(p)
}

// Send sends one message in one text frame.
func (k *socket) Send(raw []byte, edits ...wire.Edit) error {
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	if k.fault != nil {
		return k.fault
	}
	if len(edits) > 0 {
		k.out = wire.AppendSplice(k.out[:0], raw, edits...)
		raw = k.out
		if cap(k.out) > keepBuffer {
			k.out = nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	if err := k.conn.Write(ctx, websocket.MessageText, raw); err != nil {
		k.fault = fmt.Errorf("write to the client: %w", err)
	}
	return k.fault
}

// keepAlive pings the client, so that neither side nor a proxy between takes
// the silence for a broken connection, and ends the stream if there is no
// answer. While the stream reads nothing, since too many calls are under way,
// no answer could be seen.
func (k *socket) keepAlive(s *stream) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		before := k.heard.Load()
		if !k.reading.Load() {
			continue
		}
		ctx, cancel := context.WithTimeout(s.ctx, pongLimit)
		err := k.conn.Ping(ctx)
		cancel()
		if err != nil && k.reading.Load() && k.heard.Load() == before {
			s.cancel(fmt.Errorf("ping the client: %w", err))
			return
		}
	}
}
