package policy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// choose makes policies and calls out of bytes, which a fuzzer can change one by
// one; after their end it goes on with zeros.
type choose struct{ bytes []byte }

func (c *choose) number(below int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	n := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	return n % below
}

// some are a few of the words, mostly none.
func some[T any](c *choose, words ...T) []T {
	var list []T
	for range max(0, c.number(6)-3) {
		list = append(list, words[c.number(len(words))])
	}
	return list
}

func (c *choose) policy(text string) hub.Policy {
	effects := []hub.Verdict{"allow", "ask", "deny", "allow", "ask", "deny", "x", ""}
	whens := []string{
		"", "", "", "call.args.n > 1", `call.args.s == "a"`, "has(call.args.n)", `call.tool == "delete_file"`, `call.risk != "low"`,
		`"disk" in call.tags`, `call.role == "caller"`, "call.args.b", "call.args.all(k, k != 's')", "((", text,
	}
	p := hub.Policy{Given: c.number(2) == 1, SecondPerson: c.number(2) == 1, Modes: map[hub.Door]hub.PolicyMode{}}
	for i := range p.Verdicts {
		p.Verdicts[i] = []hub.Verdict{"", "", "allow", "ask", "deny", "y"}[c.number(6)]
	}
	for range c.number(12) {
		p.Rules = append(p.Rules, hub.Rule{
			Effect: effects[c.number(len(effects))], When: whens[c.number(len(whens))],
			Tenants: some(c, "", "acme", "*", text), Callers: some(c, "ana", "a*", "bob"),
			Roles: some(c, hub.RoleCaller, hub.RoleAdmin), Doors: some(c, hub.DoorREST, hub.DoorMCP),
			Groups: some(c, "office", "*f*e", text), Clients: some(c, "claude*", "x"), Methods: some(c, "*", methodCall, "resources/read"),
			Servers: some(c, "files", "f*", "*s", "other", text), Tools: some(c, "delete_file", "files__*", "*_files", text, "files__list_files", ""),
			Tags: some(c, "disk", "d*", "shell"), Risks: some(c, hub.RiskLow, hub.RiskMedium, hub.RiskHigh, hub.RiskCritical, 9),
		})
	}
	return p
}

func (c *choose) question(arguments string) *Question {
	q := ask([]*hub.Tool{reads, deletes}[c.number(2)], arguments)
	q.Principal.Door = []hub.Door{hub.DoorREST, hub.DoorMCP, hub.DoorXiaoZhi, "?"}[c.number(4)]
	q.Principal.Tenant = []string{"acme", ""}[c.number(2)]
	if c.number(6) == 5 {
		q.Tool, q.Name, q.Method = nil, "file:///a", "resources/read"
	}
	if c.number(8) == 7 {
		q.Server = nil
	}
	return q
}

// plainly is what a policy says to a call, found out in the slowest way: each rule
// is held against it.
func plainly(p *Policy, given hub.Policy, q *Question) hub.Verdict {
	a := p.profiles.assess(q)
	f := newFacts(q, &a, &p.profiles)
	defer f.release()
	has := map[hub.Verdict]map[outcome]bool{"deny": {}, "ask": {}, "allow": {}}
	named := false
	for i := range p.rules {
		r := &p.rules[i]
		effect := given.Rules[i].Effect
		if has[effect] == nil {
			effect = hub.VerdictAsk
		}
		if !r.fits(f) {
			continue
		}
		said := met
		if r.conditional {
			said = r.says(f)
		}
		has[effect][said] = true
		named = named || effect == hub.VerdictAllow && said == met && r.named
	}
	usual := p.Usual(q.Principal.Door, a.Risk)
	doubt := hub.VerdictAsk
	if usual == hub.VerdictDeny {
		doubt = usual
	}
	switch {
	case has["deny"][met]:
		return hub.VerdictDeny
	case has["deny"][failed]:
		return doubt
	case has["ask"][met]:
		return hub.VerdictAsk
	case has["ask"][failed], !f.readable:
		return doubt
	case a.Unclear && !named:
		return doubt
	case has["allow"][met]:
		return hub.VerdictAllow
	case has["allow"][failed]:
		return doubt
	}
	return usual
}

// checkJudge holds one judgement against what has to be so.
func checkJudge(t *testing.T, given hub.Policy, q *Question) {
	t.Helper()
	p, _ := Compile(given)
	j := p.Judge(q)
	if want := plainly(p, given, q); j.Verdict != want {
		t.Errorf("%+v\n%s %s: %s by %q, want %s", given, q.Name, q.Arguments, j.Verdict, j.Rule, want)
	}
	if !readable(q.Arguments) && j.Verdict == hub.VerdictAllow {
		t.Errorf("%s is allowed", q.Arguments)
	}
	f := newFacts(q, &j.Assessment, &p.profiles)
	denied := slices.ContainsFunc(given.Rules, func(r hub.Rule) bool {
		made := newRule(&r)
		return r.Effect == hub.VerdictDeny && r.When == "" && made.fits(f)
	})
	f.release()
	if denied && j.Verdict != hub.VerdictDeny {
		t.Errorf("%+v\n%s: %s although it is denied", given, q.Name, j.Verdict)
	}
	if asks := j.Verdict == hub.VerdictAsk; asks != (j.Persons > 0) || j.Second && (j.Persons != 2 || !given.SecondPerson) {
		t.Errorf("%s by %d, second %v", j.Verdict, j.Persons, j.Second)
	}
	if again := p.Judge(q); again.Verdict != j.Verdict || again.Rule != j.Rule {
		t.Errorf("at first %s by %q, then %s by %q", j.Verdict, j.Rule, again.Verdict, again.Rule)
	}
	checkReplay(t, p, q, &j)
}

