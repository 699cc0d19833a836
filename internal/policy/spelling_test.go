package policy

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// A condition is not escaped by another case of a member's name, and nothing is
// allowed by one.
func TestSpellings(t *testing.T) {
	both := &hub.Tool{Name: "set_value", Raw: []byte(
		`{"name":"set_value","description":"Sets.","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"ID":{"type":"string"}}}}`,
	)}
	for _, test := range []struct {
		effect    hub.Verdict
		when      string
		tool      *hub.Tool
		arguments string
		want      hub.Verdict
	}{
		{"deny", `has(call.args.force) && call.args.force`, reads, `{"force":true}`, "deny"},
		{"deny", `has(call.args.force) && call.args.force`, reads, `{"Force":true}`, "deny"},
		{"deny", `has(call.args.force) && call.args.force`, reads, `{"FORCE":true}`, "deny"},
		{"deny", `has(call.args.force) && call.args.force`, reads, `{"\u0046orce":true}`, "deny"},
		{"deny", `"force" in call.args`, reads, `{"forCe":1}`, "deny"},
		{"deny", `call.args["force"] == true`, reads, `{"Force":true}`, "deny"},
		{"deny", `call.args.exists(k, k == "key")`, reads, `{"\u212aey":1}`, "deny"},
		{"deny", `has(call.args.options) && has(call.args.options.force)`, reads, `{"Options":{"FORCE":1}}`, "deny"},
		{"deny", `call.args.items.exists(i, has(i.force))`, reads, `{"items":[{"Force":1}]}`, "deny"},
		{"ask", `has(call.args.force)`, reads, `{"Force":true}`, "ask"},
		{"deny", `!has(call.args.dryRun)`, reads, `{"dryrun":true}`, "deny"}, // the server may not know it so
		{"deny", `has(call.args.force)`, reads, `{"enforce":true}`, "allow"},
		{"deny", `has(call.args.force) && call.args.force`, reads, `{"Force":false}`, "allow"},
		{"allow", `call.args.path.startsWith("/srv/")`, deletes, `{"path":"/srv/a"}`, "allow"},
		{"allow", `call.args.path.startsWith("/srv/")`, deletes, `{"Path":"/srv/a"}`, "ask"},
		{"allow", `!has(call.args.force)`, deletes, `{"Force":true}`, "ask"},
		{"allow", `!has(call.args.force)`, deletes, `{"path":"x"}`, "allow"},
		// The rule has a word in several spellings.
		{"deny", `has(call.args.force) && call.args.force && call.tool != "Force"`, reads, `{"Force":true}`, "deny"},
		{"deny", `has(call.args.force) && call.args.force && call.tool != "Force"`, reads, `{"FORCE":true}`, "deny"},
		{"deny", `has(call.args.force) && call.args.force && call.tool != "Force"`, reads, `{"FORCE":false}`, "allow"},
		{"ask", `has(call.args.Force) && call.tool != "force"`, reads, `{"force":true}`, "ask"},
		{"deny", `has(call.args.force) && has(call.args.Path) && call.tool != "Force" && call.tool != "path"`, reads, `{"FORCE":1,"PATH":1}`, "deny"},
		{"allow", `!has(call.args.force) || call.tool == "Force"`, deletes, `{"Force":true}`, "ask"},
		{"allow", `!has(call.args.force) || call.tool == "Force"`, deletes, `{"path":"x"}`, "allow"},
		{"deny", `has(call.args.abcde) && call.tool != "Abcde" && call.tool != "aBcde" && call.tool != "abCde" && call.tool != "abcDe" && call.tool != "abcdE"
			&& call.tool != "ABcde" && call.tool != "AbCde" && call.tool != "AbcDe" && call.tool != "AbcdE" && call.tool != "aBCde" && call.tool != "aBcDe"
			&& call.tool != "aBcdE" && call.tool != "abCDe" && call.tool != "abCdE" && call.tool != "abcDE" && call.tool != "ABCde"`, reads, `{"ABCDE":1}`, "ask"}, // too many
		{"deny", `call.tool == "other" && has(call.args.force)`, reads, `{"Force":true}`, "allow"}, // the arguments are not needed
		// Two spellings beside one another.
		{"allow", ``, reads, `{"path":"/srv/a","Path":"/etc"}`, "ask"},
		{"allow", ``, reads, `{"a":[{"path":"/srv/a","PATH":"/etc"}]}`, "ask"},
		{"allow", ``, reads, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"N":1}`, "ask"},
		{"allow", ``, reads, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1}`, "allow"},
		{"allow", ``, both, `{"id":"a","ID":"b"}`, "allow"}, // its schema has both
		{"allow", ``, both, `{"id":"a","Id":"b"}`, "ask"},
		{"allow", `call.args.id == "a"`, both, `{"id":"a","ID":"b"}`, "allow"},
		{"allow", `call.args.id == "a"`, both, `{"ID":"a"}`, "ask"},
	} {
		p := compiled(t, rules(hub.Rule{Effect: test.effect, Tools: []string{test.tool.Name}, When: test.when}))
		if j := p.Judge(ask(test.tool, test.arguments)); j.Verdict != test.want {
			t.Errorf("%s %q, %s: %s, want %s (%v)", test.effect, test.when, test.arguments, j.Verdict, test.want, j.Reasons)
		}
	}
}
