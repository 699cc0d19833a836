package policy

import (
	"reflect"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestReplay(t *testing.T) {
	const whole, part, none = `{"path":"/tmp/x","token":"t","n":2}`, `{"path":"/tmp/x","token":"***","n":2}`, `{"omitted":"5000 bytes"}`
	when := func(effect, expression string) hub.Rule {
		return hub.Rule{ID: effect, Effect: effect, When: expression}
	}
	for _, test := range []struct {
		name  string
		rules []hub.Rule
		past  func(*Past)
		want  string // verdict now and rule, or the doubt
	}{
		{"an expression on what is whole", []hub.Rule{when("deny", "call.args.n > 1")}, nil, "deny deny"},
		{"an expression on what is not hidden", []hub.Rule{when("deny", "call.args.n > 1")}, args(part), "deny deny"},
		{"an expression on what is hidden", []hub.Rule{when("deny", `call.args.token == "t"`)}, args(part), "hidden"},
		{"by its name", []hub.Rule{when("deny", `call.args["token"] == "t"`)}, args(part), "hidden"},
		{"on all arguments", []hub.Rule{when("deny", `call.args.exists(k, k == "n")`)}, args(part), "hidden"},
		{"on arguments that are hidden by name", []hub.Rule{when("deny", `call.args.n > 1`)}, args(`{"***":1,"n":2}`), "hidden"},
		{"on arguments that were cut", []hub.Rule{when("deny", "call.args.n > 1")}, args(none), "absent"},
		{"on arguments that were not kept", []hub.Rule{when("deny", "call.args.n > 1")}, args(""), "absent"},
		{"a denial without an expression beside it", []hub.Rule{when("deny", ""), when("ask", "call.args.n > 1")}, args(none), "deny deny"},
		{"an expression that does not matter", []hub.Rule{when("ask", ""), when("allow", "call.args.n > 1")}, args(none), "ask ask"},
		{"an expression on the tool", []hub.Rule{when("deny", `call.tool == "list_files"`)}, args(none), "deny deny"},
		{"a role that is known", []hub.Rule{{ID: "r", Effect: "deny", Roles: []hub.Role{hub.RoleCaller}}}, nil, "deny r"},
		{"a role that is not", []hub.Rule{{ID: "r", Effect: "deny", Roles: []hub.Role{hub.RoleCaller}}}, func(p *Past) { p.Role = "" }, "role"},
		{"a role in an expression", []hub.Rule{when("deny", `call.role == "admin"`)}, func(p *Past) { p.Role = "" }, "role"},
		{"a tool that is gone, by its name", []hub.Rule{{ID: "r", Effect: "deny", Tools: []string{"list_files"}}}, gone, "deny r"},
		{"a server that is gone, by its key", []hub.Rule{{ID: "r", Effect: "deny", Servers: []string{"files"}}}, gone, "deny r"},
		{"the tags of a server that is gone", []hub.Rule{{ID: "r", Effect: "deny", Tags: []string{"disk"}}}, gone, "gone"},
		{"the risk of a tool that is gone, as recorded", nil, gone, "allow"},
		{"a risk that was not recorded", nil, func(p *Past) { gone(p); p.Call.Risk, p.Call.Verdict = "", "" }, "gone"},
		{"a risk that was not recorded, with a rule", []hub.Rule{when("deny", "")}, func(p *Past) { gone(p); p.Call.Risk = "" }, "deny deny"},
		{"a risk by itself", []hub.Rule{{ID: "r", Effect: "deny", Risks: []hub.Risk{hub.RiskLow}}}, args(none), "deny r"},
	} {
		p := compiled(t, rules(test.rules...))
		q := ask(reads, whole)
		j := compiled(t, hub.Policy{}).Judge(q)
		past := recorded(q, &j)
		if test.past != nil {
			test.past(past)
		}
		got := p.Replay(past)
		said := got.Now
		if got.Rule != "" {
			said += " " + got.Rule
		}
		if got.Now == "" {
			said = string(got.Doubt)
		}
		if said != test.want || got.Before != past.Call.Verdict || (got.Now == "") == got.Doubt.Phrase().Empty() {
			t.Errorf("%s: %q, want %q (%+v)", test.name, said, test.want, got)
		}
	}
}

// args has other arguments on record.
func args(text string) func(*Past) { return func(p *Past) { p.Call.Arguments = text } }

func gone(p *Past) { p.Server, p.Tool = nil, nil }

func TestTally(t *testing.T) {
	var tally Tally
	for _, r := range []Replayed{
		{Before: "allow", Now: "allow"},
		{Before: "allow", Now: "ask"},
		{Before: "ask", Now: "deny"},
		{Before: "deny", Now: "allow"},
		{Now: "ask"},
		{Before: "allow", Doubt: DoubtHidden},
		{Before: "allow", Doubt: DoubtHidden},
		{Before: "allow", Doubt: DoubtGone},
	} {
		tally.Add(r)
	}
	want := Tally{
		Calls: 8, Unjudged: 1, Same: 1, Stricter: 2, Laxer: 1,
		CannotTell: map[Doubt]int{DoubtHidden: 2, DoubtGone: 1}, Now: map[hub.Verdict]int{"allow": 2, "ask": 2, "deny": 1},
	}
	if !reflect.DeepEqual(tally, want) {
		t.Errorf("%+v", tally)
	}
}
