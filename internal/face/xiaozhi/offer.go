package xiaozhi

import (
	"hash/maphash"
	"slices"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// offer is what an endpoint is offered, of a view and by a definition. It never
// changes.
type offer struct {
	view     *catalog.View
	def      *definition
	tools    [][]byte            // descriptions, in the order of listing
	names    []string            // the peer's, in the same order
	real     map[string]string   // of the view, by the peer's
	spare    map[string][]string // names in the view of those that may stand in for one, by its name there
	size     int                 // bytes of the whole list
	sum      uint64
	warnings []*hub.Error
}

// sums has the seed of the sums, which are compared within this process only.
var sums = maphash.MakeSeed() //nolint:gochecknoglobals // a constant of the process

// offer is what the endpoint is offered now. It is made once for each change.
func (e *endpoint) offer() (*offer, error) {
	view, err := e.set.opt.Catalog.View(e.viewer())
	if err != nil {
		return nil, err
	}
	def, before := e.def.Load(), e.offers.Load()
	if before != nil && before.view == view && before.def == def {
		return before, nil
	}
	o := newOffer(view, def)
	if e.offers.CompareAndSwap(before, o) {
		e.warn(before, o)
	}
	return o, nil
}

// warn tells of the warnings that were not there before.
func (e *endpoint) warn(before, now *offer) {
	known := make(map[message.Code]bool)
	if before != nil {
		for _, w := range before.warnings {
			known[w.Code] = true
		}
	}
	for _, w := range now.warnings {
		if !known[w.Code] {
			e.journal.add(hub.LevelWarning, w.In(message.English))
			e.set.opt.Log.Warn("the tools of an endpoint", "endpoint", e.name, "warning", w.Text(message.English).What)
		}
	}
}

// listed is one tool of a view, and its description as the view lists it.
type listed struct {
	name  string
	raw   []byte
	entry *catalog.Entry // nil for one of the hub's own
	as    string         // the name that it is to have in place of the one that is wanted for it; "" for that
}

func newOffer(view *catalog.View, def *definition) *offer {
	o := &offer{view: view, def: def, real: make(map[string]string), size: len(listHead) + len(listTail)}
	all := o.shown()
	if def.device != nil {
		all = o.asDevice(all)
	}
	if !def.CancelLate {
		all = append(all, listed{name: view.MetaName(catalog.MetaTask), raw: view.Task()})
	}
	as := def.names(all)
	known := mentions(all, as)
	var sum maphash.Hash
	sum.SetSeed(sums)
	room := words.MaxList
	if !def.CancelLate {
		room -= len(all[len(all)-1].raw) + 1 // it comes last, and is not to be what there is no room for
	}
	dropped := 0
	var long []string
	for i, t := range all {
		raw := t.render(as[i], known)
		if i == len(all)-1 {
			room = words.MaxList
		}
		if !def.fits(raw) {
			long = append(long, t.name)
			continue
		}
		if o.size+len(raw)+1 > room {
			dropped++
			continue
		}
		o.size += len(raw) + 1
		o.tools, o.names = append(o.tools, raw), append(o.names, as[i])
		o.real[as[i]] = t.name
		_, _ = sum.Write(raw) // never fails
	}
	o.sum = sum.Sum64()
	o.judge(dropped)
	if long != nil {
		o.warnings = append(o.warnings, def.tooLong(long))
	}
	return o
}

// judge makes the warnings.
func (o *offer) judge(dropped int) {
	warn := func(code message.Code, pairs ...string) {
		o.warnings = append(o.warnings, hub.E(code, nil, append(pairs, "endpoint", o.def.Name)...))
	}
	if dropped > 0 {
		warn(message.EndpointListCut, "dropped", number(dropped), "limit", number(words.MaxList))
	}
	if len(o.tools) > o.def.MaxTools {
		warn(message.EndpointManyTools, "tools", number(len(o.tools)), "limit", number(o.def.MaxTools))
	}
	if o.size > o.def.MaxList && !o.def.Pages {
		warn(message.EndpointLongList, "size", number(o.size), "limit", number(o.def.MaxList))
	}
}

// filtered reports whether the endpoint is offered no more than some tools of its
// view.
func (o *offer) filtered() bool { return len(o.def.Allow) > 0 || len(o.def.Deny) > 0 }

// allows reports whether the endpoint is offered a tool of its view.
func (o *offer) allows(e *catalog.Entry) bool {
	return (len(o.def.Allow) == 0 || e.Named(o.def.Allow)) && !e.Named(o.def.Deny)
}

// shown are the tools that the view lists, those of the highest priority first. The
// tools that lead to others are not among those that are picked by name: they would
// lead to all of them.
func (o *offer) shown() []listed {
	var all []listed
	if o.filtered() || o.view.Profile().MaxTools == 0 {
		for _, e := range o.view.Tools() {
			if o.allows(e) {
				all = append(all, listed{name: e.Exposed, raw: e.Raw, entry: e})
			}
		}
		return all
	}
	for cursor := ""; ; {
		page, err := o.view.List(protocol.Legacy, hub.ListTools, cursor)
		if err != nil {
			return all // a view knows its own cursors
		}
		whole := wire.Value(page)
		for at := range wire.Array(page, wire.Lookup(page, whole, "tools")) {
			name, _ := wire.String(page, wire.Lookup(page, at, "name"))
			e, _ := o.view.Tool(name)
			all = append(all, listed{name: name, raw: at.Of(page), entry: e})
		}
		if cursor, _ = wire.String(page, wire.Lookup(page, whole, "nextCursor")); cursor == "" {
			return all
		}
	}
}

// mentions has the peer's names of tools by server, and the server's own name.
func mentions(all []listed, as []string) map[string]map[string]string {
	known := make(map[string]map[string]string)
	for i, t := range all {
		if t.entry == nil {
			continue
		}
		key := t.entry.Server.Key
		if known[key] == nil {
			known[key] = make(map[string]string)
		}
		known[key][t.entry.Tool.Name] = as[i]
	}
	return known
}

// render is the description with the peer's name, in which other tools of the server
// are called as the peer knows them.
func (t *listed) render(as string, known map[string]map[string]string) []byte {
	var edits []wire.Edit
	whole := wire.Value(t.raw)
	if as != t.name {
		edits = append(edits, wire.Replace(wire.Lookup(t.raw, whole, "name"), wire.AppendString(nil, as)))
	}
	at := wire.Lookup(t.raw, whole, "description")
	if text, ok := wire.String(t.raw, at); ok && t.entry != nil {
		others := known[t.entry.Server.Key]
		if next := words.Rewrite(text, func(name string) (string, bool) { as, ok := others[name]; return as, ok }); next != text {
			edits = append(edits, wire.Replace(at, wire.AppendString(nil, next)))
		}
	}
	if edits == nil {
		return t.raw
	}
	return wire.Splice(t.raw, edits...)
}

// target is the name, in the view, of the tool that the peer means; false if it is
// offered none of the name. A tool that is not listed is for the pipeline to find,
// as it may be one that comes with a server that has not told yet.
func (o *offer) target(name string) (string, bool) {
	if own, ok := o.real[name]; ok {
		return own, true
	}
	if !o.filtered() {
		return name, true
	}
	if e, ok := o.view.Tool(name); ok && o.allows(e) {
		return e.Exposed, true
	}
	return "", false
}

// The frame of a list.
const (
	listHead = `{"tools":[`
	listTail = `]}`

	cursorHead = `],"nextCursor":"`
	cursorTail = `"}`
)

// page is a part of the list of most bytes at most, but for a tool that alone has
// more, from the one on that the cursor names; "" for the first. It is false for a
// cursor that leads nowhere.
func (o *offer) page(cursor string, most int) ([]byte, bool) {
	start := 0
	if cursor != "" {
		if start = slices.Index(o.names, cursor); start < 1 { // no page names the first
			return nil, false
		}
	}
	b := append(make([]byte, 0, min(o.size, most)+256), listHead...)
	for i := start; i < len(o.tools); i++ {
		if i > start {
			tail := len(listTail)
			if i+1 < len(o.names) {
				tail = len(cursorHead) + len(o.names[i+1]) + len(cursorTail)
			}
			if len(b)+1+len(o.tools[i])+tail > most {
				return append(append(append(b, cursorHead...), o.names[i]...), cursorTail...), true // a name needs no escapes
			}
			b = append(b, ',')
		}
		b = append(b, o.tools[i]...)
	}
	return append(b, listTail...), true
}
