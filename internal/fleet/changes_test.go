package fleet_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// asked collects which lists a fleet has passed on.
type asked struct {
	mu  sync.Mutex
	all []hub.ListSet
}

func (a *asked) listed(_ hub.Server, lists hub.Lists) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, lists.Asked)
}

// expect fails the test unless exactly these were passed on since the last time.
func (a *asked) expect(t *testing.T, want ...hub.ListSet) {
	t.Helper()
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.all, want) {
		t.Errorf("listed %v, want %v", a.all, want)
	}
	a.all = nil
}

// Only the lists that have changed are asked for again, once a second at most and
// then all that have changed since; who asks for all gets all.
func TestListsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := newClub(), &asked{}
		c.offers = `,"tools":{"listChanged":true},"prompts":{"listChanged":true}`
		f := run(t, fleet.Options{Servers: []hub.Server{member(hub.ConnectionShared)}, Dial: c.dial, Listed: a.listed})
		a.expect(t, hub.ListAll)
		changed := func(list string) {
			c.says(0, `{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`, list)
		}
		changed("prompts")
		a.expect(t, hub.ListPrompts)
		changed("tools")
		changed("tools")
		changed("resources")
		a.expect(t)
		time.Sleep(time.Second)
		a.expect(t, hub.ListTools|hub.ListResources|hub.ListTemplates)
		changed("prompts")
		if err := f.Refresh(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		a.expect(t, hub.ListAll)
		time.Sleep(time.Minute)
		a.expect(t) // that had the prompts
	})
}

// At their age those lists are asked for again of which the server would not tell
// that they changed.
func TestUnannouncedLists(t *testing.T) {
	for offers, want := range map[string]hub.ListSet{
		`,"tools":{},"prompts":{}`:                                     hub.ListAll,
		`,"tools":{"listChanged":true},"prompts":{}`:                   hub.ListAll &^ hub.ListTools,
		`,"tools":{"listChanged":true},"prompts":{"listChanged":true}`: hub.ListResources | hub.ListTemplates,
	} {
		synctest.Test(t, func(t *testing.T) {
			c, a := newClub(), &asked{}
			c.offers = offers
			s := member(hub.ConnectionShared)
			s.ListTTL = time.Minute
			run(t, fleet.Options{Servers: []hub.Server{s}, Dial: c.dial, Listed: a.listed})
			time.Sleep(time.Minute - time.Second)
			a.expect(t, hub.ListAll)
			time.Sleep(2 * time.Second)
			a.expect(t, want)
			time.Sleep(time.Minute)
			a.expect(t, want)
		})
	}
}
