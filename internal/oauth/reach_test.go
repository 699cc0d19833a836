package oauth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
)

// What a public server names is gone to only if it is public and of https; the
// addresses are looked at again when they are dialled.
func TestReach(t *testing.T) {
	b := newBench(t)
	strict := &reach{direct: b.pools.direct, proxied: b.pools.proxied, proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
	near := &reach{local: true, plain: true}
	half := &reach{local: true}
	for address, test := range map[string]struct{ strict, half, near bool }{
		"https://as.example/token":       {true, true, true},
		"http://as.example/token":        {false, false, true},
		"https://127.0.0.1/x":            {false, true, true},
		"http://127.0.0.1/x":             {false, true, true},
		"http://localhost:1/x":           {false, true, true},
		"https://localhost/x":            {false, true, true},
		"https://10.0.0.1/x":             {false, true, true},
		"https://[::1]/x":                {false, true, true},
		"https://[::ffff:127.0.0.1]/x":   {false, true, true},
		"https://169.254.169.254/latest": {false, true, true}, // but see nearOnly
		"https://u:p@as.example/":        {false, false, false},
		"ftp://as.example/":              {false, false, false},
		"file:///etc/passwd":             {false, false, false},
		"javascript:alert(1)":            {false, false, false},
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string][2]bool{
			"strict": {strict.may(u) == nil, test.strict}, "half": {half.may(u) == nil, test.half}, "near": {near.may(u) == nil, test.near},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %s is %v", name, address, got[0])
			}
		}
	}
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1": true, "127.0.0.1": false, "10.1.1.1": false, "100.64.1.1": false, "169.254.169.254": false, "0.0.0.0": false,
		"::1": false, "fe80::1": false, "fd00::1": false, "::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "224.0.0.1": false, "2002:7f00:1::": false,
	} {
		a := netip.MustParseAddr(text)
		if public(a) != want || (publicOnly(a) == nil) != want {
			t.Errorf("%s is public: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"127.0.0.1": true, "10.0.0.1": true, "169.254.169.254": false, "0.0.0.0": false, "::": false} {
		if (nearOnly(netip.MustParseAddr(text)) == nil) != want {
			t.Errorf("%s is near: %v", text, !want)
		}
	}
	// A name that leads to this machine is found out when it is dialled.
	_, err := b.pools.direct.DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", "1"))
	if !errors.Is(err, errNotPublic) {
		t.Errorf("localhost was dialled: %v", err)
	}
}

// No redirect leads to what would not be gone to, none of a POST is followed, and
// answers are bounded.
func TestRedirects(t *testing.T) {
	b := newBench(t)
	hits := 0
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer inside.Close()
	var to string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/big":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(strings.Repeat(" ", maxBody+10)))
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	at, _ := url.Parse(server.URL)
	r := b.reachFor(t.Context(), at)
	try := func(method, path string) (answer, error) {
		req, _ := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("client_secret=x"))
		return r.do(req)
	}
	to = inside.URL
	if res, err := try(http.MethodPost, "/"); err != nil || res.status != 307 || hits != 0 {
		t.Errorf("a POST was sent on: %v, %d", err, hits)
	}
	if _, err := try(http.MethodGet, "/"); err != nil || hits != 1 {
		t.Errorf("%v, %d", err, hits)
	}
	r.local, r.plain = false, false // as for a public server, whose redirect leads inside
	if err := r.may(at); err == nil {
		t.Error("a public server's metadata may be here")
	}
	r.local, r.plain = true, true
	to = "ftp://127.0.0.1/"
	if _, err := try(http.MethodGet, "/"); !errors.Is(err, errScheme) {
		t.Errorf("%v", err)
	}
	if res, err := try(http.MethodGet, "/loop"); err != nil || res.status != 302 {
		t.Errorf("%v", err)
	}
	if _, err := try(http.MethodGet, "/big"); !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
}

// A token for one resource is good for what is at or below it on the same host.
func TestCovers(t *testing.T) {
	server, _ := url.Parse("https://a.example/mcp/x")
	for resource, want := range map[string]bool{
		"https://a.example/mcp/x": true, "https://a.example/mcp/x/": true, "https://a.example/mcp": true, "https://a.example": true, "HTTPS://A.example/": true,
		"https://a.example/mc": false, "https://a.example/mcp/x/y": false, "https://b.example/mcp/x": false, "http://a.example/mcp/x": false,
		"https://a.example:8443/mcp/x": false, "https://u@a.example/mcp/x": false, "https://a.example/mcp/x#f": false, "https://a.example/mcp?x": false, "": false, "%": false,
	} {
		if covers(resource, server) != want {
			t.Errorf("%s: %v", resource, !want)
		}
	}
}

func TestProxy(t *testing.T) {
	asked := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		write(w, 200, map[string]any{})
	}))
	defer proxy.Close()
	at, _ := url.Parse(proxy.URL)
	k, err := Open(Options{Vault: newBench(t).opt.Vault, Proxy: func(*http.Request) (*url.URL, error) { return at, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	r := &reach{direct: k.pools.direct, proxied: k.pools.proxied, proxy: k.opt.Proxy, plain: true}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://as.example/x", http.NoBody)
	if _, err := r.do(req); err != nil || asked != "http://as.example/x" {
		t.Errorf("%v %q", err, asked)
	}
}

func TestCancelled(t *testing.T) {
	s, b := newSite(t), newBench(t)
	a := b.Account(s.definition(nil), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Refused(ctx, "", 401, http.Header{"Www-Authenticate": {"Bearer"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	a.keeper.Close()
	if err := a.renew(t.Context(), nil); code(err) != message.ShuttingDown {
		t.Errorf("%v", err)
	}
}

// What an answer says is read, or refused; nothing of it makes a header of two.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{`{"access_token":"a","token_type":"bearer","expires_in":"3600","scope":"b a"}`, `{"access_token":"a\nb"}`, `{"error":"x"}`, `[]`, `{"access_token":"a","expires_in":1e300}`} {
		f.Add(text, `Bearer realm="x", scope="a b", Basic`)
	}
	f.Fuzz(func(t *testing.T, body, header string) {
		if got, err := read([]byte(body), nil, time.Now()); err == nil {
			if got.Access == "" || !sendable(got.Access) || !sendable(got.Refresh) || !got.Expires.IsZero() && got.due().After(got.Expires) {
				t.Errorf("%+v", got)
			}
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
		c := challengeOf(http.Header{"Www-Authenticate": {header}})
		for _, s := range c.scopes {
			if !scopeToken(s) {
				t.Errorf("the scope %q", s)
			}
		}
	})
}
