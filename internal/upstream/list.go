package upstream

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of one of a server's lists: more is a fault of the server.
const (
	maxPages     = 1000
	maxEntries   = 20_000
	maxListBytes = 128 << 20
)

// Tools asks for all pages of the server's tools and returns the descriptions,
// byte for byte and in the server's order. A server without tools gives none.
func (c *Conn) Tools(ctx context.Context) ([][]byte, error) {
	if !c.hello.Capabilities.Tools {
		return nil, nil
	}
	return c.list(ctx, protocol.MethodToolsList, "tools")
}

// Lists asks for all pages of the lists that are wanted and that the server has,
// and returns the descriptions, byte for byte and in the server's order. A list
// that the server does not have is asked for and empty. An error in the tools is
// an error; other lists that cannot be had are noted in the server's log, and
// left out of those that were asked for.
func (c *Conn) Lists(ctx context.Context, which hub.ListSet) (hub.Lists, error) {
	lists := hub.Lists{Asked: which, Capabilities: c.hello.Declared, Instructions: c.hello.Instructions}
	if which.Has(hub.ListTools) {
		var err error
		if lists.Tools, err = c.Tools(ctx); err != nil {
			return hub.Lists{}, err
		}
	}
	caps := &c.hello.Capabilities
	for _, l := range [...]struct {
		of             hub.ListSet
		has            bool
		method, member string
		to             *[][]byte
	}{
		{hub.ListResources, caps.Resources, protocol.MethodResourcesList, "resources", &lists.Resources},
		{hub.ListTemplates, caps.Resources, protocol.MethodTemplatesList, "resourceTemplates", &lists.Templates},
		{hub.ListPrompts, caps.Prompts, protocol.MethodPromptsList, "prompts", &lists.Prompts},
	} {
		if !which.Has(l.of) || !l.has {
			continue
		}
		entries, err := c.list(ctx, l.method, l.member)
		if l.of == hub.ListTemplates && hasNoMethod(err) {
			err = nil // there is no capability that says so
		}
		if err != nil {
			lists.Asked &^= l.of
			c.note(hub.LogHub, "error: the list of "+l.of.String()+" could not be had: "+hub.AsError(err).Text(message.English).What)
			continue
		}
		*l.to = entries
	}
	return lists, nil
}

// list asks for all pages of a list, which is the member of each result.
func (c *Conn) list(ctx context.Context, method, member string) ([][]byte, error) {
	var (
		entries [][]byte
		size    int
		members []byte
		seen    = map[string]bool{}
	)
	for range maxPages {
		m, err := c.own(ctx, method, c.leg.Params(members))
		if err != nil {
			return nil, c.listFault(ctx, method, err)
		}
		list := m.Member(member)
		if !list.Exists() || m.Raw[list.Start] != '[' {
			return nil, c.badList(method, message.Say("it has no %s", member))
		}
		for at := range wire.Array(m.Raw, list) {
			entries = append(entries, at.Of(m.Raw))
		}
		if size += len(m.Raw); size > maxListBytes || len(entries) > maxEntries {
			return nil, c.badList(method, message.Say("it is longer than %d %s or %s", maxEntries, member, mib(maxListBytes)))
		}
		next := m.Member("nextCursor")
		if !next.Exists() || string(next.Of(m.Raw)) == "null" {
			return entries, nil
		}
		cursor := string(next.Of(m.Raw))
		if seen[cursor] {
			return nil, c.badList(method, message.Say("its pages go round in a circle"))
		}
		seen[cursor] = true
		members = append([]byte(`"cursor":`), cursor...)
	}
	return nil, c.badList(method, message.Say("it has more than %d pages", maxPages))
}

func (c *Conn) badList(method string, detail message.Phrase) error {
	return hub.E(message.ServerBadReply, nil, "server", c.opt.Server.Key).
		With("detail", message.Say("in its answer to %s, %s", method, detail))
}

func (c *Conn) listFault(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil && c.ctx.Err() == nil {
		return hub.E(message.ServerSilent, err, "method", method).
			With("limit", message.Say("the time it had")).With("stderr", stderrTail(c.link.state().Stderr))
	}
	return c.Explain(err)
}

// hasNoMethod reports whether a server does not know what it was asked.
func hasNoMethod(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && string(refused.code()) == strconv.Itoa(protocol.CodeMethodUnknown)
}

// Subscribe has the server tell of changes of a resource, until Unsubscribe or
// the end of the connection: Options.Updated is called. Subscribing twice is
// subscribing once. When ctx ends first, it is open whether the server does; an
// Unsubscribe makes sure that it does not.
//
// The error is a [*hub.Error]. If it is [message.ServerRefused], it wraps a
// [*RefusedError] with what the server said. If the server has not declared
// subscriptions, or a modern one leaves the resource out of those which it
// listens for, it is [message.NotOffered].
func (c *Conn) Subscribe(ctx context.Context, uri string) error {
	return c.subscribe(ctx, protocol.MethodSubscribe, uri)
}

// Unsubscribe undoes Subscribe; errors are those of Subscribe.
func (c *Conn) Unsubscribe(ctx context.Context, uri string) error {
	return c.subscribe(ctx, protocol.MethodUnsubscribe, uri)
}

func (c *Conn) subscribe(ctx context.Context, method, uri string) error {
	err := c.offered(method)
	switch {
	case err != nil:
		return err
	case c.feed != nil:
		err = c.feed.want(ctx, uri, method == protocol.MethodSubscribe)
	default:
		_, err = c.own(ctx, method, c.leg.Params(append([]byte(`"uri":`), wire.AppendString(nil, uri)...)))
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && c.ctx.Err() == nil:
		return c.requestFault(ctx, method, err)
	}
	return c.Explain(err)
}

// Tell sends a notification of the caller's whose connection this is, such as
// notifications/roots/list_changed, to a legacy server; a modern one has no use
// for any. It waits a moment at most, and nobody is told if it fails.
func (c *Conn) Tell(ctx context.Context, method string, raw []byte) {
	if c.Era() == protocol.Legacy {
		c.send(ctx, method, raw)
	}
}

// SetLevel asks a legacy server that logs for messages from the level on. A
// modern server is told with each request instead.
func (c *Conn) SetLevel(ctx context.Context, level string) error {
	if c.Era() == protocol.Modern || !c.hello.Capabilities.Logging {
		return nil
	}
	var params strings.Builder
	params.WriteString(`{"level":`)
	params.Write(wire.AppendString(nil, level))
	params.WriteByte('}')
	if _, err := c.own(ctx, protocol.MethodSetLevel, []byte(params.String())); err != nil {
		return c.Explain(err)
	}
	return nil
}
