package call

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// A person agrees to one call: that a tool says it may be called twice is no
// agreement to the second time.
func TestAgreementIsForOnce(t *testing.T) {
	t.Parallel()
	c := &candidate{entry: &catalog.Entry{Tool: hub.Tool{Name: "x", Idempotent: true}}}
	lost, shut := hub.E(message.OutcomeUnknown, nil), hub.E(message.UpstreamLoginNeeded, nil)
	for _, test := range [...]struct {
		what    string
		claim   string
		reached bool
		err     error
		want    sequel
	}{
		{"nobody was asked", "", true, lost, again},
		{"it may have been carried out", "approval", true, lost, final},
		{"it never left", "approval", false, lost, again},
		{"the server lets nobody in, and nobody was asked", "", true, shut, next},
		{"the server has got it, and lets nobody in", "approval", true, shut, final},
		{"there are no credentials to send it with", "approval", true, hub.E(message.UpstreamLoginNeeded, transport.ErrNotSent), next},
	} {
		r := &run{claim: test.claim, plan: plan{reached: test.reached}}
		if got := r.weigh(t.Context(), c, test.err); got != test.want {
			t.Errorf("%s: %d, want %d", test.what, got, test.want)
		}
	}
}

// What may have been carried out is not carried out by another tool as well.
func TestSpared(t *testing.T) {
	t.Parallel()
	for err, want := range map[*hub.Error]bool{
		hub.E(message.ServerDown, nil): true, hub.E(message.ServerStopped, nil): true, hub.E(message.AllFailed, nil): true,
		doubtful(hub.E(message.ServerDown, nil)): false, doubtful(hub.E(message.AllFailed, nil)): false,
		hub.E(message.OutcomeUnknown, nil): false, hub.E(message.Timeout, nil): false, hub.E(message.ServerBadReply, nil): false,
		hub.E(message.Cancelled, nil): false, hub.E(message.ToolChanged, nil): false,
	} {
		if Spared(err) != want {
			t.Errorf("%s %v: %t", err.Code, err.Args, !want)
		}
	}
}
