package gateway

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxQuestions is how many questions may be open with one caller: each is kept
// until a person or a model has answered it.
const maxQuestions = 32

// unopened is how long after its session's begin a client may open the first
// stream for questions that belong to no request. Some clients never do, and the
// server, and a call that is to come after it, would wait as long as for a person.
const unopened = 5 * time.Second

// questions are those that wait for the answer of one caller. The zero value is
// ready for use.
type questions struct {
	mu   sync.Mutex
	over bool
	last uint64
	open map[string]*question // by id
}

// question is a server's question while the caller has it.
type question struct {
	hub.Question
	of     *questions
	id     string // towards the caller, and its progress token as well
	out    Out    // on which it was asked
	beside aside  // for what is said of it when out has ended
	token  []byte // for progress, as the server gave it; nil for none

	// mu orders progress before the answer, and arming before ending.
	mu     sync.Mutex
	ended  bool
	expiry *time.Timer
	unbind func() bool // from the context of the question
}

// add enters a question under an id of the hub's own.
func (qs *questions) add(q *question) *hub.Error {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	switch {
	case qs.over:
		return hub.E(message.Cancelled, nil)
	case len(qs.open) >= maxQuestions:
		return hub.E(message.QuestionTooMany, nil, "limit", strconv.Itoa(maxQuestions))
	case qs.open == nil:
		qs.open = make(map[string]*question)
	}
	qs.last++
	q.of, q.id = qs, "tc-"+strconv.FormatUint(qs.last, 10)
	qs.open[q.id] = q
	return nil
}

// find returns the open question with the id that a caller gives, nil if there
// is none.
func (qs *questions) find(raw []byte, id wire.Span) *question {
	name, ok := wire.String(raw, id)
	if !ok {
		return nil
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.open[name]
}

// end answers the open questions with an error, and refuses further ones.
func (qs *questions) end() {
	qs.mu.Lock()
	qs.over = true
	open := qs.open
	qs.open = nil
	qs.mu.Unlock()
	for _, q := range open {
		if q.end() {
			q.Answer(nil, hub.E(message.Cancelled, nil))
		}
	}
}

// ask puts a server's question to the caller of a session; see
// [hub.Exchange.Ask]. It goes out by the stream that is given, and what the
// caller is told about it later as well.
func (g *Gateway) ask(ctx context.Context, s *Session, out Out, asked hub.Question) {
	m, err := wire.Scan(asked.Raw, wire.Limits{})
	if err != nil || m.Kind != wire.Request {
		asked.Answer(nil, hub.E(message.Internal, err))
		return
	}
	if e := askable(s.capabilities, &m); e != nil {
		asked.Answer(nil, e)
		return
	}
	if o, ok := out.(interface{ Stream() error }); ok {
		if err := o.Stream(); err != nil {
			asked.Answer(nil, hub.E(message.NotAskable, err))
			return
		}
	}
	q := &question{Question: asked, out: out, beside: aside{s}}
	token := wire.Lookup(m.Raw, m.Member("_meta"), protocol.MetaProgressToken)
	if asked.Progress != nil && token.Exists() {
		q.token = bytes.Clone(token.Of(m.Raw))
	}
	if e := s.questions.add(q); e != nil {
		asked.Answer(nil, e)
		return
	}
	if id, ok := elicitationOf(&m); ok {
		g.elicitations.add(s, elicitation{asked.Server, id})
	}
	id := wire.AppendString(nil, q.id)
	edits := []wire.Edit{wire.Replace(m.ID, id)}
	if token.Exists() {
		// Two servers may use the same one.
		edits = append(edits, wire.Replace(token, id))
	}
	out.Notify(wire.Splice(m.Raw, edits...))
	q.arm(ctx, g.opt.QuestionLimit)
}

// arm bounds the time of a question that is on its way.
func (q *question) arm(ctx context.Context, limit time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return // answered already
	}
	expire := func() { q.withdraw(hub.E(message.QuestionExpired, nil, "limit", limit.String())) }
	if a, ok := q.out.(aside); ok && !a.session.opened() {
		wait := min(limit, max(0, time.Until(a.session.began.Add(unopened))))
		q.expiry = time.AfterFunc(wait, func() {
			if a.session.opened() {
				q.extend(limit-wait, expire)
			} else {
				q.withdraw(hub.E(message.NotAskable, nil))
			}
		})
	} else {
		q.expiry = time.AfterFunc(limit, expire)
	}
	q.unbind = context.AfterFunc(ctx, func() {
		e, ok := errors.AsType[*hub.Error](context.Cause(ctx))
		if !ok {
			e = hub.E(message.Cancelled, context.Cause(ctx))
		}
		q.withdraw(e)
	})
}

