package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// vault knows secrets by the places at which they are planted, and looks for
// them where they must not be.
type vault struct {
	t       *testing.T
	planted map[string]string // place by secret
}

// plant returns a new secret for a place. It has no letters that any encoding
// would change, so that it is found wherever it stands as it is.
func (v *vault) plant(place string) string {
	secret := fmt.Sprintf("planted%dq7x", len(v.planted))
	v.planted[secret] = place
	return secret
}

// search fails the test if a text has one of the secrets, in clear or as
// base64.
func (v *vault) search(where, text string) {
	v.t.Helper()
	for secret, place := range v.planted {
		at := strings.Index(text, secret)
		if at < 0 {
			at = strings.Index(text, base64.StdEncoding.EncodeToString([]byte(secret))[:12])
		}
		if at >= 0 {
			v.t.Errorf("%s shows the secret of %s: ...%s...", where, place, text[max(0, at-100):min(len(text), at+100)])
		}
	}
}

// TestSecretsStayInside plants secrets in every place of the configuration, has
// servers tell them in every way they have, and looks for them in all that the
// hub lets out.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	v := &vault{t: t, planted: map[string]string{}}
	home := rig.NewHome(t)
	env := append(home.Env, "PLANTED_VARIABLE="+v.plant("${env:}"))
	write(t, v.plant("${file:}")+"\n", home.Dir, "secret-file")

	// A server that answers with all it was told.
	tell := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/socket") {
			if conn, err := websocket.Accept(w, r, nil); err == nil {
				_ = conn.Close(4001, "who is "+r.Header.Get("Authorization"))
			}
			return
		}
		status := http.StatusUnauthorized
		if strings.HasSuffix(r.URL.Path, "/broken") {
			status = http.StatusInternalServerError
		}
		if strings.HasSuffix(r.URL.Path, "/elsewhere") {
			w.Header().Set("Location", "/broken?"+r.URL.RawQuery)
			status = http.StatusTemporaryRedirect
		}
		w.Header().Set("WWW-Authenticate", "Bearer realm="+r.URL.RawQuery)
		w.WriteHeader(status)
		_ = r.Header.Write(w)
		fmt.Fprint(w, r.URL)
	}))
	tellAs := func(key, path string) rig.Server {
		return rig.HTTP(key, tell+path+"?token="+v.plant("the query of "+key)).
			With("headers", map[string]string{"X-Key": v.plant("a header of " + key)}).
			With("apiKey", v.plant("the apiKey of "+key))
	}
	// Programs that tell their environment and arguments where they should not.
	script := func(key, text string) rig.Server {
		return rig.Stdio(key, "sh", "-c", text, rig.FaultServer(t), "--token", v.plant("the arguments of "+key)).
			With("env", map[string]any{
				"API_KEY": v.plant("the environment of " + key), "FROM_ENV": "${env:PLANTED_VARIABLE}",
				"FROM_FILE": "${file:" + filepath.Join(home.Dir, "secret-file") + "}", "FROM_STORE": "${secret:stored}",
			})
	}
	socket := tellAs("socket", "/socket").With("type", "ws")
	socket.Entry["url"] = "ws" + strings.TrimPrefix(socket.Entry["url"].(string), "http")
	servers := []rig.Server{
		script("talks", `set >&2; env; echo "$@" >&2; echo "$@"; exec "$0"`),
		script("crashes", `echo "cannot log in with $API_KEY, $FROM_ENV, $FROM_FILE, $FROM_STORE or $2" >&2; exit 1`),
		rig.Stdio("missing", "no-such-command-anywhere", "--api-key="+v.plant("the arguments of missing")),
		rig.Stdio("unset", rig.FaultServer(t)).With("env", map[string]string{"A": "${env:NOT_SET_ANYWHERE}", "B_TOKEN": v.plant("the environment of unset")}),
		tellAs("refused", "/mcp"), tellAs("broken", "/broken"), tellAs("elsewhere", "/elsewhere"),
		tellAs("sse", "/sse").With("type", "sse"), socket,
		rig.HTTP("gone", "http://127.0.0.1:1/mcp?key="+v.plant("the query of gone")),
	}
	text, err := os.ReadFile(rig.WriteConfig(t, servers...))
	if err != nil {
		t.Fatal(err)
	}
	config := write(t, string(text), home.Config())
	// Such a URL is refused.
	write(t, `{"mcpServers": {"user": {"url": "http://user:`+v.plant("the user of a URL")+`@127.0.0.1/mcp"}}}`, home.Dir, "refused.json")

	// Sealed by the command line, before any hub runs.
	seal := exec.CommandContext(t.Context(), rig.HubBinary(t), "secret", "set", "stored")
	seal.Env, seal.Stdin = append(os.Environ(), env...), strings.NewReader(v.plant("the sealed store"))
	if out, err := seal.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	hub := rig.Serve(t, env, "--listen", "127.0.0.1:0")
	hub.AwaitState("talks", "ready")
	for key, state := range map[string]string{
		"missing": "failed", "unset": "failed", "crashes": "crashed", "refused": "reconnecting", "broken": "reconnecting",
		"elsewhere": "reconnecting", "sse": "reconnecting", "socket": "reconnecting", "gone": "reconnecting",
	} {
		hub.AwaitState(key, state)
	}
	// It has them, so that it could tell them.
	c := connect(t, hub.MCP(), latestLegacy)
	told := c.text("talks__env", nil)
	for _, place := range []string{"${env:}", "${file:}", "the sealed store", "the environment of talks"} {
		if !slices.ContainsFunc(secretsOf(v, place), func(s string) bool { return strings.Contains(told, s) }) {
			t.Errorf("the server was not told the secret of %s", place)
		}
	}
	// Entries that come in by the API are sealed.
	client := hub.API()
	entry, err := json.Marshal(tellAs("added", "/mcp").With("url", tell+"/mcp").Entry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.AddServer(t.Context(), api.ServerAdd{Key: "added", Entry: entry}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SetGroup(t.Context(), "talks__env", api.GroupDefinition{Servers: []string{"talks"}}, ""); err != nil {
		t.Fatal(err)
	}
	for kind, name := range map[apiclient.Dialled]string{apiclient.Endpoints: "talks__env", apiclient.Backends: "backend"} {
		entry := `{"url":"ws://127.0.0.1:1/mcp/?token=` + v.plant("the address of one of "+string(kind)) + `"}`
		if _, err := client.SetDialled(t.Context(), kind, name, api.EndpointChange{Entry: api.Entry(entry)}, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range append(servers, rig.Server{Key: "added"}) {
		v.search("a call to "+s.Key, c.call(s.Key+"__echo", map[string]any{"text": "x"}).String())
		if test, err := client.Test(t.Context(), api.Test{Key: s.Key}); err != nil {
			v.search("the test of "+s.Key, err.Error())
		} else {
			v.search("the test of "+s.Key, fmt.Sprintf("%+v", test))
		}
	}
	walk(t, hub, v)
	commands(t, home, env, v, servers)
	hub.Stop()
	v.search("the log", hub.Stderr())
	files(t, home, config, v)
}

// secretsOf are the secrets that are planted at a place.
func secretsOf(v *vault, place string) []string {
	var all []string
	for secret, at := range v.planted {
		if at == place {
			all = append(all, secret)
		}
	}
	return all
}

// walk looks at nearly every GET of the API's description, for every server and tool,
// at the pages and what they load, and at the hub's health.
func walk(t *testing.T, hub *rig.Hub, v *vault) {
	t.Helper()
	servers, err := hub.API().Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/", "/readyz", "/healthz", "/metrics"}
	for _, op := range operations(t) {
		switch {
		case op.method != http.MethodGet:
		case strings.HasSuffix(op.path, "/events") || strings.Contains(op.path, "/states"):
			// They show the results of calls, which are what was asked for; test/record
			// looks at the rest of them.
		case strings.Contains(op.path, "/approvals/"):
			// Nobody is asked for any; test/record has some.
		case strings.Contains(op.path, "/devices/"):
			// None has dialled in.
		case strings.Contains(op.path, "{id}"):
			calls, err := hub.API().Calls(t.Context(), apiclient.CallQuery{Limit: 10})
			if err != nil || len(calls.Calls) == 0 {
				t.Fatalf("%d calls, %v", len(calls.Calls), err)
			}
			for _, c := range calls.Calls {
				paths = append(paths, strings.Replace(op.path, "{id}", c.ID, 1))
			}
		case strings.Contains(op.path, "{key}"):
			for _, s := range servers.Servers {
				paths = append(paths, strings.Replace(op.path, "{key}", s.Key, 1))
			}
		case strings.Contains(op.path, "/backends/{name}"):
			paths = append(paths, strings.Replace(op.path, "{name}", "backend", 1))
		default:
			paths = append(paths, strings.Replace(op.path, "{name}", "talks__env", 1)) // a tool, and a group
		}
	}
	if len(paths) < 40 {
		t.Errorf("only %d paths were found", len(paths))
	}
	linked := regexp.MustCompile(`(?:src|href)="(/ui/[^"]+)"`)
	for i := 0; i < len(paths); i++ {
		body, status := fetch(t, hub, paths[i])
		if status != http.StatusOK {
			t.Errorf("GET %s: HTTP %d %s", paths[i], status, body)
		}
		v.search("GET "+paths[i], body)
		if paths[i] == "/" {
			for _, m := range linked.FindAllStringSubmatch(body, -1) {
				paths = append(paths, m[1])
			}
		}
	}
}

func fetch(t *testing.T, hub *rig.Hub, path string) (string, int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, hub.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+rig.Token(t, hub.DataDir))
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return string(body), resp.StatusCode
}

// commands looks at all that the command line prints.
func commands(t *testing.T, home rig.Home, env []string, v *vault, servers []rig.Server) {
	t.Helper()
	lines := []string{
		"server list", "server list --json", "tool list", "tool list --json", "calls", "calls --json", "status", "status --json",
		"config show", "config show --json", "config check", "config check --json", "secret list", "secret list --json",
		"doctor", "doctor --json", "token show", "config reload", "server restart --all", "server list --log-level debug",
		"top --once", "index list", "index list --json", "index export", "lease list", "lease list --json", "lease hold me talks crashes",
	}
	refused := " " + filepath.Join(home.Dir, "refused.json")
	for _, command := range []string{"config check", "import", "server list --config", "serve --config"} {
		lines = append(lines, command+refused)
	}
	for _, s := range servers {
		lines = append(lines, "server show "+s.Key, "server drift "+s.Key, "server log "+s.Key+" --lines 0", "call "+s.Key+"__nothing")
	}
	for _, line := range lines {
		cmd := exec.CommandContext(t.Context(), rig.HubBinary(t), strings.Fields(line)...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if len(out) == 0 {
			t.Errorf("toolcrib %s printed nothing (%v)", line, err)
		}
		v.search("toolcrib "+line, string(out))
	}
}

// files looks at every file of the home, but for those in which the test itself
// has planted something. In the configuration file nothing may have been added.
func files(t *testing.T, home rig.Home, config string, v *vault) {
	t.Helper()
	err := filepath.WalkDir(home.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Dir(path) == home.Dir {
			return err
		}
		text, err := os.ReadFile(path)
		if path == config {
			_, added, _ := strings.Cut(string(text), `"added"`)
			v.search("the entry that was added by the API", added)
			return err
		}
		v.search(path, string(text))
		if info, err := entry.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the permissions %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// operation is one operation of the API's description.
type operation struct {
	method, path string // with the base
	right        string // that it needs
}

// operations are those of api/openapi.json.
func operations(t *testing.T) []operation {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rig.Root(), "api", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Right string `json:"x-toolcrib-right"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var all []operation
	for path, methods := range doc.Paths {
		for method, op := range methods {
			all = append(all, operation{strings.ToUpper(method), api.Base + path, op.Right})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}
