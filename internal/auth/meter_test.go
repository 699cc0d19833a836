package auth

import (
	"strconv"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// Each has a count of his own, as far as there is room for that, and a new one when
// the time is over.
func TestMeter(t *testing.T) {
	m, now := NewMeter(2, time.Minute), time.Now()
	for i, want := range []struct{ ok, last bool }{{true, false}, {true, true}, {false, false}, {false, false}} {
		if ok, last := m.Allow("ada", now); ok != want.ok || last != want.last {
			t.Errorf("time %d: %v %v", i, ok, last)
		}
	}
	if ok, _ := m.Allow("bob", now); !ok {
		t.Error("one keeps another from it")
	}
	refused := 0
	for i := range 3 * maxMetered {
		if ok, _ := m.Allow(strconv.Itoa(i), now); !ok {
			refused++
		}
	}
	if len(m.counts) > maxMetered+1 || refused < maxMetered {
		t.Errorf("%d are known, %d were refused", len(m.counts), refused)
	}
	if ok, _ := m.Allow("ada", now); ok {
		t.Error("one got rid of his count by coming under many names")
	}
	if ok, _ := m.Allow("eve", now.Add(time.Minute)); !ok || len(m.counts) != 1 {
		t.Errorf("after the time: %v, %d are known", ok, len(m.counts))
	}
}

// The cookie of a login under way is taken only as it was made, and in time.
func TestFlow(t *testing.T) {
	key, now := []byte("0123456789abcdef"), time.Now()
	f := newFlow(key, now)
	made := flow(string(f[:cookieLength]) + "." + strconv.FormatInt(now.Unix(), 10))
	later := flow(string(f[:cookieLength]) + "." + strconv.FormatInt(now.Add(time.Minute).Unix(), 10) + string(f[len(f)-cookieLength-1:]))
	for name, c := range map[string]struct {
		flow flow
		key  []byte
		at   time.Time
		want bool
	}{
		"as it was made": {f, key, now, true},
		"just in time":   {f, key, now.Add(flowLife - time.Minute), true},
		"too late":       {f, key, now.Add(flowLife + time.Minute), false},
		"too early":      {f, key, now.Add(-time.Hour), false},
		"another key":    {f, []byte("x"), now, false},
		"not signed":     {made, key, now, false},
		"signed empty":   {made + ".", key, now, false},
		"another time":   {later, key, now, false},
		"something":      {"x", key, now, false},
		"nothing":        {"", key, now, false},
	} {
		if c.flow.good(c.key, c.at) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
	if other := newFlow(key, now); other.state() == f.state() || f.state() == f.nonce() || f.nonce() == f.verifier() {
		t.Error("what is derived is not apart")
	}
}

// All hubs on a database take each other's cookies, and none of another database.
func TestFlowKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		one, other := openBook(t, db), openBook(t, db)
		a, err := one.flowKey(t.Context())
		must(t, err)
		b, err := other.flowKey(t.Context())
		must(t, err)
		if again, err := one.flowKey(t.Context()); err != nil || len(a) != entropy || string(a) != string(b) || string(again) != string(a) {
			t.Errorf("%x, %x, %x, %v", a, b, again, err)
		}
	})
}

func TestAddressOf(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":             "192.0.2.1",
		"[::ffff:192.0.2.1]:80":    "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::",
		"[fe80::1%eth0]:1":         "fe80::",
		"@":                        "invalid IP",
		"":                         "invalid IP",
	} {
		if got := AddressOf(remote).String(); got != want {
			t.Errorf("AddressOf(%q) = %s, want %s", remote, got, want)
		}
	}
}

// A tenant that is called as another one was is not that one, and only tokens that
// are good let in.
func TestIDs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b := openBook(t, db)
		if b.TenantID("sales") != "" || b.Lets("t-0") || b.Lets("") {
			t.Error("there is what there is not")
		}
		_, err := b.AddTenant(t.Context(), root, "sales", "")
		must(t, err)
		first := b.TenantID("sales")
		_, token := issue(t, b, root, Wanted{Subject: "ada", Tenant: "sales", Role: hub.RoleCaller})
		if first == "" || !b.Lets(token.ID) {
			t.Error("there is not what there is")
		}
		revoke(t, b, root, token.ID)
		if b.Lets(token.ID) {
			t.Error("a token that was revoked lets in")
		}
		must(t, b.RemoveTenant(t.Context(), root, "sales"))
		_, err = b.AddTenant(t.Context(), root, "sales", "")
		must(t, err)
		if again := b.TenantID("sales"); again == "" || again == first {
			t.Errorf("%q and then %q", first, again)
		}
	})
}
