package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/datadir"
	codes "github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// gate is the entrance of a hub at which a test knocks with requests that no
// ordinary client makes.
type gate struct {
	t    *testing.T
	url  string
	http *http.Client
}

// atTCP and atSocket are the two entrances of a hub.
func atTCP(t *testing.T, hub *rig.Hub) gate {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return gate{t, hub.URL, client(transport)}
}

func atSocket(t *testing.T, hub *rig.Hub) gate {
	t.Helper()
	info, err := datadir.ReadHub(hub.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	transport := apiclient.SocketTransport(info.Socket)
	t.Cleanup(transport.CloseIdleConnections)
	return gate{t, apiclient.SocketURL, client(transport)}
}

// client returns one that shows redirections as they are.
func client(transport *http.Transport) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// reply is what came of a request. code is the stable code of a problem
// document or of a JSON-RPC error.
type reply struct {
	status int
	code   string
	header http.Header
	body   string
}

// knock sends a request with the path as it is. The header "Host" is the host.
func (g gate) knock(method, path string, header map[string]string, body io.Reader) (reply, error) {
	at, err := url.Parse(g.url)
	if err != nil {
		return reply{}, err
	}
	at.Opaque = path
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.url, body)
	if err != nil {
		return reply{}, err
	}
	req.URL = at
	for name, value := range header {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := g.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	return reply{resp.StatusCode, reasonOf(text), resp.Header, string(text)}, nil
}

// reasonOf is the stable code in an error's body.
func reasonOf(body []byte) string {
	var e struct {
		Code  string    `json:"code"`
		Error *rpcError `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	if e.Error != nil {
		return e.Error.reason()
	}
	return e.Code
}

// refused fails the test unless the request is refused in this way.
func (g gate) refused(status int, code, method, path string, header map[string]string, body string) {
	g.t.Helper()
	r, err := g.knock(method, path, header, strings.NewReader(body))
	switch {
	case err != nil:
		g.t.Errorf("%s %s: %v", method, path, err)
	case r.status != status || r.code != code && method != http.MethodHead:
		g.t.Errorf("%s %s %v was answered with HTTP %d %s %s, want %d %s", method, path, header, r.status, r.code, r.body, status, code)
	}
}

// everywhere are all paths that a hub serves, and one that it does not.
func everywhere(t *testing.T) []string {
	t.Helper()
	paths := []string{"/mcp", "/sse", "/messages?sessionId=1", "/ws/mcp", "/", "/ui/app.js", "/readyz", "/healthz", "/nothing"}
	for _, op := range operations(t) {
		path := strings.NewReplacer("{key}", "calculator", "{name}", "x").Replace(op.path)
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

func methods() []string {
	return []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
}

// open reports whether a request needs no token, wherever it comes from: what
// it asks for tells nothing about the hub.
func open(method, path string) bool {
	return (method == http.MethodGet || method == http.MethodHead) && (path == "/" || path == "/ui/app.js" || path == "/healthz")
}

// TestStrangers: a request that a web page somewhere could have made, or that
// came through a proxy from who knows where, is refused whatever it asks for.
// Not even the administrator's token helps a foreign page.
func TestStrangers(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	g := atTCP(t, hub)
	token := "Bearer " + rig.Token(t, hub.DataDir)
	var group errgroup.Group
	group.SetLimit(8)
	for _, path := range everywhere(t) {
		for _, method := range methods() {
			group.Go(func() error {
				for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "192.168.0.1"} {
					g.refused(403, "host_refused", method, path, map[string]string{"Host": host, "Authorization": token}, "{}")
				}
				for _, origin := range []string{"https://evil.example", "null", "http://127.0.0.1.evil.example", "file://", "http://192.168.0.1"} {
					g.refused(403, "origin_refused", method, path, map[string]string{"Origin": origin, "Authorization": token}, "{}")
				}
				for _, header := range []string{"X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-Ip"} {
					if !open(method, path) {
						g.refused(401, "token_required", method, path, map[string]string{header: "127.0.0.1"}, "{}")
					}
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestPagesOfOtherPorts: a page of another program on this machine may speak
// MCP, as the Inspector does, and may not use the API.
func TestPagesOfOtherPorts(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	g := atTCP(t, hub)
	token := "Bearer " + rig.Token(t, hub.DataDir)
	const page = "http://127.0.0.1:9"
	for _, op := range operations(t) {
		path := strings.NewReplacer("{key}", "calculator", "{name}", "x").Replace(op.path)
		g.refused(403, "origin_refused", op.method, path, map[string]string{"Origin": page, "Authorization": token, "Content-Type": "application/json"}, "{}")
		if op.method == http.MethodGet {
			continue
		}
		// A browser that sends no origin still says so; and a form cannot send
		// JSON.
		for _, site := range []string{"cross-site", "same-site"} {
			g.refused(403, "origin_refused", op.method, path, map[string]string{"Sec-Fetch-Site": site, "Content-Type": "text/plain"}, "{}")
		}
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		g.refused(415, "content_type_refused", "POST", api.Base+"/calls", map[string]string{"Content-Type": kind},
			`{"tool":"calculator__calculator","arguments":{"expression":"1"}}`)
		g.refused(415, "content_type_refused", "POST", "/mcp", map[string]string{"Content-Type": kind, "Accept": "application/json, text/event-stream"},
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	}
	r, err := g.knock("POST", "/mcp", map[string]string{
		"Origin": page, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	}, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"page","version":"1"}}}`))
	if err != nil || r.status != http.StatusOK {
		t.Errorf("a page of this machine that speaks MCP was answered with %+v, %v", r, err)
	}
}

