package approval

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// A token that the asker's token has made counts as the asker: it decides about none
// of his calls, is no second person beside him, and gives no grant that covers them.
// One that somebody else has made does.
func TestWhatTheAskerHasMade(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b := &bus.Bus{}
		d, err := Open(context.Background(), Options{
			DB: db, Node: "n1", Seal: newKey(t), Bus: b, Log: slog.New(slog.DiscardHandler),
			Made: func(token string, by hub.Principal) bool { return token == "t-child" && by.Token == "t-maker" },
		})
		if err != nil {
			t.Fatal(err)
		}
		c := &counter{d, b.Subscribe(1 << 12)}
		t.Cleanup(c.sub.Close)
		with := func(subject, token string, w Deciding) Deciding {
			w.By.Subject, w.By.Token = subject, token
			return w
		}
		a := asking("alice", `{"n":1}`)
		a.Token = "t-maker"
		r := c.mustAsk(t, a)
		for _, w := range []Deciding{approve(""), reject(""), edit("", `{"a":1}`)} {
			_, err := c.Decide(t.Context(), r.ID, with("other", "t-child", w))
			refused(t, string(w.Kind), err, message.ApprovalOwn)
		}
		if r := c.mustDecide(t, r.ID, with("other", "t-stranger", approve(""))); r.Status != Approved {
			t.Errorf("%+v", r)
		}

		// Neither the maker nor what he has made is the second person beside the other.
		for _, pair := range [][2]string{{"t-maker", "t-child"}, {"t-child", "t-maker"}} {
			two := asking("local", `{"by":"`+pair[0]+`"}`)
			two.Persons, two.Second = 2, true
			r = c.mustAsk(t, two)
			c.mustDecide(t, r.ID, with("one", pair[0], approve("")))
			second := with("two", pair[1], approve(""))
			second.Confirmation, second.Saw = 2, r.Hash
			_, err := c.Decide(t.Context(), r.ID, second)
			refused(t, "the second", err, message.ApprovalSecond)
			second.By.Token = "t-stranger"
			c.mustDecide(t, r.ID, second)
		}

		for token, want := range map[string]bool{"t-child": false, "t-stranger": true} {
			by := operator("other")
			by.Token = token
			g, err := c.Grant(t.Context(), by, Grant{
				Server: "files", Tool: "delete", ToolHash: hashOf("tool"), MaxRisk: hub.RiskHigh, Expires: time.Now().Add(time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, covered := c.Granted(&Asked{
				Subject: "alice", Token: "t-maker", Server: "files", Tool: "delete", ToolHash: hashOf("tool"), ArgumentsHash: hashOf(`{}`), Risk: hub.RiskHigh,
			})
			if covered != want {
				t.Errorf("given by %s, it covers: %t", token, covered)
			}
			if _, err := c.Revoke(t.Context(), by, g.ID); err != nil {
				t.Fatal(err)
			}
		}
	})
}
