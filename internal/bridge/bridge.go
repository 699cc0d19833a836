// Package bridge is the body of "toolcrib stdio": it joins a client that
// speaks MCP on standard input and output to the hub, by a WebSocket. It
// passes messages on as they are, and outlives the hub: when that goes away
// and comes back, the client's conversation goes on.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// drainLimit is how long the answers to what the client has asked are waited
// for when it has closed its end.
const drainLimit = 10 * time.Second

// goodbye is how long the hub has to say that it has heard that the client has
// gone.
const goodbye = time.Second

// Options describe a bridge.
type Options struct {
	In  io.ReadCloser  // what the client sends, a message on each line
	Out io.WriteCloser // what it reads

	// Dial connects to the hub, and starts one if there is none. It is called
	// again when the hub was lost. Its context bounds the attempt, not the
	// connection.
	Dial func(ctx context.Context) (*Conn, error)

	Lang message.Lang // of errors of the bridge's own; "" stands for English
	Log  *slog.Logger // must not write to Out
}

// errClientGone ends the bridge when nothing can be written to the client.
var errClientGone = errors.New("the client is gone")

// Run connects to the hub and carries messages both ways, in order, until the
// client has gone, the hub is lost for good, or ctx ends.
//
// When In ends, Run returns nil once the answers to the requests under way
// have been written, after 10 s at most. It returns nil, too, when Out cannot
// be written to any more, ctx has ended, or the hub has closed a session that
// the client has shut down. An error means that the hub was not reached: at the
// first attempt, or for 30 s after it was lost.
//
// When the hub is lost, each call under way is answered with the error
// hub_lost, since nobody knows whether it took effect; requests that only the
// hub itself answers are sent again. The client's initialize is repeated
// behind its back, and so are its subscriptions to resources; it is told that the
// lists have changed, where it was promised to be. The questions that it has not
// answered are cancelled, and answers to them go nowhere. What it sends meanwhile
// waits.
//
// Run closes In and Out. A read of In that does not end by that, as those of
// a terminal do not, is left behind with its goroutine.
func Run(ctx context.Context, opt Options) error {
	defer opt.In.Close()
	client := transport.NewLines(opt.In, opt.Out, transport.LinesOptions{
		Junk: func(line []byte) { opt.Log.Warn("the client sent a line that is no message", "bytes", len(line)) },
	})
	defer func() { _ = client.Close() }() // it had its say by then
	conn, err := opt.Dial(ctx)
	if err != nil {
		return fmt.Errorf("reach the hub: %w", err)
	}
	b := &bridge{opt: opt, client: client, book: newBook()}
	b.book.connected(conn)

	ctx, cancel := context.WithCancel(ctx)
	up, down := make(chan error, 1), make(chan error, 1)
	go func() { up <- b.fromClient(ctx) }()
	go func() { down <- b.fromHub(ctx, conn) }()
	select {
	case err = <-up:
		if err == nil {
			err = b.drain(ctx, down)
		}
	case err = <-down:
		down <- nil
	case <-ctx.Done():
	}
	patience := time.AfterFunc(goodbye, cancel)
	b.book.hangUp()
	patience.Stop()
	cancel()
	if e := <-down; err == nil {
		err = e
	}
	if errors.Is(err, errClientGone) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// bridge is a bridge that is up.
type bridge struct {
	opt    Options
	client *transport.Lines
	book   *book
}

// drain waits for the answers that the client has still to get. down tells of
// the end of fromHub, and has something to receive afterwards.
func (b *bridge) drain(ctx context.Context, down chan error) error {
	timer := time.NewTimer(drainLimit)
	defer timer.Stop()
	quiet := b.book.drain()
	b.refuseQuestions(ctx)
	select {
	case <-quiet:
	case <-timer.C:
	case <-ctx.Done():
	case err := <-down:
		down <- nil
		return err
	}
	return nil
}

// fromClient passes on what the client sends. It returns nil at the end of it.
func (b *bridge) fromClient(ctx context.Context) error {
	for {
		line, err := b.client.Read()
		if large, ok := errors.AsType[*transport.TooLargeError](err); ok {
			limit := strconv.Itoa(large.Limit>>20) + " MiB"
			err = b.refuse(ctx, []byte("null"), protocol.CodeInvalidRequest, hub.E(message.MessageTooBig, nil, "limit", limit))
		} else if err == nil {
			err = b.forward(ctx, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// forward sends a line to the hub, as often as needed: a frame that was not
// finished is no message, and has no effect.
func (b *bridge) forward(ctx context.Context, line []byte) error {
	asked, answer := b.book.enter(line)
	var conn *Conn
	for {
		var err error
		if conn, err = b.book.await(ctx, conn); err != nil {
			return err
		}
		if answer != nil {
			var open bool
			if line, open = b.book.answer(conn, answer); !open {
				return nil // the hub that has asked is gone, or has thought better of it
			}
		}
		if conn.write(ctx, line) != nil {
			conn.drop() // so that fromHub notices
			continue
		}
		lost, again := b.book.sent(conn, asked)
		if again {
			continue
		}
		return b.answerLost(ctx, lost)
	}
}

// fromHub passes on what the hub sends, over this connection and those that
// follow.
func (b *bridge) fromHub(ctx context.Context, conn *Conn) error {
	var out outage
	for {
		out.begin()
		err := b.relay(ctx, conn)
		conn.drop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errClientGone) {
			return err
		}
		lost, done := b.book.lose()
		if err := b.cancelQuestions(ctx); err != nil {
			return err
		}
		if err := b.answerLost(ctx, lost); err != nil {
			return err
		}
		if done {
			return nil
		}
		b.opt.Log.Warn("the hub was lost", "unanswered", len(lost), "error", err)
		if conn, err = b.reconnect(ctx, &out); err != nil {
			return err
		}
		b.opt.Log.Info("the hub is back")
	}
}

// relay passes on what comes over one connection, until it or the client is
// lost.
func (b *bridge) relay(ctx context.Context, conn *Conn) error {
	for {
		raw, err := conn.read(ctx)
		if err != nil {
			return err
		}
		if err := b.pass(ctx, raw); err != nil {
			return err
		}
		b.book.delivered()
	}
}

// pass passes a message of the hub on.
func (b *bridge) pass(ctx context.Context, raw []byte) error {
	if raw = b.book.receive(raw); raw == nil {
		return nil
	}
	if err := b.write(ctx, raw); err != nil {
		return err
	}
	b.refuseQuestions(ctx)
	return nil
}

// refuseQuestions answers what is asked of a client that has closed its end, and
// with it can answer no more: the calls that it waits for stand still meanwhile.
func (b *bridge) refuseQuestions(ctx context.Context) {
	conn, ids := b.book.unanswerable()
	for _, id := range ids {
		raw := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
		raw = append(raw, `,"error":{"code":`...)
		raw = strconv.AppendInt(raw, protocol.CodeUnavailable, 10)
		if conn.write(ctx, append(raw, `,"message":"the client has closed its end and cannot answer"}}`...)) != nil {
			return // fromHub notices
		}
	}
}

// cancelQuestions tells the client that nobody waits for its answers any more.
func (b *bridge) cancelQuestions(ctx context.Context) error {
	for _, id := range b.book.drop() {
		raw := append([]byte(`{"jsonrpc":"2.0","method":"`+protocol.NotificationCancelled+`","params":{"requestId":`), id...)
		if err := b.write(ctx, append(raw, `,"reason":"the hub was lost"}}`...)); err != nil {
			return err
		}
	}
	return nil
}

// answerLost answers requests whose outcome nobody knows.
func (b *bridge) answerLost(ctx context.Context, lost []*request) error {
	for _, q := range lost {
		if err := b.refuse(ctx, q.id, protocol.CodeInternal, hub.E(message.HubLost, nil)); err != nil {
			return err
		}
	}
	b.book.delivered()
	return nil
}

// refuse answers the request with the raw id by an error of the bridge's own, in
// the form of the hub's.
func (b *bridge) refuse(ctx context.Context, id []byte, code int, e *hub.Error) error {
	raw := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	raw = append(raw, `,"error":{"code":`...)
	raw = strconv.AppendInt(raw, int64(code), 10)
	raw = append(raw, `,"message":`...)
	raw = wire.AppendString(raw, e.In(b.opt.Lang))
	raw = append(raw, `,"data":{"code":`...)
	raw = wire.AppendString(raw, string(e.Code))
	class := e.Class()
	raw = append(raw, `,"class":"`+string(class)+`","userMessage":`...)
	raw = wire.AppendString(raw, e.Sentence(b.opt.Lang, ""))
	if class == message.ClassOutcome {
		raw = append(raw, `,"outcome":"`+string(hub.OutcomeUnknown)+`"`...)
	}
	return b.write(ctx, append(raw, "}}}"...))
}

// write sends a message to the client.
func (b *bridge) write(ctx context.Context, raw []byte) error {
	if err := b.client.Write(ctx, raw); err != nil {
		return fmt.Errorf("%w: %w", errClientGone, err)
	}
	return nil
}
