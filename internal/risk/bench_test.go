package risk_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/risk"
)

// What the parts of judging take. The budget of all of it is 40 µs for a small
// call.
func BenchmarkRisk(b *testing.B) {
	shell, sql := terminal(), database(b)
	write := tool("write_file", "Create a new file or overwrite one", `"path":{"type":"string"},"content":{"type":"string"}`, "")
	issue := tool("create_issue", "Create an issue", `"owner":{"type":"string"},"repo":{"type":"string"},"title":{"type":"string"},"labels":{"type":"array"},"count":{"type":"integer"}`, "")
	get := tool("get_issue", "Get an issue", `"owner":{"type":"string"},"repo":{"type":"string"},"number":{"type":"integer"}`, "")
	page := tool("get_page", "Get a page", `"url":{"type":"string"}`, "")
	b.Run("Describe", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			risk.Describe(issue)
		}
	})
	for _, bc := range []struct {
		name      string
		profile   *risk.Profile
		arguments string
	}{
		{"Assess/none", risk.Describe(get), ``},
		{"Assess/read", risk.Describe(get), `{"owner":"ann","repo":"tool","number":7}`},
		{"Assess/write", risk.Describe(issue), `{"owner":"ann","repo":"tool","title":"It does not start","labels":["bug","urgent"],"count":2}`},
		{"Assess/path", risk.Describe(write), `{"path":"/home/ann/project/notes.md","content":"a few words\nand a few more"}`},
		{"Assess/url", risk.Describe(page), `{"url":"https://example.com/a/b?c=d"}`},
		{"Assess/shell", shell, `{"command":"ls -la"}`},
		{"Assess/pipe", shell, `{"command":"git log --oneline -20 | grep -v 'wip' | head -n 5 && echo done"}`},
		{"Assess/dangerous", shell, `{"command":"cd /srv && sudo rm -rf data"}`},
		{"Assess/sql", sql, `{"sql":"SELECT id, name FROM users WHERE created > '2026-01-01' ORDER BY name LIMIT 10"}`},
	} {
		b.Run(bc.name, func(b *testing.B) {
			arguments := []byte(bc.arguments)
			b.ReportAllocs()
			for b.Loop() {
				bc.profile.Assess(arguments)
			}
		})
	}
}
