package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// TestPolicySchema shows that the schema and the reader know the same members of
// rules, and of what is around them.
func TestPolicySchema(t *testing.T) {
	root := parsedSchema(t)
	policy := root.Properties["policy"]
	count := 0
	for text, object := range map[string]*jsonschema.Schema{
		`{"policy":{%q:null}}`:                            policy,
		`{"policy":{"modes":{%q:null}}}`:                  policy.Properties["modes"],
		`{"policy":{"defaults":{%q:null}}}`:               policy.Properties["defaults"],
		`{"policy":{"rules":[{"effect":"ask",%q:null}]}}`: policy.Properties["rules"].Items,
		`{"approval":{%q:null}}`:                          root.Properties["approval"],
	} {
		unknown := func(name string) bool {
			_, warnings, err := Parse("f", fmt.Appendf(nil, text, name), nil)
			said := fmt.Sprint(warnings, err)
			return strings.Contains(said, "is not known") || strings.Contains(said, "is no ")
		}
		for name := range object.Properties {
			count++
			if unknown(name) {
				t.Errorf(text+": the reader does not know it", name)
			}
		}
		if !unknown("no such member") {
			t.Errorf(text+": the reader knows it", "no such member")
		}
	}
	if count != 4+8+4+15+4 {
		t.Errorf("%d members", count)
	}
}

func TestPolicyIsDifferent(t *testing.T) {
	const base = `{"mcpServers":{"a":{"command":"x","tags":"one"}},"policy":{"rules":[{"effect":"ask","tool":"t"}]},"approval":{"hold":"30s"}}`
	parse := func(text string) *Config {
		c, _, err := Parse("f", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, change := range []struct {
		old, new          string
		settings, changed bool
	}{
		{`"t"`, `["t"]`, false, false},
		{`"t"`, `"u"`, true, false},
		{`"ask"`, `"deny"`, true, false},
		{`"tool":"t"`, `"tool":"t","when":"true"`, true, false},
		{`"rules"`, `"secondPerson":true,"rules"`, true, false},
		{`"rules"`, `"modes":{"mcp":"observe"},"rules"`, true, false},
		{`"rules"`, `"defaults":{"low":"ask"},"rules"`, true, false},
		{`"30s"`, `"31s"`, true, false},
		{`"policy"`, `"policies"`, true, false},
		{`"one"`, `"two"`, false, true},
		{`"one"`, `"one","trusted":true`, false, true},
		{`"one"`, `"one","tenants":"*"`, false, true},
	} {
		d := Diff(parse(base), parse(strings.Replace(base, change.old, change.new, 1)))
		if d.Settings != change.settings || (len(d.Changed) == 1) != change.changed || d.Restarted != nil || d.NextStart != nil {
			t.Errorf("%s: %+v", change.new, d)
		}
	}
}

// TestPolicyIsKept shows that a change of a server leaves the rules as they are.
func TestPolicyIsKept(t *testing.T) {
	const policy = `"policy": { /* ours */ "rules": [ {"effect":"ask", "tool":"t" /* why */}, ] }`
	const text = `{ "mcpServers": {"a": {"command": "x", "tags": ["b"], "trusted": true}}, ` + policy + ` }`
	after, err := SetMember([]byte(text), "a", "enabled", []byte("false"))
	if err != nil || !strings.Contains(string(after), policy) {
		t.Fatalf("%v: %s", err, after)
	}
	c, _, err := Parse("f", after, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := usualServer()
	s.Key, s.Kind, s.Command, s.Priority, s.Enabled, s.Trusted, s.Tags = "a", hub.KindStdio, "x", hub.PriorityLocal, false, true, []string{"b"}
	if diff := cmp.Diff(s, c.Servers[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c.Policy.Rules[0].ID != "rule 1" || !c.Policy.Given {
		t.Errorf("%+v", c.Policy)
	}
}

// TestForeignPolicy keeps members of other programs' files, which have the names
// of ours by chance, from becoming rules.
func TestForeignPolicy(t *testing.T) {
	for _, text := range []string{`{"mcp":{"servers":{}},"policy":"strict","approval":7}`, `{"mcpServers":{},"projects":{},"policy":{"rulez":1}}`, `{"policy":null,"approval":null}`} {
		c, _, err := Parse("f", []byte(text), nil)
		if err != nil || c.Policy.Given || c.Approval != usualApproval() {
			t.Errorf("%s: %v, %+v", text, err, c)
		}
	}
}

// FuzzPolicy shows that whatever is read as a policy can be judged by.
func FuzzPolicy(f *testing.F) {
	f.Add(`{"rules":[{"effect":"deny","when":"call.args.n > 1"}]}`)
	f.Add(`{"modes":{"mcp":"observe"},"defaults":{"low":"ask"},"secondPerson":true,"rules":[{"effect":"allow","tool":["a*","b"]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := Parse("f", []byte(`{"policy":`+text+`}`), nil)
		if err != nil || !c.Policy.Given {
			return
		}
		ids := make(map[string]bool)
		for _, r := range c.Policy.Rules {
			if r.Effect == "" || ids[r.ID] {
				t.Errorf("%s: %+v", text, r)
			}
			ids[r.ID] = true
		}
	})
}
