package upstream

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of one server's list: more is a fault of the server.
const (
	maxPages     = 1000
	maxTools     = 20_000
	maxListBytes = 128 << 20
)

// Tools asks for all pages of the server's tools and returns the descriptions,
// byte for byte and in the server's order. A server without tools gives none.
func (c *Conn) Tools(ctx context.Context) ([][]byte, error) {
	if !c.hello.Capabilities.Tools {
		return nil, nil
	}
	var (
		tools   [][]byte
		size    int
		members []byte
		seen    = map[string]bool{}
	)
	for range maxPages {
		m, err := c.own(ctx, protocol.MethodToolsList, c.leg.Params(members))
		if err != nil {
			return nil, c.listFault(ctx, err)
		}
		list := m.Member("tools")
		if !list.Exists() || m.Raw[list.Start] != '[' {
			return nil, c.badList("it has no tools")
		}
		for at := range wire.Array(m.Raw, list) {
			tools = append(tools, at.Of(m.Raw))
		}
		if size += len(m.Raw); size > maxListBytes || len(tools) > maxTools {
			return nil, c.badList(fmt.Sprintf("it is longer than %d tools or %s", maxTools, mib(maxListBytes)))
		}
		next := m.Member("nextCursor")
		if !next.Exists() || string(next.Of(m.Raw)) == "null" {
			return tools, nil
		}
		cursor := string(next.Of(m.Raw))
		if seen[cursor] {
			return nil, c.badList("its pages go round in a circle")
		}
		seen[cursor] = true
		members = append([]byte(`"cursor":`), cursor...)
	}
	return nil, c.badList(fmt.Sprintf("it has more than %d pages", maxPages))
}

func (c *Conn) badList(detail string) error {
	return hub.E(message.ServerBadReply, nil, "server", c.opt.Server.Key, "detail", "in the list of tools, "+detail)
}

func (c *Conn) listFault(ctx context.Context, err error) error {
	if ctx.Err() != nil && c.ctx.Err() == nil {
		return hub.E(message.ServerSilent, err, "method", protocol.MethodToolsList, "limit", "the time it had", "stderr", stderrTail(c.link.state().Stderr))
	}
	return c.Explain(err)
}

// Lists asks for all pages of the lists that are wanted and that the server has,
// and returns the descriptions, byte for byte and in the server's order. A list
// that the server does not have is asked for and empty. An error in the tools is
// an error; other lists that cannot be had are noted in the server's log, and
// left out of those that were asked for.
func (c *Conn) Lists(ctx context.Context, which hub.ListSet) (hub.Lists, error) {
	lists := hub.Lists{Asked: which, Capabilities: c.hello.Declared, Instructions: c.hello.Instructions}
	var err error
	if which.Has(hub.ListTools) {
		lists.Tools, err = c.Tools(ctx)
	}
	return lists, err
}

// Subscribe has the server tell of changes of a resource, until Unsubscribe or
// the end of the connection: Options.Updated is called. The error is a
// [*hub.Error]; one that the server answered with is [message.ServerRefused].
func (c *Conn) Subscribe(ctx context.Context, uri string) error {
	_, err := c.own(ctx, protocol.MethodSubscribe, c.leg.Params(append([]byte(`"uri":`), wire.AppendString(nil, uri)...)))
	return err
}

// Unsubscribe undoes Subscribe.
func (c *Conn) Unsubscribe(ctx context.Context, uri string) error {
	_, err := c.own(ctx, protocol.MethodUnsubscribe, c.leg.Params(append([]byte(`"uri":`), wire.AppendString(nil, uri)...)))
	return err
}

// Tell sends a notification of the caller's whose connection this is, such as
// notifications/roots/list_changed. It waits a moment at most, and nobody is told
// if it fails.
func (c *Conn) Tell(ctx context.Context, method string, raw []byte) { c.send(ctx, method, raw) }

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
