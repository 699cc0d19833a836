package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Limits of one stream.
const (
	maxCalls     = 64  // under way at the same time
	maxTaken     = 512 // under way or waiting for that; then nothing more is read
	maxListening = 16  // subscriptions, which last as long as the stream
)

// sender is the way of messages to the client of a stream. They go out whole,
// in the order of the calls. A client that does not take one within the write
// limit is given up: that call and all later ones return an error.
type sender interface {
	Send(raw []byte, edits ...wire.Edit) error
}

// stream is one conversation over a duplex stream of messages: that of a
// legacy session, if the client opens one, and of any number of modern
// requests, which need none.
//
// Messages are taken in the order in which they come. Requests that reach a
// server run beside each other, but for subscriptions to one resource, which keep
// their order; everything else is answered before the next message is taken, so
// that a log level, say, holds for the calls behind it. Each answer is sent by
// the goroutine that has sent the notifications of its request (design D3).
type stream struct {
	door *Door
	id   string         // of HTTP with SSE; "" for others
	from gateway.Caller // of what belongs to no session: its Principal, its group, and how it is told things
	out  sender

	ctx    context.Context // ends with the stream
	cancel context.CancelCauseFunc
	calls  chan struct{}  // holds one for each call under way
	taken  chan struct{}  // holds one for each call under way or waiting for its turn
	work   sync.WaitGroup // of requests and batches, and of the announcer

	mu        sync.Mutex
	session   *gateway.Session // nil if none is open
	exit      func()           // ends the session's being in use
	running   map[string]*task // that can be cancelled, by gateway.RequestKey
	turns     map[string]*task // the last one of those about a resource, by its URI
	batches   int              // so far
	listening int
	unsent    int           // tasks whose answers were not sent
	leaving   bool          // nothing new is begun
	quiet     chan struct{} // closed when nothing is under way and nothing will be
}

// task is a request or batch under way.
type task struct {
	key    string
	ctx    context.Context
	cancel context.CancelCauseFunc
	listen bool
	call   bool // it holds a place in taken
	placed bool // and one in calls

	uri    string        // of the resource that it subscribes to, or no longer; "" for others
	before *task         // the one about the same resource that has to be answered first
	over   chan struct{} // closed when this one was answered; nil if uri is ""
}

// Causes for which a request ends.
var (
	errCancelled = errors.New("cancelled by the client")
	errLeaving   = errors.New("the stream is about to end")
	errEnded     = errors.New("the stream has ended")
)

// newStream returns a conversation with a client, for as long as ctx lasts. It
// ends by end. from is who opens it, id its name in URLs, "" for none; out is not used
// before the first message is taken.
func (d *Door) newStream(ctx context.Context, from gateway.Caller, id string, out sender) (*stream, *hub.Error) {
	s := &stream{
		door: d, id: id, from: from, out: out, calls: make(chan struct{}, maxCalls), taken: make(chan struct{}, maxTaken),
		running: make(map[string]*task), turns: make(map[string]*task), quiet: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	if e := d.enter(s); e != nil {
		s.cancel(nil)
		return nil, e
	}
	return s, nil
}

// caller is the caller of what belongs to no session.
func (s *stream) caller(era protocol.Era) *gateway.Caller {
	c := s.from
	c.Era = era
	return &c
}

// end ends the stream, its session and what is under way in it. It returns
// when that has ended.
func (s *stream) end() {
	s.leave()
	s.cancel(errEnded)
	s.work.Wait()
	s.adopt(nil)
	s.door.leave(s)
}

// leave has the stream begin nothing new. Calls under way go on, and quiet is
// closed when they have been answered; subscriptions are answered now.
func (s *stream) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving {
		return
	}
	s.leaving = true
	for _, t := range s.running {
		if t.listen {
			t.cancel(errLeaving)
		}
	}
	if s.unsent == 0 {
		close(s.quiet)
	}
}

// take takes one message from the client. It returns when the next one may be
// taken, which is not before ctx or the stream has ended if there are too many
// calls under way or waiting. The bytes are the stream's from then on.
func (s *stream) take(ctx context.Context, raw []byte) {
	if firstByte(raw) == '[' {
		s.batch(ctx, raw)
		return
	}
	m, err := wire.Scan(raw, s.door.limits)
	if err != nil {
		s.refuse(s.caller(protocol.Legacy), &m, scanFault(err))
		return
	}
	switch m.Kind {
	case wire.Request:
		s.request(ctx, &m)
	default:
		s.told(&m)
	}
}

// told takes what gets no answer.
func (s *stream) told(m *wire.Message) {
	if m.Kind == wire.Notification && m.MethodName() == protocol.NotificationCancelled {
		if id := m.Member("requestId"); id.Exists() {
			s.cancelTask(gateway.RequestKey(id.Of(m.Raw)), m.Raw)
		}
	} else if session := s.current(); session != nil {
		s.door.told(session.Caller(), m)
	}
}