// TestChangesNeedTheAdministrator: by every entrance, and whatever the change.
func TestChangesNeedTheAdministrator(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t, rig.Stdio("fault", rig.FaultServer(t)))
	hub.AwaitReady()
	caller, err := auth.ReadToken(datadir.Layout(hub.DataDir).CallerToken())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, g := range []gate{atTCP(t, hub), atSocket(t, hub)} {
		for _, op := range operations(t) {
			if op.method != http.MethodGet && !op.admin && op.path != api.Base+"/calls" {
				t.Errorf("%s %s is open to everybody", op.method, op.path)
			}
			if !op.admin {
				continue
			}
			count++
			path := strings.NewReplacer("{key}", "fault", "{name}", "x").Replace(op.path)
			header := map[string]string{"Content-Type": "application/json"}
			g.refused(401, "admin_required", op.method, path, header, "{}")
			header["Authorization"] = "Bearer " + caller
			g.refused(403, "admin_required", op.method, path, header, "{}")
			header["Authorization"] = "Bearer tca_" + strings.Repeat("x", 43)
			if r, err := g.knock(op.method, path, header, strings.NewReader("{}")); err != nil || r.status != 401 && r.status != 429 {
				t.Errorf("%s %s with a wrong token was answered with %+v, %v", op.method, path, r, err)
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d changes were tried", count)
	}
	if state := hub.Health().State("fault"); state != "ready" {
		t.Errorf("the server is %s after all that", state)
	}
	// Wrong tokens lock nobody out who has the right one.
	if _, err := hub.API().ServerAction(t.Context(), "fault", api.ActionStop); err != nil {
		t.Error(err)
	}
}

// TestTooMuch: bodies of any size are refused without being kept, whether their
// length is told or not.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	g := atTCP(t, hub)
	token := "Bearer " + rig.Token(t, hub.DataDir)
	const limit = 64 << 20
	for _, test := range []struct {
		method, path, code string
		size               int
	}{
		{"POST", "/mcp", "message_too_big", limit + 1},
		{"POST", api.Base + "/calls", "body_too_big", limit + 1},
		{"POST", api.Base + "/servers", "body_too_big", limit + 1},
		{"PUT", api.Base + "/config", "body_too_big", limit + 1},
		{"PUT", api.Base + "/secrets/x", "body_too_big", limit + 1},
	} {
		for _, told := range []bool{true, false} {
			body := io.LimitReader(endless{}, int64(test.size))
			var reader io.Reader = struct{ io.Reader }{body} // no length
			if told {
				reader = bytes.NewReader(bytes.Repeat([]byte(" "), test.size))
			}
			r, err := g.knock(test.method, test.path, map[string]string{
				"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": token, "If-Match": "x",
			}, reader)
			// Whoever goes on sending may be cut off before he has read why.
			if err == nil && (r.status != http.StatusRequestEntityTooLarge || r.code != test.code) {
				t.Errorf("%s %s with %d bytes was answered with HTTP %d %s", test.method, test.path, test.size, r.status, r.code)
			}
		}
	}
	if got := hub.Health().Status; got != "ready" {
		t.Errorf("the hub is %s", got)
	}
}

