package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	codes "github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/issuer"
)

// serveWith starts a hub with the text as its configuration.
func serveWith(t *testing.T, config string, flags ...string) *rig.Hub {
	t.Helper()
	dir := t.TempDir()
	write(t, config, dir, "toolcrib.json")
	return rig.Serve(t, nil, append([]string{"--config", filepath.Join(dir, "toolcrib.json"), "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data")}, flags...)...)
}

// oauthClient is an MCP client of the SDK that gets itself a token when it is asked
// for one, narrowed to the scopes if there are some.
func oauthClient(t *testing.T, endpoint string, asked *int, narrow func([]string) []string) (*mcp.ClientSession, error) {
	t.Helper()
	handler, err := sdkauth.NewAuthorizationCodeHandler(&sdkauth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: &oauthex.ClientCredentials{
			ClientID: issuer.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: issuer.ClientSecret},
		},
		RedirectURL: "http://127.0.0.1:1/callback",
		ScopeFilter: narrow,
		AuthorizationCodeFetcher: func(ctx context.Context, args *sdkauth.AuthorizationArgs) (*sdkauth.AuthorizationResult, error) {
			*asked++
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
			if err != nil {
				return nil, err
			}
			client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := client.Do(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			back, err := url.Parse(resp.Header.Get("Location"))
			if err != nil {
				return nil, err
			}
			q := back.Query()
			return &sdkauth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "oauth", Version: "1"}, nil)
	return client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler, DisableStandaloneSSE: true}, nil)
}

// TestOAuth: the official client finds out by itself who gives tokens for the hub,
// gets one, and calls with it; with one that does not allow calls it learns which
// scope it needs. Other tokens of the issuer are no good.
func TestOAuth(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	hub := serveWith(t, fmt.Sprintf(`{"auth": {"resource": {"issuers": [{"issuer": %q}]}}, "groups": {"office": {"servers": ["calculator"]}}}`, as.URL))
	for _, endpoint := range []string{hub.MCP(), hub.MCP() + "/office"} {
		asked := 0
		session, err := oauthClient(t, endpoint, &asked, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, hub.Stderr())
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "calculator__calculator", Arguments: map[string]any{"expression": "6*7"}})
		if err != nil || res.IsError || asked != 1 {
			t.Errorf("%+v, %v, after %d questions", res, err, asked)
		}
		if q := as.Asked(); q.Get("resource") != endpoint || q.Get("scope") != "toolcrib:call" {
			t.Errorf("the client asked for %v", q)
		}
		_ = session.Close()
	}

	steps := 0
	session, err := oauthClient(t, hub.MCP(), &steps, func(scopes []string) []string {
		if steps == 0 {
			return []string{"toolcrib:view"}
		}
		return scopes
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.ListTools(t.Context(), nil); err != nil || steps != 1 {
		t.Errorf("%v after %d steps", err, steps)
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "calculator__calculator", Arguments: map[string]any{"expression": "1+1"}})
	if q := as.Asked(); err != nil || res.IsError || steps != 2 || !strings.Contains(q.Get("scope"), "toolcrib:call") {
		t.Errorf("the client did not step up: %+v, %v after %d steps, the last for %q", res, err, steps, q.Get("scope"))
	}
	_ = session.Close()

	refused := func(name, token string, status int, challenge string) {
		t.Helper()
		resp := postMCP(t, hub.MCP(), token)
		if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != status || !strings.Contains(got, challenge) ||
			!strings.Contains(got, hub.URL+"/.well-known/oauth-protected-resource/mcp") {
			t.Errorf("%s: %d %s", name, resp.StatusCode, got)
		}
	}
	refused("none", "", http.StatusUnauthorized, `scope="toolcrib:call"`)
	refused("another audience", as.Token("https://other.example/mcp", "toolcrib:call", nil), http.StatusUnauthorized, `error="invalid_token"`)
	refused("expired", as.Token(hub.MCP(), "toolcrib:call", map[string]any{"exp": 1}), http.StatusUnauthorized, `error="invalid_token"`)
	refused("no scope of ours", as.Token(hub.MCP(), "email", nil), http.StatusForbidden, `error="insufficient_scope"`)
	refused("an ID token", as.JWT("JWT", map[string]any{"iss": as.URL, "aud": hub.MCP(), "nonce": "x"}), http.StatusUnauthorized, `error="invalid_token"`)
	if _, err := hub.APIAs(as.Token(hub.MCP(), "toolcrib:operate", nil)).Status(t.Context()); !apiclient.IsCode(err, codes.TokenRefused) {
		t.Errorf("the API takes an access token for /mcp: %v", err)
	}
}

