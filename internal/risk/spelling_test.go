package risk_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/risk"
)

// A member is what it is in whatever case its name is written.
func TestSpellings(t *testing.T) {
	describe := func(schema string) *risk.Profile {
		return risk.Describe(risk.Description{Name: "update_thing", Raw: []byte(
			`{"name":"update_thing","description":"Updates a thing.","inputSchema":{"type":"object","properties":` + schema + `}}`,
		)})
	}
	for _, test := range []struct{ schema, usual, other string }{
		{`{"force":{"type":"boolean"}}`, `{"force":true}`, `{"fORCE":true}`},
		{`{}`, `{"force":true}`, `{"foRce":true}`},
		{`{"command":{"type":"string"}}`, `{"command":"rm -rf /"}`, `{"cOmmanD":"rm -rf /"}`},
		{`{"query":{"type":"string","description":"SQL to run"}}`, `{"query":"DROP TABLE x"}`, `{"qUery":"DROP TABLE x"}`},
	} {
		p := describe(test.schema)
		usual, other := p.Assess([]byte(test.usual)), p.Assess([]byte(test.other))
		if usual.Risk != hub.RiskCritical || other.Risk != usual.Risk || len(other.Reasons) != len(usual.Reasons) {
			t.Errorf("%s is %s %v, and %s is %s %v", test.usual, usual.Risk, usual.Reasons, test.other, other.Risk, other.Reasons)
		}
	}
}
