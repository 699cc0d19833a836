package gateway

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// listOf is the list that a method asks for.
func listOf(method string) hub.ListSet {
	switch method {
	case protocol.MethodResourcesList:
		return hub.ListResources
	case protocol.MethodTemplatesList:
		return hub.ListTemplates
	case protocol.MethodPromptsList:
		return hub.ListPrompts
	}
	return hub.ListTools
}

// list answers the requests for lists, from what the caller sees. Who is told of
// no changes waits for servers that are only now being asked what they have.
func (g *Gateway) list(ctx context.Context, c *Caller, m *wire.Message, method string) (Answer, error) {
	cursor := ""
	if at := m.Member("cursor"); at.Exists() && m.Raw[at.Start] != 'n' {
		var ok bool
		if cursor, ok = wire.String(m.Raw, at); !ok {
			return Answer{}, invalid(`"cursor" has to be a string`)
		}
	}
	view, err := g.opt.Catalog.View(c.Viewer)
	if err != nil {
		return Answer{}, err
	}
	if view.Profile().Deaf && cursor == "" {
		g.opt.Call.Hear(ctx, view)
		if view, err = g.opt.Catalog.View(c.Viewer); err != nil {
			return Answer{}, err
		}
	}
	page, err := view.List(c.Era, listOf(method), cursor)
	if err != nil {
		return Answer{}, err
	}
	answer := result(m, page)
	if method == protocol.MethodToolsList && g.opt.Call.Asks(c.Principal.Door) {
		answer.Edits = append(answer.Edits, ticketTool(view, page)...)
	}
	return answer, nil
}

// ticketTool adds to the last page of the tools the one by which callers pick up
// what a person has agreed to. It is none of the view's list: whether calls wait for
// that is the door's matter.
func ticketTool(view *catalog.View, page []byte) []wire.Edit {
	tool := view.Ticket()
	if tool == nil || wire.Lookup(page, wire.Value(page), "nextCursor").Exists() {
		return nil
	}
	list := wire.Lookup(page, wire.Value(page), "tools")
	if list.Len() > len("[]") {
		tool = append([]byte{','}, tool...)
	}
	at := list.End - 1
	return []wire.Edit{{Start: at, End: at, Text: tool}}
}

// discover answers server/discover.
func (g *Gateway) discover(c *Caller, m *wire.Message) (Answer, error) {
	view, err := g.opt.Catalog.View(c.Viewer)
	if err != nil {
		return Answer{}, err
	}
	b := protocol.AppendRevisions([]byte(`{"resultType":"complete","supportedVersions":`))
	b = appendOffer(append(b, ','), view, g.offered(view))
	b = append(b, `,"ttlMs":0,"cacheScope":"private","_meta":{"`+protocol.MetaServerInfo+`":`...)
	b = append(b, g.opt.ServerInfo...)
	return result(m, append(b, "}}"...)), nil
}

// offered is what a caller with the view is told that there is: the union of what
// the servers in it have, whether they run or not. A server that has never told
// may have anything: what is not offered now, the caller never asks for.
func (g *Gateway) offered(view *catalog.View) protocol.Capabilities {
	has := view.Capabilities()
	if g.opt.Call.Unheard(view) {
		has.Resources, has.Subscribe, has.Prompts, has.Completions = true, true, true, true
	}
	return has
}

// appendOffer appends the members that say what the caller is offered. Tools and
// the log are the hub's own offers, with servers or without.
func appendOffer(b []byte, view *catalog.View, has protocol.Capabilities) []byte {
	told, subscribes := `{"listChanged":true}`, `{"subscribe":true,"listChanged":true}`
	if view.Profile().Deaf {
		told, subscribes = `{}`, `{"subscribe":true}`
	}
	b = append(b, `"capabilities":{`...)
	if has.Completions {
		b = append(b, `"completions":{},`...)
	}
	b = append(b, `"logging":{},`...)
	if has.Prompts {
		b = append(b, `"prompts":`+told+`,`...)
	}
	switch {
	case has.Subscribe:
		b = append(b, `"resources":`+subscribes+`,`...)
	case has.Resources:
		b = append(b, `"resources":`+told+`,`...)
	}
	b = append(b, `"tools":`+told+`}`...)
	if text := view.Instructions(); text != "" {
		b = append(b, `,"instructions":`...)
		b = wire.AppendString(b, text)
	}
	return b
}
