package httpd_test

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// A page of another site that has its name resolve to this machine is known by
// Host.
func TestHost(t *testing.T) {
	s := serve(t, httpd.Options{}, who).stopAtEnd(t)
	for host, want := range map[string]message.Code{
		"localhost:1234": "", "LocalHost": "", "127.0.0.1": "", "127.1.2.3:9": "", "[::1]:80": "", "[::1]": "",
		"evil.example": message.HostRefused, "evil.example:8080": message.HostRefused,
		"127.0.0.1.evil.example": message.HostRefused, "localhost.evil.example:80": message.HostRefused,
		"0.0.0.0": message.HostRefused, "[::]": message.HostRefused, "192.0.2.1": message.HostRefused,
		"localhost.": message.HostRefused,
	} {
		for _, path := range []string{"/mcp", "/api/v1/servers", "/", "/healthz"} {
			s.want(t, request{path: path, host: host}, want)
		}
		// Knowing a token makes no page another one.
		s.want(t, request{host: host, header: headers("Authorization", "Bearer "+s.admin)}, want)
	}
}

func TestAllowHosts(t *testing.T) {
	s := serve(t, httpd.Options{AllowHosts: []string{"hub.example", "Ported.Example:8443", "[2001:db8::1]", "web.example:443"}}, who).stopAtEnd(t)
	for host, want := range map[string]message.Code{
		"hub.example": "", "HUB.Example:1": "", "ported.example:8443": "", "[2001:db8::1]:7": "", "web.example": "", "web.example:443": "",
		"ported.example": message.HostRefused, "ported.example:8444": message.HostRefused, "web.example:8443": message.HostRefused,
		"a.hub.example": message.HostRefused, "xhub.example": message.HostRefused, "hub.example.": message.HostRefused,
		"hub.example.evil.example": message.HostRefused,
	} {
		s.want(t, request{host: host, header: headers("Authorization", "Bearer "+s.caller)}, want)
		if want == "" {
			want = message.TokenRequired // under such a name anybody may have come
		}
		s.want(t, request{host: host}, want)
	}
}