// extend gives a question that is open more time.
func (q *question) extend(by time.Duration, expire func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.expiry = time.AfterFunc(by, expire)
	}
}

// end takes the question off the list. It reports true to one caller only, who
// has to answer it; from then on there is no progress.
func (q *question) end() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return false
	}
	q.ended = true
	if q.expiry != nil {
		q.expiry.Stop()
		q.unbind()
	}
	q.of.mu.Lock()
	delete(q.of.open, q.id)
	q.of.mu.Unlock()
	return true
}

// withdraw ends a question that nobody wants an answer to any more. The caller
// is told first: once the question is answered, its stream may end.
func (q *question) withdraw(e *hub.Error) {
	if !q.end() {
		return
	}
	var notice []byte // the server's
	if c, ok := errors.AsType[*hub.Cancellation](e); ok {
		notice = c.Raw
	}
	out := q.out
	if o, ok := out.(interface{ Stream() error }); ok && o.Stream() != nil {
		out = q.beside // it has outlived its request
	}
	out.Notify(protocol.Cancelled(notice, wire.AppendString(nil, q.id), e.Text(message.English).What))
	q.Answer(nil, e)
}

// progress passes on what the caller says about its work on the question.
func (q *question) progress(m *wire.Message, token wire.Span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended && q.token != nil {
		q.Progress(wire.Splice(m.Raw, wire.Replace(token, q.token)))
	}
}

// Reply takes a response of a caller's to a question. One that fits no open
// question of the caller's own session is dropped, as it is when it comes too
// late or twice. The bytes are not kept.
func (g *Gateway) Reply(c *Caller, m *wire.Message) {
	if c.Session == nil || m.Kind != wire.Response && m.Kind != wire.Failure {
		return
	}
	q := c.Session.questions.find(m.Raw, m.ID)
	if q == nil || !q.end() {
		g.opt.Log.Debug("a caller's answer fits no open question", "dropped", g.stray.Add(1))
		return
	}
	q.Answer(m.Raw, nil)
}

// progressed takes a notification of a caller's about its work on a question.
func (g *Gateway) progressed(s *Session, m *wire.Message) {
	token := m.Member(protocol.MetaProgressToken)
	if q := s.questions.find(m.Raw, token); q != nil {
		q.progress(m, token)
	}
}

// forms reports whether the caller of a modern request says in it that it shows forms.
func forms(m *wire.Message) bool {
	all := wire.Lookup(m.Raw, m.Member("_meta"), protocol.MetaCapabilities)
	has := func(path ...string) bool { return declares(m.Raw, all, path...) }
	return has("elicitation") && (has("elicitation", "form") || !has("elicitation", "url"))
}

// declares reports whether capabilities have an object at the path.
func declares(raw []byte, at wire.Span, path ...string) bool {
	for _, key := range path {
		at = wire.Lookup(raw, at, key)
	}
	return at.Exists() && raw[at.Start] == '{'
}

// askable is an error if the caller, by the capabilities it declared, does not
// take the request: no method goes to a peer that has not said that it knows it
// (2025-11-25, "Lifecycle", Operation).
func askable(capabilities []byte, m *wire.Message) *hub.Error {
	has := func(path ...string) bool { return declares(capabilities, wire.Value(capabilities), path...) }
	var needed []string
	switch method := m.MethodName(); method {
	case protocol.MethodSampling:
		needed = []string{"sampling"}
		if m.Member("tools").Exists() || m.Member("toolChoice").Exists() {
			needed = append(needed, "tools")
		}
	case protocol.MethodElicitation:
		needed = []string{"elicitation"}
		if mode, ok := wire.String(m.Raw, m.Member("mode")); ok && mode != "form" {
			needed = append(needed, mode)
		} else if has("elicitation", "url") {
			// Who names no mode at all takes forms ("Elicitation", Capabilities).
			needed = append(needed, "form")
		}
	case protocol.MethodRootsList:
		needed = []string{"roots"}
	default:
		return unknownMethod(method)
	}
	if has(needed...) {
		return nil
	}
	name := needed[0]
	if len(needed) > 1 {
		name += "." + message.Quote(needed[1]) // a mode is the server's to name
	}
	return hub.E(message.QuestionUnasked, nil, "capability", name)
}
