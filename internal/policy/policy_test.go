package policy

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func TestModes(t *testing.T) {
	for _, test := range []struct {
		given hub.Policy
		want  string
	}{
		{hub.Policy{}, "observe observe observe observe enforce enforce enforce enforce enforce"},
		{hub.Policy{Given: true}, "enforce enforce enforce enforce enforce enforce enforce enforce enforce"},
		{
			hub.Policy{Given: true, Modes: map[hub.Door]hub.PolicyMode{hub.DoorMCP: hub.PolicyObserve, hub.DoorREST: hub.PolicyObserve}},
			"observe enforce enforce enforce observe enforce enforce enforce enforce",
		},
		{hub.Policy{Modes: map[hub.Door]hub.PolicyMode{hub.DoorMCP: "?"}}, "enforce observe observe observe enforce enforce enforce enforce enforce"},
	} {
		p, faults := Compile(test.given)
		got := ""
		for _, d := range append(Doors(), "a door that is not known") {
			got += string(p.Mode(d)) + " "
		}
		if got != test.want+" " || len(faults) > 0 != (test.given.Modes[hub.DoorMCP] == "?") {
			t.Errorf("%+v: %s, %v", test.given, got, faults)
		}
	}
}

func TestUsual(t *testing.T) {
	strict := hub.Policy{}
	strict.Verdicts[hub.RiskMedium] = hub.VerdictAsk
	for _, test := range []struct {
		given hub.Policy
		door  hub.Door
		want  string
	}{
		{hub.Policy{}, hub.DoorREST, "[allow allow ask ask]"},
		{hub.Policy{}, hub.DoorMCP, "[allow allow ask ask]"},
		{hub.Policy{}, hub.DoorXiaoZhi, "[allow allow allow ask]"},
		{hub.Policy{}, hub.DoorDevice, "[allow allow allow ask]"},
		{strict, hub.DoorMCP, "[allow ask ask ask]"},
		{strict, hub.DoorDevice, "[allow ask allow ask]"},
	} {
		p := compiled(t, test.given)
		var got []string
		for _, r := range hub.Risks {
			got = append(got, p.Usual(test.door, r))
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%s: %v, want %s", test.door, got, test.want)
		}
	}
	if p := compiled(t, hub.Policy{}); p.Usual(hub.DoorREST, 9) != hub.VerdictAsk {
		t.Error("a risk that is not known is not asked")
	}
}

func TestVersion(t *testing.T) {
	version := func(p hub.Policy) string { return compiled(t, p).Version() }
	one := hub.Rule{Effect: "ask", Tools: []string{"a", "b"}, When: "true"}
	base := version(rules(one))
	if len(base) != 32 || base != version(rules(one)) {
		t.Error(base)
	}
	same := one
	same.ID, same.Tools = "rule 1", []string{"b", "a", "b"}
	if version(rules(same)) != base {
		t.Error("the order within a list, or the id that a rule has anyhow, makes another policy")
	}
	seen := []string{base}
	for i, change := range []func(*hub.Policy){
		func(p *hub.Policy) { p.Given = false },
		func(p *hub.Policy) { p.SecondPerson = true },
		func(p *hub.Policy) { p.Modes = map[hub.Door]hub.PolicyMode{hub.DoorREST: hub.PolicyObserve} },
		func(p *hub.Policy) { p.Verdicts[hub.RiskLow] = hub.VerdictAsk },
		func(p *hub.Policy) { p.Rules[0].ID = "x" },
		func(p *hub.Policy) { p.Rules[0].When = "false" },
		func(p *hub.Policy) { p.Rules[0].Because = "why" },
		func(p *hub.Policy) { p.Rules[0].Servers = []string{"a"} },
		func(p *hub.Policy) { p.Rules[0].Risks = []hub.Risk{hub.RiskLow} },
		func(p *hub.Policy) { p.Rules = append(p.Rules, one) },
	} {
		p := rules(one)
		change(&p)
		if v := version(p); slices.Contains(seen, v) {
			t.Errorf("change %d makes no other policy", i)
		} else {
			seen = append(seen, v)
		}
	}
}

func TestFaults(t *testing.T) {
	p := rules(
		hub.Rule{Effect: "allow"}, hub.Rule{Effect: "deny", When: "((", Servers: []string{"files"}}, hub.Rule{Effect: "forbid"}, hub.Rule{Effect: "ask", When: "1"},
	)
	p.Verdicts[0] = "never"
	made, faults := Compile(p)
	var at []int
	for _, f := range faults {
		at = append(at, f.Rule)
		if f.Detail.In(message.Chinese) == f.Detail.String() {
			t.Errorf("%s has no Chinese", f.Detail)
		}
	}
	if !slices.Equal(at, []int{-1, 1, 2, 3}) {
		t.Errorf("%v", faults)
	}
	if j := made.Judge(ask(reads, "{}")); j.Verdict != hub.VerdictAsk || j.Rule != "rule 2" || j.Persons != 1 {
		t.Errorf("%+v", j)
	}
}

func TestRoots(t *testing.T) {
	s := &hub.Server{
		Kind: hub.KindStdio, Dir: "/srv/here/",
		Args: []string{"-y", "server-filesystem", "/home/ana/docs", "/", "relative", "/home/ana/../ana/docs", "/${env:X}", "--root=/x"},
	}
	if got := roots(s); fmt.Sprint(got) != "[/srv/here /home/ana/docs]" {
		t.Error(got)
	}
	s.Kind = hub.KindHTTP
	if got := roots(s); got != nil {
		t.Error(got)
	}
}

// TestProfiles shows that a tool is described once, anew where that makes a
// difference, and that not more are kept than may be.
func TestProfiles(t *testing.T) {
	var p profiles
	q := ask(reads, "{}")
	first := p.of(q)
	if p.of(q) != first {
		t.Error("it is described again")
	}
	distrusted := *files
	distrusted.Trusted = false
	q.Server = &distrusted
	if p.of(q) == first {
		t.Error("a server that is not trusted any more is")
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range maxProfiles/4 + 10 {
				q := ask(&hub.Tool{Name: "x", Raw: []byte(`{"name":"x"}`)}, "{}")
				p.of(q)
			}
		})
	}
	wait.Wait()
	if len(p.kept) > maxProfiles {
		t.Errorf("%d are kept", len(p.kept))
	}
}

// TestPersons shows how many have to agree.
func TestPersons(t *testing.T) {
	for _, second := range []bool{false, true} {
		p := compiled(t, hub.Policy{SecondPerson: second, Rules: []hub.Rule{{Effect: "ask", Servers: []string{"files"}}}})
		for _, tool := range []*hub.Tool{reads, deletes} {
			j := p.Judge(ask(tool, "{}"))
			want := 1
			if j.Risk == hub.RiskCritical {
				want = 2
			}
			if j.Persons != want || j.Second != (second && want == 2) {
				t.Errorf("%s of risk %s: %d, second %v", tool.Name, j.Risk, j.Persons, j.Second)
			}
		}
	}
}