func TestAllowHostsInvalid(t *testing.T) {
	for _, name := range []string{"", "*", "*.example", "https://hub.example", "hub.example/", "hub.example:0", "hub.example:70000", "a b", "-x", "ü.example", "user@hub.example"} {
		_, err := httpd.New(httpd.Options{AllowHosts: []string{"good.example", name}})
		if !hub.IsCode(err, message.AllowHostInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if strings.Contains(name, "/") && !strings.Contains(err.Error(), "without a scheme and a path") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A page that posts here from another site is known by Origin.
func TestOrigin(t *testing.T) {
	s := serve(t, httpd.Options{AllowHosts: []string{"hub.example"}}, who).stopAtEnd(t)
	own := s.URL()
	port := own[strings.LastIndexByte(own, ':'):]
	streams, pages :=
		[]string{"/mcp", "/mcp/office", "/sse", "/sse/office", "/messages", "/ws/mcp"},
		[]string{"/", "/api/v1/servers", "/readyz", "/ws", "/mcpx", "/sse.html", "/messages/x"}
	for _, tt := range []struct {
		origin         string
		streams, pages bool
	}{
		{own, true, true},
		{strings.ToUpper(own[:4]) + own[4:], true, false}, // browsers write lower case
		{"https://127.0.0.1" + port, true, false},
		{"http://localhost" + port, true, false},
		{"http://localhost:3000", true, false},
		{"http://127.0.0.1", true, false},
		{"https://[::1]:9", true, false},
		{"http://hub.example", true, false},
		{"https://hub.example:77", true, false},
		{own + "/", true, false},
		{"http://evil.example", false, false},
		{"http://evil.example" + port, false, false},
		{"null", false, false},
		{"", false, false},
		{"http://localhost.evil.example", false, false},
		{"http://127.0.0.1.evil.example" + port, false, false},
		{"file://", false, false},
		{"http://localhost@evil.example", false, false},
		{"chrome-extension://abc", false, false},
		{"http://a.hub.example", false, false},
		{"://", false, false},
	} {
		for ok, paths := range map[*bool][]string{&tt.streams: streams, &tt.pages: pages} {
			want := message.OriginRefused
			if *ok {
				want = ""
			}
			for _, path := range paths {
				for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodOptions} {
					s.want(t, request{method: method, path: path, header: http.Header{"Origin": {tt.origin}}}, want)
				}
				// A page that had a token would still be another page.
				s.want(t, request{path: path, header: http.Header{"Origin": {tt.origin}, "Authorization": {"Bearer " + s.admin}}}, want)
			}
		}
	}
	for _, path := range []string{"/mcp", "/api/v1/servers"} {
		s.want(t, request{path: path, header: headers("Origin", own, "Origin", "http://evil.example")}, message.OriginRefused)
		s.want(t, request{path: path, header: headers("Origin", "http://evil.example", "Origin", own)}, message.OriginRefused)
	}
	// Behind a proxy that has TLS the page's scheme is another one than ours.
	for origin, want := range map[string]message.Code{"https://hub.example": "", "http://hub.example": "", "https://hub.example:1": message.OriginRefused} {
		s.want(t, request{path: "/api/v1/servers", host: "hub.example", header: headers("Origin", origin, "Authorization", "Bearer "+s.admin)}, want)
	}
}

func TestFetchSite(t *testing.T) {
	s := serve(t, httpd.Options{}, who).stopAtEnd(t)
	for _, tt := range []struct {
		method, path, site string
		want               message.Code
	}{
		{http.MethodPost, "/api/v1/servers", "cross-site", message.OriginRefused},
		{http.MethodPost, "/api/v1/servers", "same-site", message.OriginRefused},
		{http.MethodDelete, "/api/v1/servers/x", "cross-site", message.OriginRefused},
		{http.MethodPost, "/", "cross-site", message.OriginRefused},
		{http.MethodPost, "/api/v1/servers", "same-origin", ""},
		{http.MethodPost, "/api/v1/servers", "none", ""},
		{http.MethodGet, "/", "cross-site", ""}, // a link to our page
		{http.MethodHead, "/", "cross-site", ""},
		{http.MethodPost, "/mcp", "cross-site", ""}, // the MCP Inspector, by its origin
	} {
		s.want(t, request{method: tt.method, path: tt.path, header: headers("Sec-Fetch-Site", tt.site)}, tt.want)
	}
}

func TestToken(t *testing.T) {
	for name, require := range map[string]bool{"free": false, "required": true} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, httpd.Options{RequireToken: require}, who).stopAtEnd(t)
			for _, path := range []string{"/mcp", "/api/v1/servers", "/ws/mcp"} {
				for subject, values := range map[string][]string{
					"admin":  {"Bearer " + s.admin},
					"caller": {"bearer " + s.caller},
				} {
					res := s.want(t, request{path: path, header: http.Header{"Authorization": values}}, "")
					if got := res.Header.Get("Subject"); got != subject {
						t.Errorf("%s came as %q", subject, got)
					}
				}
				for _, values := range [][]string{nil, {""}} {
					if require {
						res := s.want(t, request{path: path, header: http.Header{"Authorization": values}}, message.TokenRequired)
						if got := res.Header.Get("WWW-Authenticate"); res.StatusCode != http.StatusUnauthorized || got != `Bearer realm="toolcrib"` {
							t.Errorf("status %d, challenge %q", res.StatusCode, got)
						}
						continue
					}
					res := s.want(t, request{path: path, header: http.Header{"Authorization": values}}, "")
					if got := res.Header.Get("Subject"); got != "local" {
						t.Errorf("nobody came as %q", got)
					}
				}
			}
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				s.want(t, request{method: method, path: "/healthz"}, "")
			}
			if require {
				s.want(t, request{method: http.MethodPost, path: "/healthz"}, message.TokenRequired)
				s.want(t, request{method: http.MethodGet, path: "/healthz/../mcp"}, message.TokenRequired)
				s.want(t, request{method: http.MethodGet, path: "/ui/../api/v1/config"}, message.TokenRequired)
				s.want(t, request{method: http.MethodGet, path: "/ui/%2e%2e/api/v1/config"}, message.TokenRequired)
				s.want(t, request{method: http.MethodPost, path: "/ui/app.js"}, message.TokenRequired)
				s.want(t, request{method: http.MethodGet, path: "/ui/app.js"}, "")
				s.want(t, request{method: http.MethodGet, path: "/"}, "")
			}
		})
	}
}

func TestWrongToken(t *testing.T) {
	s := serve(t, httpd.Options{}, who).stopAtEnd(t)
	for _, values := range [][]string{
		{"Bearer " + s.admin + "x"},
		{"Bearer"},
		{"Basic " + s.admin},
		{s.admin},
		{"Bearer " + s.admin, "Bearer " + s.admin},
		{"", "Bearer " + s.admin},
	} {
		res := s.want(t, request{header: http.Header{"Authorization": values}}, message.TokenRefused)
		if got := res.Header.Get("WWW-Authenticate"); res.StatusCode != http.StatusUnauthorized || got != `Bearer realm="toolcrib", error="invalid_token"` {
			t.Errorf("status %d, challenge %q", res.StatusCode, got)
		}
	}
	s.want(t, request{method: http.MethodGet, path: "/healthz", header: headers("Authorization", "Bearer x")}, message.TokenRefused)
}

// Whoever came through a proxy came from who knows where.
func TestForwarded(t *testing.T) {
	s := serve(t, httpd.Options{}, who).stopAtEnd(t)
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "x-forwarded-for", "X-Forwarded-Host", "X-Real-IP"} {
		for _, value := range []string{"for=192.0.2.1", "127.0.0.1", ""} {
			s.want(t, request{path: "/mcp", header: headers(header, value)}, message.TokenRequired)
			s.want(t, request{path: "/mcp", header: headers(header, value, "Authorization", "Bearer "+s.caller)}, "")
		}
	}
}

