package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/proc"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/sandbox"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// hiddenError is an error without the server's secrets: those of net/http and
// of WebSockets quote what the server sent, which may be what it was sent.
type hiddenError struct {
	error
	secrets *secret.Redactor
}

func (e *hiddenError) Error() string { return e.secrets.Redact(e.error.Error()) }

func (e *hiddenError) Unwrap() error { return e.error }

// hide returns an error as it may be told, also to the log. What it wraps is
// still found in it.
func (c *Conn) hide(err error) error { return &hiddenError{err, c.secrets} }

// requestFault says in the hub's words why a request got no answer. Whether it
// was sent stays readable from the error (transport.ErrNotSent).
func (c *Conn) requestFault(ctx context.Context, method string, err error) error {
	err = c.hide(err)
	key := c.opt.Server.Key
	e, refused := unadmitted(err)
	switch {
	case ctx.Err() != nil:
		if cause, ok := errors.AsType[*hub.Error](context.Cause(ctx)); ok {
			return cause
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return hub.E(message.Timeout, err, "server", key).With("limit", message.Say("the time the call had"))
		}
		return hub.E(message.Cancelled, err)
	case refused && errors.Is(err, transport.ErrNotSent):
		unsent := *e
		unsent.Err = errors.Join(transport.ErrNotSent, e.Err)
		return &unsent
	case refused:
		return e
	case errors.Is(err, transport.ErrNotSent):
		return hub.E(message.ServerDown, err, "server", key).With("reason", message.Say("%s", c.Explain(err)))
	}
	if e, ok := c.answerFault(err); ok {
		return e
	}
	return hub.E(message.OutcomeUnknown, fmt.Errorf("%s: %w", method, err), "server", key)
}

// saidBy returns the JSON-RPC error that an answer of HTTP has in its body, if it
// has one, and else err.
func (c *Conn) saidBy(method string, err error) error {
	if bad, ok := errors.AsType[*transport.StatusError](err); ok {
		if m, is := bad.Message(); is {
			return c.refusedBy(method, m)
		}
	}
	return err
}

// answerFault explains an answer that came and cannot be used.
func (c *Conn) answerFault(err error) (*hub.Error, bool) {
	key := c.opt.Server.Key
	if bad, ok := errors.AsType[*transport.StatusError](err); ok {
		code := message.ServerHTTPStatus
		if unauthorized(err) {
			code = message.ServerUnauthorized
		}
		return hub.E(code, err, "server", key, "url", c.where(), "status", strconv.Itoa(bad.Status)), true
	}
	if bad, ok := errors.AsType[*transport.EndpointError](err); ok {
		return hub.E(message.ServerEndpoint, err, "url", c.where(), "origin", message.Quote(c.secrets.Redact(bad.Origin))), true
	}
	if bad, ok := errors.AsType[*transport.ContentTypeError](err); ok {
		return hub.E(message.ServerBadReply, nil, "server", key).
			With("detail", message.Say("its content type is %s", message.Quote(c.secrets.Redact(bad.Type)))), true
	}
	if big, ok := errors.AsType[*transport.TooLargeError](err); ok {
		return hub.E(message.ServerReplyTooBig, err, "server", key, "limit", mib(big.Limit)), true
	}
	if bad, ok := errors.AsType[*wire.Error](err); ok {
		return hub.E(message.ServerBadReply, err, "server", key).With("detail", message.Term(bad.Reason.String())), true
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return hub.E(message.ServerRefused, err, "server", key, "method", refused.method, "detail", refused.Error(),
			"answer", message.Quote(string(refused.code()))), true
	}
	return nil, false
}

// Explain says for what reason a connection is not there, be it an error of
// Dial, of Do or Err.
func (c *Conn) Explain(err error) *hub.Error {
	err = c.hide(err)
	if e, ok := errors.AsType[*hub.Error](err); ok {
		return e
	}
	if e, ok := c.answerFault(err); ok {
		return e
	}
	if c.opt.Server.Kind.Remote() {
		return c.remoteFault(err)
	}
	return hub.E(message.ServerExited, err, "stderr", "").With("exit", message.Say("its output ended"))
}

