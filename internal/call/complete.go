package call

import (
	"context"
	"iter"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// The types of what an argument is completed for (2025-11-25, "Completion").
const (
	refPrompt   = "ref/prompt"
	refResource = "ref/resource"
)

// checkReference checks what the argument is completed for.
func (p *Pipeline) checkReference(_ context.Context, r *run) error {
	m := r.Message
	ref := m.Member("ref")
	if !ref.Exists() || m.Raw[ref.Start] != '{' {
		return invalid(`"ref" has to be an object`)
	}
	for one := range wire.Object(m.Raw, ref) {
		if err := mistakable(m.Raw, one.Key, []string{"type", "name", "uri"}); err != nil {
			return err
		}
	}
	switch referenceType(m) {
	case refPrompt:
		if !r.named {
			return invalid(`"name" of "ref" has to be a string`)
		}
	case refResource:
		if !r.named {
			return invalid(`"uri" of "ref" has to be a string`)
		}
	default:
		return invalid(`"type" of "ref" has to be "%s" or "%s"`, refPrompt, refResource)
	}
	return nil
}

func referenceType(m *wire.Message) string {
	kind, _ := wire.String(m.Raw, wire.Lookup(m.Raw, m.Member("ref"), "type"))
	return kind
}

// referred finds the name or URI of what an argument is completed for.
func referred(m *wire.Message) wire.Span {
	if referenceType(m) == refResource {
		return wire.Lookup(m.Raw, m.Member("ref"), "uri")
	}
	return wire.Lookup(m.Raw, m.Member("ref"), "name")
}

// resolveReference finds whose prompt, resource or template it is.
func (p *Pipeline) resolveReference(ctx context.Context, r *run) error {
	if err := p.find(ctx, r); err != nil {
		return err
	}
	r.address("") // no header names what is completed
	return nil
}

func (p *Pipeline) lookReference(r *run) (found bool, err error) {
	if referenceType(r.Message) == refPrompt {
		return p.lookPrompt(r)
	}
	if err := p.see(r); err != nil {
		return false, err
	}
	place, found := r.view.Template(r.name)
	if !found {
		place, found = r.view.Resource(r.name)
	}
	if found {
		r.at(place)
	}
	return found, nil
}

// referring yields the servers that the name of a prompt, or the URI of a
// resource, names.
func referring(name string) iter.Seq[string] {
	if _, _, ok := catalog.Unprefixed(name); ok {
		return prefixedBy(name)
	}
	return prefixes(name)
}

func referenceUnknown(r *run) error {
	if referenceType(r.Message) == refPrompt {
		return promptUnknown(r)
	}
	return resourceUnknown(r)
}

func resourceUnknown(r *run) error {
	return hub.E(message.ResourceUnknown, nil, "uri", message.Quote(r.name))
}
