package config

import (
	"strings"
	"testing"
)

// Names of which one goes on where the other ends cannot both be in use; while one of
// them is not, that is only told. A pool and its servers are one thing.
func TestNamesThatMeet(t *testing.T) {
	for name, test := range map[string]struct {
		servers         string
		problem, warned bool
	}{
		"both":                       {`"a":{"command":"x"},"a__b":{"command":"x"}`, true, false},
		"the end":                    {`"a":{"command":"x"},"a_":{"command":"x"}`, true, false},
		"apart":                      {`"a":{"command":"x"},"a_b":{"command":"x"}`, false, false},
		"the first is off":           {`"a":{"command":"x","disabled":true},"a__b":{"command":"x"}`, false, true},
		"the second is off":          {`"a":{"command":"x"},"a__b":{"command":"x","disabled":true}`, false, true},
		"a pool and its own":         {`"a__1":{"command":"x","pool":"a"},"a__2":{"command":"x","pool":"a"}`, false, false},
		"its own before it":          {`"a":{"command":"x","pool":"a__b"},"c":{"command":"x","pool":"a__b"}`, false, false},
		"a pool and others":          {`"a__1":{"command":"x","pool":"a"},"a__2":{"command":"x"}`, true, false},
		"a pool of which one is on":  {`"x":{"command":"x","pool":"a","disabled":true},"y":{"command":"x","pool":"a"},"a__2":{"command":"x"}`, true, false},
		"a pool of which none is on": {`"x":{"command":"x","pool":"a","disabled":true},"a__2":{"command":"x"}`, false, true},
		"a built-in":                 {`"own__b":{"command":"x"}`, true, false},
		"a built-in that is off":     {`"own":{"disabled":true},"own__b":{"command":"x"}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := Parse("f.json", []byte(`{"mcpServers":{`+test.servers+`}}`), []string{"own"})
			const said = "cannot both be names"
			if got := err != nil && strings.Contains(err.Error(), said); got != test.problem || (err != nil) != got {
				t.Errorf("%v", err)
			}
			warned := false
			for _, w := range warnings {
				warned = warned || strings.Contains(w.Detail.String(), said)
			}
			if err == nil && warned != test.warned {
				t.Errorf("warnings: %v", warnings)
			}
		})
	}
}
