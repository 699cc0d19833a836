package policy

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// read is the reading of a resource of a server.
func read(server *hub.Server, uri string) *Question {
	q := ask(reads, "")
	q.Method, q.Tool, q.Name, q.Server = methodRead, nil, uri, server
	return q
}

// A rule is about a resource, in whatever way its URI is written.
func TestResourceSpellings(t *testing.T) {
	plain := &hub.Server{Key: "web", Kind: hub.KindHTTP}
	for _, test := range []struct {
		pattern string
		uris    []string
	}{
		{"*/.ssh/*", []string{
			"file:///home/ana/.ssh/id", "file:///home/ana/%2Essh/id", "file:///home/ana/%2e%73sh/id", "file:///home/ana%2F.ssh%2fid",
			"file:///home/ana//.ssh//id", "file:///home/ana/x/../.ssh/id", "file:///home/ana/.ssh/./id", "file:///home/ana/.SSH/id",
			"FILE:///home/ana/.ssh/id", "file://localhost/home/ana/.ssh/id", "file:/home/ana/.ssh/id", "file:///home/ana/%252Essh/id",
			`file:///home\ana\.ssh\id`, "file:///home/ana/x?/../.ssh/id", "file:///home/ana/.%C5%BF%C5%BFh/id", "repo://x/.ssh/id",
		}},
		{"file:///etc/shadow", []string{
			"file:///etc/shadow", "file:///etc/shadow/", "file:///etc/shadow?x", "file:///etc/shadow#x", "File://LOCALHOST/etc/shadow",
			"file:///etc/../etc/shadow", "file://127.0.0.1/etc/shadow", "file:///%65tc/shadow", "file:////etc/shadow", "file:/etc/./shadow",
		}},
		{"https://internal.example/*", []string{
			"https://internal.example/a", "HTTPS://internal.example/a", "https://INTERNAL.example/a", "https://internal.example:443/a",
			"https://internal.example:/a", "https://internal.example:0443/a", "https://internal.example./a", "https://u@internal.example/a",
			"https://internal%2Eexample/a", "https:/internal.example/a", `https:\\internal.example\a`, "https://internal.example", "https://ｉnternal。example/a",
			"https://internal.example/x/../a",
		}},
		{"https://Internal.Example:443/Top%20Secret/*", []string{"https://internal.example/top secret/x", "https://internal.example/Top%20Secret/x"}},
		{"http://127.0.0.1/*", []string{"http://127.1/x", "http://2130706433/x", "http://0x7f.0.0.1/x", "http://127.0.0.1:80/x"}},
		{"http://[::1]/*", []string{"http://[0:0:0:0:0:0:0:1]/x"}},
		{"file:///etc/*", []string{"/etc/passwd", "/etc/x/../passwd", "/%65tc/passwd", "//etc/passwd", `\etc\passwd`, "/ETC/passwd"}},
		{"file:///c:/secret/*", []string{`C:\secret\x`, "c:/secret/x", "/c:/secret/x"}},
		{"/etc/*", []string{"/etc/passwd", "file:///etc/passwd", "file:/etc/passwd"}},
		{"docs://private/*", []string{
			"docs://private/x", "docs:/private/x", "docs:///private/x", "docs:////private/x", "docs:private/x", "DOCS:/Private/x", "docs:/pri%76ate/x",
			"docs://pri%76ate/x", "docs:///public/../private/x", "docs://public/../private/x", "docs:/private/x?y", `docs:\private\x`,
		}},
		{"docs:///private/*", []string{"docs://private/x", "docs:/private/x", "docs:///private/x"}},
		{"docs:/private/*", []string{"docs://private/x", "docs:/private/x", "docs:///private/x"}},
		{"memo://Insights", []string{"memo://Insights", "memo://insights", "MEMO://Insights", "memo://Insights/"}},
	} {
		for _, uri := range test.uris {
			for _, effect := range []hub.Verdict{hub.VerdictDeny, hub.VerdictAsk} {
				p := compiled(t, rules(hub.Rule{Effect: effect, Methods: []string{methodRead}, Tools: []string{test.pattern}}))
				if j := p.Judge(read(plain, uri)); j.Verdict != effect || j.Rule == "" {
					t.Errorf("%s is not what %s %s is about: %s", uri, effect, test.pattern, j.Verdict)
				}
			}
		}
	}
}

// A rule is about no other resource than it says.
func TestResourceOthers(t *testing.T) {
	for pattern, uris := range map[string][]string{
		"file:///etc/*":    {"/srv/etc/x", "etc/x", "docs:///etc/x", "https://etc/x", "/etc/../srv/x"},
		"docs://private/*": {"docs:/public/x", "docs:///public/private/x", "other:/private/x", "https:/private/x", "/private/x"},
	} {
		p := compiled(t, rules(hub.Rule{Effect: hub.VerdictDeny, Methods: []string{methodRead}, Tools: []string{pattern}}))
		for _, uri := range uris {
			if j := p.Judge(read(&hub.Server{Key: "web", Kind: hub.KindHTTP}, uri)); j.Rule != "" {
				t.Errorf("%s is what %s is about", uri, pattern)
			}
		}
	}
}

