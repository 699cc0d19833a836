package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// authorizes reports whether the scenario is one of authorization.
func authorizes() bool { return strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/") }

// oauthEntry is what the configuration says of the login, by what the scenario
// says.
func oauthEntry(ctx context.Context, at string) (map[string]any, error) {
	var said struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Key    string `json:"private_key_pem"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &said); err != nil {
			return nil, err
		}
	}
	entry := map[string]any{"clientMetadataURL": "https://conformance-test.local/client-metadata.json"}
	for name, value := range map[string]string{"clientId": said.ID, "clientSecret": said.Secret, "privateKey": said.Key} {
		if value != "" {
			entry[name] = value
		}
	}
	if said.Secret != "" { // a person knows where he got it
		issuer, err := issuerOf(ctx, at)
		if err != nil {
			return nil, err
		}
		entry["authorizationServer"] = issuer
	}
	if strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/client-credentials-") {
		entry["grant"] = "client_credentials"
	}
	return entry, nil
}

// issuerOf is the authorization server of the scenario, by the metadata of its server.
func issuerOf(ctx context.Context, at string) (string, error) {
	u, err := url.Parse(at)
	if err != nil {
		return "", err
	}
	var said struct {
		Servers []string `json:"authorization_servers"`
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource" + u.Path, "/.well-known/oauth-protected-resource"} {
		u.Path = path
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
		if err != nil {
			return "", err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		err = json.NewDecoder(res.Body).Decode(&said)
		res.Body.Close()
		if err == nil && len(said.Servers) > 0 {
			return said.Servers[0], nil
		}
	}
	return "", errors.New("the scenario's server names no authorization server")
}

// maxRounds is how often the driver logs in: in most scenarios once, where rights
// are missing or the authorization server is another one meanwhile twice.
const maxRounds = 4

// authorize logs in as often as the hub says that somebody should, and calls the
// scenario's tool.
func authorize(ctx context.Context, at, tokenFile string) error {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	h := &person{hub: at, token: strings.TrimSpace(string(token))}
	for round := 0; ; round++ {
		state, err := h.settled(ctx)
		if err != nil {
			return err
		}
		if state == "ready" {
			err := callOnce(ctx, at+"/mcp")
			if err == nil {
				return nil
			}
			fmt.Fprintln(os.Stderr, "the call:", err)
		}
		wanted, err := h.wanted(ctx)
		if err != nil {
			return err
		}
		if !wanted || round == maxRounds {
			return fmt.Errorf("the server is %s, and no login is wanted", state)
		}
		if err := h.login(ctx); err != nil {
			return err
		}
	}
}

// callOnce lists the tools and calls the one that there is.
func callOnce(ctx context.Context, url string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		return err
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "test-tool", Arguments: map[string]any{}})
	if err != nil {
		return err
	}
	if res.IsError {
		text, _ := json.Marshal(res.Content)
		return errors.New(string(text))
	}
	return nil
}

// person does what a person does by the API and in a browser.
type person struct{ hub, token string }

func (h *person) ask(ctx context.Context, method, path string, into any) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.hub+"/api/v1"+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode != http.StatusOK {
		fmt.Fprintf(os.Stderr, "%s %s: %d %s\n", method, path, res.StatusCode, text)
	}
	return res.StatusCode, json.NewDecoder(bytes.NewReader(text)).Decode(into)
}

// server is what the driver has to know of the server.
type server struct {
	State, Code string
	Auth        struct{ State, Reason string }
}

// settled waits until the server is ready, or is known not to be, and says what it
// is.
func (h *person) settled(ctx context.Context) (string, error) {
	for {
		var s server
		if _, err := h.ask(ctx, http.MethodGet, "/servers/suite", &s); err != nil {
			return "", err
		}
		switch s.State {
		case "ready", "failed", "reconnecting":
			return s.State, nil
		}
		time.Sleep(20 * time.Millisecond) // of the driver, which is no test
	}
}

// wanted reports whether the server wants somebody to log in.
func (h *person) wanted(ctx context.Context) (bool, error) {
	var s server
	_, err := h.ask(ctx, http.MethodGet, "/servers/suite", &s)
	return s.Auth.State == "needed" || s.Auth.State == "limited" || s.Code == "server_unauthorized" && s.Auth.Reason == "", err
}

// errRefused says that the server does not take what a login was good for, so that
// another one is of no use.
var errRefused = errors.New("the server refuses what the login has got")

// refusedFor is how long it takes to be sure of that where the hub was not seen to
// connect.
const refusedFor = 5 * time.Second

// login opens the address of a login, and lets the hub know what came of it.
func (h *person) login(ctx context.Context) error {
	var l struct{ URL string }
	status, err := h.ask(ctx, http.MethodPost, "/servers/suite/login", &l)
	if err != nil || status != http.StatusOK {
		return errors.Join(err, errors.New("no login was begun"))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req) // which follows the redirect to the hub
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("the hub answered the browser %d: %s", res.StatusCode, text)
	}
	// The hub connects by itself; what it was before may be seen for a moment.
	began, tried := time.Now(), false
	for {
		var s server
		if _, err := h.ask(ctx, http.MethodGet, "/servers/suite", &s); err != nil {
			return err
		}
		tried = tried || s.State == "starting" || time.Since(began) > refusedFor
		if s.State == "reconnecting" && tried {
			return errRefused
		}
		if s.Auth.State != "granted" || s.State == "ready" || s.State == "failed" && s.Code != "upstream_login_needed" && s.Code != "server_unauthorized" {
			return nil
		}
		time.Sleep(20 * time.Millisecond) // as above
	}
}

// authScenarios are those of authorization: by version of the suite and revision,
// all that are required, and those beyond that the hub has as well.
func authScenarios() map[string]map[string][]string {
	required := []string{
		"metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd",
		"scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit",
		"token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none", "pre-registration",
	}
	own := []string{"client-credentials-jwt", "client-credentials-basic"}
	old := []string{"2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback"}
	later := []string{"resource-mismatch", "offline-access-scope", "offline-access-not-supported"}
	iss := []string{
		"iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized",
		"metadata-issuer-mismatch", "authorization-server-migration",
	}
	// The server of the first one in 0.1 calls itself otherwise than its address, which
	// a client has to refuse (RFC 8414, section 3.3); 0.2 has that mended.
	fallback := old[1:]
	join := func(lists ...[]string) (all []string) {
		for _, list := range lists {
			all = append(all, list...)
		}
		return all
	}
	return map[string]map[string][]string{
		"conformance-0.1": {"": join(required, fallback, later, own)},
		"conformance-0.2": {"2025-03-26": old, "2025-11-25": required, "2026-07-28": join(required, later, iss), "": own},
	}
}

// The official suite's authorization servers and servers find nothing wrong with
// how the hub gets itself let in.
func TestAuthorization(t *testing.T) {
	rig.Long(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(driver{rig.HubBinary(t), rig.ConformanceClient(t)})
	if err != nil {
		t.Fatal(err)
	}
	for suite, revisions := range authScenarios() {
		for revision, scenarios := range revisions {
			for _, scenario := range scenarios {
				t.Run(suite+" "+revision+" "+scenario, func(t *testing.T) {
					t.Parallel()
					var flags []string
					if revision != "" {
						flags = []string{"--spec-version", revision}
					}
					judge(t, self, said, suite, "auth/"+scenario, flags...)
				})
			}
		}
	}
}