// postMCP asks for a new session.
func postMCP(t *testing.T, endpoint, token string) *http.Response {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

// TestAPITokens: a token is made, used, and revoked, from the command line to each
// door; it is good for what its scope says and nothing else, and in no URL.
func TestAPITokens(t *testing.T) {
	t.Parallel()
	hub := serveWith(t, `{"groups": {"office": {"servers": ["calculator"]}}}`, "--require-token")
	admin, ctx := hub.API(), t.Context()
	issue := func(want api.TokenRequest) api.TokenGrant {
		t.Helper()
		grant, err := admin.CreateToken(ctx, want)
		if err != nil {
			t.Fatal(err)
		}
		return grant
	}
	caller := issue(api.TokenRequest{Subject: "bot"})
	me, err := hub.APIAs(caller.Secret).Me(ctx)
	if err != nil || me.Subject != "bot" || me.Role != "caller" || me.How != "token" || me.Token != caller.Token.ID || me.Expires == nil {
		t.Errorf("%+v, %v", me, err)
	}

	doors := map[string]string{"mcp": "/mcp", "sse": "/sse", "ws": "/ws/mcp", "rest": "/api/v1/me", "metrics": "/metrics", "readyz": "/readyz"}
	scopes := map[string]string{"mcp": "mcp", "sse": "sse", "ws": "ws", "rest": "rest", "metrics": "rest", "readyz": "rest"}
	status := func(door, token, query string) int {
		t.Helper()
		header := http.Header{}
		if token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
		switch door {
		case "mcp":
			return postMCP(t, hub.URL+doors[door]+query, token).StatusCode
		case "ws":
			conn, resp, err := websocket.Dial(ctx, hub.WebSocket()+query, &websocket.DialOptions{HTTPHeader: header})
			if err == nil {
				_ = conn.CloseNow()
			} else if resp == nil {
				t.Fatal(err)
			}
			return resp.StatusCode
		}
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		req, err := http.NewRequestWithContext(inner, http.MethodGet, hub.URL+doors[door]+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for door := range doors {
		if got := status(door, "", ""); got != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", door, got)
		}
		if got := status(door, caller.Secret, ""); got >= 300 {
			t.Errorf("%s with one: %d", door, got)
		}
		for _, query := range []string{"?token=", "?access_token=", "?x=1&ACCESS_TOKEN=", "?%74oken="} {
			if got := status(door, caller.Secret, query+caller.Secret); got != http.StatusBadRequest { // "token_in_url"
				t.Errorf("%s with one in the URL: %d", door, got)
			}
		}
		only := issue(api.TokenRequest{Subject: "only-" + door, Scopes: []string{"door:" + scopes[door]}})
		for other := range doors {
			want := http.StatusForbidden // scope_refused
			if scopes[other] == scopes[door] {
				want = 0
			}
			if got := status(other, only.Secret, ""); want == 0 && got >= 300 || want != 0 && got != want {
				t.Errorf("a token for %s only, at %s: %d", door, other, got)
			}
		}
	}
	if _, err := hub.APIAs(issue(api.TokenRequest{Subject: "m", Scopes: []string{"door:mcp"}}).Secret).Me(ctx); !apiclient.IsCode(err, codes.ScopeRefused) {
		t.Errorf("%v", err)
	}
	office := issue(api.TokenRequest{Subject: "office", Scopes: []string{"group:office"}})
	for at, want := range map[string]int{"/mcp": http.StatusForbidden, "/mcp/office": http.StatusOK, "/mcp/other": http.StatusForbidden} {
		if got := postMCP(t, hub.URL+at, office.Secret).StatusCode; got != want {
			t.Errorf("a token for a group at %s: %d", at, got)
		}
	}
	for name, c := range map[string]struct {
		want api.TokenRequest
		code codes.Code
	}{
		"no name":    {api.TokenRequest{Subject: "a b"}, codes.BodyInvalid},
		"our name":   {api.TokenRequest{Subject: "local"}, codes.BodyInvalid},
		"no tenant":  {api.TokenRequest{Subject: "a", Tenant: "none"}, codes.TenantUnknown},
		"no time":    {api.TokenRequest{Subject: "a", Expires: "soon"}, codes.BodyInvalid},
		"for ever":   {api.TokenRequest{Subject: "a", Expires: "99999d"}, codes.BodyInvalid},
		"all scopes": {api.TokenRequest{Subject: "a", Scopes: []string{"*"}}, codes.BodyInvalid},
	} {
		if _, err := admin.CreateToken(ctx, c.want); !apiclient.IsCode(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}

	conn, _, err := websocket.Dial(ctx, hub.WebSocket(), &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + caller.Secret}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	if err := admin.RevokeToken(ctx, caller.Token.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(ctx); err == nil {
		t.Error("the stream of a token that was revoked goes on")
	}
	if _, err := hub.APIAs(caller.Secret).Me(ctx); !apiclient.IsCode(err, codes.TokenExpired) {
		t.Errorf("a token that was revoked: %v", err)
	}
	if _, err := hub.APIAs(caller.Secret[:40]).Me(ctx); !apiclient.IsCode(err, codes.TokenRefused) {
		t.Errorf("a part of a token: %v", err)
	}
	if err := admin.RevokeToken(ctx, "t-0000000000000000"); !apiclient.IsCode(err, codes.TokenUnknown) {
		t.Errorf("no token: %v", err)
	}
	if strings.Contains(hub.Stderr(), caller.Secret[4:]) {
		t.Error("a token is in the log")
	}
}

// TestTenantsApart: an administrator of a tenant sees and makes the tenant's tokens
// only, and those of no more than he may himself.
func TestTenantsApart(t *testing.T) {
	t.Parallel()
	hub := serveWith(t, `{}`)
	root, ctx := hub.API(), t.Context()
	for _, name := range []string{"sales", "lab"} {
		if _, err := root.CreateTenant(ctx, api.TenantRequest{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := root.CreateTenant(ctx, api.TenantRequest{Name: "lab"}); !apiclient.IsCode(err, codes.TenantExists) {
		t.Errorf("%v", err)
	}
	boss, err := root.CreateToken(ctx, api.TokenRequest{Subject: "boss", Role: "admin", Tenant: "sales"})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := root.CreateToken(ctx, api.TokenRequest{Subject: "narrow", Role: "admin", Scopes: []string{"server:calculator"}})
	if err != nil {
		t.Fatal(err)
	}
	sales := hub.APIAs(boss.Secret)
	if me, err := sales.Me(ctx); err != nil || me.Tenant != "sales" {
		t.Errorf("%+v, %v", me, err)
	}
	if _, err := sales.Tenants(ctx); !apiclient.IsCode(err, codes.HubwideRequired) {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		as   *apiclient.Client
		want api.TokenRequest
	}{
		{sales, api.TokenRequest{Subject: "a", Tenant: "lab"}},
		{hub.APIAs(narrow.Secret), api.TokenRequest{Subject: "a"}},
	} {
		if _, err := c.as.CreateToken(ctx, c.want); !apiclient.IsCode(err, codes.GrantRefused) {
			t.Errorf("%v", err)
		}
	}
	if err := hub.APIAs(narrow.Secret).SetSecret(ctx, "x", "y"); !apiclient.IsCode(err, codes.ScopeRefused) {
		t.Errorf("an administrator of one server changes what is everybody's: %v", err)
	}
	if _, err := sales.CreateToken(ctx, api.TokenRequest{Subject: "clerk"}); err != nil {
		t.Error(err)
	}
	if list, err := sales.Tokens(ctx); err != nil || len(list.Tokens) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := sales.RevokeToken(ctx, narrow.Token.ID); !apiclient.IsCode(err, codes.TokenUnknown) {
		t.Errorf("%v", err)
	}
	if err := root.RemoveTenant(ctx, "sales"); !apiclient.IsCode(err, codes.TenantInUse) {
		t.Errorf("%v", err)
	}
	if err := root.RemoveTenant(ctx, "lab"); err != nil {
		t.Error(err)
	}
	if _, err := hub.APIAs("").Tokens(ctx); !apiclient.IsCode(err, codes.AdminRequired) {
		t.Errorf("%v", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, hub.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+boss.Secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p api.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != http.StatusForbidden || p.Code != string(codes.HubwideRequired) {
		t.Errorf("a tenant at /metrics: %d %+v, %v", resp.StatusCode, p, err)
	}
}
