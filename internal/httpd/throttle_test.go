package httpd

import (
	"net/netip"
	"testing"
	"time"
)

func TestThrottle(t *testing.T) {
	var all throttle
	now := time.Unix(1_000_000, 0)
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for i := range tryLimit {
		if wait, first := all.wrong(a, now); wait != 0 || first != (i == 0) {
			t.Fatalf("wrong token %d: %v, %v", i+1, wait, first)
		}
		now = now.Add(time.Second)
	}
	if wait, _ := all.wrong(a, now); wait != tryWindow-tryLimit*time.Second {
		t.Errorf("one too many has to wait %v", wait)
	}
	if wait, _ := all.wrong(b, now); wait != 0 {
		t.Errorf("another address has to wait %v", wait)
	}
	now = now.Add(tryWindow)
	if wait, first := all.wrong(a, now); wait != 0 || !first {
		t.Errorf("after a minute: %v, %v", wait, first)
	}
}

// Whoever comes from ever new addresses gets no more memory, and rids nobody
// of his count.
func TestThrottleIsBounded(t *testing.T) {
	var all throttle
	now := time.Unix(1_000_000, 0)
	guilty := netip.MustParseAddr("192.0.2.1")
	for range tryLimit + 1 {
		all.wrong(guilty, now)
	}
	one := netip.MustParseAddr("2001:db8::")
	waited := false
	for range 3 * maxTriers {
		one = one.Next()
		wait, _ := all.wrong(one, now)
		waited = waited || wait > 0
	}
	if n := len(all.triers); n > maxTriers+1 {
		t.Errorf("%d addresses are counted", n)
	}
	if !waited {
		t.Error("the many never had to wait")
	}
	if wait, _ := all.wrong(guilty, now); wait == 0 {
		t.Error("the guilty one was forgotten")
	}
	now = now.Add(tryWindow)
	if wait, first := all.wrong(one.Next(), now); wait != 0 || !first || len(all.triers) != 1 {
		t.Errorf("after a minute: %v, %v, %d addresses", wait, first, len(all.triers))
	}
}

// FuzzHost looks that no Host header and no origin is taken for one of this
// machine or for one that was allowed unless it is.
func FuzzHost(f *testing.F) {
	allowed, err := parseHosts([]string{"hub.example", "ported.example:8443"})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"localhost", "[::1]:80", "hub.example:1", "[hub.example]", "http://localhost@evil", "127.0.0.1:", "[", "]", "::1", "null", "[::1%25x]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := splitHost(s).name
		if ip, err := netip.ParseAddr(name); isLocal(s) && len(name) != len("localhost") && (err != nil || !ip.IsLoopback()) {
			t.Errorf("%q is taken for this machine", s)
		}
		if allowed.have(s) && len(name) != len("hub.example") && len(name) != len("ported.example") {
			t.Errorf("%q is allowed", s)
		}
		if host, ok := originHost(s); ok && len(host) >= len(s) {
			t.Errorf("%q is the host of the origin %q", host, s)
		}
		if _, err := parseHosts([]string{s}); err == nil && name == "" {
			t.Errorf("%q may be allowed", s)
		}
	})
}
