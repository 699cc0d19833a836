package call

// This file proves the shape on which later work rests (docs/decisions/0002):
// that hub.Exchange, upstream.Conn.Do and the Registry are enough to carry what
// is not built yet. Each test is the least that such a feature would consist
// of, over a real connection to a scripted server.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a scripted server's view of its one connection.
type peer struct {
	t   *testing.T
	in  *bufio.Scanner
	out io.Writer
}

type note struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Ref  struct {
			Type, Name, URI string
		} `json:"ref"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// next returns the next message of the hub; false at the end.
func (p *peer) next() (note, bool) {
	var n note
	if !p.in.Scan() {
		return n, false
	}
	if err := json.Unmarshal(p.in.Bytes(), &n); err != nil {
		p.t.Errorf("the hub sent %s: %v", p.in.Bytes(), err)
	}
	return n, true
}

func (p *peer) send(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil {
		p.t.Logf("the hub is gone: %v", err)
	}
}

func (p *peer) progress(call note, n int) {
	p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, call.Params.Meta.ProgressToken, n)
}

func (p *peer) result(call note, text string) {
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, call.ID, text)
}

// connect opens a connection to a server that, after the handshake, does what
// script says.
func connect(t *testing.T, script func(p *peer)) *upstream.Conn {
	t.Helper()
	serve := func(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
		defer w.Close()
		p := &peer{t: t, in: bufio.NewScanner(r), out: w}
		hello, _ := p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, hello.ID)
		p.next() // initialized
		script(p)
		return nil
	}
	conn, err := upstream.Dial(t.Context(), upstream.Options{
		Server:     hub.Server{Key: "scripted", Kind: hub.KindBuiltin},
		ClientInfo: []byte(`{"name":"test","version":"1"}`),
		Serve:      serve,
		Log:        slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// caller is a caller's side: what it hears, and how it answers questions.
type caller struct {
	mu    sync.Mutex
	heard []string
	ask   func(ctx context.Context, raw []byte) ([]byte, error)
}

func (c *caller) Notify(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, string(raw))
}

func (c *caller) Ask(ctx context.Context, q hub.Question) {
	if c.ask == nil {
		q.Answer(nil, hub.E(message.NotAskable, nil))
		return
	}
	q.Answer(c.ask(ctx, q.Raw))
}

func toolCall(t *testing.T) *upstream.Request {
	t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":"his-id","method":"tools/call","params":{"name":"n","_meta":{"progressToken":"his-token"}}}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &upstream.Request{Message: &m, Name: "n"}
}

func text(t *testing.T, r *upstream.Reply) string {
	t.Helper()
	m := r.Message
	content := m.Member("content")
	for item := range wire.Array(m.Raw, content) {
		s, _ := wire.String(m.Raw, wire.Lookup(m.Raw, item, "text"))
		return s
	}
	t.Fatalf("no text in %s", m.Raw)
	return ""
}

// A retry is a new Do with the same Request. The caller hears the progress of
// both attempts under its own token, and a retrying stage that wraps the
// exchange keeps it from going backwards.
func TestShapeProgressOnARetriedAttempt(t *testing.T) {
	first := connect(t, func(p *peer) {
		call, _ := p.next()
		p.progress(call, 1)
		p.progress(call, 2)
		// and dies without an answer
	})
	second := connect(t, func(p *peer) {
		call, _ := p.next()
		p.progress(call, 1)
		p.progress(call, 3)
		p.result(call, "done")
		p.next()
	})
	req, c := toolCall(t), &caller{}
	ex := &rising{Exchange: c, told: true} // as after the first attempt
	if _, err := first.Do(t.Context(), req, ex); !hub.IsCode(err, message.OutcomeUnknown) {
		t.Fatalf("the first attempt: %v", err)
	}
	reply, err := second.Do(t.Context(), req, ex)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, reply); got != "done" {
		t.Errorf("got %q", got)
	}
	var want []string
	for _, n := range []int{1, 2, 3} {
		want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"his-token","progress":%d}}`, n))
	}
	if !slices.Equal(c.heard, want) {
		t.Errorf("heard %q, want %q", c.heard, want)
	}
}

