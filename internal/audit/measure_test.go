package audit

import (
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// It is told whether the record can be written, how much of it was, and how long
// that took.
func TestMeasured(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		l := open(t, db, testKeys(t))
		if m := l.Measured(); !m.Up || m.Written != 0 || m.Commits != 0 {
			t.Errorf("before: %+v", m)
		}
		stop := run(t, l)
		if err := l.Intend(t.Context(), changing(1)); err != nil {
			t.Fatal(err)
		}
		l.flush(t.Context())
		exec(t, db, "ALTER TABLE audit_entry RENAME TO audit_gone")
		if err := l.Intend(t.Context(), changing(2)); err != nil { // into the journal
			t.Errorf("Intend: %v", err)
		}
		l.flush(t.Context())
		if err := l.Intend(t.Context(), changing(2)); !hub.IsCode(err, message.AuditUnwritable) {
			t.Errorf("Intend: %v", err)
		}
		if m := l.Measured(); m.Up || m.Written != 1 || m.Commits != 1 {
			t.Errorf("while it cannot be written: %+v", m)
		}
		exec(t, db, "ALTER TABLE audit_gone RENAME TO audit_entry")
		l.flush(t.Context())
		if err := l.Intend(t.Context(), changing(3)); err != nil {
			t.Fatal(err)
		}
		l.flush(t.Context())
		m := l.Measured()
		if !m.Up || m.Written != 3 || m.Commits != 3 || m.Took <= 0 || len(m.Within) != commitSteps || m.Within[2] > 3 {
			t.Errorf("after: %+v", m)
		}
		stop()
	})
}

func TestCommitBounds(t *testing.T) {
	l := &Log{}
	for _, took := range []time.Duration{0, 200 * time.Microsecond, 201 * time.Microsecond, time.Second, 2 * time.Second, time.Minute} {
		l.measures.commit(3, took)
	}
	m := l.Measured()
	for bound, want := range map[float64]uint64{.0002: 2, .0005: 3, .5: 3, 2: 5} {
		if m.Within[bound] != want {
			t.Errorf("within %v s: %d, want %d", bound, m.Within[bound], want)
		}
	}
	if m.Commits != 6 || m.Written != 18 || m.Took != time.Minute+3*time.Second+401*time.Microsecond {
		t.Errorf("got %+v", m)
	}
}
