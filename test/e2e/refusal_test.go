package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/datadir"
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
		Code  string          `json:"code"`
		Error json.RawMessage `json:"error"` // of JSON-RPC an object, of the compatible paths a text
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	var rpc rpcError
	if e.Code == "" && json.Unmarshal(e.Error, &rpc) == nil {
		return rpc.reason()
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
	paths := []string{"/mcp", "/sse", "/messages?sessionId=1", "/ws/mcp", "/", "/ui/app.js", "/readyz", "/healthz", "/metrics", "/nothing"}
	for _, op := range operations(t) {
		path := strings.NewReplacer("{key}", "calculator", "{name}", "x", "{holder}", "x").Replace(op.path)
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
		path := strings.NewReplacer("{key}", "calculator", "{name}", "x", "{holder}", "x").Replace(op.path)
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

// TestChangesNeedTheAdministrator: by every entrance, and whatever the change; what
// approvers and operators may do is not for callers either. To call a tool, to read a
// resource and to get a prompt are no changes, and neither is a lease, which has a
// server run as a call does, nor what a caller's own session shows of its call, nor
// to take a request for approval back.
func TestChangesNeedTheAdministrator(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t, rig.Stdio("fault", rig.FaultServer(t)))
	hub.AwaitReady()
	caller, err := auth.ReadToken(datadir.Layout(hub.DataDir).CallerToken())
	if err != nil {
		t.Fatal(err)
	}
	open := []string{
		api.Base + "/calls", api.Base + "/resources/read", api.Base + "/prompts/get", api.Base + "/leases/{holder}",
		api.Base + "/states/{session}", api.Base + "/states/{session}/retry",
		api.Base + "/approvals/{id}/cancel", api.Base + "/tools/call", api.Base + "/proxies/register", api.Base + "/proxies/unregister",
		api.Base + "/mcp-test/stdio/tools/call", api.Base + "/mcp-test/stdio/tools/batch",
		api.Base + "/servers/{key}/login/own", api.Base + "/servers/{key}/logout/own",
	}
	count := 0
	for _, g := range []gate{atTCP(t, hub), atSocket(t, hub)} {
		for _, op := range operations(t) {
			closed := op.right != "look" && op.right != "call"
			if op.method != http.MethodGet && !closed && !slices.Contains(open, op.path) {
				t.Errorf("%s %s is open to everybody", op.method, op.path)
			}
			if !closed {
				continue
			}
			count++
			path := strings.NewReplacer("{key}", "fault", "{name}", "x", "{holder}", "x").Replace(op.path)
			header := map[string]string{"Content-Type": "application/json"}
			unknown, low := "admin_required", "admin_required"
			if op.right != "manage" {
				unknown, low = "token_required", "role_refused"
			}
			g.refused(401, unknown, op.method, path, header, "{}")
			header["Authorization"] = "Bearer " + caller
			g.refused(403, low, op.method, path, header, "{}")
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
