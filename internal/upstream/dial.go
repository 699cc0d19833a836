package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/proc"
	"github.com/toolcrib/toolcrib/internal/protocol"
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
	Serve      Serve         // for servers of the kind builtin
	Log        *slog.Logger

	// ToolsChanged is called when the server says that its tools have changed,
	// or may have. It must not block.
	ToolsChanged func()
}

// Dial opens a connection: it starts or reaches the server, finds its era and
// shakes hands. On an error, a [*hub.Error] that says what to do, nothing of
// it is left. The connection lives until Close, not until ctx ends.
func Dial(ctx context.Context, opt Options) (*Conn, error) {
	if opt.Handshake <= 0 {
		opt.Handshake = HandshakeLimit
		if runsPackages(opt.Server.Command) {
			opt.Handshake = HandshakeLimitPackage
		}
	}
	if opt.ToolsChanged == nil {
		opt.ToolsChanged = func() {}
	}
	c := &Conn{
		opt: opt,
		log: opt.Log.With("server", opt.Server.Key),
		leg: protocol.Leg{ClientInfo: opt.ClientInfo},

		asides: make(chan struct{}, maxAsides),
	}
	c.ctx, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := c.open(); err != nil {
		c.end(err)
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, opt.Handshake)
	defer cancel()
	if err := c.handshake(limited); err != nil {
		err = c.handshakeFault(ctx, err)
		c.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	c.link.watch()
	return c, nil
}

// open makes the link.
func (c *Conn) open() error {
	s := c.opt.Server
	switch s.Kind {
	case hub.KindHTTP:
		client, err := transport.NewHTTP(transport.HTTPOptions{URL: s.URL, Header: s.Headers})
		if err != nil {
			return hub.E(message.ServerUnreachable, err, "url", "the server", "detail", "its URL cannot be read")
		}
		c.link = &httpLink{conn: c, http: client}
	case hub.KindBuiltin:
		near, farR, farW := transport.Pipe(transport.LinesOptions{})
		ctx, cancel := context.WithCancel(c.ctx)
		c.work.Go(func() {
			defer cancel()
			if err := c.opt.Serve(ctx, s.Key, farR, farW); err != nil && ctx.Err() == nil {
				c.log.Error("a built-in server ended", "error", err)
			}
			_ = farW.Close()
		})
		d := &duplex{
			conn: c, stream: near,
			close:  func(context.Context) { _ = near.Close(); cancel() },
			health: func() Health { return Health{} },
			ended:  func(err error) error { return err },
		}
		d.start()
		c.link = d
	default:
		return c.spawn()
	}
	return nil
}

// spawn starts the server's process.
func (c *Conn) spawn() error {
	s := c.opt.Server
	child, err := transport.StartStdio(proc.Spec{
		Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir,
		OnStderr: func(line string) { c.log.Debug("standard error", "line", redact(s.Env, line)) },
	}, transport.LinesOptions{
		Junk: func(line []byte) { c.log.Debug("a line that is no message", "line", message.Quote(string(line))) },
	})
	if err != nil {
		return startFault(s.Command, err)
	}
	p := child.Process()
	d := &duplex{
		conn: c, stream: child,
		close: func(ctx context.Context) {
			if err := child.Close(ctx); err != nil {
				c.log.Warn("the process was not stopped cleanly", "error", err)
			}
		},
		health: func() Health { return Health{PID: p.PID(), Stderr: redact(s.Env, p.Stderr())} },
		ended: func(err error) error {
			// The output of a process ends a moment before the process.
			select {
			case <-p.Done():
				return exited(s, p)
			case <-time.After(exitDelay):
				return err
			case <-c.ctx.Done():
				return err
			}
		},
	}
	d.start()
	c.link = d
	// The end of its output tells of the end of a process, once all is read
	// that it wrote before. Who holds the output open after that is no part of
	// the server.
	c.work.Go(func() {
		select {
		case <-p.Done():
		case <-c.ctx.Done():
			return
		}
		select {
		case <-time.After(exitDelay):
			c.fail(exited(s, p))
		case <-c.ctx.Done():
		}
	})
	return nil
}

// exitDelay is how long a process may take from the end of its output to its
// own.
const exitDelay = time.Second

// handshake finds the server's era and opens the conversation.
//
// A process is asked in the legacy way first: there are legacy servers that
// hang or exit when something else comes before initialize, while a modern
// server answers initialize with an error. Over HTTP a question does no harm,
// and a server that speaks both is spoken to in the modern way.
func (c *Conn) handshake(ctx context.Context) error {
	legacyFirst := c.opt.Server.Kind != hub.KindHTTP
	if c.opt.Era != nil {
		legacyFirst = *c.opt.Era == protocol.Legacy
	}
	if legacyFirst {
		err := c.initialize(ctx)
		if refused, ok := errors.AsType[*rpcError](err); ok {
			if probe := c.discover(ctx); probe == nil {
				return nil
			}
			return refused
		}
		return err
	}
	err := c.discover(ctx)
	if err == nil || fatal(err) {
		return err
	}
	return c.initialize(ctx)
}

// rpcError is a JSON-RPC error that a server answered with.
type rpcError struct {
	method string
	msg    wire.Message
}

func (e *rpcError) Error() string {
	raw := e.msg.Raw
	code := wire.Lookup(raw, e.msg.Error, "code").Of(raw)
	text, _ := wire.String(raw, wire.Lookup(raw, e.msg.Error, "message"))
	return fmt.Sprintf("%s: error %s: %s", e.method, message.Quote(string(code)), message.Quote(text))
}

// supported returns the versions that an unsupported-version error names.
func (e *rpcError) supported() []protocol.Revision {
	raw := e.msg.Raw
	var list []protocol.Revision
	for at := range wire.Array(raw, wire.Lookup(raw, wire.Lookup(raw, e.msg.Error, "data"), "supported")) {
		if v, ok := wire.String(raw, at); ok {
			list = append(list, protocol.Revision(v))
		}
	}
	return list
}

func (c *Conn) initialize(ctx context.Context) error {
	c.leg.Revision = ""
	params := append([]byte(`{"protocolVersion":"`+protocol.LatestLegacy+`","capabilities":{},"clientInfo":`), c.opt.ClientInfo...)
	m, err := c.own(ctx, protocol.MethodInitialize, append(params, '}'))
	if err != nil {
		return err
	}
	hello, err := protocol.ParseInitialize(m.Result.Of(m.Raw))
	if err != nil {
		return hub.E(message.ServerNotMCP, err, "detail", "its answer to initialize makes no sense")
	}
	if !hello.Revision.Known() || hello.Revision.Era() != protocol.Legacy {
		return unknownVersion(string(hello.Revision))
	}
	c.hello, c.leg.Revision = hello, hello.Revision
	return c.link.notify(ctx, protocol.NotificationInitialized, []byte(`{"jsonrpc":"2.0","method":"`+protocol.NotificationInitialized+`"}`))
}

func (c *Conn) discover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	c.leg.Revision = protocol.LatestModern
	m, err := c.own(ctx, protocol.MethodDiscover, c.leg.Params(nil))
	if err != nil {
		c.leg.Revision = ""
		return err
	}
	hello, err := protocol.ParseDiscover(m.Result.Of(m.Raw))
	if err != nil || hello.Revision == "" {
		c.leg.Revision = ""
		return errors.Join(errors.New("no modern revision in common"), err)
	}
	c.hello, c.leg.Revision = hello, hello.Revision
	return nil
}

// subscription is the request for news of a modern server (2026-07-28,
// "Subscriptions").
func (c *Conn) subscription() []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`,
		c.next.Add(1), protocol.MethodListen, c.leg.Params([]byte(`"notifications":{"toolsListChanged":true}`)))
}

// own sends a request of the hub's own and returns the response.
func (c *Conn) own(ctx context.Context, method string, params []byte) (wire.Message, error) {
	id := c.next.Add(1)
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`, id, method, params)
	m, err := c.link.roundTrip(ctx, &outbound{id: id, raw: raw, method: method, own: true}, c.unasked)
	if err != nil {
		return m, err
	}
	if m.Kind == wire.Failure {
		return m, &rpcError{method: method, msg: m}
	}
	return m, nil
}

func unknownVersion(v string) *hub.Error {
	return hub.E(message.ServerProtocol, nil, "version", message.Quote(v), "known", protocol.KnownRevisions())
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
