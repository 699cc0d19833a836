package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// guest is a client spoken by hand that has roots and can be asked for them.
type guest struct {
	t     *testing.T
	peer  *rig.Peer
	roots string // its roots, as JSON
	ids   int
	told  []rig.Message // what came that was no answer
}

// visit opens a session. Root is the directory that the caller works in, "" for
// a caller that has no roots.
func visit(t *testing.T, peer *rig.Peer, root string) *guest {
	t.Helper()
	g := &guest{t: t, peer: peer}
	has := `{}`
	if root != "" {
		has, g.roots = `{"roots":{}}`, fmt.Sprintf(`[{"uri":%q}]`, "file://"+root)
	}
	g.ask("initialize", fmt.Sprintf(`"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"e2e","version":"1"}`, latestLegacy, has))
	peer.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return g
}

// ask sends a request and returns its result.
func (g *guest) ask(method, params string) string {
	g.t.Helper()
	g.ids++
	before, m := g.peer.Ask(fmt.Sprint(g.ids), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, g.ids, method, params),
		func(q rig.Message) string {
			if q.Method != "roots/list" || g.roots == "" {
				g.t.Errorf("asked %s", q.Raw)
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not known"}}`, q.ID)
			}
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":%s}}`, q.ID, g.roots)
		})
	g.told = append(g.told, before...)
	if m.Error != nil {
		g.t.Fatalf("%s %s: %s", method, params, m.Raw)
	}
	return string(m.Result)
}

