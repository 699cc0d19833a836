package call

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of the calls that go on when their callers have been answered.
const (
	maxLate       = 256              // under way
	maxLateOf     = 32               // of one principal
	maxLateBytes  = 32 << 20         // of all results that are kept
	maxLateResult = 4 << 20          // of one
	lateLife      = 10 * time.Minute // of a result
	taskWait      = 20 * time.Second // for a task to end, of who asks for it
	cancelLimit   = 2 * time.Second  // for a call to end that is cancelled
)

// Deadline says when a caller is answered, and what becomes of its call then.
type Deadline struct {
	After  time.Duration
	Since  time.Time     // from when on; zero is now
	Cancel bool          // the call is cancelled, and not kept
	Unread time.Duration // how long the result is kept of a call whose caller has gone, and knows of no task; 0 is not at all
	Equal  bool          // the caller has no other calls than this one: it is told nothing of hub_task_result
}

// DoBy is [Pipeline.Do] for callers that wait so long and no longer. A call of a tool
// that is then still under way goes on by itself, and its caller gets a result with
// the id of a task, which Task of the Result is as well. When ctx ends before, unless
// the caller has cancelled the call, it goes on too.
//
// What comes of it is kept for ten minutes, for the same principal: it answers one
// call that is equal, or any by hub_task_result; and one that comes before waits for
// it in place of another call. It answers nobody who may not make the call by then. A
// few such calls may be under way at once; one more is cancelled.
func (p *Pipeline) DoBy(ctx context.Context, req *Request, by Deadline) (*Result, error) {
	if by.Since.IsZero() {
		by.Since = time.Now()
	}
	until := by.Since.Add(by.After)
	own, like := *req, p.likeness(req)
	own.AnswerBy, own.equal = until.Add(-min(time.Second, time.Until(until)/10)), like.key
	patience, over := context.WithDeadline(ctx, until)
	defer over()
	if t := p.late.running(&like); t != nil && p.mayMake(ctx, req, like.message) {
		select {
		case <-t.done:
			own.joined = t // which recall answers with
		case <-patience.Done():
			return p.postponed(ctx, &own, t, by.Equal)
		}
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	f := p.fly(ctx, &own, like)
	select {
	case <-f.done:
		return f.res, f.err
	case <-patience.Done():
	}
	if !by.Cancel && !hub.IsCode(context.Cause(ctx), message.Cancelled) {
		if f.ended() {
			return f.res, f.err
		}
		life := lateLife
		if ctx.Err() != nil {
			life = by.Unread
		}
		if p.late.adopt(f, life) {
			f.exchange.part()
			return p.postponed(ctx, &own, &f.task, by.Equal)
		}
	}
	return f.cancel(ctx, by.After)
}

// flight is a call that may outlast the patience of its caller.
type flight struct {
	task
	tool     string
	end      context.CancelCauseFunc
	exchange *parting
}

// fly carries out the call, aside.
func (p *Pipeline) fly(ctx context.Context, req *Request, like likeness) *flight {
	f := &flight{task: task{likeness: like, done: make(chan struct{})}, exchange: &parting{Exchange: req.Exchange}}
	f.tool, _ = wire.String(req.Message.Raw, req.Message.Member("name"))
	req.Exchange = f.exchange
	ctx, f.end = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		defer f.end(nil)
		defer p.late.finish(&f.task)
		defer func() {
			if panicked := recover(); panicked != nil {
				p.log.Error("a call made the hub panic", "panic", panicked, "stack", string(debug.Stack()))
				f.err = hub.E(message.Internal, nil)
			}
		}()
		f.res, f.err = p.Do(ctx, req)
	}()
	return f
}

