package upstream

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
)

func put(t *testing.T, b *inbox, format string, args ...any) bool {
	t.Helper()
	m, err := wire.Scan(fmt.Appendf(nil, format, args...), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return b.put(m, nil)
}

// Notifications push out the oldest of their kind, but never a question or the
// response; of questions only so many are taken.
func TestInbox(t *testing.T) {
	b := newInbox()
	for i := range maxQuestions + 1 {
		if got := put(t, b, `{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i); got != (i < maxQuestions) {
			t.Errorf("question %d: %v", i, got)
		}
	}
	for i := range inboxItems {
		put(t, b, `{"jsonrpc":"2.0","method":"n","params":{"i":%d}}`, i)
	}
	put(t, b, `{"jsonrpc":"2.0","method":"n","params":{"i":-1,"text":%q}}`, strings.Repeat("x", inboxBytes))
	put(t, b, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	var got []wire.Kind
	size := 0
	for m, _, ok := b.get(); ok; m, _, ok = b.get() {
		got, size = append(got, m.Kind), size+len(m.Raw)
	}
	if len(got) != maxQuestions+1 || got[0] != wire.Request || got[maxQuestions] != wire.Response || size > inboxBytes {
		t.Errorf("%d bytes in %v", size, got)
	}
	if b.size != 0 || b.questions != 0 {
		t.Errorf("%d bytes and %d questions are left", b.size, b.questions)
	}
	for i := range inboxItems + 5 {
		put(t, b, `{"jsonrpc":"2.0","method":"n","params":{"i":%d}}`, i)
	}
	if m, _, _ := b.get(); len(b.items) != inboxItems-1 || string(m.Member("i").Of(m.Raw)) != "5" {
		t.Errorf("%d are left, and the first was %s", len(b.items), m.Raw)
	}
	b.leave()
	if put(t, b, `{"jsonrpc":"2.0","method":"n"}`) {
		t.Error("it took what nobody is going to read")
	}
}

// FuzzAcknowledged: whatever a server says that it listens for, reading it does
// not fail.
func FuzzAcknowledged(f *testing.F) {
	f.Add(`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a",7]}}`)
	f.Add(`{"notifications":[]}`)
	f.Add(`7`)
	f.Fuzz(func(t *testing.T, params string) {
		m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","method":"n","params":`+params+`}`), wire.Limits{})
		if err != nil || m.Kind != wire.Notification {
			return
		}
		got := acknowledged(&m)
		if strings.Count(params, "toolsListChanged") == 0 && !strings.Contains(params, `\`) && got.tools {
			t.Fatalf("%s is read as %+v", params, got)
		}
	})
}

// Who leaves takes the questions along that nobody was asked, and nothing is put
// in any more.
func TestInboxLeave(t *testing.T) {
	b := newInbox()
	put(t, b, `{"jsonrpc":"2.0","method":"notifications/x"}`)
	put(t, b, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	put(t, b, `{"jsonrpc":"2.0","method":"notifications/y"}`)
	put(t, b, `{"jsonrpc":"2.0","id":2,"method":"roots/list"}`)
	if m, _, ok := b.get(); !ok || m.Kind != wire.Notification {
		t.Errorf("the first is a %v", m.Kind)
	}
	left := b.leave()
	if len(left) != 2 || string(left[0].ID.Of(left[0].Raw)) != "1" || string(left[1].ID.Of(left[1].Raw)) != "2" {
		t.Errorf("left are %d messages: %v", len(left), left)
	}
	if _, _, ok := b.get(); ok || b.put(left[0], nil) {
		t.Error("there is something in it behind the end")
	}
}
