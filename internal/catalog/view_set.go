package catalog

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// maxViews is how many views of one audience are kept at once, besides that of
// neither group, profile nor scope. There are as many as groups times kinds of
// clients times scopes of tokens, and each is as large as its list.
const maxViews = 64

// views is which views there may be, and those that were looked through last. But
// for these it never changes.
type views struct {
	groups   map[string]*scope
	profiles []hub.Profile // with Client in lower case

	own seats // of the hub's own callers

	mu      sync.Mutex
	tenants map[*audience]*seats
}

// seats are the views of one audience.
type seats struct {
	everything slot // the view of most callers: of no group, profile and scope

	mu    sync.Mutex // guards what follows; a slot's own mutex is never taken under it
	slots map[viewKey]*slot
	used  uint64 // counts the looks
}

// viewKey names a view of an audience.
type viewKey struct {
	group   string
	profile int // its place; -1 for none
	words   hub.Scope
}

// slot keeps one view.
type slot struct {
	scope   *scope
	profile hub.Profile

	last    uint64               // when it was used, by [seats.used]
	making  sync.Mutex           // held while the view is made
	current atomic.Pointer[View] // nil before it was made
}

func newViews(groups []hub.Group, profiles []hub.Profile) *views {
	v := &views{groups: make(map[string]*scope, len(groups)), tenants: make(map[*audience]*seats)}
	for _, g := range groups {
		v.groups[g.Name] = newScope(g)
	}
	for _, p := range profiles {
		p.Client = strings.ToLower(p.Client)
		v.profiles = append(v.profiles, p)
	}
	return v
}

// SetViews says which groups there are, with unique names, and what is known of
// clients: of several profiles that fit a client the first counts. If they are
// others than before the bus is told that all lists changed, and cursors of views
// are unknown.
func (c *Catalog) SetViews(groups []hub.Group, profiles []hub.Profile) {
	next := newViews(groups, profiles)
	c.mu.Lock() // so that events come in the order of the changes
	defer c.mu.Unlock()
	if c.views.Load().same(next) {
		return
	}
	c.views.Store(next)
	c.opt.Bus.Publish(hub.ToolsChanged{Snapshot: c.Snapshot().ID()})
	c.opt.Bus.Publish(hub.ResourcesChanged{})
	c.opt.Bus.Publish(hub.PromptsChanged{})
}

// same reports whether both say the same.
func (s *views) same(other *views) bool {
	return slices.Equal(s.profiles, other.profiles) &&
		maps.EqualFunc(s.groups, other.groups, func(a, b *scope) bool { return reflect.DeepEqual(a.group, b.group) })
}

// View returns what a caller sees now. The error is a [message.GroupUnknown], also
// for a group in which nothing is that the caller may see while there is something
// that it may not. It costs next to nothing if somebody has looked through the same
// view since the last change.
func (c *Catalog) View(v hub.Viewer) (*View, error) {
	set, a := c.views.Load(), c.audience(v.Tenant)
	seats := set.seats(a, &c.own)
	key := viewKey{v.Group, set.profileOf(v.Client), hub.Scope(v.Scope)}
	if key == (viewKey{"", -1, ""}) {
		return seats.everything.view(c, a), nil
	}
	s, ok := seats.slot(set, key)
	if !ok {
		return nil, groupUnknown(v.Group)
	}
	view := s.view(c, a)
	if view.foreign {
		return nil, groupUnknown(v.Group)
	}
	return view, nil
}

func groupUnknown(group string) error {
	return hub.E(message.GroupUnknown, nil, "group", message.Quote(group))
}

// forget drops the views of audiences that there are no more.
func (s *views) forget(all audiences) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stay := make(map[*audience]bool, len(all))
	for _, a := range all {
		stay[a] = true
	}
	maps.DeleteFunc(s.tenants, func(a *audience, _ *seats) bool { return !stay[a] })
}

// seats are those of an audience.
func (s *views) seats(a, own *audience) *seats {
	if a == own {
		return &s.own
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.tenants[a]
	if found == nil {
		found = new(seats)
		s.tenants[a] = found
	}
	return found
}

// profileOf returns the place of the first profile that fits a client, or -1.
func (s *views) profileOf(client string) int {
	if len(s.profiles) == 0 {
		return -1
	}
	client = strings.ToLower(client)
	return slices.IndexFunc(s.profiles, func(p hub.Profile) bool { return fitsPattern(p.Client, client) })
}

// slot returns the slot of a view; false if there is no such group.
func (s *seats) slot(set *views, key viewKey) (*slot, bool) {
	var in *scope
	if key.group != "" {
		if in = set.groups[key.group]; in == nil {
			return nil, false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used++
	if found := s.slots[key]; found != nil {
		found.last = s.used
		return found, true
	}
	if s.slots == nil {
		s.slots = make(map[viewKey]*slot)
	}
	if len(s.slots) >= maxViews {
		oldest, at := s.used, viewKey{}
		for k, other := range s.slots {
			if other.last < oldest {
				oldest, at = other.last, k
			}
		}
		delete(s.slots, at)
	}
	made := &slot{scope: in.within(key.words), last: s.used}
	if key.profile >= 0 {
		made.profile = set.profiles[key.profile]
	}
	s.slots[key] = made
	return made, true
}

// view returns the view of what there is now. It is made once, whoever asks.
func (s *slot) view(c *Catalog, a *audience) *View {
	if v := s.current.Load(); v != nil && v.seen == a.now(c) {
		return v
	}
	s.making.Lock()
	defer s.making.Unlock()
	before, now := s.current.Load(), a.now(c)
	if before != nil && before.seen == now {
		return before
	}
	if before != nil && before.now.partial != now.now.partial {
		before = nil // no cursor leads on in a list with what is others' now
	}
	v := newView(now, s.scope, s.profile, before)
	v.foreign = v.scope != nil && v.scope.grouped && v.Narrow() && !v.scope.concerns(now.now)
	s.current.Store(v)
	return v
}
