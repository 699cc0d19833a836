package call

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// A person agrees to one call: that a tool says it may be called twice is no
// agreement to the second time.
func TestAgreementIsForOnce(t *testing.T) {
	t.Parallel()
	c := &candidate{entry: &catalog.Entry{Tool: hub.Tool{Name: "x", Idempotent: true}}}
	lost := hub.E(message.OutcomeUnknown, nil)
	for _, test := range [...]struct {
		what    string
		claim   string
		reached bool
		want    sequel
	}{
		{"nobody was asked", "", true, again},
		{"it may have been carried out", "approval", true, final},
		{"it never left", "approval", false, again},
	} {
		r := &run{claim: test.claim, plan: plan{reached: test.reached}}
		if got := r.weigh(t.Context(), c, lost); got != test.want {
			t.Errorf("%s: %d, want %d", test.what, got, test.want)
		}
	}
}
