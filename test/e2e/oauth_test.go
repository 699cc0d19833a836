package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	codes "github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// lodge is an MCP server with a tool that says by whose token it was called, and
// its authorization server, at which whoever opens the address is let in as the one
// whose turn it is.
type lodge struct {
	url string

	mu      sync.Mutex
	turn    string            // who logs in next
	tokens  map[string]string // whose each is
	refresh map[string]string
	codes   map[string]string
	count   map[string]int
	seen    map[string]bool // values of Authorization
}

func newLodge(t *testing.T) *lodge {
	t.Helper()
	l := &lodge{tokens: map[string]string{}, refresh: map[string]string{}, codes: map[string]string{}, count: map[string]int{}, seen: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

func (l *lodge) times(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[what]
}

// drop has all access tokens be good no more.
func (l *lodge) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens = map[string]string{}
}

func (l *lodge) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		answer(map[string]any{"resource": l.url + "/mcp", "authorization_servers": []string{l.url}})
	case "/.well-known/oauth-authorization-server":
		answer(map[string]any{
			"issuer": l.url, "authorization_endpoint": l.url + "/authorize", "token_endpoint": l.url + "/token", "registration_endpoint": l.url + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	case "/register":
		answer(map[string]any{"client_id": "toolcrib"})
	case "/authorize":
		code := fmt.Sprintf("code-of-%s-%d", l.turn, len(l.codes))
		l.codes[code] = l.turn
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+url.Values{"code": {code}, "state": {r.FormValue("state")}}.Encode(), http.StatusFound)
	case "/token":
		_ = r.ParseForm()
		who := l.codes[r.PostForm.Get("code")]
		if r.PostForm.Get("grant_type") == "refresh_token" {
			l.count["refresh"]++
			who = l.refresh[r.PostForm.Get("refresh_token")]
			delete(l.refresh, r.PostForm.Get("refresh_token"))
		}
		if who == "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
		l.count["token"]++
		access, refresh := fmt.Sprintf("access-%s-%d", who, l.count["token"]), fmt.Sprintf("refresh-%s-%d", who, l.count["token"])
		l.tokens[access], l.refresh[refresh] = who, who
		answer(map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600})
	case "/mcp":
		l.mcp(w, r, answer)
	default:
		http.NotFound(w, r)
	}
}

func (l *lodge) mcp(w http.ResponseWriter, r *http.Request, answer func(any)) {
	l.seen[r.Header.Get("Authorization")] = true
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	who := l.tokens[token]
	if who == "" {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+l.url+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	l.count[m.Method]++
	result := map[string]any{}
	switch m.Method {
	case "server/discover":
		w.WriteHeader(http.StatusBadRequest)
		return
	case "initialize":
		result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "lodge", "version": "1"}}
	case "tools/list":
		result["tools"] = []any{map[string]any{"name": "whoami", "inputSchema": map[string]any{"type": "object"}}}
	case "tools/call":
		result["content"] = []any{map[string]any{"type": "text", "text": who + " by " + token}}
	}
	if len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// login logs in as somebody, as a person would.
func (l *lodge) login(t *testing.T, client *apiclient.Client, own bool, who string) (page string) {
	t.Helper()
	l.mu.Lock()
	l.turn = who
	l.mu.Unlock()
	login, err := client.Login(t.Context(), "lodge", own)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(login.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the browser sees %d: %s", res.StatusCode, text)
	}
	if own {
		back := res.Request.URL
		q := back.Query()
		q.Set("confirmed", "yes")
		back.RawQuery = q.Encode()
		res, err := http.Get(back.String())
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", res, err)
		}
		res.Body.Close()
	}
	return string(text)
}

// whoami is who the server takes the caller for.
func whoami(t *testing.T, client *apiclient.Client) (string, error) {
	t.Helper()
	res, err := client.Call(t.Context(), api.Call{Tool: "lodge__whoami", Arguments: []byte(`{}`)})
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if strings.Contains(text, "isError\":true") {
		return text, nil
	}
	for _, who := range []string{"admin", "ada", "bob"} {
		if strings.Contains(text, `"`+who+" by ") {
			return who, nil
		}
	}
	return text, nil
}

