package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestTooMuch: bodies of any size are refused without being kept, whether their
// length is told or not.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	hub.AwaitReady()
	g := atTCP(t, hub)
	token := "Bearer " + rig.Token(t, hub.DataDir)
	tooMuch := bytes.Repeat([]byte(" "), 64<<20+1)
	for _, test := range []struct{ method, path, code string }{
		{"POST", "/mcp", "message_too_big"},
		{"POST", api.Base + "/calls", "body_too_big"},
		{"POST", api.Base + "/servers", "body_too_big"},
		{"PUT", api.Base + "/config", "body_too_big"},
		{"PUT", api.Base + "/secrets/x", "body_too_big"},
	} {
		answers := 0 // whoever goes on sending may be cut off before he has read why
		for _, told := range []bool{true, false} {
			var body io.Reader = bytes.NewReader(tooMuch)
			if !told {
				body = struct{ io.Reader }{body}
			}
			r, err := g.knock(test.method, test.path, map[string]string{
				"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": token, "If-Match": "x",
			}, body)
			if err != nil {
				continue
			}
			answers++
			if r.status != http.StatusRequestEntityTooLarge || r.code != test.code {
				t.Errorf("%s %s with %d bytes was answered with HTTP %d %s", test.method, test.path, len(tooMuch), r.status, r.code)
			}
		}
		if answers == 0 {
			t.Errorf("%s %s never said why", test.method, test.path)
		}
	}
	if got := hub.Health().Status; got != "ready" {
		t.Errorf("the hub is %s", got)
	}
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
		if err != nil || !entry.Type().IsRegular() || strings.Contains(path, "toolcrib.db") || strings.Contains(path, "index.json") ||
			strings.Contains(path, filepath.Join("audit", "journal.")) { // in which it stands what was tried
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
