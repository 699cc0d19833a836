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

// maxViews is how many views are kept at once. There are as many as groups times
// kinds of clients, and each is as large as its list.
const maxViews = 64

// views is which views there may be, and those that were looked through last. But
// for these it never changes.
type views struct {
	groups   map[string]*scope
	profiles []hub.Profile // with Client in lower case

	// everything is the view of most callers: of no group and no profile.
	everything slot

	mu    sync.Mutex // guards what follows; a slot's own mutex is never taken under it
	slots map[viewKey]*slot
	used  uint64 // counts the looks
}

// viewKey names a view.
type viewKey struct {
	group   string
	profile int // its place; -1 for none
}

// slot keeps one view.
type slot struct {
	scope   *scope
	profile hub.Profile

	last    uint64               // when it was used, by [views.used]
	making  sync.Mutex           // held while the view is made
	current atomic.Pointer[View] // nil before it was made
}

func newViews(groups []hub.Group, profiles []hub.Profile) *views {
	v := &views{groups: make(map[string]*scope, len(groups)), slots: make(map[viewKey]*slot)}
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

// View returns what a caller sees now. The error is a [message.GroupUnknown]. It
// costs next to nothing if somebody has looked through the same view since the
// last change.
func (c *Catalog) View(v hub.Viewer) (*View, error) {
	set := c.views.Load()
	key := viewKey{v.Group, set.profileOf(v.Client)}
	if key == (viewKey{"", -1}) {
		return set.everything.view(c), nil
	}
	s, ok := set.slot(key)
	if !ok {
		return nil, hub.E(message.GroupUnknown, nil, "group", message.Quote(v.Group))
	}
	return s.view(c), nil
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
func (s *views) slot(key viewKey) (*slot, bool) {
	var in *scope
	if key.group != "" {
		if in = s.groups[key.group]; in == nil {
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
	if len(s.slots) >= maxViews {
		oldest, at := s.used, viewKey{}
		for k, other := range s.slots {
			if other.last < oldest {
				oldest, at = other.last, k
			}
		}
		delete(s.slots, at)
	}
	made := &slot{scope: in, last: s.used}
	if key.profile >= 0 {
		made.profile = s.profiles[key.profile]
	}
	s.slots[key] = made
	return made, true
}

// view returns the view of what there is now. It is made once, whoever asks.
func (s *slot) view(c *Catalog) *View {
	if v := s.current.Load(); v != nil && v.seen == c.view.Load() {
		return v
	}
	s.making.Lock()
	defer s.making.Unlock()
	before, now := s.current.Load(), c.view.Load()
	if before != nil && before.seen == now {
		return before
	}
	v := newView(now, s.scope, s.profile, before)
	s.current.Store(v)
	return v
}
