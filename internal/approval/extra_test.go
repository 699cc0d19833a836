package approval

import (
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// What a call sends besides its arguments is sealed as they are, and whoever has it
// made once more makes it another request, about which neither decides.
func TestExtraAndRetrier(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := open(t, db, "one")
		a := asking("ann", `{"a":1}`)
		a.Extra, a.ExtraShown = []byte(`{"requestState":"hidden-value"}`), `{"requestState":"***"}`
		q := d.mustAsk(t, a)
		got, err := d.Get(t.Context(), q.ID)
		if err != nil || string(got.Extra) != string(a.Extra) || got.ExtraShown != a.ExtraShown {
			t.Errorf("got %s, %v", got.Extra, err)
		}
		var body, sealed string
		err = db.QueryRowContext(t.Context(), "SELECT body, extra FROM approval WHERE id = $1", q.ID).Scan(&body, &sealed)
		if err != nil || sealed == "" || strings.Contains(body+sealed, "hidden-value") {
			t.Errorf("written in clear: %s, %s, %v", body, sealed, err)
		}
		other := openWith(t, db, "two", newKey(t))
		if foreign, err := other.Get(t.Context(), q.ID); err != nil || foreign.Extra != nil || !foreign.Hidden {
			t.Errorf("another hub got %s, %v", foreign.Extra, err)
		}
		a.Extra = []byte(`{"requestState":"` + strings.Repeat("x", MaxArguments) + `"}`)
		a.ArgumentsHash = hashOf("large")
		_, err = d.Ask(t.Context(), a)
		refused(t, "more than anybody can look through", err, message.ApprovalInvalid)

		again := asking("ann", `{"a":2}`)
		own := d.mustAsk(t, again)
		by := operator("eve")
		again.Retrier = RetrierOf(&by)
		theirs := d.mustAsk(t, again)
		if theirs.ID == own.ID {
			t.Error("eve could decide about what she has made again")
		}
		_, err = d.Decide(t.Context(), theirs.ID, approve("eve"))
		refused(t, "who has it made again", err, message.ApprovalOwn)
		herself := hub.Principal{Subject: "ann", Role: hub.RoleCaller, Token: "another"}
		again.Retrier = RetrierOf(&herself)
		if mine := d.mustAsk(t, again); mine.ID != own.ID {
			t.Error("ann's own retry is another request")
		}
		if d.mustDecide(t, theirs.ID, approve("bob")); d.Counted()[Approved] != 1 {
			t.Error("nobody could decide")
		}
	})
}
