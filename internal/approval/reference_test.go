package approval

import (
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// A reference says how its request stood, at each hub of the database and after a
// restart; nobody else can make one, nor one of another.
func TestReferences(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := open(t, db, "one")
		a := asking("ann", `{"a":1}`)
		a.Persons = 2
		q, other := d.mustAsk(t, a), d.mustAsk(t, asking("eve", `{"a":1}`))
		first := q.Reference()
		got, err := open(t, db, "two").Refers(t.Context(), first)
		if err != nil || got == nil || got.ID != q.ID || got.Round != 1 || got.Saw != q.Hash || got.Status != Pending {
			t.Fatalf("%s refers to %+v, %v", first, got, err)
		}
		now := d.mustDecide(t, q.ID, edit("bob", `{"a":2}`))
		second := now.Reference()
		if got, err = d.Refers(t.Context(), second); err != nil || got.Round != 2 || got.Saw != hashOf(`{"a":2}`) {
			t.Errorf("%s refers to %+v, %v", second, got, err)
		}
		if got, err = d.Refers(t.Context(), first); err != nil || got.Round != 1 || got.Saw != hashOf(`{"a":1}`) || len(got.Decisions) != 1 {
			t.Errorf("%s refers to %+v, %v", first, got, err)
		}
		part := strings.Split(first, ".")
		for _, parts := range [][]string{
			{part[0], other.ID, part[2], part[3], part[4]},
			{part[0], part[1], "2", part[3], part[4]},
			{part[0], part[1], "01", part[3], part[4]},
			{part[0], part[1], part[2], hashOf(`{"a":2}`), part[4]},
			{part[0], part[1], part[2], part[3], ""},
			{part[0], part[1], part[2], part[3], strings.Split(second, ".")[4]},
		} {
			forged := strings.Join(parts, ".")
			_, err := d.Refers(t.Context(), forged)
			refused(t, forged, err, message.ApprovalUnknown)
		}
		for _, foreign := range []string{"", "s1", "x" + first, first + ".x", part[0] + ".none.1.a.b", "toolcrib-approval."} {
			if got, err := d.Refers(t.Context(), foreign); got != nil || err != nil {
				t.Errorf("%s refers to %+v, %v", foreign, got, err)
			}
		}
		if err := db.Tx(t.Context(), store.Process, txExec("UPDATE approval SET body = '{}'")); err != nil {
			t.Fatal(err)
		}
		_, err = d.Refers(t.Context(), first)
		refused(t, "without a key", err, message.ApprovalUnknown)
		if q, err := d.Get(t.Context(), q.ID); err != nil || q.Reference() != "" {
			t.Errorf("without a key it is %q, %v", q.Reference(), err)
		}
	})
}
