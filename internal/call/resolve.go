package call

import (
	"context"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// see looks through the caller's view at what there is now.
func (p *Pipeline) see(r *run) (err error) {
	r.seen = p.catalog.Snapshot() // before the view: what comes between is looked at once too often
	r.view, err = p.catalog.View(r.Viewer)
	return err
}

// find looks up what the request means. A name that begins with the key of a
// server whose lists are not known, or a URI that has it, may be that server's:
// such a one is waited for, within its time limit, until it has given its lists,
// or is known not to be there. A name without a key may be anybody's, and nobody
// is waited for.
func (p *Pipeline) find(ctx context.Context, r *run) error {
	if found, err := r.verb.look(r); found || err != nil {
		return err
	}
	var away error // of the first that is not there
	absent := ""   // its key
	seen, has := r.view.Snapshot(), r.view.Has
	if r.verb.method == protocol.MethodToolsCall {
		has = r.view.MayHave // tools can be in a view without the rest of their server
	}
	for key := range withPools(seen, r.verb.keys(r.name)) {
		server, ok := p.fleet.Server(key)
		if !ok || seen.Listed(key) || !has(key) {
			continue
		}
		if err := p.wait(ctx, r, &server); err != nil && away == nil {
			away, absent = err, key
		}
		if found, err := r.verb.look(r); found || err != nil {
			return err
		}
	}
	if away != nil {
		r.record.Server = absent // it is what is meant, though it has not told its lists
		return away
	}
	return r.verb.unknown(r)
}

// wait waits until a server has given its lists, within its time limit.
func (p *Pipeline) wait(ctx context.Context, r *run, server *hub.Server) error {
	limited, cancel := r.within(ctx, server)
	defer cancel()
	return p.fleet.Wait(limited, server.Key)
}

// withPools yields the servers of which the keys are, and those of the pools that
// are named so.
func withPools(s *catalog.Snapshot, keys iter.Seq[string]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range keys {
			if !yield(key) {
				return
			}
			for _, member := range s.Pool(key) {
				if member != key && !yield(member) {
					return
				}
			}
		}
	}
}

// maxKey is how long a server's key is at most, in bytes: 128 characters.
const maxKey = 128 * utf8.UTFMax

// prefixes yields what may be the server's part of a name, shortest first.
func prefixes(name string) iter.Seq[string] {
	// A name is as long as its caller likes, and to look up all its parts takes
	// time in proportion to the square of its length.
	name = name[:min(len(name), maxKey+len(catalog.Separator))]
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

// prefixedBy yields the server that a URI in the prefixed form names.
func prefixedBy(uri string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if key, _, ok := catalog.Unprefixed(uri); ok {
			yield(key)
		}
	}
}

// ourTools answers calls of the tools that a view has of the hub's own.
func (p *Pipeline) ourTools(ctx context.Context, r *run) error {
	if err := p.see(r); err != nil {
		return err
	}
	before := r.Message
	err := p.meta(ctx, r, r.view)
	if r.Message != before {
		r.read() // it calls another tool by way of one of these
	}
	return err
}

// resolveTool finds the server and the tool that a name stands for.
func (p *Pipeline) resolveTool(ctx context.Context, r *run) error {
	if err := p.find(ctx, r); err != nil {
		return err
	}
	r.prefixed = r.server.PrefixURIs
	r.address(r.own)
	r.up.Headers = r.entry.Tool.Headers
	return nil
}

func (p *Pipeline) lookTool(r *run) (found bool, err error) {
	if err := p.see(r); err != nil {
		return false, err
	}
	if r.entry, found = r.view.Tool(r.name); !found && r.Viewer.Person {
		r.entry, found = r.view.PeopleTool(r.name)
	}
	if found {
		r.server, r.own = &r.entry.Server, r.entry.Tool.Name
		return true, nil
	}
	if e, blocked := r.view.Blocked(r.name); blocked {
		r.record.Server = e.Server.Key
		return false, drifted(e)
	}
	return false, nil
}

// drifted is the error for a tool that is not offered because its server is
// pinned and describes it otherwise than it was accepted.
func drifted(e *catalog.Entry) error {
	return hub.E(message.ToolChanged, nil, "tool", message.Quote(e.Tool.Name), "server", message.Quote(e.Server.Key))
}

func toolUnknown(r *run) error {
	return hub.E(message.ToolUnknown, nil, "tool", message.Quote(r.name))
}

// resolvePrompt finds the server and the prompt that a name stands for.
func (p *Pipeline) resolvePrompt(ctx context.Context, r *run) error {
	if err := p.find(ctx, r); err != nil {
		return err
	}
	r.prefixed = r.server.PrefixURIs
	r.address(r.own)
	return nil
}

func (p *Pipeline) lookPrompt(r *run) (bool, error) {
	if err := p.see(r); err != nil {
		return false, err
	}
	e, found := r.view.Prompt(r.name)
	if found {
		r.server, r.own = &e.Server, e.Prompt.Name
	}
	return found, nil
}

func promptUnknown(r *run) error {
	return hub.E(message.PromptUnknown, nil, "prompt", message.Quote(r.name))
}

// address makes the request to the server. It has the server's own name or URI
// in place of what the caller knows it by; route is what it is routed by in
// headers, "" for nothing.
func (r *run) address(route string) {
	r.up = upstream.Request{Message: r.Message, Name: route, Level: r.Level}
	if r.own != r.name {
		r.up.Edits = []wire.Edit{wire.Replace(r.verb.names(r.Message), wire.AppendString(nil, r.own))}
	}
}