// request answers a request, or has it answered.
func (s *stream) request(ctx context.Context, m *wire.Message) {
	conv, e := s.conversation(m)
	if e != nil {
		s.refuse(cmp.Or(conv.caller, s.caller(conv.era)), m, e)
		return
	}
	t := &task{key: gateway.RequestKey(m.ID.Of(m.Raw)), listen: listens(conv.era, m), call: calls(conv.era, m)}
	if subscribes(m) {
		t.call = true
		t.uri, _ = wire.String(m.Raw, m.Member("uri"))
	}
	if t.call && !s.admits(ctx) {
		return
	}
	if e := s.begin(t); e != nil {
		s.refuse(cmp.Or(conv.caller, s.caller(conv.era)), m, e)
		return
	}
	if t.call || t.listen {
		go s.answer(t, conv, m)
	} else {
		s.answer(t, conv, m)
	}
}

// calls reports whether a request is a call, which may take long.
func calls(era protocol.Era, m *wire.Message) bool {
	method, _ := protocol.LookupMethod(m.MethodName(), era)
	return method.Stage == protocol.StageCall
}

// subscribes reports whether a request begins or ends a subscription. It may wait
// for the server, which may even ask the client something meanwhile.
func subscribes(m *wire.Message) bool {
	name := m.MethodName()
	return name == protocol.MethodSubscribe || name == protocol.MethodUnsubscribe
}

// conversation finds out in which era a request on the stream is made. There
// are no headers: what a request says of itself is all there is.
func (s *stream) conversation(m *wire.Message) (conversation, *hub.Error) {
	if said := readMeta(m); said.version.Exists() {
		version, e := said.revision(m)
		if e != nil {
			return conversation{era: protocol.Modern}, e
		}
		caller, e := said.caller(m, version, s.from.Principal, s.from.Viewer.Group)
		if caller != nil {
			caller.Accept, caller.Device = s.from.Accept, s.from.Device
		}
		return conversation{era: protocol.Modern, caller: caller}, e
	}
	if opens(m) {
		return conversation{era: protocol.Legacy, opening: true}, nil
	}
	if session := s.current(); session != nil {
		return conversation{era: protocol.Legacy, caller: session.Caller()}, nil
	}
	if m.MethodName() == protocol.MethodPing { // alone may come before (2025-11-25, "Lifecycle", Initialization)
		return conversation{era: protocol.Legacy, caller: s.caller(protocol.Legacy)}, nil
	}
	return conversation{era: protocol.Legacy}, hub.E(message.NotInitialized, nil)
}

// answer sends the answer to a request that was begun. The client gets none to
// one that it has cancelled (2025-11-25, "Cancellation").
func (s *stream) answer(t *task, conv conversation, m *wire.Message) {
	defer s.finish(t)
	if conv.opening {
		s.open(t, m)
		return
	}
	if !s.await(t) {
		return
	}
	a := s.door.answer(t.ctx, conv.caller, m, s)
	s.settle(t)
	if !errors.Is(context.Cause(t.ctx), errCancelled) {
		s.send(a)
	}
	if a.Own {
		transport.Recycle(a.Raw)
	}
	s.close()
}

// close ends the conversation if its session was shut down: what is under way
// is cancelled, and then the stream ends.
func (s *stream) close() {
	if session := s.current(); session != nil && session.Closing() {
		s.door.gateway.End(session)
		s.leave()
	}
}

// closing reports whether the session was shut down.
func (s *stream) closing() bool {
	session := s.current()
	return session != nil && session.Closing()
}

// open opens a legacy session, in the place of the one before: a client that
// begins anew does not wait any more for what it has asked.
func (s *stream) open(t *task, m *wire.Message) {
	session, a := s.door.gateway.Initialize(s.caller(protocol.Legacy), m)
	s.settle(t)
	if session == nil {
		s.send(a)
		return
	}
	s.adopt(session)
	s.send(a)
	s.work.Go(func() { _ = s.door.gateway.Stream(s.ctx, session, "", s) }) // there is nothing to resume
}

// adopt makes a session that of the stream and ends the one before; nil for
// none.
func (s *stream) adopt(session *gateway.Session) {
	exit := func() {}
	if session != nil {
		exit = session.Enter()
	}
	s.mu.Lock()
	before, left := s.session, s.exit
	s.session, s.exit = session, exit
	s.mu.Unlock()
	if before != nil {
		left()
		s.door.gateway.End(before)
	}
}

// current is the session that is open, or nil.
func (s *stream) current() *gateway.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// batch has a batch answered. It counts as one call, whatever is in it.
func (s *stream) batch(ctx context.Context, raw []byte) {
	session := s.current()
	var none *hub.Error
	if session == nil {
		none = hub.E(message.NotInitialized, nil)
	}
	parts, e := s.door.split(raw, session, none)
	if e != nil {
		s.refuse(s.caller(protocol.Legacy), nil, e)
		return
	}
	if !s.admits(ctx) {
		return
	}
	t := &task{call: true} // its key is no JSON, and so not that of a request
	if e := s.begin(t); e != nil {
		s.refuse(s.caller(protocol.Legacy), nil, e)
		return
	}
	go func() {
		defer s.finish(t)
		if !s.await(t) {
			return
		}
		caller := session.Caller()
		answers := s.door.together(parts, s.door.voice(caller), s.told, func(m *wire.Message) []byte { return s.part(caller, m) })
		s.settle(t)
		if answers != nil {
			s.send(gateway.Answer{Raw: answers})
		}
		s.close()
	}()
}