// cancel cancels the call, which took longer than the time after which its caller is
// answered, and returns how it has ended: nobody waits for long whether that was in
// time.
func (f *flight) cancel(ctx context.Context, after time.Duration) (*Result, error) {
	late := hub.E(message.CallLateStopped, nil, "tool", message.Quote(f.tool), "limit", after.String())
	why := error(late)
	if hub.IsCode(context.Cause(ctx), message.Cancelled) {
		why = context.Cause(ctx)
	}
	f.end(why)
	enough := time.NewTimer(cancelLimit)
	defer enough.Stop()
	select {
	case <-f.done:
		return f.res, f.err
	case <-enough.C:
		f.exchange.part()
		return nil, why
	}
}

// postponed is the answer to a call that goes on as a task, of which a caller who can
// only make an equal call is not told.
func (p *Pipeline) postponed(ctx context.Context, req *Request, t *task, equal bool) (*Result, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	p.late.told(t)
	name, _ := wire.String(req.Message.Raw, req.Message.Member("name"))
	pickup := "hub_task_result"
	if v, err := p.catalog.View(req.viewer()); err == nil {
		pickup = v.MetaName(catalog.MetaTask)
	}
	e := hub.E(message.CallLate, nil, "tool", message.Quote(name), "task", t.id, "pickup", pickup)
	if equal {
		e = hub.E(message.CallLateEqual, nil, "tool", message.Quote(name))
	}
	return &Result{Reply: faulty(e, req.Lang), Task: t.id, Fault: e}, nil
}

// task is a call that goes on when its caller has been answered, and what came of it.
type task struct {
	likeness
	id    string        // "" as long as its caller waits
	life  time.Duration // of its result; 0 if it is for nobody
	done  chan struct{} // closed when it has ended; then there are:
	res   *Result
	err   error
	timer *time.Timer // that has its result forgotten
}

// ended reports whether the call has.
func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// lateCalls are the calls that go on when their callers have been answered, and what
// came of them. Safe for concurrent use.
type lateCalls struct {
	mu     sync.Mutex
	under  map[string]*task   // way, by id
	of     map[string]int     // how many of these are whose
	byCall map[lateKey]string // id of the latest of a call that nobody has asked for yet
	kept   *lru[string, *task]
}

func newLateCalls() *lateCalls {
	l := &lateCalls{under: make(map[string]*task), of: make(map[string]int), byCall: make(map[lateKey]string)}
	l.kept = newLRU(maxLateBytes, func(_ string, t *task) {
		t.timer.Stop()
		l.forget(t)
	})
	return l
}

// forget has no equal call answered with the task. The caller holds the lock.
func (l *lateCalls) forget(t *task) {
	if l.byCall[t.key] == t.id {
		delete(l.byCall, t.key)
	}
}

// running is the task under way of an equal call; nil for none.
func (l *lateCalls) running(like *likeness) *task {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.under[l.byCall[like.key]]; t != nil && t.goal.matches(like.goal) {
		return t
	}
	return nil
}

// told says that a caller knows of the task.
func (l *lateCalls) told(t *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.life == 0 {
		return // it was dropped since
	}
	if t.life = lateLife; t.timer != nil {
		t.timer.Reset(lateLife)
	}
}

// adopt makes a task of a call whose caller waits no more. What comes of it is kept
// for the life, and not at all for 0. It reports false if there are too many.
func (l *lateCalls) adopt(f *flight, life time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &f.task
	if t.key == (lateKey{}) || len(l.under) >= maxLate || l.of[t.key.whose] >= maxLateOf {
		return false
	}
	t.id, t.life = strings.ToLower(rand.Text()[:10]), life
	if life > 0 {
		l.byCall[t.key] = t.id
	}
	if t.ended() {
		l.keep(t)
		return true
	}
	l.under[t.id] = t
	l.of[t.key.whose]++
	return true
}

// finish says that a call has ended.
func (l *lateCalls) finish(t *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.res != nil && t.res.asked != nil {
		t.message = t.res.asked
	}
	close(t.done)
	if t.id == "" {
		return
	}
	delete(l.under, t.id)
	if l.of[t.key.whose]--; l.of[t.key.whose] == 0 {
		delete(l.of, t.key.whose)
	}
	l.keep(t)
}

