package upstream

import (
	"bytes"
	"cmp"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	// maxQuestions bounds the questions of one call that are open at once, and
	// likewise of those outside of calls: each waits for a person or a model.
	maxQuestions = 16

	// answerLimit bounds how long a server may take to read an answer that it
	// has asked for.
	answerLimit = 30 * time.Second
)

// desk is where the messages of a server reach one exchange: that of a call
// while it runs, or that of the caller whose connection it is. They do so one at
// a time, and never after close; only questions may be open for longer.
type desk struct {
	ctx  context.Context // of the call; of the connection for its caller's own
	conn *Conn
	ex   hub.Exchange

	turn sync.Mutex // held while ex is given something
	over bool       // under turn

	mu      sync.Mutex
	open    map[*question]struct{} // until their answers are written
	late    int                    // of askLater that wait for their turn
	waiting sync.WaitGroup         // for the exchange to answer
}

// question is a request of a server's that a caller has to answer.
type question struct {
	desk      *desk
	id        []byte // raw, as the server gave it
	ctx       context.Context
	end       context.CancelCauseFunc
	untie     func() // from the end of the request
	drop      func() // ends it with the request
	loose     func() // and from the connection's as well
	answered  atomic.Bool
	withdrawn atomic.Bool // by the server, which wants no answer then
}

// notify gives a notification to the exchange.
func (k *desk) notify(raw []byte) {
	k.turn.Lock()
	defer k.turn.Unlock()
	k.ex.Notify(raw)
}

// ask puts a question to the exchange, and does not wait for the answer. It may
// be called by others than who gives the exchange the rest, and even after
// close.
func (k *desk) ask(m *wire.Message) {
	k.turn.Lock()
	defer k.turn.Unlock()
	if k.over {
		k.conn.unasked(m)
		return
	}
	q := k.add(m)
	if q == nil {
		k.conn.refuse(m, hub.E(message.QuestionTooMany, nil, "limit", strconv.Itoa(maxQuestions)))
		return
	}
	put := hub.Question{Server: k.conn.opt.Server.Key, Raw: m.Raw, Answer: q.answer}
	if wire.Lookup(m.Raw, m.Member("_meta"), protocol.MetaProgressToken).Exists() {
		put.Progress = q.progress
	}
	taken := false
	defer func() {
		if !taken { // it has panicked, and the request waits for its questions
			q.answer(nil, hub.E(message.Internal, nil))
		}
	}()
	k.ex.Ask(q.ctx, put)
	taken = true
}

// askLater is ask for whoever must not wait for a caller that is slow.
func (k *desk) askLater(m *wire.Message) {
	k.mu.Lock()
	full := k.late >= maxQuestions
	if !full {
		k.late++
	}
	k.mu.Unlock()
	if full {
		k.conn.refuse(m, hub.E(message.QuestionTooMany, nil, "limit", strconv.Itoa(maxQuestions)))
		return
	}
	k.conn.aside(func() {
		k.ask(m)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.late--
	})
}

// add enters a question; nil if too many are open.
func (k *desk) add(m *wire.Message) *question {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.open) >= maxQuestions {
		return nil
	}
	q := &question{desk: k, id: append([]byte(nil), m.ID.Of(m.Raw)...)}
	q.ctx, q.end = context.WithCancelCause(context.WithoutCancel(k.ctx))
	request := context.AfterFunc(k.ctx, func() { q.end(context.Cause(k.ctx)) })
	lost := context.AfterFunc(k.conn.ctx, func() { q.end(hub.E(message.Cancelled, context.Cause(k.conn.ctx))) })
	q.untie = func() { request() }
	q.drop = func() {
		// The request may have ended for a reason that has not come here yet.
		q.end(cmp.Or[error](context.Cause(k.ctx), hub.E(message.Cancelled, nil)))
	}
	q.loose = func() { request(); lost() }
	if k.open == nil {
		k.open = make(map[*question]struct{})
	}
	k.open[q] = struct{}{}
	k.waiting.Add(1)
	k.conn.enter(q)
	return q
}

// close withdraws the questions that are open, and returns when nothing reaches
// the exchange any more. If they are to outlive it, they stay open until they are
// answered, the server withdraws them, or the connection ends.
func (k *desk) close(outlive bool) {
	k.turn.Lock()
	k.over = true
	k.turn.Unlock()
	k.mu.Lock()
	for q := range k.open {
		if outlive {
			q.untie()
		} else {
			q.drop()
		}
	}
	k.mu.Unlock()
	if !outlive {
		k.waiting.Wait()
	}
}

// answer sends the answer on to the server, unless the server does not want it
// any more (2025-11-25, "Cancellation").
func (q *question) answer(reply []byte, err error) {
	if !q.answered.CompareAndSwap(false, true) {
		return
	}
	c := q.desk.conn
	c.leave(q)
	q.loose()
	q.end(nil)
	written := func() {
		q.desk.mu.Lock()
		defer q.desk.mu.Unlock()
		delete(q.desk.open, q)
		c.relieve()
	}
	if q.withdrawn.Load() {
		written()
	} else {
		raw := answerTo(q.id, reply, err)
		c.aside(func() {
			defer written()
			c.sendWithin(c.ctx, answerLimit, "", raw)
		})
	}
	q.desk.waiting.Done()
}

// progress passes on how far the caller has come with the answer.
func (q *question) progress(raw []byte) {
	q.desk.conn.send(q.ctx, protocol.NotificationProgress, raw)
}

// enter makes a question one that the server can withdraw.
func (c *Conn) enter(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions == nil {
		c.questions = make(map[string]*question)
	}
	c.questions[string(q.id)] = q
}