// What is allowed is allowed in every way in which it may be read.
func TestResourceAllowed(t *testing.T) {
	p := compiled(t, hub.Policy{
		Given: true, Verdicts: [4]hub.Verdict{"ask", "ask", "ask", "ask"},
		Rules: []hub.Rule{{Effect: hub.VerdictAllow, Methods: []string{methodRead}, Tools: []string{"file:///srv/public/*", "https://docs.example/a%20b/*", "memo://Insights", "db:users"}}},
	})
	for uri, want := range map[string]hub.Verdict{
		"file:///srv/public/a":                        "allow",
		"file:///srv/public/a%20b.txt":                "allow",
		"FILE:///srv//public/x/../a":                  "allow",
		"file:///srv/public/中.txt":                    "allow",
		"file:///srv/public/100%25.txt":               "allow",
		"https://docs.example:443/a%20b/c?x=%2F#top":  "allow",
		"memo://Insights":                             "allow",
		"db:users":                                    "allow",
		"memo://insights":                             "ask", // may be another one
		"file:///srv/public/../../etc/passwd":         "ask",
		"file:///srv/public/%2e%2e/%2e%2e/etc/passwd": "ask",
		"file:///srv/public/..%2f..%2fetc/passwd":     "ask",
		"file:///srv/public/%252e%252e/x":             "ask",
		`file:///srv/public/..\..\etc\passwd`:         "ask",
		"file:///srv/public/x?/../../../etc/passwd":   "ask",
		"file:///srv/public/a%00.txt":                 "ask",
		"file:///srv/public/a%zz":                     "ask",
		"file:///srv/public/a\n":                      "ask",
		"file://other/srv/public/a":                   "ask",
		"https://docs.example@evil.example/a%20b/c":   "ask",
		"https://docs.example:444/a%20b/c":            "ask",
		"https://docs.example/a%20b/%2e%2e/%2e%2e/c":  "ask",
	} {
		if j := p.Judge(read(&hub.Server{Key: "s", Kind: hub.KindHTTP}, uri)); j.Verdict != want {
			t.Errorf("%s: %s, want %s (%v)", uri, j.Verdict, want, j.Reasons)
		}
	}
}

// An expression reads a URI decoded, and cannot tell of one that is not sure.
func TestResourceExpressions(t *testing.T) {
	p := compiled(t, rules(
		hub.Rule{Effect: hub.VerdictDeny, Methods: []string{methodRead}, When: `call.tool.startsWith("file:///etc/")`},
		hub.Rule{Effect: hub.VerdictAllow, Methods: []string{methodRead}, When: `call.tool.startsWith("file:///srv/")`},
	))
	for uri, want := range map[string]hub.Verdict{
		"file:///srv/%2e%2e/etc/x": "deny", "FILE://localhost/%65tc/x": "deny", "file:///srv/a": "allow", "file:///srv/a%": "ask", "file:///../etc/x": "ask",
	} {
		if j := p.Judge(read(&hub.Server{Key: "s", Kind: hub.KindHTTP}, uri)); j.Verdict != want {
			t.Errorf("%s: %s, want %s", uri, j.Verdict, want)
		}
	}
}

// The risk of a resource is that of its URI.
func TestResourceRisk(t *testing.T) {
	local := &hub.Server{Key: "fs", Kind: hub.KindStdio, Args: []string{"/srv/data"}}
	far := &hub.Server{Key: "far", Kind: hub.KindHTTP}
	p := compiled(t, hub.Policy{Given: true})
	for _, test := range []struct {
		server *hub.Server
		uri    string
		want   hub.Risk
	}{
		{local, "file:///srv/data/a.txt", hub.RiskLow},
		{local, "file:///srv/data/../other/a.txt", hub.RiskHigh},
		{local, "file:///srv/database/a.txt", hub.RiskHigh},
		{local, "file:///srv/data/%2e%2e/other", hub.RiskHigh},
		{local, "file:///srv/data/.env", hub.RiskHigh},
		{far, "file:///home/ana/.ssh/id_ed25519", hub.RiskHigh},
		{far, "file:///home/ana/%2essh/x", hub.RiskHigh},
		{far, "file://localhost/etc/shadow", hub.RiskHigh},
		{far, "FILE:/etc/shadow?x", hub.RiskHigh},
		{far, "file:///etc/hosts", hub.RiskMedium},
		{far, "file:///home/ana/notes.txt", hub.RiskLow},
		{far, "http://169.254.169.254/latest/meta-data/", hub.RiskCritical},
		{far, "http://2852039166/latest", hub.RiskCritical},
		{far, "http://192.168.1.1/", hub.RiskHigh},
		{far, "https://user:pw@example.com/", hub.RiskHigh},
		{far, "https://example.com/a?api_key=abcdefgh", hub.RiskHigh},
		{far, "fetch://get?url=http://169.254.169.254/", hub.RiskCritical},
		{far, "repo://x/home/.ssh/id_rsa", hub.RiskHigh},
		{far, "https://example.com/docs", hub.RiskLow},
		{far, "memo://insights", hub.RiskLow},
		{far, "repo://owner/name/contents/README.md", hub.RiskLow},
		{far, "postgres://users/schema", hub.RiskLow},
		{far, "greeting", hub.RiskLow},
		{far, "ui://widget/map.html", hub.RiskLow},
	} {
		if j := p.Judge(read(test.server, test.uri)); j.Risk != test.want || (j.Verdict == hub.VerdictAllow) != (test.want < hub.RiskHigh) {
			t.Errorf("%s: %s, want %s (%v, %s)", test.uri, j.Risk, test.want, j.Reasons, j.Verdict)
		}
	}
}