// Guessing is answered less and less kindly, and locks out nobody who knows.
func TestBruteForce(t *testing.T) {
	s := serve(t, httpd.Options{}, who).stopAtEnd(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	guess := func(code message.Code) *http.Response {
		return s.want(t, request{client: client, header: headers("Authorization", "Bearer "+strings.Repeat("x", 47))}, code)
	}
	for range 10 {
		guess(message.TokenRefused)
	}
	for range 5 {
		res := guess(message.TokenThrottled)
		if wait := res.Header.Get("Retry-After"); res.StatusCode != http.StatusTooManyRequests || wait == "" || wait == "0" || len(wait) > 2 {
			t.Errorf("status %d, wait %q", res.StatusCode, wait)
		}
	}
	s.want(t, request{header: headers("Authorization", "Bearer "+s.admin)}, "")
	s.want(t, request{}, "")
	if text := s.log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "127.0.0.1") || strings.Contains(text, "xxx") {
		t.Errorf("the log says %q", text)
	}
}

// The socket is for its owner only, who may call the hub what he likes.
func TestSocket(t *testing.T) {
	path := socketPath(t)
	s := serve(t, httpd.Options{Listeners: []net.Listener{listenSocket(t, path)}, RequireToken: true}, who).stopAtEnd(t)
	client := overSocket(t, path)
	for _, tt := range []struct {
		host    string
		header  http.Header
		code    message.Code
		subject string
	}{
		{"", nil, "", "local"},
		{"evil.example", nil, "", "local"},
		{"hub", headers("Authorization", "Bearer "+s.admin), "", "admin"},
		{"hub", headers("Authorization", "Bearer wrong"), message.TokenRefused, ""},
		{"hub", headers("X-Forwarded-For", "192.0.2.1"), message.TokenRequired, ""},
		{"hub", headers("Origin", "http://evil.example"), message.OriginRefused, ""},
	} {
		res := s.answer(t, "http://hub", request{path: "/api/v1/servers", host: tt.host, header: tt.header, client: client})
		if code, subject := res.Header.Get("Code"), res.Header.Get("Subject"); code != string(tt.code) || subject != tt.subject {
			t.Errorf("%+v: code %q, subject %q", tt, code, subject)
		}
	}
}

// A listener that others reach demands tokens, whoever forgot to say so.
func TestOpenListener(t *testing.T) {
	s := serve(t, httpd.Options{Listeners: []net.Listener{listen(t, "0.0.0.0:0", true)}}, who).stopAtEnd(t)
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Errorf("URL() = %q", s.URL())
	}
	s.want(t, request{}, message.TokenRequired)
	s.want(t, request{header: headers("Authorization", "Bearer "+s.caller)}, "")
	if text := s.log.String(); !strings.Contains(text, "without TLS") {
		t.Errorf("the log says %q", text)
	}
}

func TestSecurityHeaders(t *testing.T) {
	s := serve(t, httpd.Options{}, who).stopAtEnd(t)
	names := []string{"X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Cache-Control"}
	for path, want := range map[string][]string{
		"/":               {"nosniff", "no-referrer", "same-origin", ""},
		"/readyz":         {"nosniff", "no-referrer", "same-origin", ""},
		"/api/v1/servers": {"nosniff", "no-referrer", "same-origin", "no-store"},
		"/mcp":            {"", "", "", ""},
		"/mcp/office":     {"", "", "", ""},
		"/sse/office":     {"", "", "", ""},
		"/ws/mcp":         {"", "", "", ""},
	} {
		for _, host := range []string{"", "evil.example"} { // refusals have them too
			res := s.answer(t, s.URL(), request{path: path, host: host})
			for i, name := range names {
				if got := res.Header.Get(name); got != want[i] {
					t.Errorf("%s for %q: %s is %q", path, host, name, got)
				}
			}
		}
	}
}

// blank is an answer that nobody reads.
type blank struct{ h http.Header }

func (b blank) Header() http.Header         { return b.h }
func (b blank) Write(p []byte) (int, error) { return len(p), nil }
func (b blank) WriteHeader(int)             {}

// BenchmarkGuard is what the entrance costs a call without a token.
func BenchmarkGuard(b *testing.B) {
	dir := b.TempDir()
	tokens, err := auth.OpenTokens(dir+"/admin", dir+"/caller")
	if err != nil {
		b.Fatal(err)
	}
	h, err := httpd.Handler(httpd.Options{
		Gate: auth.NewGate(auth.GateOptions{Tokens: tokens}), Log: slog.New(slog.DiscardHandler),
		Doors: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	})
	if err != nil {
		b.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1:8080/mcp", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	w := blank{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