// checkReplay shows that the record of a call which is whole leads to the same.
func checkReplay(t *testing.T, p *Policy, q *Question, j *hub.Judgement) {
	t.Helper()
	if q.Server == nil || !readable(q.Arguments) || slices.Contains([]string{"null", ""}, string(q.Arguments)) {
		return
	}
	past := recorded(q, j)
	if got := p.Replay(past); got.Now != j.Verdict || got.Rule != j.Rule || got.Doubt != DoubtNone {
		t.Errorf("%s: replayed as %+v, judged as %s by %q", q.Arguments, got, j.Verdict, j.Rule)
	}
	r := p.recall(past)
	defer r.release()
	if said := r.verdicts(); len(said) != 1 || said[0] != j.Verdict {
		t.Errorf("%s: could be %v, is %s", q.Arguments, said, j.Verdict)
	}
	// Whatever is hidden, the truth is among what could be.
	for _, hidden := range []string{`{"n":"***","s":"a"}`, `{"omitted":"5000 bytes"}`, `{"n":2,"s":"***","b":true}`} {
		for _, change := range []func(*Past){func(*Past) {}, func(p *Past) { p.Role = "" }, func(p *Past) { p.Tool, p.Server = nil, nil }} {
			past := recorded(q, j)
			past.Call.Arguments = hidden
			change(past)
			r := p.recall(past)
			if said := r.verdicts(); len(said) == 0 || len(said) == 1 && p.Replay(past).Now != said[0] {
				t.Errorf("%s: could be %v, replayed as %+v", hidden, said, p.Replay(past))
			}
			r.release()
		}
	}
}

// recorded is a call as the record has it, with all of its arguments.
func recorded(q *Question, j *hub.Judgement) *Past {
	c := &hub.CallRecord{
		Method: q.Method, Subject: q.Principal.Subject, Door: q.Principal.Door, Tenant: q.Principal.Tenant, Client: q.Client, Group: q.Group,
		Name: q.Name, Arguments: string(q.Arguments), Digest: "d", Verdict: j.Verdict, Risk: j.Risk.String(), Rule: j.Rule,
	}
	if q.Server != nil {
		c.Server = q.Server.Key
	}
	if q.Tool != nil {
		c.Tool = q.Tool.Name
	}
	return &Past{Call: c, Server: q.Server, Tool: q.Tool, Role: q.Principal.Role}
}

func argumentsOf(n int) string {
	all := []string{
		`{}`, `{"n":1,"s":"a","b":true}`, `{"n":2,"s":"b","b":false}`, `{"n":"2","b":1}`, "", `{"n":1,"n":2}`, `{"n":1e999}`, `[1]`, `{"s":{"n":[1,2]}}`, `nul`,
	}
	return all[n%len(all)]
}

// TestAnyPolicy tries many policies on many calls.
func TestAnyPolicy(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // the same each time
	for range 300 {
		seed := make([]byte, 200)
		for i := range seed {
			seed[i] = byte(rnd.UintN(256)) //nolint:gosec // below 256
		}
		c := &choose{seed}
		checkJudge(t, c.policy("files"), c.question(argumentsOf(c.number(256))))
		if t.Failed() {
			return
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte{1, 1, 0, 0, 0, 0, 3, 2, 0}, "call.args.n == 1", `{"n":1}`)
	f.Add([]byte{0, 0, 4, 4, 4, 4, 9, 0, 13, 5, 5, 5}, "call.args.s.matches('a+')", `{"s":"aaa"}`)
	f.Add([]byte{0, 0, 2, 2, 2, 2, 9, 2, 13, 5, 5, 5}, "files__*", `{"s":"\ud800"}`)
	f.Fuzz(func(t *testing.T, seed []byte, text, arguments string) {
		c := &choose{seed}
		checkJudge(t, c.policy(text), c.question(arguments))
	})
}

// FuzzArguments shows that whatever can be read can be decoded, or has a number
// that is too large.
func FuzzArguments(f *testing.F) {
	for i := range 10 {
		f.Add([]byte(argumentsOf(i)))
	}
	f.Add([]byte(`{"\ud83d\ude00":"\\ud800","a":[{},[],-0,1e5,""]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if readable(raw) {
			decode(raw)
		}
	})
}
