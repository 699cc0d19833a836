package risk_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/risk"
)

// slow is what no judging may take. It is a hundred times what the largest input
// takes, as tests run on machines that do other things too.
const slow = 5 * time.Second

// whole checks what holds for every assessment.
func whole(t *testing.T, p *risk.Profile, arguments []byte) hub.Assessment {
	t.Helper()
	before := bytes.Clone(arguments)
	begun := time.Now()
	got := p.Assess(arguments)
	if took := time.Since(begun); took > slow {
		t.Errorf("it took %s", took)
	}
	if !bytes.Equal(before, arguments) {
		t.Error("the arguments were changed")
	}
	if got.Risk > hub.RiskCritical || got.Unclear && got.Risk < hub.RiskHigh || got.Warning.Empty() != (got.Risk == hub.RiskLow) {
		t.Errorf("%+v", got)
	}
	if !slices.IsSorted(got.Tags) || len(got.Reasons) > 6 {
		t.Errorf("%+v", got)
	}
	if again := p.Assess(arguments); again.Risk != got.Risk || len(again.Reasons) != len(got.Reasons) {
		t.Errorf("another time it is %+v, not %+v", again, got)
	}
	for _, r := range append(slices.Clone(got.Reasons), got.Warning) {
		_ = r.In(message.Chinese)
	}
	return got
}

func FuzzAssess(f *testing.F) {
	f.Add([]byte(`{"command":"ls","path":"/etc/shadow","url":"http://127.1","sql":"select 1","ids":[1,2]}`))
	f.Add([]byte(`{"action":"delete","action":"get"}`))
	f.Add([]byte(`[`))
	tools := []*risk.Profile{
		terminal(), risk.Describe(risk.Description{}),
		risk.Describe(tool("manage_thing", "Manage", `"action":{"enum":["get","delete"]},"path":{},"amount":{}`, "")),
		risk.Describe(tool("query_database", "Query the SQL database", `"sql":{"type":"string"}`, "")),
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		for _, p := range tools {
			whole(t, p, arguments)
		}
	})
}

func FuzzDescribe(f *testing.F) {
	f.Add("get_x", []byte(`{"description":"Get x","inputSchema":{"properties":{"action":{"enum":["a"]}}},"annotations":{"readOnlyHint":true}}`), true)
	f.Add("删除", []byte(`{"description":"执行命令"}`), false)
	f.Fuzz(func(t *testing.T, name string, raw []byte, trusted bool) {
		p := risk.Describe(risk.Description{Name: name, Raw: raw, Trusted: trusted, Roots: []string{name}})
		if p.Risk() > hub.RiskCritical {
			t.Error(p.Risk())
		}
		whole(t, p, nil)
		whole(t, p, raw)
	})
}

// fuzzText has any text judged as a member of the name.
func fuzzText(f *testing.F, p *risk.Profile, member string, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		arguments, err := json.Marshal(map[string]string{member: text})
		if err != nil {
			t.Skip()
		}
		whole(t, p, arguments)
	})
}

func FuzzShell(f *testing.F) {
	fuzzText(f, terminal(), "command", "ls -la | grep x", "a=r; ${a}m -rf $(echo /)", "bash -c 'eval \"$X\"'", "cat <<EOF\n$(rm x)\nEOF",
		"f(){ f|f& };f", "for i in a b; do $i; done", "$'\\x72m' {a,b}", "sudo env -S 'rm x'", "find . -exec sh -c 'x' \\;", "git -c a=b push -f",
		"psql -c 'select 1'", "Remove-Item x | iex", "if [[ -f x ]]; then :; fi", "kubectl exec a -- b", "curl -XPOST -d@x http://[::1]/", "((((")
}

func FuzzSQL(f *testing.F) {
	fuzzText(f, database(f), "sql", "SELECT 1", "/*!50000 DROP TABLE x*/", "SELECT 'a\\'; DROP TABLE x --", "DO $$ x $$", "WITH a AS (DELETE FROM b) SELECT 1", "\\! x", "--x\n;;'")
}

func FuzzPath(f *testing.F) {
	p := risk.Describe(risk.Description{Name: "read_file", Roots: []string{"/a/b"}})
	fuzzText(f, p, "path", "/a/b/../c", "~/.ssh", "C:\\x", "file:///x", "%2e%2e", "\\\\?\\C:\\x", "")
}

func FuzzURL(f *testing.F) {
	fuzzText(f, risk.Describe(risk.Description{Name: "get_page"}), "url", "http://127.1/", "//[::1]", "http://0x7f.1", "http:\\\\x@[fe80::1%25eth0]:1", "https://１.１", "data:,", "a:b")
}

// Inputs that make a parser slow are as quick as others.
func TestAssessIsBounded(t *testing.T) {
	repeat := func(s string, n int) string { return string(bytes.Repeat([]byte(s), n)) }
	for _, text := range []string{
		repeat("(", 30000), repeat("$(", 15000), repeat("`", 30000), repeat("{", 30000), repeat("a|", 30000), repeat("if ", 20000), repeat("! ", 30000),
		repeat("'", 30001), repeat("<<a ", 15000), repeat("sudo ", 12000) + "ls", repeat("bash -c ", 8000), repeat("$a", 30000), repeat("f(){ ", 10000),
		repeat("for i in a b c d; do ", 3000) + repeat("done;", 3000), "a=x;" + repeat("a=$a$a;", 60) + "$a", repeat("[[ a && ", 8000), repeat("((", 15000), repeat("x=(", 15000), repeat("${a:-", 12000),
		repeat("case a in ", 6000), repeat("/*", 30000), repeat("--\n", 20000), repeat(";DROP", 12000), repeat("(select ", 8000), repeat("\\", 60000), repeat("\"", 60001), repeat("$$", 30000), repeat("eval ", 12000), repeat("time ", 12000),
		"for a in 1 2 3 4; do " + repeat("for b in 1 2 3 4; do ", 12) + "ls" + repeat(";done", 13),
	} {
		for _, p := range []*risk.Profile{terminal(), database(t)} {
			for _, member := range []string{"command", "sql"} {
				begun := time.Now()
				got := p.Assess(object(t, member, text))
				if took := time.Since(begun); took > slow {
					t.Errorf("%.20q as %s took %s", text, member, took)
				} else if took > time.Second/2 {
					t.Logf("%.20q as %s took %s: %v", text, member, took, got.Risk)
				}
			}
		}
	}
}