// leave undoes enter, unless the server has used the id again.
func (c *Conn) leave(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions[string(q.id)] == q {
		delete(c.questions, string(q.id))
	}
}

// withdraw ends the question that a notifications/cancelled of the server's
// names. Others are left alone, also those that were answered meanwhile.
func (c *Conn) withdraw(m *wire.Message) {
	c.mu.Lock()
	q := c.questions[string(m.Member("requestId").Of(m.Raw))]
	c.mu.Unlock()
	if q != nil {
		q.withdrawn.Store(true)
		q.end(hub.E(message.Cancelled, &hub.Cancellation{Raw: bytes.Clone(m.Raw)}))
	}
}

// asks tells whether a request of the server's is a question for a caller. All
// else is answered here: a ping, and what a client does not have. A modern
// server asks in results only (2026-07-28, "Multi Round-Trip Requests"). A link
// calls it once for each request that comes.
func (c *Conn) asks(m *wire.Message) bool {
	method := m.MethodName()
	if method == protocol.MethodPing {
		c.sendAside(answerTo(m.ID.Of(m.Raw), []byte(`{"jsonrpc":"2.0","id":0,"result":{}}`), nil))
		return false
	}
	c.asked.Add(1)
	switch method {
	case protocol.MethodSampling, protocol.MethodElicitation, protocol.MethodRootsList:
		if c.Era() == protocol.Legacy {
			if c.opt.Asked != nil {
				c.opt.Asked(method)
			}
			return true
		}
	}
	c.refuse(m, hub.E(message.NotAskable, nil))
	return false
}

// refuse answers a request of the server's that is put to nobody.
func (c *Conn) refuse(m *wire.Message, e *hub.Error) {
	c.sendAside(answerTo(m.ID.Of(m.Raw), nil, e))
	c.relieve()
}

// answerTo is the response to the server's request with the raw id: the
// caller's, or what the error says.
func answerTo(id, reply []byte, err error) []byte {
	if err == nil {
		a, bad := wire.Scan(reply, wire.Limits{})
		if bad == nil && (a.Kind == wire.Response || a.Kind == wire.Failure) && a.ID.Exists() {
			return wire.Splice(reply, wire.Replace(a.ID, id))
		}
		err = hub.E(message.Internal, bad)
	}
	e := hub.AsError(err)
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, codeTowardsServer(e.Code), 10)
	b = append(b, `,"message":`...)
	b = wire.AppendString(b, e.Text(message.English).What)
	return append(b, "}}"...)
}

// codeTowardsServer is the JSON-RPC code of an error for a server. Who cannot be
// asked is a client that does not have the method (2025-11-25, "Roots", "Error
// Handling").
func codeTowardsServer(code message.Code) int64 {
	switch code {
	case message.NotAskable, message.QuestionUnasked, message.QuestionForeign:
		return protocol.CodeMethodUnknown
	case message.QuestionExpired, message.Timeout:
		return protocol.CodeRequestTimeout
	case message.Internal:
		return protocol.CodeInternal
	}
	return protocol.CodeUnavailable
}

// unasked handles what a server says outside of any call, or without its being
// about the call on whose stream it came.
func (c *Conn) unasked(m *wire.Message) {
	method := m.MethodName()
	switch {
	case m.Kind == wire.Request:
		switch {
		case c.outside == nil:
			c.refuse(m, hub.E(message.NotAskable, nil))
		case !c.outside.put(*m, nil):
			c.refuse(m, hub.E(message.QuestionTooMany, nil, "limit", strconv.Itoa(maxQuestions)))
		}
	case method == protocol.NotificationToolsList:
		c.changed(hub.ListTools)
	case method == protocol.NotificationResources:
		c.changed(hub.ListResources | hub.ListTemplates)
	case method == protocol.NotificationPrompts:
		c.changed(hub.ListPrompts)
	case method == protocol.NotificationUpdated:
		if uri, ok := wire.String(m.Raw, m.Member("uri")); ok && c.opt.Updated != nil {
			c.opt.Updated(uri, protocol.Untagged(m))
		}
	case method == protocol.NotificationElicited:
		if id, ok := wire.String(m.Raw, m.Member("elicitationId")); ok && c.opt.Elicited != nil {
			c.opt.Elicited(id, m.Raw)
		}
	case method == protocol.NotificationProgress, method == protocol.NotificationListenAck:
		// Of a request that has ended.
	case c.outside != nil:
		c.outside.put(*m, nil)
	case method == protocol.NotificationCancelled:
		c.withdraw(m)
	case method == protocol.NotificationMessage:
		c.logged(m)
	}
}

// isNews reports whether a notification is about the server, and not about the
// call on whose stream it may have come.
func isNews(method string) bool {
	switch method {
	case protocol.NotificationToolsList, protocol.NotificationResources, protocol.NotificationPrompts,
		protocol.NotificationUpdated, protocol.NotificationElicited:
		return true
	}
	return false
}

func (c *Conn) changed(which hub.ListSet) {
	if c.opt.ListsChanged != nil {
		c.opt.ListsChanged(which)
	}
}

// attend gives the caller whose connection this is what the server says outside
// of any call, in order. It is a goroutine's own, since the caller may be slow.
func (c *Conn) attend() {
	k := &desk{ctx: c.ctx, conn: c, ex: c.opt.Caller}
	defer k.close(false)
	for {
		select {
		case <-c.outside.ready:
		case <-c.ctx.Done():
			return
		}
		for {
			m, _, ok := c.outside.get()
			if !ok {
				break
			}
			switch {
			case m.Kind == wire.Request:
				k.ask(&m)
			case m.MethodName() == protocol.NotificationCancelled:
				c.withdraw(&m)
			default:
				k.notify(m.Raw)
			}
		}
	}
}
