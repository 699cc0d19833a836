package call

import (
	"context"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// resolve finds the server and the tool that a name stands for.
func (p *Pipeline) resolve(ctx context.Context, r *run) error {
	m := r.Message
	if !r.named {
		return hub.E(message.ParamsInvalid, nil, "detail", `"name" has to be a string`)
	}
	// Clients in several languages say null for none; that is the server's to
	// judge.
	if args := m.Member("arguments"); args.Exists() && m.Raw[args.Start] != '{' && m.Raw[args.Start] != 'n' {
		return hub.E(message.ParamsInvalid, nil, "detail", `"arguments" has to be an object`)
	}
	if other := mistakable(m); other != "" {
		return hub.E(message.ParamsInvalid, nil, "detail", message.Quote(strconv.Quote(other)+" differs from a member of a call in its case only"))
	}
	if err := p.find(ctx, r); err != nil {
		return err
	}
	entry := r.entry
	r.up = upstream.Request{Message: m, Name: entry.Tool.Name, Headers: entry.Tool.Headers, Level: r.Level}
	if entry.Tool.Name != r.name {
		r.up.Edits = []wire.Edit{wire.Replace(m.Member("name"), wire.AppendString(nil, entry.Tool.Name))}
	}
	return nil
}

// mistakable returns a member of params that many parsers would take for one of
// those by which a call is judged: the server behind such a one would do something
// else than what was looked at here.
func mistakable(m *wire.Message) string {
	for member := range m.Members() {
		if wire.KeyIs(m.Raw, member.Key, "name") || wire.KeyIs(m.Raw, member.Key, "arguments") || wire.KeyIs(m.Raw, member.Key, "_meta") {
			continue
		}
		key, _ := wire.String(m.Raw, member.Key)
		if strings.EqualFold(key, "name") || strings.EqualFold(key, "arguments") || strings.EqualFold(key, "_meta") {
			return key
		}
	}
	return ""
}

// find looks the name up. One that begins with the key of a server whose tools
// are not listed may be a tool of it: such a server is waited for, within its
// time limit, until it has given its list, or is known not to be there. A name
// without a key may be anybody's, and nobody is waited for.
func (p *Pipeline) find(ctx context.Context, r *run) error {
	if p.look(r) {
		return nil
	}
	if err := changed(r.seen, r.name); err != nil {
		return err
	}
	seen := r.seen
	var away error
	for key := range prefixes(r.name) {
		server, ok := p.fleet.Server(key)
		if !ok || seen.Listed(key) {
			continue
		}
		limited, cancel := r.within(ctx, &server)
		err := p.fleet.Wait(limited, key)
		cancel()
		if err != nil && away == nil {
			away = err
		}
		if p.look(r) {
			return nil
		}
		if err := changed(r.seen, r.name); err != nil {
			return err
		}
	}
	if away != nil {
		return away
	}
	return unknown(r)
}

// look looks the name up among the tools that are listed now.
func (p *Pipeline) look(r *run) (ok bool) {
	r.seen = p.catalog.Snapshot()
	r.entry, ok = r.seen.Resolve(r.name)
	return ok
}

// changed is an error if the name stands for a tool that is not offered because
// its server is pinned and describes it otherwise than it was accepted.
func changed(seen *catalog.Snapshot, name string) error {
	e, blocked := seen.Blocked(name)
	if !blocked {
		return nil
	}
	return hub.E(message.ToolChanged, nil, "tool", message.Quote(e.Tool.Name), "server", message.Quote(e.Server.Key))
}

func unknown(r *run) error {
	return hub.E(message.ToolUnknown, nil, "tool", message.Quote(r.name))
}

// prefixes yields what may be the server's part of a name, shortest first.
func prefixes(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for at := 0; ; at++ {
			n := strings.Index(name[at:], catalog.Separator)
			if n < 0 {
				return
			}
			at += n
			if !yield(name[:at]) {
				return
			}
		}
	}
}
