package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// realistic is a policy of a thousand rules, as a large site would have it: for
// each of a hundred servers what may be done by whom, conditions on arguments here
// and there, and some rules for all.
func realistic() hub.Policy {
	var all []hub.Rule
	for s := range 100 {
		key := fmt.Sprintf("server%d", s)
		add := func(r hub.Rule) {
			if len(all) < 1000 {
				r.ID, r.Servers = fmt.Sprintf("%s %d", key, len(all)), []string{key}
				all = append(all, r)
			}
		}
		add(hub.Rule{Effect: "allow", Risks: []hub.Risk{hub.RiskLow}})
		add(hub.Rule{Effect: "deny", Tools: []string{"drop_*", "wipe"}})
		add(hub.Rule{Effect: "ask", Roles: []hub.Role{hub.RoleCaller}, Tools: []string{"write_*"}})
		add(hub.Rule{Effect: "allow", Roles: []hub.Role{hub.RoleOperator}})
		add(hub.Rule{Effect: "deny", When: `has(call.args.path) && call.args.path.startsWith("/etc/")`})
		add(hub.Rule{Effect: "ask", Tools: []string{"write_file"}, When: `size(call.args.content) > 10000`})
		add(hub.Rule{Effect: "allow", Tools: []string{"write_file"}, When: `call.args.path.startsWith("/tmp/") && !call.args.path.contains("..")`})
		add(hub.Rule{Effect: "deny", Tools: []string{"pay"}, When: `call.args.amount > 100`})
		add(hub.Rule{Effect: "allow", Callers: []string{"ci-*"}, Tools: []string{"run_tests"}})
	}
	for i := 0; len(all) < 1000; i++ {
		r := hub.Rule{ID: fmt.Sprint("for all ", i), Effect: "ask", Callers: []string{fmt.Sprintf("user%d", i)}}
		switch i % 4 {
		case 0:
			r.Tags = []string{"payment"}
		case 1:
			r.When = `call.risk == "high"`
		case 2:
			r.Effect, r.Groups = "deny", []string{fmt.Sprintf("group%d", i)}
		case 3:
			r.Effect, r.Tools = "allow", []string{fmt.Sprintf("*_report_%d", i)}
		}
		all = append(all, r)
	}
	return rules(all...)
}

// call is a call at one of those servers.
func realCall(server int, tool, arguments string) *Question {
	raw := fmt.Sprintf(`{"name":%q,"description":"Writes text to a file.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}}`, tool)
	q := ask(&hub.Tool{Name: tool, Raw: []byte(raw)}, arguments)
	q.Server = &hub.Server{Key: fmt.Sprintf("server%d", server), Kind: hub.KindHTTP, URL: "https://example.com"}
	q.Name = q.Server.Key + "__" + tool
	return q
}

// TestFewReachCEL counts the expressions that are run where there are many rules.
func TestFewReachCEL(t *testing.T) {
	p := compiled(t, realistic())
	most := 0
	for s := range 100 {
		for _, tool := range []string{"write_file", "read_file", "pay", "run_tests", "drop_table", "search"} {
			for _, arguments := range []string{`{"path":"/tmp/a","content":"x","amount":7}`, `{"path":"/home/b","content":"y","amount":700}`, `{}`} {
				f := newFacts(realCall(s, tool, arguments), &hub.Assessment{Risk: hub.RiskHigh}, &profiles{})
				p.decide(f)
				most = max(most, f.evaluated)
				f.release()
			}
		}
	}
	t.Logf("%d expressions at most", most)
	if most > 5 || most == 0 {
		t.Errorf("%d expressions were run for one call", most)
	}
}

func BenchmarkJudge(b *testing.B) {
	small := rules(
		hub.Rule{Effect: "deny", Servers: []string{"server7"}, Tools: []string{"wipe"}},
		hub.Rule{Effect: "allow", Servers: []string{"server7"}, Roles: []hub.Role{hub.RoleOperator}},
		hub.Rule{Effect: "allow", Tools: []string{"server7__write_file"}},
	)
	one := rules(hub.Rule{Effect: "allow", Tools: []string{"write_file"}, When: `call.args.path.startsWith("/tmp/")`})
	for name, p := range map[string]hub.Policy{"none": {}, "without CEL": small, "one of CEL": one, "1000 rules": realistic()} {
		b.Run(name, func(b *testing.B) {
			made := compiled(b, p)
			q := realCall(7, "write_file", `{"path":"/tmp/notes.txt","content":"Buy milk, bread and eggs."}`)
			b.ReportAllocs()
			for b.Loop() {
				made.Judge(q)
			}
		})
	}
	b.Run("rules alone", func(b *testing.B) { // of 1,000, without what helps to assess
		made := compiled(b, realistic())
		q := realCall(7, "write_file", `{"path":"/tmp/notes.txt","content":"Buy milk, bread and eggs."}`)
		b.ReportAllocs()
		for b.Loop() {
			f := newFacts(q, &hub.Assessment{Risk: hub.RiskHigh}, &profiles{})
			made.decide(f)
			f.release()
		}
	})
}

// BenchmarkWorst is a call that is made to cost the most.
func BenchmarkWorst(b *testing.B) {
	var all []hub.Rule
	for range 50 {
		all = append(all, hub.Rule{Effect: "deny", When: "call.args.l.all(x, call.args.l.all(y, call.args.l.exists(z, z == 1)))"})
	}
	made := compiled(b, rules(all...))
	q := ask(reads, `{"l":[`+strings.Repeat("1,", 2000)+`1]}`)
	for b.Loop() {
		made.Judge(q)
	}
}

func BenchmarkCompile(b *testing.B) {
	p := realistic()
	for b.Loop() {
		Compile(p)
	}
}
