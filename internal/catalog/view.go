package catalog

import (
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// View is the catalog as a kind of caller sees it, at one moment. It never
// changes, and all its methods may be called from any goroutine. What they return
// is shared and must not be changed either.
type View struct {
	view          // with the lists as the caller is shown them
	seen    *view // of which this is a view
	scope   *scope
	profile hub.Profile

	entries []*Entry // all tools of the view, in the order of listing
	names   viewNames
	capped  int // how many of the entries are listed; all of them, unless there is a cap
	meta    metaNames
	finder  *finder
	text    string // the instructions
	foreign bool   // it is of a group in which there is nothing for the caller
}

// newView makes a view of what there is now. The one before it, by the same scope
// and profile, is nil for none: what is the same in both is taken from there.
func newView(now *view, scope *scope, profile hub.Profile, before *View) *View {
	v := &View{view: *now, seen: now, scope: scope, profile: profile}
	v.entries, v.names = nameTools(&now.now.tools, scope, ruleFor(profile))
	v.capped = len(v.entries)
	most := profile.MaxTools
	v.meta = v.names.meta(ruleFor(profile), most)
	if most > 0 && most < v.capped {
		v.capped = max(most-metaTools, 0)
	}
	v.finder = newFinder(v.entries)
	if before != nil && before.finder.finds(v.entries) {
		v.finder = before.finder
	}
	v.text = instructions(v)
	v.list(before)
	return v
}

// list makes the lists that this view has of its own. Whether it has a list of
// its own depends on scope and profile alone, so that cursors stay what they are.
func (v *View) list(before *View) {
	last := func(of func(*view) *book, which hub.ListSet) *book {
		if before == nil {
			return newBook(which)
		}
		return of(&before.view)
	}
	if v.scope != nil || v.profile.MaxTools > 0 || ruleFor(v.profile) != plainRule {
		v.tools = turned(last(func(w *view) *book { return w.tools }, hub.ListTools), v.shown(), func(raw []byte) []byte { return raw })
	}
	if v.scope == nil {
		return
	}
	var resources, templates []*ResourceEntry
	var prompts []*PromptEntry
	for _, share := range v.seen.now.Shares() {
		if v.Has(share.Server.Key) {
			resources = append(resources, share.Resources...)
			templates = append(templates, share.Templates...)
			prompts = append(prompts, share.Prompts...)
		}
	}
	raw := func(e *ResourceEntry) []byte { return e.Raw }
	v.resources = turned(last(func(w *view) *book { return w.resources }, hub.ListResources), resources, raw)
	v.templates = turned(last(func(w *view) *book { return w.templates }, hub.ListTemplates), templates, raw)
	v.prompts = turned(last(func(w *view) *book { return w.prompts }, hub.ListPrompts), prompts, func(e *PromptEntry) []byte { return e.Raw })
}

// shown are the descriptions of the tools that are listed.
func (v *View) shown() [][]byte {
	shown := make([][]byte, 0, v.capped+metaTools)
	for _, e := range v.entries[:v.capped] {
		shown = append(shown, e.Raw)
	}
	return append(shown, v.ours()...)
}

// Snapshot is what the view is a part of.
func (v *View) Snapshot() *Snapshot { return v.now }

// Profile is what is known of the client; the zero value for nothing.
func (v *View) Profile() hub.Profile { return v.profile }

// List returns a page of one of the lists: a whole result of tools/list and the
// like, as callers of the era expect it. The empty cursor stands for the first
// page. The bytes are shared and must not be changed.
//
// A cursor leads on in the list that its page was from, also if there is a newer
// one by now. One of a list that is too old, or of another list, or that was not
// made by this catalog, gives [message.CursorUnknown]; so does one of another
// view, unless both show the list just as it is.
func (v *View) List(era protocol.Era, which hub.ListSet, cursor string) ([]byte, error) {
	return v.book(which).list(era, cursor)
}

// Tools returns all tools of the view, those included that a cap keeps out of its
// list; see [Snapshot.Entries] for their order.
func (v *View) Tools() []*Entry { return v.entries }

// Offers reports whether the tool of the server, by the server's own name for
// it, is among the tools of the view. It looks at every tool of the server.
func (v *View) Offers(server, tool string) bool {
	share, ok := v.now.Share(server)
	return ok && slices.ContainsFunc(share.Tools, func(e *Entry) bool { return e.Tool.Name == tool && v.scope.tool(e) })
}

// Tool returns the tool that the caller means by a name, by the rules of
// [Snapshot.Resolve], among those of the view: its names in the view go before
// those that it has elsewhere.
func (v *View) Tool(name string) (*Entry, bool) {
	e := v.meant(name)
	if e == nil || e.isBlocked() {
		return nil, false
	}
	return e, true
}

// PeopleTool returns the tool that a device keeps for people and that a person
// means by a name. It has its name as others have theirs, and is in the view as
// they are, but in no list of it.
func (v *View) PeopleTool(name string) (*Entry, bool) {
	e := v.meant(name)
	if e == nil || e.blocked || !e.people {
		return nil, false
	}
	return e, true
}

// Blocked is [Snapshot.Blocked] for a tool of the view.
func (v *View) Blocked(name string) (*Entry, bool) {
	e := v.meant(name)
	if e == nil || !e.blocked {
		return nil, false
	}
	return e, true
}

func (v *View) meant(name string) *Entry {
	e, _ := v.find(name)
	return v.names.inView(e)
}

// find returns the tool of the snapshot that a name means, and all that a call by
// it may go to, as [space.meant] does.
func (v *View) find(name string) (*Entry, []*Entry) {
	tools := &v.now.tools
	if e, ok := v.names.own[name]; ok {
		return e, tools.mates[e.Exposed]
	}
	if v.scope == nil {
		return tools.meant(name, nil)
	}
	return tools.meant(name, v.scope.tool)
}

// Providers returns the tools that a call by a name may go to, the best first; so
// the first is that of [View.Tool]. An exposed name stands for one tool or, in a
// pool, for those of all its servers that offer it, and server__tool for just that
// one. A bare name stands for all tools of that name. They are in the order of
// [Snapshot.Entries], and none is outside of the view, or blocked.
func (v *View) Providers(name string) []*Entry {
	e, all := v.find(name)
	if e == nil || e.isBlocked() {
		return nil
	}
	if len(all) == 0 {
		return []*Entry{v.names.inView(e)}
	}
	providers := make([]*Entry, 0, len(all))
	for _, e := range all {
		if !e.isBlocked() && v.scope.tool(e) {
			providers = append(providers, v.names.inView(e))
		}
	}
	return providers
}

// Prompt returns the prompt that the caller means by a name, by the same rules.
func (v *View) Prompt(name string) (*PromptEntry, bool) {
	e, _ := v.now.prompts.meant(name, func(e *PromptEntry) bool { return v.Has(e.Server.Key) })
	return e, e != nil
}

// Resource returns where the resource is that the caller means by a URI, listed
// or not; see [Snapshot.Resource].
func (v *View) Resource(uri string) (Place, bool) { return v.now.Resource(uri, v.servers()) }

// Template returns where the template is that the caller means by a URI template,
// as completion/complete names one; see [Snapshot.Template].
func (v *View) Template(uri string) (Place, bool) { return v.now.Template(uri, v.servers()) }

// servers is Has, or nil if all servers are in the view.
func (v *View) servers() func(key string) bool {
	if v.scope == nil {
		return nil
	}
	return v.Has
}

// Has reports whether all that a server offers is in the view, now or once it is
// listed, save for tools that are excluded.
func (v *View) Has(server string) bool { return v.now.has(server) && v.scope.whole(server) }

// MayHave reports whether anything of a server may be in the view: besides all of
// it, single tools.
func (v *View) MayHave(server string) bool {
	return v.now.has(server) && v.scope.touches(server, v.now.pool[server])
}

// Sees reports whether a server is one of the caller's tenant, or everybody's, and
// within what the caller's token is good for, whatever the view has of it.
func (v *View) Sees(server string) bool {
	return v.now.has(server) && (v.scope == nil || v.scope.words.Server(server))
}

// Fits reports whether a pattern for tools, as groups have them, fits any tool of
// the view by its exposed name or server__tool.
func (v *View) Fits(pattern string) bool {
	return slices.ContainsFunc(v.now.inOrder, func(share *Share) bool {
		return slices.ContainsFunc(share.Tools, func(e *Entry) bool {
			return v.scope.tool(e) && (fitsPattern(pattern, e.Exposed) || fitsPattern(pattern, e.qualified()))
		})
	})
}

// Narrow reports whether there are servers, or may be, that the caller must not
// know of.
func (v *View) Narrow() bool { return v.now.partial || v.scope != nil && v.scope.words != "" }

// Book names what one of the lists reads, for as long as it reads so.
func (v *View) Book(which hub.ListSet) any { return v.book(which) }

// ResourceServers are the servers, by key, whose resources are in the view and
// that have any, or said that they may. They are in the order of
// [Snapshot.Entries].
func (v *View) ResourceServers() []string {
	var keys []string
	for _, share := range v.now.Shares() {
		has := share.Capabilities.Resources || len(share.Resources)+len(share.Templates) > 0
		if has && v.Has(share.Server.Key) {
			keys = append(keys, share.Server.Key)
		}
	}
	return keys
}

// Capabilities is the union of what the servers in the view have, by what is
// saved or what they declared since this program started. Tools and logging are
// always among it, and resources where results may be given as links to pages
// (see [hub.Server.Spill]). Of a server of which only single tools are in the view
// nothing else counts.
func (v *View) Capabilities() protocol.Capabilities {
	c := protocol.Capabilities{Tools: true, Logging: true}
	c.Resources = !v.profile.EmbedLinks && slices.ContainsFunc(v.now.Shares(), func(s *Share) bool {
		return s.Server.Spill > 0 && v.uses(s)
	})
	if v.scope == nil {
		return c.Union(v.now.Capabilities())
	}
	for _, share := range v.now.Shares() {
		if v.Has(share.Server.Key) {
			c = c.Union(share.Capabilities)
		} else if slices.ContainsFunc(share.Tools, v.scope.tool) {
			c.ToolsListChanged = c.ToolsListChanged || share.Capabilities.ToolsListChanged
		}
	}
	return c
}

// PromptEntry is one prompt as callers see it; see [Entry].
type PromptEntry struct {
	Server  hub.Server
	Prompt  hub.Prompt
	Exposed string
	Raw     []byte
}

// Place is where a resource is.
type Place struct {
	Server   hub.Server
	URI      string // the server's own
	Prefixed bool   // the caller knows it by the prefixed form, and is answered in it
}