// part returns the answer to one request of a batch, nil if it was cancelled.
func (s *stream) part(caller *gateway.Caller, m *wire.Message) []byte {
	t := &task{key: gateway.RequestKey(m.ID.Of(m.Raw))}
	if e := s.begin(t); e != nil {
		return s.door.gateway.Fault(caller, m, e).Raw
	}
	defer s.finish(t)
	a := s.door.gateway.Request(t.ctx, caller, m, s)
	s.settle(t)
	if errors.Is(context.Cause(t.ctx), errCancelled) {
		return nil
	}
	return wire.Splice(a.Raw, a.Edits...)
}

// await returns when it is a task's turn. What that waits for, such as the answer
// to a question, may come on the stream meanwhile. It reports false, and has
// settled the task, if that was cancelled before.
func (s *stream) await(t *task) bool {
	if t.before != nil {
		<-t.before.over // at its server's time limit at the latest
		t.before = nil
	}
	if !t.call || t.placed {
		return true
	}
	select {
	case s.calls <- struct{}{}:
		t.placed = true
	case <-t.ctx.Done():
		s.settle(t)
	}
	return t.placed
}

// admits waits until one more call may be taken. It reports false if ctx or the
// stream ended first.
func (s *stream) admits(ctx context.Context) bool {
	select {
	case s.taken <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	return false
}

// begin enters a task; settle and then finish are to be called if it returns
// nil. Otherwise the task's place is given back.
func (s *stream) begin(t *task) *hub.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.admit(t); e != nil {
		if t.call {
			<-s.taken
		}
		return e
	}
	t.ctx, t.cancel = context.WithCancelCause(s.ctx)
	s.running[t.key] = t
	if t.uri != "" {
		t.before, t.over = s.turns[t.uri], make(chan struct{})
		s.turns[t.uri] = t
	}
	if t.call && t.before == nil {
		select {
		case s.calls <- struct{}{}:
			t.placed = true
		default: // it waits
		}
	}
	s.unsent++
	if t.listen {
		s.listening++
	}
	s.work.Add(1)
	return nil
}

// admit says why a task may not begin. mu is held.
func (s *stream) admit(t *task) *hub.Error {
	if t.key == "" {
		s.batches++
		t.key = "batch " + strconv.Itoa(s.batches)
	}
	switch {
	case s.leaving:
		return hub.E(message.ShuttingDown, nil)
	case s.running[t.key] != nil:
		return invalid("a request with this id is still under way")
	case t.listen && s.listening == maxListening:
		return invalid("%d subscriptions are open on this stream", maxListening)
	}
	return nil
}

// settle says that the answer to a task is known, and about to be sent. Once
// the client has it, it may use the id again.
func (s *stream) settle(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, t.key)
	if t.listen {
		s.listening--
	}
}

// finish says that the answer to a settled task was sent.
func (s *stream) finish(t *task) {
	t.cancel(nil)
	s.mu.Lock()
	if t.uri != "" {
		if close(t.over); s.turns[t.uri] == t {
			delete(s.turns, t.uri)
		}
	}
	s.unsent--
	if s.leaving && s.unsent == 0 {
		close(s.quiet)
	}
	s.mu.Unlock()
	if t.placed {
		<-s.calls
	}
	if t.call {
		<-s.taken
	}
	s.work.Done()
}

// cancelTask ends the request with the key, if it is under way, as the
// notification says. The bytes are not kept.
func (s *stream) cancelTask(key string, notice []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.running[key]; t != nil {
		t.cancel(fmt.Errorf("%w: %w", errCancelled, &hub.Cancellation{Raw: bytes.Clone(notice)}))
	}
}

// refuse answers a message of the caller with an error; nil stands for one that
// nothing is known of.
func (s *stream) refuse(c *gateway.Caller, m *wire.Message, e *hub.Error) {
	if m == nil {
		m = new(wire.Message)
	}
	s.send(s.door.gateway.Fault(c, m, e))
}

func (s *stream) send(a gateway.Answer) {
	if err := s.out.Send(a.Raw, a.Edits...); err != nil {
		s.cancel(err)
	}
}

// Notify sends a message that is no answer.
func (s *stream) Notify(raw []byte) { s.send(gateway.Answer{Raw: raw}) }

// Event implements [gateway.Feed]. Nothing can be resumed here: the conversation
// ends with its stream.
func (s *stream) Event(_ string, raw []byte) error {
	if raw != nil {
		s.send(gateway.Answer{Raw: raw})
	}
	return context.Cause(s.ctx)
}
