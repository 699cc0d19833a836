package catalog

import (
	"bytes"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// offering is what a server listed last. It is not changed once made.
type offering struct {
	hub.Offer // of tools, prompts, resources and templates no two with the same name or URI

	// known are the lists that somebody has asked for. Tools are always among
	// them; the index of an earlier version of this program has no others.
	known    hub.ListSet
	listedAt time.Time // of the tools
	live     bool      // the tools were given since this program started
	imported bool      // they were not given by the server at all
}

// with returns the offering with the lists that were asked for in place of its
// own; it may be nil.
func (o *offering) with(asked hub.ListSet, offer hub.Offer, now time.Time) *offering {
	next := &offering{known: asked}
	if o != nil {
		*next = *o
		next.known |= asked
	}
	next.Capabilities, next.Instructions = offer.Capabilities, offer.Instructions
	if asked.Has(hub.ListTools) {
		var before []hub.Tool
		if o != nil {
			before = o.Tools
		}
		next.Tools, next.listedAt, next.live, next.imported = kept(before, offer.Tools), now, true, false
	}
	if asked.Has(hub.ListResources) {
		next.Resources = offer.Resources
	}
	if asked.Has(hub.ListTemplates) {
		next.Templates = offer.Templates
	}
	if asked.Has(hub.ListPrompts) {
		next.Prompts = offer.Prompts
	}
	return next
}

// kept returns tools with bytes of their own. One that reads as before keeps those of
// before: what others have made of it is found by them, and need not be made again
// whenever the server starts. Who holds on to one tool does not hold a whole list.
func kept(before, tools []hub.Tool) []hub.Tool {
	known := make(map[string][]byte, len(before))
	for _, t := range before {
		known[t.Name] = t.Raw
	}
	own := slices.Clone(tools)
	for i := range own {
		if raw := known[own[i].Name]; bytes.Equal(raw, own[i].Raw) {
			own[i].Raw = raw
		} else {
			own[i].Raw = bytes.Clone(own[i].Raw)
		}
	}
	return own
}

// imports returns the offering with tools that somebody else has written down;
// it may be nil.
func (o *offering) imports(tools []hub.Tool, at time.Time) *offering {
	next := new(offering)
	if o != nil {
		*next = *o
	}
	next.Tools, next.Instructions = tools, ""
	next.known |= hub.ListTools
	next.listedAt, next.live, next.imported = at, false, true
	return next
}

// same reports whether both say the same, whenever they were given.
func (o *offering) same(other *offering) bool {
	return o.known == other.known && o.imported == other.imported && o.Instructions == other.Instructions &&
		bytes.Equal(o.Capabilities, other.Capabilities) &&
		slices.EqualFunc(o.Tools, other.Tools, func(a, b hub.Tool) bool { return bytes.Equal(a.Raw, b.Raw) }) &&
		slices.EqualFunc(o.Resources, other.Resources, func(a, b hub.Resource) bool { return bytes.Equal(a.Raw, b.Raw) }) &&
		slices.EqualFunc(o.Templates, other.Templates, func(a, b hub.Template) bool { return bytes.Equal(a.Raw, b.Raw) }) &&
		slices.EqualFunc(o.Prompts, other.Prompts, func(a, b hub.Prompt) bool { return bytes.Equal(a.Raw, b.Raw) })
}

// capabilities are those that the server declared or, if that is not known, such
// as its lists need.
func (o *offering) capabilities() protocol.Capabilities {
	if o.Capabilities == nil {
		return protocol.Capabilities{
			Tools:     len(o.Tools) > 0,
			Resources: len(o.Resources)+len(o.Templates) > 0,
			Prompts:   len(o.Prompts) > 0,
		}
	}
	c, _ := protocol.ParseCapabilities(o.Capabilities) // what cannot be read is not kept
	return c
}

// part is what one server adds to the catalog. It is made anew when the server
// or its lists are others, so that a change costs only that server's work.
type part struct {
	server    hub.Server
	identity  string
	offering  *offering // nil as long as nothing is known
	withheld  bool      // all of it
	staleFrom time.Time // of the tools
	pin       pin       // what was accepted; nil for all

	capabilities protocol.Capabilities
	tools        []prepared[*Entry] // that the rules offer
	prompts      []prepared[*PromptEntry]
	resources    []shelved
	templates    []shelved
	changed      []string // names of the tools that are blocked, by the server
}

// listed reports whether there are lists to be shown.
func (p *part) listed() bool { return p.offering != nil && !p.withheld && p.server.Enabled }

// prepare makes the entries of the part, of which the rest is set.
func (p *part) prepare() {
	p.tools, p.prompts, p.resources, p.templates, p.changed = nil, nil, nil, nil, nil
	if p.offering == nil {
		return
	}
	p.prepareTools()
	if !p.listed() {
		return
	}
	p.capabilities = p.offering.capabilities()
	for _, prompt := range p.offering.Prompts {
		n := naming{server: p.server.Key, own: prompt.Name, as: prompt.Name, bare: p.server.BareNames}
		p.prompts = append(p.prompts, prepare(p.server.Key, n, func(exposed string) *PromptEntry {
			return p.promptEntry(prompt, exposed)
		}))
	}
	for _, r := range p.offering.Resources {
		p.resources = append(p.resources, shelved{plain: &ResourceEntry{Server: p.server.Key, Own: r.URI, URI: r.URI, Raw: r.Raw}})
	}
	for _, t := range p.offering.Templates {
		p.templates = append(p.templates, shelved{plain: &ResourceEntry{
			Server: p.server.Key, Own: t.URI, URI: t.URI, Raw: t.Raw, pattern: newPattern(t.URI),
		}})
	}
}

// prepareTools makes the entries of the tools.
func (p *part) prepareTools() {
	p.tools = make([]prepared[*Entry], 0, len(p.offering.Tools))
	shared := make(map[naming]bool) // in the pool
	for _, t := range p.offering.Tools {
		if !p.server.Rules.Offers(t.Name) {
			continue
		}
		blocked := !p.pin.has(t)
		if blocked {
			p.changed = append(p.changed, t.Name)
		}
		if !p.listed() {
			continue
		}
		this := prepare(p.server.Key, namingOf(&p.server, t.Name), func(exposed string) *Entry {
			return p.toolEntry(t, exposed, blocked)
		})
		// Of two tools that one server has under one name only one is what the
		// others of the pool have.
		this.pooled = p.server.Pool != "" && !shared[this.naming]
		shared[this.naming] = true
		p.tools = append(p.tools, this)
	}
}

// toolEntry makes the entry of a tool under a name.
func (p *part) toolEntry(t hub.Tool, exposed string, blocked bool) *Entry {
	return &Entry{
		Server:   p.server,
		Tool:     t,
		Exposed:  exposed,
		Raw:      describe(t, exposed, p.server.Rules.Override[t.Name].Description),
		Live:     p.offering.live,
		Imported: p.offering.imported,
		ListedAt: p.offering.listedAt,

		staleFrom: p.staleFrom,
		blocked:   blocked,
		people:    t.People && p.server.UserTools,
	}
}

// promptEntry makes the entry of a prompt under a name.
func (p *part) promptEntry(prompt hub.Prompt, exposed string) *PromptEntry {
	raw := prompt.Raw
	if exposed != prompt.Name {
		raw = replaced(raw, "name", exposed)
	}
	return &PromptEntry{Server: p.server, Prompt: prompt, Exposed: exposed, Raw: raw}
}

// replaced is a description with another text in a member that it has.
func replaced(raw []byte, member, text string) []byte {
	at := wire.Lookup(raw, wire.Value(raw), member)
	return wire.Splice(raw, wire.Replace(at, wire.AppendString(nil, text)))
}

// describe is the description of a tool under a name and, unless it is empty,
// with another text.
func describe(t hub.Tool, exposed, text string) []byte {
	var edits []wire.Edit
	whole := wire.Value(t.Raw)
	if exposed != t.Name {
		name := wire.Lookup(t.Raw, whole, "name")
		edits = append(edits, wire.Replace(name, wire.AppendString(nil, exposed)))
	}
	if text != "" {
		if old := wire.Lookup(t.Raw, whole, "description"); old.Exists() {
			edits = append(edits, wire.Replace(old, wire.AppendString(nil, text)))
		} else {
			member := wire.AppendString([]byte(`"description":`), text)
			edits = append(edits, wire.Insert(t.Raw, whole, member))
		}
	}
	if len(edits) == 0 {
		return t.Raw
	}
	return wire.Splice(t.Raw, edits...)
}