// keep keeps what came of a task. The caller holds the lock.
func (l *lateCalls) keep(t *task) {
	if t.life == 0 {
		return
	}
	size := overhead + len(t.message.Raw)
	if t.res != nil {
		size += len(t.res.Message.Raw)
	}
	if size > maxLateResult {
		t.err = hub.E(message.ResponseTooBig, nil, "size", strconv.Itoa(size), "limit", strconv.Itoa(maxLateResult))
		t.res, size = nil, overhead+len(t.message.Raw)
	}
	t.timer = time.AfterFunc(t.life, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.kept.drop(t.id)
	})
	l.kept.put(t.id, t, size)
}

// find is a principal's task with the id; nil if there is none any more.
func (l *lateCalls) find(id, whose string) *task {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.under[id]
	if t == nil {
		t, _ = l.kept.get(id)
	}
	if t == nil || t.key.whose != whose || t.life == 0 {
		return nil
	}
	return t
}

// claim takes what came of a task for its caller: no equal call is answered with it
// from now on.
func (l *lateCalls) claim(t *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(t)
}

// recall answers a call with what came of an equal one that went on, once. It has been
// judged as any other.
func (l *lateCalls) recall(_ context.Context, r *run) error {
	if r.equal == (lateKey{}) {
		return nil
	}
	l.mu.Lock()
	t := r.joined
	if t == nil {
		t, _ = l.kept.get(l.byCall[r.equal])
	}
	if t != nil && !t.suits(r) {
		t = nil
	}
	if t != nil {
		l.forget(t)
	}
	l.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.answer(r)
}

// answer has the call answered with what came of the task.
func (t *task) answer(r *run) error {
	r.record.Cached, r.recalled = true, true
	if t.err != nil {
		return t.err
	}
	m := t.res.Message
	m.Raw = bytes.Clone(m.Raw) // the answer's own bytes are the caller's
	r.reply, r.edits = &upstream.Reply{Message: m, Era: t.res.Era}, t.res.Edits
	if e := t.res.Entry; e != nil {
		r.entry, r.server = e, &e.Server
	}
	return nil
}

// task answers a call of the tool by which callers ask for what came of a task. It
// waits a while for one that is under way.
func (p *Pipeline) task(ctx context.Context, r *run) (*hub.Error, error) {
	args, fault := arguments(r.Message, "task_id")
	if fault != nil {
		return fault, nil
	}
	id, ok := wire.String(r.Message.Raw, args["task_id"])
	if !ok || id == "" {
		return invalid(`"task_id" has to be a string, as a call was answered with it`), nil
	}
	t := p.late.find(strings.ToLower(strings.TrimSpace(id)), whose(&r.Principal))
	if t == nil {
		return hub.E(message.TaskUnknown, nil, "task", message.Quote(id)), nil
	}
	wait := taskWait
	if !r.AnswerBy.IsZero() {
		wait = time.Until(r.AnswerBy)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
		return hub.E(message.TaskRuns, nil, "task", t.id), nil
	case <-ctx.Done():
		return nil, ended(ctx)
	}
	if t.ofTool() {
		now, err := p.rejudged(ctx, &r.Request, t.message, r.record)
		switch {
		case err != nil:
			return hub.AsError(err), nil
		case now.fault != nil:
			return now.fault, nil
		case !t.suits(now) && now.judgement.Stops():
			return forbidden(now.name, &now.judgement), nil
		case !t.suits(now):
			return hub.E(message.TaskUnknown, nil, "task", message.Quote(id)), nil
		}
	}
	p.late.claim(t)
	if err := t.answer(r); err != nil {
		if e, ok := errors.AsType[*hub.Error](err); ok {
			return e, nil
		}
		return nil, err
	}
	return nil, nil
}
