package bridge

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// book knows the connection to the hub, what the client waits for, and what it
// takes to begin its conversation anew.
type book struct {
	mu      sync.Mutex
	conn    *Conn         // nil while there is none
	changed chan struct{} // closed and replaced when conn has changed

	open    map[string]*request // requests under way, by their id
	entered int                 // requests so far

	hello       []byte   // the client's initialize, once it was answered
	initialized []byte   // its notification
	level       []byte   // its last logging/setLevel that was answered
	announces   []string // the notifications of changed lists that it was promised

	topics    topics
	questions questions

	draining bool
	quiet    chan struct{} // closed when draining and nothing is awaited
	over     bool          // no connection is wanted any more
}

// request is a request of the client's that was not answered.
type request struct {
	n      int
	key    string
	id     []byte // as it came
	method string
	again  []byte // the whole message, if sending it again does no harm; else nil
	sent   bool   // whole, over a connection that was not lost by then
	listen bool   // lasts as long as the client wants it to
}

func newBook() *book {
	return &book{
		changed: make(chan struct{}), open: make(map[string]*request), quiet: make(chan struct{}),
		topics: newTopics(), questions: questions{open: make(map[string]question)},
	}
}

// key is the same for two raw ids if they are the same id.
func key(raw []byte, id wire.Span) string {
	if text, ok := wire.String(raw, id); ok {
		return string(wire.AppendString(nil, text))
	}
	return string(id.Of(raw))
}

// enter reads a line that is to be sent, and returns the requests in it, or that
// it is the answer to a question. What is wrong with a line is the hub's to say.
func (b *book) enter(line []byte) (asked []*request, answer *wire.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	parts, batch, _ := wire.Batch(line, wire.Limits{})
	if !batch {
		parts = [][]byte{line}
	}
	for _, part := range parts {
		m, err := wire.Scan(part, wire.Limits{})
		switch {
		case err != nil:
		case m.Kind == wire.Notification:
			b.notified(&m)
		case m.Kind == wire.Request:
			q := b.asked(&m)
			if batch {
				q.again = nil // its answer belongs into a batch
			}
			asked = append(asked, q)
		case !batch: // and in a batch nothing is asked that could be mistaken for another
			answer = &m
		}
	}
	return asked, answer
}

func (b *book) notified(m *wire.Message) {
	switch m.MethodName() {
	case protocol.NotificationInitialized:
		b.initialized = m.Raw
	case protocol.NotificationCancelled:
		if id := m.Member("requestId"); id.Exists() {
			delete(b.open, key(m.Raw, id)) // it gets no answer
		}
	}
}

func (b *book) asked(m *wire.Message) *request {
	b.entered++
	q := &request{n: b.entered, key: key(m.Raw, m.ID), id: m.ID.Of(m.Raw), method: m.MethodName()}
	q.listen = q.method == protocol.MethodListen
	if harmless(q.method) {
		q.again = m.Raw
	}
	b.open[q.key] = q
	return q
}

// harmless reports whether a request reaches no server, so that sending it
// twice does no more than sending it once.
func harmless(method string) bool {
	for _, era := range []protocol.Era{protocol.Legacy, protocol.Modern} {
		if m, ok := protocol.LookupMethod(method, era); ok {
			return m.Stage != protocol.StageCall
		}
	}
	return false
}

// sent says that requests were sent whole over a connection. If that has been
// lost meanwhile, it returns those of which nobody knows the outcome, and which
// are answered with that; again says that the whole line may be sent again
// instead.
func (b *book) sent(conn *Conn, asked []*request) (lost []*request, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range asked {
		switch {
		case b.open[q.key] != q: // answered, or cancelled
		case b.conn == conn:
			q.sent = true
		case q.again != nil:
			again = true
		default:
			delete(b.open, q.key)
			lost = append(lost, q)
		}
	}
	return lost, again
}