// handshakeFault explains why a connection did not come about. ctx is without
// the limit of the handshake.
func (c *Conn) handshakeFault(ctx context.Context, err error) *hub.Error {
	err = c.hide(err)
	if fallen, ok := errors.AsType[*fallbackError](err); ok {
		return c.fallbackFault(fallen, c.handshakeFault(ctx, fallen.then))
	}
	if e, ok := errors.AsType[*hub.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return hub.E(message.Cancelled, context.Cause(ctx))
	}
	if errors.Is(err, transport.ErrUpgrade) {
		return hub.E(message.ServerNotMCP, err).With("detail", message.Say("its answer opens no WebSocket"))
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		if list := refused.supported(); len(list) > 0 {
			return c.unknownVersion(string(list[0]))
		}
		return c.Explain(err)
	}
	var health Health
	asked := http.MethodGet // opens streams
	if c.link != nil {
		health, asked = c.link.state(), protocol.MethodInitialize
	}
	if errors.Is(err, context.DeadlineExceeded) {
		if health.Junk > 0 {
			return hub.E(message.ServerNotMCP, err).With("detail", message.Say(
				"it wrote %d lines that are no messages, and no answer to initialize%s", health.Junk, stderrTail(health.Stderr)))
		}
		return hub.E(message.ServerSilent, err, "method", asked, "limit", c.opt.Handshake.String()).With("stderr", stderrTail(health.Stderr))
	}
	if bad, ok := errors.AsType[*transport.ContentTypeError](err); ok {
		return hub.E(message.ServerNotMCP, nil).
			With("detail", message.Say("it answered with the content type %s", message.Quote(c.secrets.Redact(bad.Type))))
	}
	if errors.Is(err, errNoReply) {
		return hub.E(message.ServerNotMCP, err).With("detail", message.Say("it accepted initialize and did not answer it"))
	}
	if bad, ok := errors.AsType[*wire.Error](err); ok {
		return hub.E(message.ServerNotMCP, err).
			With("detail", message.Say("its answer to initialize is no JSON-RPC message: %s", message.Term(bad.Reason.String())))
	}
	return c.Explain(err)
}

// fatal reports whether an error of the first question to an HTTP server makes
// a second one pointless.
func fatal(err error) bool {
	if _, refused := unadmitted(err); refused {
		return true
	}
	return unauthorized(err) || errors.Is(err, transport.ErrNotSent)
}

// unauthorized reports whether a server did not let the hub in.
func unauthorized(err error) bool {
	bad, ok := errors.AsType[*transport.StatusError](err)
	return ok && (bad.Status == http.StatusUnauthorized || bad.Status == http.StatusForbidden)
}

// exited describes the end of a process.
func (c *Conn) exited(p *proc.Process) *hub.Error {
	stderr := c.secrets.Redact(p.Stderr())
	if reason, ok := sandbox.Refused(stderr); ok && c.opt.Server.Sandbox != nil {
		return hub.E(message.SandboxUnusable, nil, "detail", message.Quote(reason))
	}
	if strings.Contains(stderr, "env: ‘node’") || strings.Contains(stderr, "env: 'node'") ||
		strings.Contains(stderr, "node: not found") || strings.Contains(stderr, "env: node:") {
		return hub.E(message.NodeMissing, nil, "command", c.command()).With("path", message.Say("the PATH of the process"))
	}
	return hub.E(message.ServerExited, nil, "exit", p.Exit()).With("stderr", stderrTail(stderr))
}

// command names the server's command without what may be a secret in it.
func (c *Conn) command() string { return message.Quote(c.secrets.Redact(c.opt.Server.Command)) }

// startFault explains why the command could not be started.
func (c *Conn) startFault(err error) *hub.Error {
	err = c.hide(err)
	if bad, ok := errors.AsType[*sandbox.UnavailableError](err); ok {
		return hub.E(message.SandboxMissing, err).With("detail", message.Term(bad.Reason))
	}
	if bad, ok := errors.AsType[*sandbox.PolicyError](err); ok {
		return hub.E(message.SandboxUnusable, err, "detail", message.Quote(c.secrets.Redact(bad.Error())))
	}
	missing, ok := errors.AsType[*proc.NotFoundError](err)
	if !ok {
		return hub.E(message.CommandUnusable, err, "command", c.command(), "detail", message.Quote(err.Error()))
	}
	code := message.CommandNotFound
	switch commandName(c.opt.Server.Command) {
	case "npx", "npm", "node":
		code = message.NodeMissing
	case "uvx", "uv":
		code = message.UvMissing
	}
	return hub.E(code, err, "command", c.command(), "path", message.Quote(missing.Path))
}

// where names the endpoint without what may be a secret in it.
func (c *Conn) where() string {
	u, err := url.Parse(c.opt.Server.URL)
	if err != nil {
		return "the server"
	}
	return u.Scheme + "://" + u.Host // hosted servers have keys in their paths
}

func cancelReason(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || hub.IsCode(context.Cause(ctx), message.Timeout) {
		return "timeout"
	}
	return "cancelled by the caller"
}

func mib(n int) string { return strconv.Itoa(n>>20) + " MiB" }
