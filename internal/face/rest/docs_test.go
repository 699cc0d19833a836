package rest

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// page is a page of the documentation.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rig.Root(), "docs", name))
	must(t, err)
	return string(text)
}

var row = regexp.MustCompile("(?m)^\\| `(GET|POST|PUT|DELETE) (/[^`]*)` \\| ([CDOA]?\\*?) ?\\| .+ \\|$")

// mark is how the pages tell which right an operation needs.
func mark(op *huma.Operation) string {
	letter := map[any]string{rightCall: "C", rightDecide: "D", rightOperate: "O", rightManage: "A"}[op.Extensions[extRight]]
	if op.Extensions[extHubwide] == true {
		letter += "*"
	}
	return letter
}

// The pages about the API have each operation, and who may use it.
func TestDocumentsHaveEveryOperation(t *testing.T) {
	d := New(Options{})
	for _, name := range []string{"api.md", "api.zh-CN.md"} {
		told := make(map[string]string)
		for _, m := range row.FindAllStringSubmatch(page(t, name), -1) {
			key := m[1] + " " + m[2]
			if _, twice := told[key]; twice {
				t.Errorf("%s: %s is told twice", name, key)
			}
			told[key] = m[3]
		}
		for path, item := range d.api.OpenAPI().Paths {
			for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
				if op == nil {
					continue
				}
				key := op.Method + " " + path
				if who, ok := told[key]; !ok || who != mark(op) {
					t.Errorf("%s: %s is not told, or not who may: %q, want %q", name, key, who, mark(op))
				}
				delete(told, key)
			}
		}
		for key := range told {
			t.Errorf("%s: there is no %s", name, key)
		}
	}
}

var examples = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The examples of the pages work as they stand, and are the same in both.
func TestDocumentsExamples(t *testing.T) {
	for _, program := range []string{"curl", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT RUN: %v", err)
		}
	}
	english := examples.FindAllStringSubmatch(page(t, "api.md"), -1)
	chinese := examples.FindAllStringSubmatch(page(t, "api.zh-CN.md"), -1)
	if len(english) < 5 || len(english) != len(chinese) {
		t.Fatalf("%d and %d examples", len(english), len(chinese))
	}
	every, err := json.Marshal([]string{rig.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")})
	must(t, err)
	h := open(t, `{"mcpServers":{"every":{"command":`+quote(rig.Node(t))+`,"args":`+string(every)+`}}}`)
	h.change(http.MethodPost, "/servers/every/start", "").into(http.StatusOK, nil)
	for i, example := range english {
		script := example[1]
		if script != chinese[i][1] {
			t.Errorf("they differ:\n%s\n%s", script, chinese[i][1])
		}
		if strings.Contains(script, "HUB=") {
			continue // that of the hub here is given below
		}
		// curl says by its exit code that the hub has refused, and the shell says so at once.
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", "curl() { command curl --fail-with-body \"$@\"; }\n"+script)
		cmd.Env = append(os.Environ(), "HUB="+h.url+"/api/v1", "TOKEN="+h.admin, "no_proxy=127.0.0.1")
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "event: problem") {
			t.Errorf("%s\n%v: %s", script, err, out)
		}
	}
}
