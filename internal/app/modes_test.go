package app

import (
	"maps"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
)

func TestModes(t *testing.T) {
	observed := map[hub.Door]hub.PolicyMode{hub.DoorMCP: "observe", hub.DoorSSE: "observe", hub.DoorWebSocket: "observe", hub.DoorStdio: "observe"}
	all := map[hub.Door]hub.PolicyMode{hub.DoorREST: "observe"}
	maps.Copy(all, observed)
	everywhere := maps.Clone(all)
	everywhere[hub.DoorXiaoZhi], everywhere[hub.DoorDevice] = "observe", "observe"
	for _, test := range []struct {
		policy hub.Policy
		en, zh string
	}{
		{
			hub.Policy{},
			"Policy: enforced at rest, xiaozhi, device; only observed at mcp, sse, ws, stdio, as the configuration has no policy",
			"规则：在 rest, xiaozhi, device 上强制执行；在 mcp, sse, ws, stdio 上仅观察，因为配置中没有 policy",
		},
		{hub.Policy{Given: true}, "Policy: enforced at mcp, sse, ws, stdio, rest, xiaozhi, device", "规则：在 mcp, sse, ws, stdio, rest, xiaozhi, device 上强制执行"},
		{
			hub.Policy{Given: true, Modes: observed},
			"Policy: enforced at rest, xiaozhi, device; only observed at mcp, sse, ws, stdio", "规则：在 rest, xiaozhi, device 上强制执行；在 mcp, sse, ws, stdio 上仅观察",
		},
		{hub.Policy{Given: true, Modes: all}, "Policy: enforced at xiaozhi, device; only observed at mcp, sse, ws, stdio, rest", "规则：在 xiaozhi, device 上强制执行；在 mcp, sse, ws, stdio, rest 上仅观察"},
		{
			hub.Policy{Given: true, Modes: everywhere},
			"Policy: only observed at mcp, sse, ws, stdio, rest, xiaozhi, device", "规则：在 mcp, sse, ws, stdio, rest, xiaozhi, device 上仅观察",
		},
	} {
		p, _ := policy.Compile(test.policy)
		said := modes(p.Mode, test.policy.Given)
		if said.String() != test.en || said.In(message.Chinese) != test.zh {
			t.Errorf("%s, %s", said, said.In(message.Chinese))
		}
	}
}
