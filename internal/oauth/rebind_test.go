package oauth

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// names is a name server. Each lookup of an address gets the next answer, the last
// one again and again.
type names struct {
	mu      sync.Mutex
	answers []string
	asked   int
}

func (n *names) next() netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.answers[min(n.asked, len(n.answers)-1)]
	n.asked++
	return netip.MustParseAddr(at)
}

// resolver returns one that asks the name server.
func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(n.answer(buf[:size]), from)
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer answers a query (RFC 1035, section 4.1).
func (n *names) answer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the root, type and class
	out := append([]byte(nil), query[:end]...)
	out[2], out[3] = 0x84, 0
	copy(out[4:12], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	if kind := binary.BigEndian.Uint16(query[end-4:]); kind == 1 {
		at := n.next().As4()
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, at[:]...)
	}
	return out
}

// A name that leads inside just when it is looked at makes no public server one of
// the own network; one that answers from there is.
func TestRebinding(t *testing.T) {
	hits := 0
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits++
		write(w, 200, map[string]any{})
	}))
	defer inside.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	for name, test := range map[string]struct {
		answers []string
		local   bool
		want    error
	}{
		"is inside":          {[]string{"127.0.0.1"}, true, nil},
		"is public":          {[]string{"198.51.100.1"}, false, errNotPublic},
		"inside, then not":   {[]string{"127.0.0.1", "198.51.100.1"}, false, errNotPublic},
		"nobody there":       {[]string{"127.0.0.1", "127.0.0.9"}, false, errUnsure},
		"the cloud's own":    {[]string{"169.254.169.254"}, false, errUnsure},
		"the cloud's own, 2": {[]string{"100.100.100.200"}, false, errUnsure},
	} {
		t.Run(name, func(t *testing.T) {
			n := &names{answers: test.answers}
			k, err := Open(Options{
				Vault: newBench(t).opt.Vault, Resolver: n.resolver(t), Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			hits = 0
			server, _ := url.Parse("http://mcp.test:" + port + "/mcp")
			r := k.reachFor(t.Context(), server)
			if r.local != test.local {
				t.Errorf("local: %v", r.local)
			}
			asked := hits
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, inside.URL+"/secret", http.NoBody)
			if _, err := r.do(req); !errors.Is(err, test.want) || hits-asked != map[bool]int{true: 1}[test.local] {
				t.Errorf("what it names was gone to %d times: %v", hits-asked, err)
			}
			if again := k.reachFor(t.Context(), server); again.local != test.local {
				t.Error("the second time it is another matter")
			}
			if isRefusal(errUnsure) || !passing(errUnsure) {
				t.Error("what is not known now is taken for final")
			}
		})
	}
	// The same by a name that the server gives.
	n := &names{answers: []string{"198.51.100.1", "127.0.0.1"}}
	k, err := Open(Options{Vault: newBench(t).opt.Vault, Resolver: n.resolver(t), Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	hits = 0
	server, _ := url.Parse("http://mcp.test:" + port + "/mcp")
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://as.test:"+port+"/", http.NoBody)
	if _, err := k.reachFor(t.Context(), server).do(req); !errors.Is(err, errNotPublic) || hits != 0 {
		t.Errorf("%v, %d", err, hits)
	}
}

// Whatever way an address is written, it is the one that it leads to; and machines'
// own configuration is gone to by nobody.
func TestAddresses(t *testing.T) {
	for text, want := range map[string][2]bool{ // public, near
		"8.8.8.8": {true, true}, "2606:4700::1": {true, true}, "::ffff:8.8.8.8": {true, true},
		"127.0.0.1": {false, true}, "10.1.1.1": {false, true}, "100.64.1.1": {false, true}, "fd00::1": {false, true}, "::1": {false, true},
		"::ffff:10.0.0.1": {false, true}, "64:ff9b::a00:1": {false, true}, "fec0::1": {false, true},
		"169.254.169.254": {false, false}, "169.254.1.1": {false, false}, "100.100.100.200": {false, false}, "192.0.0.192": {false, false},
		"fd00:ec2::254": {false, false}, "fe80::1": {false, false}, "fe80::1%eth0": {false, false},
		"::ffff:169.254.169.254": {false, false}, "64:ff9b::a9fe:a9fe": {false, false}, "64:ff9b::6464:64c8": {false, false},
		"64:ff9b:1::a9fe:a9fe": {false, false}, "2002:a9fe:a9fe::": {false, false}, "::169.254.169.254": {false, false},
		"0.0.0.0": {false, false}, "::": {false, false}, "224.0.0.1": {false, false}, "ff02::1": {false, false},
	} {
		a := netip.MustParseAddr(text)
		if got := [2]bool{publicOnly(a) == nil, nearOnly(a) == nil}; got != want {
			t.Errorf("%s: public %v, near %v", text, got[0], got[1])
		}
		if got := innerOnly(a) == nil; got != (want[1] && !want[0]) {
			t.Errorf("%s: inner %v", text, got)
		}
	}
}
