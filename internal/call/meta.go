package call

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// meta answers a call of one of the tools that a view has of the hub's own. A call
// of another tool by way of one of them has no answer yet, and goes on with that
// one's request as the message.
//
// What is wrong with the arguments is said in a result with isError, as any tool
// says it (2025-11-25, "Tools", "Error Handling"): that is what a model reads, and
// can do better next time.
func (p *Pipeline) meta(ctx context.Context, r *run, v *catalog.View) (err error) {
	var fault *hub.Error
	switch v.Meta(r.name) {
	case catalog.MetaFind:
		fault = findTool(r, v)
	case catalog.MetaCall:
		fault, err = p.callTool(r, v)
	case catalog.MetaTicket:
		if fault, err = p.pickUp(ctx, r); fault != nil {
			return r.refuse(fault)
		}
	case catalog.MetaTask:
		if fault, err = p.task(ctx, r); fault != nil {
			return r.refuse(fault)
		}
	}
	if fault != nil {
		r.reply = faulty(fault, r.Lang)
	}
	return err
}

// findTool answers with the tools of the view that a query finds.
func findTool(r *run, v *catalog.View) *hub.Error {
	args, fault := arguments(r.Message, "query", "limit")
	if fault != nil {
		return fault
	}
	raw := r.Message.Raw
	query, ok := wire.String(raw, args["query"])
	if !ok || strings.TrimSpace(query) == "" {
		return invalid(`"query" has to be a string that says what the tool should do`)
	}
	limit := catalog.DefaultFound
	if span := args["limit"]; span.Exists() {
		// Some clients know no integers: 5.0 is one as well.
		n, err := strconv.ParseFloat(string(span.Of(raw)), 64)
		if limit = int(n); err != nil || float64(limit) != n || limit < 1 || limit > catalog.MaxFound {
			return invalid(`"limit" has to be an integer from 1 to %d`, catalog.MaxFound)
		}
	}
	found := []byte(`{"tools":[`)
	for i, match := range v.Find(query, limit) {
		if i > 0 {
			found = append(found, ',')
		}
		found = appendMatch(found, match)
	}
	found = append(found, `]}`...)
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":`...)
	b = wire.AppendString(b, string(found))
	b = append(b, `}],"structuredContent":`...)
	b = append(b, found...)
	r.reply = local(append(b, `}}`...))
	return nil
}

// appendMatch appends what there is to know for calling a tool. What the server
// described stays as it is.
func appendMatch(b []byte, match catalog.Match) []byte {
	e := match.Entry
	desc := wire.Value(e.Raw)
	b = append(b, `{"name":`...)
	b = wire.AppendString(b, e.Exposed)
	if text := wire.Lookup(e.Raw, desc, "description"); text.Exists() && e.Raw[text.Start] == '"' {
		b = append(b, `,"description":`...)
		b = append(b, text.Of(e.Raw)...)
	}
	b = append(b, `,"inputSchema":`...)
	if schema := wire.Lookup(e.Raw, desc, "inputSchema"); schema.Exists() {
		b = append(b, schema.Of(e.Raw)...)
	} else {
		b = append(b, `{"type":"object"}`...) // in indexes of other programs
	}
	b = append(b, `,"server":`...)
	b = wire.AppendString(b, e.Server.Key)
	b = append(b, `,"score":`...)
	b = strconv.AppendFloat(b, match.Score, 'f', 2, 64)
	return append(b, '}')
}

// callTool puts the call that the arguments describe in the place of the request:
// only the name and the arguments are others. Headers that repeat arguments are
// none of it, because the caller cannot know of them.
func (p *Pipeline) callTool(r *run, v *catalog.View) (*hub.Error, error) {
	m := r.Message
	args, fault := arguments(m, "name", "arguments")
	if fault != nil {
		return fault, nil
	}
	name, ok := wire.String(m.Raw, args["name"])
	if !ok || name == "" {
		return invalid(`"name" has to be a string, the name of a tool`), nil
	}
	inner := args["arguments"].Of(m.Raw)
	switch {
	case inner == nil:
		inner = []byte("{}")
	case inner[0] != '{' && inner[0] != 'n':
		return invalid(`"arguments" has to be an object`), nil
	}
	if v.Meta(name) != catalog.MetaNone {
		return invalid("%s cannot be called by %s", message.Quote(name), v.MetaName(catalog.MetaCall)), nil
	}
	if !p.known(name, v) {
		return unlisted(name, v), nil
	}
	raw := wire.Splice(m.Raw,
		wire.Replace(m.Member("name"), args["name"].Of(m.Raw)),
		wire.Replace(m.Member("arguments"), inner))
	next, err := wire.Scan(raw, wire.Limits{UniqueKeys: true})
	if err != nil {
		return nil, hub.E(message.Internal, fmt.Errorf("scan the inner call: %w", err))
	}
	r.Message, r.Mirrored = &next, nil
	return nil, nil
}

// known reports whether a name stands for a tool of the view, or may do so once a
// server has given its list.
func (p *Pipeline) known(name string, v *catalog.View) bool {
	if _, ok := v.Tool(name); ok {
		return true
	}
	if _, ok := v.Blocked(name); ok {
		return true
	}
	for key := range withPools(v.Snapshot(), prefixes(name)) {
		if _, ok := p.fleet.Server(key); ok && !v.Snapshot().Listed(key) && v.MayHave(key) {
			return true
		}
	}
	return false
}

// unlisted is the error for a name that stands for no tool, and says which are
// like it.
func unlisted(name string, v *catalog.View) *hub.Error {
	like := v.Like(name)
	if len(like) == 0 {
		return hub.E(message.ToolUnknown, nil, "tool", message.Quote(name))
	}
	return hub.E(message.ToolLike, nil, "tool", message.Quote(name), "names", strings.Join(like, ", "))
}

// arguments are those of a call by name, of which there may be just the ones that
// are named here.
func arguments(m *wire.Message, names ...string) (map[string]wire.Span, *hub.Error) {
	args := make(map[string]wire.Span, len(names))
	for member := range wire.Object(m.Raw, m.Member("arguments")) {
		key, _ := wire.String(m.Raw, member.Key)
		if !slices.Contains(names, key) {
			return nil, invalid(`"%s" is none of the arguments, which are: %s`, message.Quote(key), strings.Join(names, ", "))
		}
		args[key] = member.Value
	}
	return args, nil
}

// faulty is the result of a tool that could do nothing with its arguments.
func faulty(fault *hub.Error, lang message.Lang) *upstream.Reply {
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":`...)
	b = wire.AppendString(b, fault.In(lang))
	return local(append(b, `}],"isError":true}}`...))
}
