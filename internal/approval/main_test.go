package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a desk, with what it publishes.
type counter struct {
	*Desk
	sub *bus.Subscription
}

// newKey is a store of sealed values in a directory of its own.
func newKey(t testing.TB) *secret.Store {
	t.Helper()
	dir := t.TempDir()
	s, err := secret.OpenStore(filepath.Join(dir, "key"), filepath.Join(dir, "sealed"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open opens a desk with a key of its own.
func open(t testing.TB, db *store.DB, node string) *counter { return openWith(t, db, node, newKey(t)) }

func openWith(t testing.TB, db *store.DB, node string, key Sealer) *counter {
	t.Helper()
	b := &bus.Bus{}
	d, err := Open(context.Background(), Options{DB: db, Node: node, Seal: key, Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{d, b.Subscribe(1 << 12)}
	t.Cleanup(c.sub.Close)
	return c
}

// run runs a desk until the test ends, or until stop is called.
func (c *counter) run(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// published are the statuses that were published since it was asked last.
func (c *counter) published() []string {
	all := []string{}
	for len(c.sub.C()) > 0 {
		all = append(all, (<-c.sub.C()).(hub.ApprovalChanged).Status)
	}
	return all
}

func hashOf(arguments string) string {
	sum := sha256.Sum256([]byte(arguments))
	return hex.EncodeToString(sum[:])
}

// asking asks for a call of a tool with arguments.
func asking(subject, arguments string) Asking {
	return Asking{
		Details: Details{
			Subject: subject, Door: hub.DoorMCP, Session: "0123456789abcdef", Client: "test", Call: "call-1", Method: "tools/call",
			Name: "files__delete", Server: "files", Tool: "delete", ToolHash: hashOf("tool"), ArgumentsHash: hashOf(arguments),
		},
		Judged: Judged{
			Policy: "v1", Rule: "rule 1", Risk: hub.RiskHigh, Reasons: []Text{{"it deletes", "会删除"}}, Warning: Text{"gone", "不可恢复"}, Tags: []string{"path"}, Persons: 1,
		},
		Arguments: []byte(arguments), Shown: arguments,
	}
}

func operator(subject string) hub.Principal {
	return hub.Principal{Subject: subject, Door: hub.DoorREST, Role: hub.RoleOperator, Token: "token of " + subject}
}

func approve(by string) Deciding { return Deciding{By: operator(by), Kind: Approve} }
func reject(by string) Deciding  { return Deciding{By: operator(by), Kind: Reject, Note: "no"} }

func edit(by, arguments string) Deciding {
	return Deciding{By: operator(by), Kind: Edit, Arguments: []byte(arguments), ArgumentsHash: hashOf(arguments), Shown: arguments}
}

// mustAsk asks, and fails if it cannot.
func (c *counter) mustAsk(t testing.TB, a Asking) Request {
	t.Helper()
	r, err := c.Ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (c *counter) mustDecide(t testing.TB, id string, with Deciding) Request {
	t.Helper()
	r, err := c.Decide(t.Context(), id, with)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused fails unless the error has the code.
func refused(t testing.TB, what string, err error, code message.Code) {
	t.Helper()
	if !hub.IsCode(err, code) {
		t.Errorf("%s: %v, not %s", what, err, code)
		return
	}
	for _, lang := range []message.Lang{message.English, message.Chinese} {
		if text := hub.AsError(err).In(lang); text == "" || containsBrace(text) {
			t.Errorf("%s: %q", what, text)
		}
	}
}

// age moves the times of all requests into the past.
func (c *counter) age(t testing.TB, by time.Duration) {
	t.Helper()
	err := c.db.Tx(t.Context(), store.Process, txExec("UPDATE approval SET expires = expires - $1, changed = changed - $1", by.Microseconds()))
	if err != nil {
		t.Fatal(err)
	}
}