// The context of the door ends with the caller's connection; the server then
// hears of exactly the one request, under the id that it knows.
func TestShapeCancelByDisconnect(t *testing.T) {
	started, cancelled := make(chan json.RawMessage, 1), make(chan note, 1)
	conn := connect(t, func(p *peer) {
		call, _ := p.next()
		started <- call.ID
		n, _ := p.next()
		cancelled <- n
		p.result(call, "too late")
		p.next()
	})
	ctx, disconnect := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Do(ctx, toolCall(t), &caller{})
		failed <- err
	}()
	id := <-started
	disconnect()
	if err := <-failed; !hub.IsCode(err, message.Cancelled) {
		t.Errorf("Do: %v", err)
	}
	if n := <-cancelled; n.Method != "notifications/cancelled" || string(n.Params.RequestID) != string(id) {
		t.Errorf("the server heard %+v, want cancelled %s", n, id)
	}
}

// A question goes down the same exchange as progress, and its answer back up
// to the server that asked, under the server's own id.
func TestShapeQuestionInsideACall(t *testing.T) {
	answer := make(chan note, 1)
	conn := connect(t, func(p *peer) {
		call, _ := p.next()
		p.send(`{"jsonrpc":"2.0","id":"q-1","method":"elicitation/create","params":{"message":"sure?"}}`)
		n, _ := p.next()
		answer <- n
		p.result(call, "done")
		p.next()
	})
	c := &caller{ask: func(_ context.Context, raw []byte) ([]byte, error) {
		if !strings.Contains(string(raw), "sure?") {
			return nil, fmt.Errorf("asked %s", raw)
		}
		return []byte(`{"jsonrpc":"2.0","id":99,"result":{"action":"accept"}}`), nil
	}}
	if _, err := conn.Do(t.Context(), toolCall(t), c); err != nil {
		t.Fatal(err)
	}
	if n := <-answer; string(n.ID) != `"q-1"` || string(n.Result) != `{"action":"accept"}` {
		t.Errorf("the server got id %s, result %s", n.ID, n.Result)
	}
}

// parked is a call that outlives the request which began it: its context is
// its own, its exchange leads to whoever waits for it now. The registry holds
// such values beside the running calls.
type parked struct {
	question chan []byte // from the server, to the request that waits
	answer   chan []byte // from the request that resumes
	done     chan struct{}
	reply    *upstream.Reply
	err      error
}