// receive takes a message of the hub and notes what it answers and asks. It
// returns what the client is to get of it, nil for nothing.
func (b *book) receive(raw []byte) []byte {
	parts, batch, _ := wire.Batch(raw, wire.Limits{})
	if !batch {
		parts = [][]byte{raw}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, part := range parts {
		m, err := wire.Scan(part, wire.Limits{})
		switch {
		case err != nil:
		case m.Kind == wire.Response, m.Kind == wire.Failure:
			if b.topics.answered(&m) {
				return nil
			}
			b.settle(&m)
		case !batch:
			return b.questions.note(&m)
		}
	}
	return raw
}

// settle notes what an answer of the hub's means.
func (b *book) settle(m *wire.Message) {
	k := key(m.Raw, m.ID)
	q := b.open[k]
	delete(b.open, k)
	if q != nil && m.Kind == wire.Response {
		b.granted(q, m.Result.Of(m.Raw))
	}
}

// granted notes what a new connection has to be brought to.
func (b *book) granted(q *request, result []byte) {
	switch q.method {
	case protocol.MethodInitialize:
		b.hello, b.announces = q.again, promised(result)
		b.level, b.topics = nil, newTopics()
	case protocol.MethodSetLevel:
		b.level = q.again
	case protocol.MethodSubscribe:
		b.topics.subscribed(q.again)
	case protocol.MethodUnsubscribe:
		b.topics.unsubscribed(q.again)
	case protocol.MethodShutdown:
		b.over = true
	}
}

// promised are the notifications of changed lists that the answer to initialize
// promises.
func promised(result []byte) []string {
	hello, err := protocol.ParseInitialize(result)
	if err != nil {
		return nil
	}
	var all []string
	for _, list := range []struct {
		changes bool
		method  string
	}{
		{hello.Capabilities.ToolsListChanged, protocol.NotificationToolsList},
		{hello.Capabilities.ResourcesListChanged, protocol.NotificationResources},
		{hello.Capabilities.PromptsListChanged, protocol.NotificationPrompts},
	} {
		if list.changes {
			all = append(all, list.method)
		}
	}
	return all
}

// delivered says that what was settled has been written to the client.
func (b *book) delivered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hush()
}

// drain returns a channel that is closed when the client, which asks nothing
// more, has got the answers to all it has asked.
func (b *book) drain() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draining = true
	b.hush()
	return b.quiet
}

// hush closes quiet if it is time to. mu is held.
func (b *book) hush() {
	if !b.draining || b.awaits() {
		return
	}
	select {
	case <-b.quiet:
	default:
		close(b.quiet)
	}
}

// awaits reports whether the client waits for an answer. mu is held.
func (b *book) awaits() bool {
	for _, q := range b.open {
		if !q.listen {
			return true
		}
	}
	return false
}

// connected says that conn leads to the hub.
func (b *book) connected(conn *Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(conn)
}

// change is called with mu held.
func (b *book) change(conn *Conn) {
	b.conn = conn
	close(b.changed)
	b.changed = make(chan struct{})
}

// await returns the connection to the hub when there is one that is not the
// given one.
func (b *book) await(ctx context.Context, not *Conn) (*Conn, error) {
	for {
		b.mu.Lock()
		conn, changed := b.conn, b.changed
		b.mu.Unlock()
		if conn != nil && conn != not {
			return conn, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lose says that the connection was lost. It returns the requests of which
// nobody knows the outcome, in their order, and whether no new one is needed,
// since the client has gone and waits for nothing.
func (b *book) lose() (lost []*request, done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(nil)
	if b.over {
		return nil, true
	}
	for k, q := range b.open {
		if q.sent && q.again == nil {
			delete(b.open, k)
			lost = append(lost, q)
		}
	}
	slices.SortFunc(lost, func(x, y *request) int { return cmp.Compare(x.n, y.n) })
	return lost, b.draining && !b.awaits()
}

// repeated returns the requests that are to be sent again over a new
// connection, in their order.
func (b *book) repeated() []*request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*request
	for _, q := range b.open {
		if q.sent {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(x, y *request) int { return cmp.Compare(x.n, y.n) })
	return all
}

// hangUp closes the connection, if there is one, and says goodbye.
func (b *book) hangUp() {
	b.mu.Lock()
	b.over = true
	conn := b.conn
	b.mu.Unlock()
	if conn != nil {
		conn.close()
	}
}
