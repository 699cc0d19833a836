// Package upstream holds one live connection to one MCP server: it dials,
// finds out the server's era, shakes hands, and carries requests until the
// connection ends. It never reconnects by itself; that is for the fleet.
package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Request is one request to a server, as its caller put it.
type Request struct {
	Message *wire.Message // a scanned request; its bytes are not changed
	Edits   []wire.Edit   // what the hub changes in it besides what every leg owns, such as the tool's name
	Name    string        // the routing key after the edits, for the headers of modern servers
	Headers []hub.ParamHeader
	Level   string // log level the caller wants; "" for none
	Trace   []byte // members of _meta that say which span it is of, in place of the caller's; nil for the caller's
}

// Reply is a server's answer to one request.
type Reply struct {
	Message wire.Message // a Response or a Failure, with the id of this leg
	Era     protocol.Era // of the server
}

// Conn is one connection to one server. It is made by [Dial] and ready from
// then on until Done. Safe for concurrent use.
type Conn struct {
	opt   Options
	log   *slog.Logger
	link  link
	leg   protocol.Leg
	hello protocol.Hello

	modern atomic.Bool // the revision of leg is; a server may ask before the handshake is over

	secrets     *secret.Redactor // over everything that the server says and the hub shows
	credentials *credentials     // nil if it takes none but those of its definition
	next        atomic.Uint64    // the last request id used

	ctx  context.Context // ends with the connection; the cause says why
	end  context.CancelCauseFunc
	work sync.WaitGroup // goroutines of the connection
	stop sync.Once

	direct bool // the process was started without npx, which its definition names

	began time.Time
	heard atomic.Int64 // when the last message came, in nanoseconds since began
	mute  atomic.Bool  // the server has refused the stream for its news

	asked    atomic.Int64  // the server's questions
	answered atomic.Int64  // those of them to which it has the answer
	relieved chan struct{} // has a token when these may all be
	opened   chan struct{} // closed when the stream for what belongs to no call is open or refused; nil for none

	outside *inbox // what is for the caller whose connection it is; nil if it is nobody's
	feed    *feed  // of a modern server that has news; else nil

	mu        sync.Mutex
	closing   bool                 // no more goroutines may start
	checks    *transport.HTTP      // nil before the first check
	questions map[string]*question // with a caller, by the server's raw id
	unsent    [][]byte             // of sendAside, in their order
	waiting   int                  // bytes of these
	senders   int                  // goroutines that send them
}

// link is the shape of a transport: one duplex stream for all requests, or an
// HTTP exchange for each.
type link interface {
	// roundTrip sends a request, gives the messages that belong to it to on in
	// the order of arrival, and returns the response. When ctx ends first, the
	// server is told once, if it was sent the request at all.
	roundTrip(ctx context.Context, out *outbound, on func(*wire.Message)) (*Reply, error)
	// notify sends a notification.
	notify(ctx context.Context, method string, raw []byte) error
	// watch starts what brings news of the server outside of any request, unless
	// they are to be listened to.
	watch()
	// listen sends a request to listen to a modern server, and gives what comes
	// for it to on until it ends: nil if the server says so, else why. When ctx
	// ends, so does the request.
	listen(ctx context.Context, out *outbound, on func(*wire.Message)) error
	// shut ends the transport and what belongs to it, such as a process.
	shut(ctx context.Context)
	// state tells about the transport's inside.
	state() Health
}

// outbound is a request as it goes to the server.
type outbound struct {
	id     uint64
	raw    []byte
	method string
	name   string
	params []transport.Param
	desk   *desk // of the call; nil for a request of the hub's own
}

// Health is what there is to tell about a connection's transport.
type Health struct {
	PID    int
	Junk   int64  // lines that were no messages
	Stray  int64  // replies that nobody waited for
	Stderr string // the end of what the process wrote to standard error
}

// Era is the server's era.
func (c *Conn) Era() protocol.Era {
	if c.modern.Load() {
		return protocol.Modern
	}
	return protocol.Legacy
}

// Hello is what the server said about itself.
func (c *Conn) Hello() protocol.Hello { return c.hello }

// Protocol is the revision agreed upon.
func (c *Conn) Protocol() string { return string(c.hello.Revision) }