func park(ctx context.Context, conn *upstream.Conn, req *upstream.Request) *parked {
	p := &parked{question: make(chan []byte), answer: make(chan []byte), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.reply, p.err = conn.Do(context.WithoutCancel(ctx), req, &caller{ask: func(ctx context.Context, raw []byte) ([]byte, error) {
			select {
			case p.question <- raw:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			select {
			case a := <-p.answer:
				return a, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
	}()
	return p
}

// A modern caller of a legacy server: the question ends the caller's first
// request as input_required, the call to the server stays open, and the
// caller's retry resumes it.
func TestShapeSuspendAndResumeAcrossEras(t *testing.T) {
	conn := connect(t, func(p *peer) {
		call, _ := p.next()
		p.send(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"name?"}}`)
		n, _ := p.next()
		p.result(call, "hello "+string(n.Result))
		p.next()
	})
	firstRequest, endOfFirst := context.WithCancel(t.Context())
	p := park(firstRequest, conn, toolCall(t))
	question := <-p.question // answered as input_required
	endOfFirst()
	if !strings.Contains(string(question), "name?") {
		t.Errorf("asked %s", question)
	}
	p.answer <- []byte(`{"jsonrpc":"2.0","id":1,"result":{"n":"Ada"}}`) // from the retry
	<-p.done
	if p.err != nil {
		t.Fatal(p.err)
	}
	if got := text(t, p.reply); got != `hello {"n":"Ada"}` {
		t.Errorf("got %q", got)
	}
}

// A hold for approval is a stage before invoke: it tells the caller why it
// waits by the exchange, and nothing reaches the server before the decision.
func TestShapeHoldForApproval(t *testing.T) {
	var decided bool
	conn := connect(t, func(p *peer) {
		call, _ := p.next()
		if !decided {
			t.Error("the call reached the server before the decision")
		}
		p.result(call, "done")
		p.next()
	})
	c, req := &caller{}, toolCall(t)
	decision := make(chan bool)
	hold := stage(func(ctx context.Context, r *run) error {
		r.Exchange.Notify([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"his-token","progress":0,"message":"waiting for approval"}}`))
		select {
		case ok := <-decision:
			if !ok {
				return errors.New("rejected")
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	invoke := stage(func(ctx context.Context, r *run) (err error) {
		r.reply, err = conn.Do(ctx, req, r.Exchange)
		return err
	})
	go func() {
		decided = true
		decision <- true
	}()
	r := &run{Request: Request{Exchange: c, Message: req.Message}}
	for _, s := range []stage{hold, invoke} {
		if err := s(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.heard) != 1 || !strings.Contains(c.heard[0], "waiting for approval") {
		t.Errorf("heard %q", c.heard)
	}
	if got := text(t, r.reply); got != "done" {
		t.Errorf("got %q", got)
	}
}

// A caller that cannot wait leaves; the call goes on, and its kept result is
// what an equal call gets later.
func TestShapeLateAnswer(t *testing.T) {
	finish := make(chan struct{})
	conn := connect(t, func(p *peer) {
		call, _ := p.next()
		<-finish
		p.result(call, "late")
		p.next()
	})
	request, leave := context.WithCancel(t.Context())
	p := park(request, conn, toolCall(t))
	leave()
	select {
	case <-p.done:
		t.Fatalf("the call ended with its caller: %v", p.err)
	default:
	}
	close(finish)
	<-p.done
	if p.err != nil {
		t.Fatal(p.err)
	}
	if got := text(t, p.reply); got != "late" {
		t.Errorf("got %q", got)
	}
}

func TestRegistry(t *testing.T) {
	r := NewRegistry()
	a, _, doneA, err := r.begin(t.Context(), Key{"s", "1"})
	if err != nil {
		t.Fatal(err)
	}
	b, _, doneB, err := r.begin(t.Context(), Key{"s", `"1"`})
	if err != nil {
		t.Fatal(err)
	}
	defer doneB()
	if _, _, _, err := r.begin(t.Context(), Key{"s", "1"}); !hub.IsCode(err, message.ParamsInvalid) {
		t.Errorf("the same id twice: %v", err)
	}
	if r.Cancel(Key{"other", "1"}, nil) || r.Cancel(Key{"s", "2"}, nil) {
		t.Error("a call was cancelled that does not exist")
	}
	if !r.Cancel(Key{"s", "1"}, nil) || !hub.IsCode(context.Cause(a), message.Cancelled) || b.Err() != nil {
		t.Error("not exactly the one call was cancelled")
	}
	doneA()
	if r.Cancel(Key{"s", "1"}, nil) {
		t.Error("a call was cancelled that has ended")
	}
	r.CancelSession("s")
	if b.Err() == nil {
		t.Error("the session's call goes on")
	}
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Drain(short); err == nil {
		t.Error("drained, but a call is under way")
	}
	if _, _, _, err := r.begin(t.Context(), Key{}); !hub.IsCode(err, message.ShuttingDown) {
		t.Errorf("a call after the end: %v", err)
	}
	if len(r.byKey) != 1 {
		t.Errorf("%d calls are left", len(r.byKey))
	}
}
