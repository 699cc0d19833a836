package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/proc"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Limits of opening a connection.
const (
	// HandshakeLimit is how long a server may take until it has answered
	// initialize.
	HandshakeLimit = 30 * time.Second
	// HandshakeLimitPackage is the same for commands that may have to fetch
	// the server's package first.
	HandshakeLimitPackage = 60 * time.Second

	// probeLimit bounds the question whether a server is a modern one: a
	// legacy server may never answer it.
	probeLimit = 5 * time.Second
)

// Serve runs a server of this process on the given ends until r ends.
type Serve func(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error

// Options say what to connect to and who is asking.
type Options struct {
	Server     hub.Server
	ClientInfo []byte        // JSON object: name and version of the hub
	Era        *protocol.Era // of the server, if it is known from an earlier connection
	Handshake  time.Duration // 0 for the default of the server's kind
	Idle       time.Duration // an event stream may be silent so long; 0 for the transport's default
	Serve      Serve         // for servers of the kinds builtin and device
	Network    transport.Network
	Log        *slog.Logger

	// Resolve, if set, is called first: it fills in the placeholders of the
	// server's texts, and says which values must never be shown. Without it the
	// server is taken as it is, and the values of its environment and headers
	// are not shown.
	Resolve func(hub.Server) (hub.Server, []string, *hub.Error)

	// Authorize, if set, returns the credentials for a remote server, whose
	// placeholders are filled in; nil for none but those of its definition.
	Authorize func(hub.Server) transport.Authorizer

	// Note, if set, is given each line for the server's log, without secrets,
	// colours and control characters and cut at 4 KiB. The level is the one that
	// an MCP log message has, and "" for everything else. It must not block.
	Note func(source hub.LogSource, level hub.LogLevel, line string)

	// Processes, if set, has the server's process recorded in it, so that the
	// next hub finds what this one left behind if it is killed.
	Processes *proc.Ledger

	// Started, if set, is told the id of the server's process once that has been
	// started and before it is talked to, which may take long. It must not block.
	Started func(pid int)

	// Capabilities is what is declared to a legacy server of the client, a JSON
	// object: what it may ask. Nil declares nothing.
	Capabilities []byte
	// Caller, if set, is whose connection this is: what the server asks or logs
	// outside of any call goes there. Nil refuses such questions, and has such
	// lines noted.
	Caller hub.Exchange

	// These, if set, are told what the server says outside of any call, or in one
	// without its being about it. They must not block, and not keep the bytes.
	ListsChanged func(hub.ListSet)            // lists that have changed, or may have
	Updated      func(uri string, raw []byte) // a resource that was subscribed to has changed
	Elicited     func(id string, raw []byte)  // what a person was asked to do at a URL is done
	// Missed is told when news of resources may have been lost, since the stream
	// for them of a legacy server was away.
	Missed func()
	// Asked is told of each question, by its method, before it is put to anybody
	// or refused. It must not block.
	Asked func(method string)
}

// Dial opens a connection: it starts or reaches the server, finds its era and
// shakes hands. On an error, a [*hub.Error] that says what to do, nothing of
// it is left. The connection lives until Close, not until ctx ends.
func Dial(ctx context.Context, opt Options) (*Conn, error) {
	secrets := slices.Concat(slices.Collect(maps.Values(opt.Server.Env)), slices.Collect(maps.Values(opt.Server.Headers)))
	if opt.Resolve != nil {
		var err *hub.Error
		if opt.Server, secrets, err = opt.Resolve(opt.Server); err != nil {
			return nil, err
		}
	}
	if opt.Handshake <= 0 {
		opt.Handshake = HandshakeLimit
		if runsPackages(opt.Server.Command) {
			opt.Handshake = HandshakeLimitPackage
		}
	}
	if opt.Idle <= 0 {
		opt.Idle = transport.DefaultStreamIdle
	}
	c, err := connect(ctx, opt, secrets)
	if err != nil && c.retryWithNPX(ctx, err) {
		opt.Server.DirectNode = false
		c, err = connect(ctx, opt, secrets)
	}
	if err != nil {
		return nil, err
	}
	if c.outside != nil {
		c.aside(c.attend)
	}
	if c.Era() == protocol.Modern && c.hasNews() {
		c.feed = newFeed(c)
		c.aside(c.feed.run)
	}
	c.link.watch()
	return c, nil
}

// connect is one attempt of Dial's. On an error the connection is closed.
func connect(ctx context.Context, opt Options, secrets []string) (*Conn, error) {
	c := &Conn{
		opt:     opt,
		log:     opt.Log.With("server", opt.Server.Key),
		leg:     protocol.Leg{ClientInfo: opt.ClientInfo},
		secrets: secret.NewRedactor(secrets),

		relieved: make(chan struct{}, 1),
		began:    time.Now(),
	}
	if opt.Caller != nil {
		c.outside = newInbox()
	}
	c.authorize()
	c.ctx, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	limited, cancel := context.WithTimeout(ctx, opt.Handshake)
	defer cancel()
	err := c.open(limited)
	if err == nil {
		if pid := c.link.state().PID; pid != 0 && opt.Started != nil {
			opt.Started(pid)
		}
		err = c.handshake(limited)
	}
	if err != nil {
		err := c.handshakeFault(ctx, err)
		c.Close(context.WithoutCancel(ctx))
		return c, err
	}
	return c, nil
}

// handshake finds the server's era and opens the conversation.
//
// A process is asked in the legacy way first: there are legacy servers that
// hang or exit when something else comes before initialize, while a modern
// server answers initialize with an error. Over HTTP a question does no harm,
// and a server that speaks both is spoken to in the modern way.
//
// HTTP with server-sent events ended with the legacy era. An endpoint that
// takes no POST may be one of those.
func (c *Conn) handshake(ctx context.Context) error {
	if c.opt.Server.Kind == hub.KindSSE {
		return c.initialize(ctx)
	}
	overHTTP := c.opt.Server.Kind == hub.KindHTTP
	legacyFirst := !overHTTP
	if c.opt.Era != nil {
		legacyFirst = *c.opt.Era == protocol.Legacy
	}
	if !legacyFirst {
		if err := c.discover(ctx); err == nil || fatal(err) {
			return err
		}
	}
	err := c.initialize(ctx)
	if refused, ok := errors.AsType[*RefusedError](err); ok && legacyFirst {
		if c.discover(ctx) == nil {
			return nil
		}
		return refused
	}
	if overHTTP && takesNoPost(err) {
		return c.fallBack(ctx, err)
	}
	return err
}

// RefusedError is a JSON-RPC error that a server answered a request of the hub's
// own with. A [hub.Error] of the code [message.ServerRefused] wraps it, so that
// the server's own words can be passed on to whom the request was made for.
type RefusedError struct {
	Reply   Reply // a Failure
	method  string
	secrets *secret.Redactor
}

// Error quotes the server's code and message, without secrets.
func (e *RefusedError) Error() string {
	m := &e.Reply.Message
	text, _ := wire.String(m.Raw, wire.Lookup(m.Raw, m.Error, "message"))
	return fmt.Sprintf("%s: error %s: %s", e.method, message.Quote(string(e.code())), message.Quote(e.secrets.Redact(text)))
}

// Method is that of the request that was refused.
func (e *RefusedError) Method() string { return e.method }

// code is the error's code, as it came.
func (e *RefusedError) code() []byte {
	m := &e.Reply.Message
	return wire.Lookup(m.Raw, m.Error, "code").Of(m.Raw)
}

func (c *Conn) refusedBy(method string, m wire.Message) *RefusedError {
	return &RefusedError{Reply: Reply{Message: m, Era: c.Era()}, method: method, secrets: c.secrets}
}

// supported returns the versions that an unsupported-version error names.
func (e *RefusedError) supported() []protocol.Revision {
	raw := e.Reply.Message.Raw
	var list []protocol.Revision
	for at := range wire.Array(raw, wire.Lookup(raw, wire.Lookup(raw, e.Reply.Message.Error, "data"), "supported")) {
		if v, ok := wire.String(raw, at); ok {
			list = append(list, protocol.Revision(v))
		}
	}
	return list
}

// agree has the connection speak a revision, "" for none yet.
func (c *Conn) agree(r protocol.Revision) {
	c.leg.Revision = r
	c.modern.Store(r.Era() == protocol.Modern)
}

func (c *Conn) initialize(ctx context.Context) error {
	c.agree("")
	capabilities := c.opt.Capabilities
	if capabilities == nil {
		capabilities = []byte("{}")
	}
	params := slices.Concat([]byte(`{"protocolVersion":"`+protocol.LatestLegacy+`","capabilities":`), capabilities,
		[]byte(`,"clientInfo":`), c.opt.ClientInfo)
	m, err := c.own(ctx, protocol.MethodInitialize, append(params, '}'))
	if err != nil {
		return err
	}
	hello, err := protocol.ParseInitialize(m.Result.Of(m.Raw))
	if err != nil {
		return hub.E(message.ServerNotMCP, err).With("detail", message.Say("its answer to initialize makes no sense"))
	}
	if !hello.Revision.Known() || hello.Revision.Era() != protocol.Legacy {
		return c.unknownVersion(string(hello.Revision))
	}
	c.hello = hello
	c.agree(hello.Revision)
	return c.link.notify(ctx, protocol.NotificationInitialized, []byte(`{"jsonrpc":"2.0","method":"`+protocol.NotificationInitialized+`"}`))
}

// A server that does not take the revision is asked once more in the newest one
// that it says it takes (2026-07-28, "Versioning and Compatibility").
func (c *Conn) discover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	c.agree(protocol.LatestModern)
	m, err := c.own(ctx, protocol.MethodDiscover, c.leg.Params(nil))
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		if common := protocol.CommonModern(refused.supported()); common != "" {
			c.agree(common)
			m, err = c.own(ctx, protocol.MethodDiscover, c.leg.Params(nil))
		}
	}
	if err != nil {
		c.agree("")
		return err
	}
	hello, err := protocol.ParseDiscover(m.Result.Of(m.Raw))
	if err != nil || hello.Revision == "" {
		c.agree("")
		return errors.Join(errors.New("no modern revision in common"), err)
	}
	c.hello = hello
	c.agree(hello.Revision)
	return nil
}

// own sends a request of the hub's own and returns the response.
func (c *Conn) own(ctx context.Context, method string, params []byte) (wire.Message, error) {
	id := c.next.Add(1)
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`, id, method, params)
	reply, err := c.link.roundTrip(ctx, &outbound{id: id, raw: raw, method: method}, c.unasked)
	if err != nil {
		if lost := c.Err(); lost != nil {
			return wire.Message{}, lost // says more than that the request was cut off
		}
		return wire.Message{}, err
	}
	m := reply.Message
	if m.Kind == wire.Failure {
		return m, c.refusedBy(method, m)
	}
	return m, nil
}

func (c *Conn) unknownVersion(v string) *hub.Error {
	return hub.E(message.ServerProtocol, nil, "version", message.Quote(c.secrets.Redact(v)), "known", protocol.KnownRevisions())
}

// runsPackages reports whether a command fetches the server's package before
// it runs it.
func runsPackages(command string) bool {
	switch commandName(command) {
	case "npx", "uvx", "pnpx", "bunx", "pipx":
		return true
	}
	return false
}

func commandName(command string) string {
	name := strings.ToLower(filepath.Base(command))
	for _, ext := range [...]string{".cmd", ".exe", ".bat"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}