// Info is what the server calls itself, name and version, fit to be shown; ""
// if it did not say.
func (c *Conn) Info() string {
	var info struct{ Name, Version string }
	if json.Unmarshal(c.hello.ServerInfo, &info) != nil {
		return ""
	}
	return message.Quote(c.secrets.Redact(strings.TrimSpace(info.Name + " " + info.Version)))
}

// Health tells about the transport.
func (c *Conn) Health() Health { return c.link.state() }

// Done is closed when the connection has ended, by whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns why the connection ended; nil while it is live and after Close.
func (c *Conn) Err() error {
	err := context.Cause(c.ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Close ends the connection: requests under way fail, a process and its
// children are stopped. It returns when all is gone, and may be called more
// than once. Only if an HTTP server was lost before, what it still works on
// goes on within the time of the request. ctx bounds how long goodbyes may take, not the stopping itself.
func (c *Conn) Close(ctx context.Context) {
	c.stop.Do(func() {
		c.mu.Lock()
		c.closing = true
		checks := c.checks
		c.mu.Unlock()
		c.end(context.Canceled)
		if checks != nil {
			checks.Close()
		}
		if c.link != nil {
			c.link.shut(ctx)
		}
	})
	c.work.Wait()
}

// aside runs f on a goroutine of the connection, which Close waits for; not at
// all once the connection is being closed.
func (c *Conn) aside(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.work.Go(f)
	}
}

// fail ends the connection because of err. Close is still to be called.
func (c *Conn) fail(err error) { c.end(err) }

// Do sends one request and returns the server's answer, which may be an error
// of the server's. Notifications and questions that belong to the request go
// to ex in the order in which the server sent them, and those before the answer
// do so before Do returns; the progress token in them is the caller's own. An
// open question holds up nothing. When the request ends, its questions are
// withdrawn, and after Do has returned nothing reaches ex any more.
//
// On a caller's own connection only a request that got no answer takes its
// questions with it: one that was answered cannot have waited for them, and a
// question that the server puts at any time, such as one for the roots, is
// passed on with the request that happens to be under way. Such a question may be
// withdrawn, as its context says, after Do has returned.
//
// Do gives the request its own id and progress token, and ends it once: when
// ctx ends, the server is told to cancel exactly this request. An error is a
// [*hub.Error]. If errors.Is(err, transport.ErrNotSent) holds, the server
// provably did not get the request, and it may be sent again by another Do. A
// method that the server has not declared is not sent, and is
// [message.NotOffered].
func (c *Conn) Do(ctx context.Context, req *Request, ex hub.Exchange) (*Reply, error) {
	id := c.next.Add(1)
	out, token := c.prepare(id, req)
	if err := c.offered(out.method); err != nil {
		return nil, err
	}
	k := &desk{ctx: ctx, conn: c, ex: ex}
	outlive := false
	defer func() { k.close(outlive) }()
	out.desk = k
	reply, err := c.link.roundTrip(ctx, out, func(m *wire.Message) { c.relay(m, id, token, k) })
	if err != nil {
		return nil, c.requestFault(ctx, out.method, err)
	}
	outlive = c.outside != nil
	if m := &reply.Message; m.Kind == wire.Response && (!m.Result.Exists() || m.Raw[m.Result.Start] != '{') {
		return nil, hub.E(message.ServerBadReply, nil, "server", c.opt.Server.Key).With("detail", message.Say("its result is not a JSON object"))
	}
	return reply, nil
}

// offered is an error if the server has not declared what the method is of.
// Tools are always asked for: whoever calls one has seen it listed. Until
// 2024-11-05 there was no capability for completion.
func (c *Conn) offered(method string) error {
	has := true
	switch caps := &c.hello.Capabilities; method {
	case protocol.MethodResourcesRead:
		has = caps.Resources
	case protocol.MethodSubscribe, protocol.MethodUnsubscribe:
		has = caps.Subscribe
	case protocol.MethodPromptsGet:
		has = caps.Prompts
	case protocol.MethodComplete:
		has = caps.Completions || c.hello.Revision < protocol.Rev20250326
	}
	if has {
		return nil
	}
	return hub.E(message.NotOffered, nil, "server", c.opt.Server.Key, "method", method)
}

// prepare builds the bytes for this leg. token is the caller's own progress
// token, nil if it has none.
func (c *Conn) prepare(id uint64, req *Request) (out *outbound, token []byte) {
	m := req.Message
	digits := strconv.AppendUint(make([]byte, 0, 20), id, 10)
	if meta := m.Member("_meta"); meta.Exists() {
		token = wire.Lookup(m.Raw, meta, protocol.MetaProgressToken).Of(m.Raw)
	}
	edits := make([]wire.Edit, 0, 6)
	edits = append(edits, wire.Replace(m.ID, digits))
	edits = append(edits, req.Edits...)
	edits = c.leg.RequestEdits(edits, m, digits, req.Level, req.Trace)
	out = &outbound{id: id, raw: wire.Splice(m.Raw, edits...), method: m.MethodName()}
	if protocol.NameMember(out.method) != "" {
		out.name = req.Name
	}
	if len(req.Headers) > 0 && c.Era() == protocol.Modern {
		args := m.Member("arguments")
		for _, h := range req.Headers {
			if text, ok := protocol.HeaderText(m.Raw, protocol.ArgumentAt(m.Raw, args, h.Path)); ok {
				out.params = append(out.params, transport.Param{Name: h.Name, Value: text})
			}
		}
	}
	return out, token
}

// relay passes on a message that came for the request with the id.
func (c *Conn) relay(m *wire.Message, id uint64, token []byte, k *desk) {
	switch method := m.MethodName(); {
	case m.Kind == wire.Request:
		k.ask(m)
	case method == protocol.NotificationCancelled:
		c.withdraw(m)
	case isNews(method):
		c.unasked(m)
	case method == protocol.NotificationProgress:
		t := m.Member(protocol.MetaProgressToken)
		if token != nil && string(t.Of(m.Raw)) == strconv.FormatUint(id, 10) {
			k.notify(wire.Splice(m.Raw, wire.Replace(t, token)))
		}
	default:
		k.notify(m.Raw)
	}
}

// send is for messages whose fate nobody waits for.
func (c *Conn) send(ctx context.Context, method string, raw []byte) {
	c.sendWithin(ctx, courtesy, method, raw)
}

func (c *Conn) sendWithin(ctx context.Context, limit time.Duration, method string, raw []byte) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := c.link.notify(ctx, method, raw); err != nil {
		c.log.Debug("a message to the server was not sent", "error", c.hide(err))
	}
}