// call calls a tool, which must succeed, and returns its result.
func (g *guest) call(tool, arguments string) string {
	g.t.Helper()
	result := g.ask("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
	if strings.Contains(result, `"isError":true`) {
		g.t.Errorf("%s %s: %s", tool, arguments, result)
	}
	return result
}

// gets checks that a result has the text in it.
func (g *guest) gets(result, text string) {
	g.t.Helper()
	if !strings.Contains(result, text) {
		g.t.Errorf("got %.2000s, want %s in it", result, text)
	}
}

// names are the values of a member of the entries of a list.
func (g *guest) names(method, list, member string) (names []string) {
	g.t.Helper()
	var page map[string]json.RawMessage
	if err := json.Unmarshal([]byte(g.ask(method, "")), &page); err != nil {
		g.t.Fatal(err)
	}
	var entries []map[string]any
	if err := json.Unmarshal(page[list], &entries); err != nil {
		g.t.Fatalf("%s: %v", method, err)
	}
	for _, e := range entries {
		names = append(names, fmt.Sprint(e[member]))
	}
	return names
}

// has checks that a list has entries of these names.
func (g *guest) has(method, list, member string, names ...string) {
	g.t.Helper()
	got := g.names(method, list, member)
	for _, name := range names {
		if !slices.Contains(got, name) {
			g.t.Errorf("%s: no %s in %q", method, name, got)
		}
	}
}

// TestServers has one caller use what servers of others have: tools, resources,
// templates, prompts and updates, all through one hub.
func TestServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	for name, text := range map[string]string{"file.txt": "the content\nof a file\n", "repo/a.txt": "a\n"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := map[string]string{
		"HOME": dir, "GIT_CONFIG_NOSYSTEM": "1", "GIT_USERNAME": "Ada", "GIT_EMAIL": "ada@example.com", "GIT_SIGN_COMMITS": "false",
	}
	hub := rig.StartHub(t, append(quiet(),
		npmServer(t, "everything"),
		npmServer(t, "filesystem", dir),
		npmServer(t, "memory").With("env", map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}),
		rig.Stdio("git", rig.NewNode(t), rig.NPM(t, "@cyanheads", "git-mcp-server", "dist", "index.js")).With("env", home),
		rig.Stdio("database", rig.NewNode(t), rig.NPM(t, "@bytebase", "dbhub", "dist", "index.js"), "--transport", "stdio", "--demo").With("env", home),
	)...)
	hub.AwaitReady()
	// Each lists what there is for all, and uses its own.
	client := func(t *testing.T) *guest { return visit(t, rig.HTTPPeer(t, hub.MCP()), "") }

	t.Run("everything", func(t *testing.T) {
		g := client(t)
		g.has("tools/list", "tools", "name", "everything__echo")
		g.has("prompts/list", "prompts", "name", "everything__simple-prompt", "everything__args-prompt")
		g.has("resources/templates/list", "resourceTemplates", "uriTemplate", "demo://resource/dynamic/text/{resourceId}")
		g.gets(g.call("everything__echo", `{"message":"well"}`), "Echo: well")
		g.gets(g.ask("resources/read", `"uri":"demo://resource/dynamic/text/7"`), "Resource 7: This is a plaintext resource")
		g.gets(g.ask("prompts/get", `"name":"everything__args-prompt","arguments":{"city":"Ulm"}`), "What's weather in Ulm?")
	})
	t.Run("filesystem", func(t *testing.T) {
		g := client(t)
		g.has("tools/list", "tools", "name", "filesystem__read_text_file", "filesystem__write_file")
		path := filepath.Join(dir, "written.txt")
		g.call("filesystem__write_file", fmt.Sprintf(`{"path":%q,"content":"\u00e4\n"}`, path))
		if text, err := os.ReadFile(path); string(text) != "ä\n" {
			t.Errorf("the file has %q (%v)", text, err)
		}
		g.gets(g.call("filesystem__read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "file.txt"))), `the content\nof a file\n`)
		result := g.ask("tools/call", `"name":"filesystem__read_text_file","arguments":{"path":"/etc/passwd"}`)
		g.gets(result, "Access denied")
		g.gets(result, `"isError":true`)
	})
	t.Run("memory", func(t *testing.T) {
		g := client(t)
		g.has("tools/list", "tools", "name", "memory__create_entities")
		uri := g.names("resources/list", "resources", "uri")
		i := slices.IndexFunc(uri, func(s string) bool { return strings.Contains(s, "memory") })
		if i < 0 {
			t.Fatalf("no resource of the memory server in %q", uri)
		}
		g.ask("resources/subscribe", fmt.Sprintf(`"uri":%q`, uri[i]))
		g.call("memory__create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["writes"]}]}`)
		for !slices.ContainsFunc(g.told, func(m rig.Message) bool {
			return m.Method == "notifications/resources/updated" && strings.Contains(string(m.Params), uri[i])
		}) {
			g.told = append(g.told, g.peer.Next())
		}
		g.gets(g.ask("resources/read", fmt.Sprintf(`"uri":%q`, uri[i])), "Ada")
	})
	t.Run("git", func(t *testing.T) {
		g := client(t)
		g.has("tools/list", "tools", "name", "git__git_init", "git__git_commit", "git__git_status")
		g.has("resources/list", "resources", "uri", "git://working-directory")
		g.has("prompts/list", "prompts", "name", "git__git_wrapup")
		in := fmt.Sprintf(`"path":%q`, repo)
		g.gets(g.call("git__git_init", `{`+in+`,"initialBranch":"trunk"}`), "trunk")
		g.gets(g.call("git__git_status", `{`+in+`}`), "a.txt")
		g.call("git__git_add", `{`+in+`,"paths":["a.txt"]}`)
		commit := g.call("git__git_commit", `{`+in+`,"message":"Gr\u00fc\u00dfe"}`)
		hash := regexp.MustCompile(`[0-9a-f]{40}`).FindString(commit)
		if head, err := os.ReadFile(filepath.Join(repo, ".git", "refs", "heads", "trunk")); err != nil || hash == "" || strings.TrimSpace(string(head)) != hash {
			t.Errorf("trunk is at %q (%v), the commit is %s", head, err, commit)
		}
		g.gets(g.call("git__git_log", `{`+in+`}`), "Grüße")
		g.call("git__git_set_working_dir", `{`+in+`}`)
		g.gets(g.ask("resources/read", `"uri":"git://working-directory"`), repo)
		g.gets(g.ask("prompts/get", `"name":"git__git_wrapup","arguments":{"createTag":"false"}`), "git_wrapup_instructions")
	})
	t.Run("database", func(t *testing.T) {
		g := client(t)
		g.has("tools/list", "tools", "name", "database__execute_sql", "database__search_objects")
		g.gets(g.call("database__search_objects", `{"object_type":"table"}`), "employee")
		g.gets(g.call("database__execute_sql", `{"sql":"select 6*7 as answer, '\u4f60' as you"}`), `42`)
	})
}

// TestRoots has two callers work in a directory each, with a server of files
// that was given none: it has to ask, and each caller sees its own directory
// only.
func TestRoots(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t, append(quiet(), npmServer(t, "filesystem"))...)
	hub.AwaitReady()
	dirs := []string{t.TempDir(), t.TempDir()}
	var guests []*guest
	for i, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, "mine.txt"), fmt.Appendf(nil, "of caller %d", i), 0o600); err != nil {
			t.Fatal(err)
		}
		g := visit(t, rig.HTTPPeer(t, hub.MCP()), dir)
		guests = append(guests, g)
		// The server does not say when it has made use of the answer.
		rig.Await(t, "the server of files knows the roots", func() bool {
			return strings.Contains(g.call("filesystem__list_allowed_directories", `{}`), dir)
		})
	}
	for range 2 { // in turns
		for i, g := range guests {
			own, others := filepath.Join(dirs[i], "mine.txt"), filepath.Join(dirs[1-i], "mine.txt")
			g.gets(g.call("filesystem__read_text_file", fmt.Sprintf(`{"path":%q}`, own)), fmt.Sprintf("of caller %d", i))
			allowed := g.call("filesystem__list_allowed_directories", `{}`)
			g.gets(allowed, dirs[i])
			if strings.Contains(allowed, dirs[1-i]) {
				t.Errorf("caller %d may see %s", i, allowed)
			}
			refused := g.ask("tools/call", fmt.Sprintf(`"name":"filesystem__read_text_file","arguments":{"path":%q}`, others))
			g.gets(refused, "Access denied")
		}
	}
}