// TestLoginAtServer: a server that wants a login waits for it, has it when the hub
// was killed, and knows by whom it is called; no token is passed on or shown.
func TestLoginAtServer(t *testing.T) {
	t.Parallel()
	l, dir := newLodge(t), t.TempDir()
	server := rig.HTTP("lodge", l.url+"/mcp").With("autoStart", true)
	hub := rig.StartHubIn(t, dir, server)
	hub.AwaitState("lodge", "failed")
	v, err := hub.API().Server(t.Context(), "lodge")
	if err != nil || v.Code != string(codes.UpstreamLoginNeeded) || v.Auth == nil || v.Auth.State != "needed" || v.Auth.Issuer != l.url {
		t.Fatalf("%v %+v %+v", err, v.Code, v.Auth)
	}
	test, err := hub.API().Test(t.Context(), api.Test{Key: "other", Entry: []byte(`{"url":"` + l.url + `/mcp"}`)})
	if last := len(test.Steps) - 1; err != nil || test.OK || test.Steps[last].Step != api.StepAuth || test.Steps[last].Code != string(codes.UpstreamLoginNeeded) {
		t.Errorf("tried out: %v %+v", err, test)
	}
	add := exec.CommandContext(t.Context(), rig.HubBinary(t), "server", "add", "other", l.url+"/mcp", "--data-dir", dir)
	if out, err := add.CombinedOutput(); err != nil || !strings.Contains(string(out), "toolcrib server login other") {
		t.Errorf("server add: %v\n%s", err, out)
	}
	if page := l.login(t, hub.API(), false, "admin"); strings.Contains(page, "code-of") || !strings.Contains(page, "lodge") {
		t.Errorf("the page: %s", page)
	}
	hub.AwaitState("lodge", "ready")
	if who, err := whoami(t, hub.API()); who != "admin" || err != nil {
		t.Errorf("%q %v", who, err)
	}

	// Somebody with a name has to log in for himself.
	grant, err := hub.API().CreateToken(t.Context(), api.TokenRequest{Subject: "ada", Role: "caller"})
	if err != nil {
		t.Fatal(err)
	}
	ada := hub.APIAs(grant.Secret)
	if who, err := whoami(t, ada); !apiclient.IsCode(err, codes.UpstreamLoginNeeded) {
		t.Errorf("%q %v", who, err)
	}
	if _, err := ada.Login(t.Context(), "lodge", false); err == nil {
		t.Error("a caller begins the hub's login")
	}
	if _, err := hub.API().Login(t.Context(), "lodge", true); !apiclient.IsCode(err, codes.UpstreamLoginUnused) {
		t.Errorf("%v", err)
	}
	if page := l.login(t, ada, true, "ada"); !strings.Contains(page, "ada") || !strings.Contains(page, "<form") {
		t.Errorf("nobody was asked: %s", page)
	}
	for client, want := range map[*apiclient.Client]string{ada: "ada", hub.API(): "admin"} {
		if who, err := whoami(t, client); who != want || err != nil {
			t.Errorf("%q, want %q: %v", who, want, err)
		}
	}

	// A token that is refused is had anew, once each, and the calls go on.
	l.drop()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if who, err := whoami(t, ada); who != "ada" || err != nil {
				t.Errorf("%q %v", who, err)
			}
		})
	}
	all.Wait()
	if got := l.times("refresh"); got != 1 {
		t.Errorf("%d refreshes", got)
	}
	hub.Kill()

	hub = rig.StartHubIn(t, dir, server)
	hub.AwaitState("lodge", "ready")
	ada = hub.APIAs(grant.Secret)
	for client, want := range map[*apiclient.Client]string{ada: "ada", hub.API(): "admin"} {
		if who, err := whoami(t, client); who != want || err != nil {
			t.Errorf("after the hub was killed: %q, want %q: %v", who, want, err)
		}
	}
	if _, err := ada.Logout(t.Context(), "lodge", true); err != nil {
		t.Error(err)
	}
	if who, err := whoami(t, ada); !apiclient.IsCode(err, codes.UpstreamLoginNeeded) {
		t.Errorf("after the logout: %q %v", who, err)
	}
	if _, err := hub.API().Logout(t.Context(), "lodge", false); err != nil {
		t.Error(err)
	}
	hub.AwaitState("lodge", "failed")
	hub.Stop()

	// Nothing is shown, and nobody's own token has gone to the server.
	raw, err := os.ReadFile(filepath.Join(dir, "logins.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"the log": hub.Stderr(), "the file": string(raw)} {
		for _, bad := range []string{"access-", "refresh-", "code-of-"} {
			if i := strings.Index(text, bad); i >= 0 && !strings.HasPrefix(text[i:], "refresh-1") {
				t.Errorf("%s shows %q", name, text[max(0, i-80):min(len(text), i+40)])
			}
		}
	}
	for header := range l.seen {
		if header != "" && !strings.HasPrefix(header, "Bearer access-") {
			t.Errorf("the server got %q", header[:10])
		}
	}
}