// endless is white space without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestJSONTricks: what one reader of JSON takes for a member and another does
// not is refused.
func TestJSONTricks(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	g := atTCP(t, hub)
	header := map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + rig.Token(t, hub.DataDir),
	}
	for _, test := range []struct {
		status           int
		code, path, body string
	}{
		{422, "body_invalid", "/calls", `{"Tool":"calculator__calculator","arguments":{"expression":"1"}}`},
		{422, "body_invalid", "/calls", `{"tool":"calculator__calculator","Arguments":{"expression":"1"}}`},
		{422, "body_invalid", "/calls", `{"tool":"calculator__calculator","tool":"none"}`},
		{422, "body_invalid", "/calls", `{"tool":"calculator__calculator","arguments":{}} {}`},
		{422, "body_invalid", "/servers", `{"key":"x","Entry":{"command":"true"}}`},
		{422, "body_invalid", "/servers", `{"key":"x","key":"y","entry":{"command":"true"}}`},
		{422, "body_invalid", "/servers", `{"KEY":"x","entry":{"command":"true"}}`},
		{422, "config_invalid", "/servers", `{"key":"x","entry":{"command":"true","command":"false"}}`},
		{422, "config_invalid", "/servers", `{"key":"x","entry":{"Command":"true"}}`},
		{422, "body_invalid", "/test", `{"Entry":{"command":"touch"}}`},
	} {
		g.refused(test.status, test.code, "POST", api.Base+test.path, header, test.body)
	}
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	const call = `"params":{"name":"calculator__calculator","arguments":{"expression":"1"}}`
	for _, test := range []struct{ code, body string }{
		{"message_invalid", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call",` + call + `}`},
		{"message_invalid", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call",` + call + `}`},
		{"message_invalid", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`},
		{"message_invalid", `{"jsonrpc":"2.0","id":1,"method":"tools/call",` + call + `,"Params":{"name":"other"}}`},
		{"params_invalid", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calculator__calculator","Name":"other",` + modern + `}}`},
		{"params_invalid", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calculator__calculator","ARGUMENTS":{},` + modern + `}}`},
		{"message_malformed", `{"jsonrpc":"2.0","id":1,"method":"ping"`},
	} {
		header["Mcp-Method"], header["Mcp-Name"], header["Mcp-Protocol-Version"] = "tools/call", "calculator__calculator", modernRevision
		r, err := g.knock("POST", "/mcp", header, strings.NewReader(test.body))
		if err != nil || r.code != test.code {
			t.Errorf("%s was answered with %+v, %v, want %s", test.body, r, err, test.code)
		}
	}
	list, err := hub.API().Servers(t.Context())
	if err != nil || len(list.Servers) != 3 {
		t.Errorf("the servers are %+v, %v", list, err)
	}
}

// TestTraversal: no path and no name leads out of where it belongs.
func TestTraversal(t *testing.T) {
	t.Parallel()
	home := rig.NewHome(t)
	outside := write(t, "planted-outside", home.Dir, "outside.json")
	hub := rig.Serve(t, home.Env, "--listen", "127.0.0.1:0")
	hub.AwaitReady()
	g := atTCP(t, hub)
	token := map[string]string{"Authorization": "Bearer " + rig.Token(t, hub.DataDir), "Content-Type": "application/json"}
	for _, up := range []string{"../", "..%2f", "..%2F", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "....//", "%252e%252e%252f"} {
		for _, base := range []string{"/ui/", "/", api.Base + "/servers/", api.Base + "/tools/", api.Base + "/config/", "/sse/", "/ws/"} {
			for _, to := range []string{"etc/passwd", "outside.json", "secrets", "config", "admin.token"} {
				path := base + strings.Repeat(up, 3) + to
				r, err := g.knock("GET", path, token, http.NoBody)
				if err != nil {
					t.Errorf("GET %s: %v", path, err)
				} else if r.status < 300 || strings.Contains(r.body, "planted-outside") || strings.Contains(r.body, "root:") {
					t.Errorf("GET %s was answered with HTTP %d %s", path, r.status, r.body)
				}
			}
		}
	}
	before := tree(t, home.Dir)
	client := hub.API()
	for _, name := range []string{"../outside.json", outside, "../../../../etc/passwd", "C:\\outside.json", "a/../../outside.json", "nul\x00.json"} {
		// The name is for messages only.
		found, err := client.Import(t.Context(), api.Import{Name: name, Text: `{"mcpServers":{"x":{"command":"true"}}}`}, true)
		if err != nil || !slices.Equal(found.New, []string{"x"}) {
			t.Errorf("an import named %q: %+v, %v", name, found, err)
		}
		if err := client.SetSecret(t.Context(), name, "value"); err == nil {
			t.Errorf("a value was sealed under the name %q", name)
		}
		if _, err := client.Log(t.Context(), name, 0); !apiclient.IsCode(err, "server_unknown") {
			t.Errorf("the log of %q: %v", name, err)
		}
		if _, err := client.ServerAction(t.Context(), name, api.ActionStart); !apiclient.IsCode(err, "server_unknown") {
			t.Errorf("the start of %q: %v", name, err)
		}
	}
	check(t, "the home", tree(t, home.Dir), before)
}

// tree is the files below a directory with their contents, but for those that a
// running hub writes as it goes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.Contains(path, "calls.jsonl") || strings.Contains(path, "index.json") {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTokenFiles: the hub does not start on a token that others may know, or
// that is somewhere else than it seems, nor at a socket that others could have
// put there.
func TestTokenFiles(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, env []string, dir string, code codes.Code, want string) {
		t.Helper()
		p := rig.Spawn(t, append([]string{"LC_ALL=C"}, env...), rig.HubBinary(t), "serve", "--listen", "none", "--data-dir", dir)
		if line, ok := p.Line(); ok {
			t.Errorf("the hub started: %s", line)
		}
		if exit := p.Wait(); exit != 1 || !said(code).MatchString(p.Stderr()) || !strings.Contains(p.Stderr(), want) {
			t.Errorf("exit code %d, and standard error does not say %s with %q:\n%s", exit, code, want, p.Stderr())
		}
	}
	fresh := func(t *testing.T) (dir, token string) {
		t.Helper()
		hub := rig.Serve(t, nil, "--listen", "none", "--data-dir", t.TempDir())
		hub.Stop()
		token = datadir.Layout(hub.DataDir).AdminToken()
		for _, path := range []string{token, datadir.Layout(hub.DataDir).CallerToken()} {
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s has %v, %v", path, info.Mode(), err)
			}
		}
		return hub.DataDir, token
	}
	t.Run("readable by others", func(t *testing.T) {
		t.Parallel()
		dir, token := fresh(t)
		if err := os.Chmod(token, 0o644); err != nil { //nolint:gosec // that is what is refused
			t.Fatal(err)
		}
		start(t, nil, dir, codes.TokenExposed, "can be read or changed by others")
	})
	t.Run("a symbolic link", func(t *testing.T) {
		t.Parallel()
		dir, token := fresh(t)
		if err := os.Rename(token, token+".real"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(token+".real", token); err != nil {
			t.Fatal(err)
		}
		start(t, nil, dir, codes.TokenUnusable, "it is no regular file")
	})
	t.Run("both the same", func(t *testing.T) {
		t.Parallel()
		dir, token := fresh(t)
		text, err := os.ReadFile(token)
		if err != nil {
			t.Fatal(err)
		}
		write(t, string(text), datadir.Layout(dir).CallerToken())
		start(t, nil, dir, codes.TokenUnusable, "it holds the administrator's token")
	})
	t.Run("something at the socket's place", func(t *testing.T) {
		t.Parallel()
		dir, _ := fresh(t)
		write(t, "mine", dir, "hub.sock")
		start(t, nil, dir, codes.SocketUnusable, filepath.Join(dir, "hub.sock"))
		if text, err := os.ReadFile(filepath.Join(dir, "hub.sock")); err != nil || string(text) != "mine" {
			t.Errorf("what was there is %q, %v", text, err)
		}
	})
	// The path of a socket is short, so that the one of a long directory is
	// elsewhere; see where, and put a link there.
	t.Run("a link at the socket's directory", func(t *testing.T) {
		t.Parallel()
		runtime := t.TempDir()
		env := []string{"XDG_RUNTIME_DIR=" + runtime}
		dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
		hub := rig.Serve(t, env, "--listen", "none", "--data-dir", dir)
		hub.Stop()
		made, err := filepath.Glob(filepath.Join(runtime, "toolcrib-*"))
		if err != nil || len(made) != 1 {
			t.Fatalf("in %s are %q, %v", runtime, made, err)
		}
		if info, err := os.Stat(made[0]); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has %v, %v", made[0], info.Mode(), err)
		}
		elsewhere := t.TempDir()
		if err := os.Remove(made[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, made[0]); err != nil {
			t.Fatal(err)
		}
		start(t, env, dir, codes.DataDirUnusable, made[0])
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
			t.Errorf("something was made where the link points to: %v, %v", left, err)
		}
		// Neither is a directory that others may use.
		if err := os.Remove(made[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(made[0], 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(made[0], 0o777); err != nil { //nolint:gosec // that is what is refused
			t.Fatal(err)
		}
		start(t, env, dir, codes.DataDirUnusable, made[0])
	})
	t.Run("a data directory that others may write", func(t *testing.T) {
		t.Parallel()
		dir, _ := fresh(t)
		if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // that is what is refused
			t.Fatal(err)
		}
		start(t, nil, dir, codes.DataDirUnusable, dir)
	})
}

// TestExposed: at an address that others reach everybody needs a token, and a
// name that was allowed does too.
func TestExposed(t *testing.T) {
	t.Parallel()
	hub := rig.Serve(t, nil, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--require-token", "--allow-host", "hub.example.com")
	g := atTCP(t, hub)
	caller, err := auth.ReadToken(datadir.Layout(hub.DataDir).CallerToken())
	if err != nil {
		t.Fatal(err)
	}
	with := func(more ...string) map[string]string {
		header := map[string]string{"Content-Type": "application/json"}
		for i := 0; i < len(more); i += 2 {
			header[more[i]] = more[i+1]
		}
		return header
	}
	for _, path := range everywhere(t) {
		if !open("GET", path) {
			g.refused(401, "token_required", "GET", path, with(), "")
			g.refused(401, "token_required", "GET", path, with("Host", "hub.example.com"), "")
		}
		g.refused(403, "host_refused", "GET", path, with("Host", "other.example.com", "Authorization", "Bearer "+caller), "")
	}
	for _, host := range []string{"127.0.0.1", "hub.example.com", "HUB.example.com:443"} {
		r, err := g.knock("GET", api.Base+"/status", with("Host", host, "Authorization", "Bearer "+caller, "X-Forwarded-For", "10.0.0.1"), http.NoBody)
		if err != nil || r.status != http.StatusOK {
			t.Errorf("a caller with the token, at %s: %+v, %v", host, r, err)
		}
	}
	// Guessing is slowed down, and the right token is let in all the same.
	seen := map[string]int{}
	for n := range 20 {
		r, err := g.knock("GET", api.Base+"/status", with("Authorization", fmt.Sprintf("Bearer tcc_%040d", n)), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		seen[r.code]++
	}
	check(t, "the answers to guesses", seen, map[string]int{"token_refused": 10, "token_throttled": 10})
	if r, err := g.knock("GET", api.Base+"/status", with("Authorization", "Bearer "+caller), http.NoBody); err != nil || r.status != http.StatusOK {
		t.Errorf("the right token after the wrong ones: %+v, %v", r, err)
	}
	// The local socket is its owner's.
	if r, err := atSocket(t, hub).knock("GET", api.Base+"/status", nil, http.NoBody); err != nil || r.status != http.StatusOK {
		t.Errorf("over the local socket: %+v, %v", r, err)
	}
}