// sendAside is send for whoever must not wait, such as the reader of a stream.
// What waits is bounded: a server that asks and does not read gets no answer to
// some of it.
func (c *Conn) sendAside(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing:
		return
	case len(c.unsent) > 0 && c.waiting+len(raw) > maxUnsent:
		c.log.Debug("an answer to the server was dropped")
		return
	}
	c.unsent = append(c.unsent, raw)
	c.waiting += len(raw)
	if c.senders < maxSenders {
		c.senders++
		c.work.Go(c.sendUnsent)
	}
}

// sendUnsent sends what waits, until nothing does.
func (c *Conn) sendUnsent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.senders-- }()
	for len(c.unsent) > 0 && !c.closing {
		raw := c.unsent[0]
		c.unsent[0] = nil
		c.unsent = c.unsent[1:]
		c.waiting -= len(raw)
		c.mu.Unlock()
		c.send(c.ctx, "", raw)
		c.mu.Lock()
	}
	if len(c.unsent) == 0 {
		c.unsent = nil
	}
}

const (
	// maxUnsent bounds the answers that wait to requests which the hub answers
	// itself, in bytes.
	maxUnsent = 1 << 20
	// maxSenders is how many of them are on their way at once: over HTTP each is
	// a request.
	maxSenders = 8
)

// courtesy bounds messages that the server may ignore as well.
const courtesy = 2 * time.Second

// cancelled is the notification that ends a request on the server's side, as the
// end of its context says; the caller's own, if there was one.
func cancelled(ctx context.Context, id uint64) []byte {
	var notice []byte
	if c, ok := errors.AsType[*hub.Cancellation](context.Cause(ctx)); ok {
		notice = c.Raw
	}
	return protocol.Cancelled(notice, strconv.AppendUint(nil, id, 10), cancelReason(ctx))
}
