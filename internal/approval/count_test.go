package approval

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// Requests are counted once, by the hub that does something about them, and how many
// are pending by all.
func TestCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey(t)
		one, two := openWith(t, db, "n1", key), openWith(t, db, "n2", key)
		ids := make([]string, 5)
		for i := range ids {
			a := asking("local", `{"i":`+string(rune('0'+i))+`}`)
			if i == 0 {
				a.Persons = 2
			}
			if i == 4 {
				a.Tenant = "acme"
			}
			ids[i] = one.mustAsk(t, a).ID
		}
		one.mustAsk(t, asking("local", `{"i":1}`)) // the same once more
		by := hub.Principal{Subject: "op", Role: hub.RoleOperator}
		for i, d := range []*counter{two, two, one} {
			kind := []Kind{Approve, Reject, Approve}[i]
			if _, err := d.Decide(t.Context(), ids[i], Deciding{By: by, Kind: kind}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := one.Cancel(t.Context(), ids[3], "x"); err != nil {
			t.Fatal(err)
		}
		got, other := one.Counted(), two.Counted()
		if got[Pending] != 5 || got[Approved] != 1 || got[Cancelled] != 1 || got[Rejected] != 0 || other[Pending] != 0 || other[Rejected] != 1 || other[Approved] != 0 || len(other) != len(Statuses) {
			t.Errorf("counted %v and %v", got, other)
		}
		caller := hub.Principal{Subject: "local", Role: hub.RoleCaller}
		for name, test := range map[string]struct {
			viewer *hub.Principal
			want   int
		}{
			"all": {nil, 2}, "an operator": {&by, 2}, "who has asked": {&caller, 1},
			"another one": {&hub.Principal{Subject: "x", Role: hub.RoleCaller}, 0}, "an approver": {&hub.Principal{Subject: "x", Role: hub.RoleApprover}, 1},
			"for another server": {&hub.Principal{Subject: "x", Role: hub.RoleOperator, Scope: "server:none"}, 0},
		} {
			if n, err := two.Waiting(t.Context(), test.viewer); n != test.want || err != nil {
				t.Errorf("%s: %d wait, %v", name, n, err)
			}
		}
	})
}

// Agreements are those to what would be sent now.
func TestAgreements(t *testing.T) {
	for want, kinds := range [][]Kind{{Reject}, {Approve, Edit}, {Approve, Edit, Approve, Reject}} {
		var r Request
		for _, k := range kinds {
			r.Decisions = append(r.Decisions, Decision{Kind: k})
		}
		if got := len(r.Agreements()); got != want {
			t.Errorf("%v: %d, want %d", kinds, got, want)
		}
	}
}
