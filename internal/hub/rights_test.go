package hub_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestRights(t *testing.T) {
	t.Parallel()
	rights := [...]hub.Right{hub.MayLook, hub.MayCall, hub.MayDecide, hub.MayOperate, hub.MayManage}
	want := map[hub.Role][len(rights)]bool{
		"":               {},
		"superuser":      {},
		hub.RoleViewer:   {true, false, false, false, false},
		hub.RoleCaller:   {true, true, false, false, false},
		hub.RoleApprover: {true, false, true, false, false},
		hub.RoleOperator: {true, true, true, true, false},
		hub.RoleAdmin:    {true, true, true, true, true},
	}
	for role, may := range want {
		for i, right := range rights {
			if got := role.May(right); got != may[i] {
				t.Errorf("role %q, right %d: %t", role, right, got)
			}
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	for _, c := range [...]struct {
		words []string
		scope hub.Scope
		wrong string
	}{
		{nil, "", ""},
		{[]string{"server:git", "door:mcp", "server:git"}, "door:mcp server:git", ""},
		{[]string{"server:a", "tool:b"}, "", "tool:b"},
		{[]string{"server:"}, "", "server:"},
		{[]string{"server:a b"}, "", "server:a b"},
		{[]string{"*"}, "", "*"},
	} {
		if got, wrong := hub.NewScope(c.words); got != c.scope || wrong != c.wrong {
			t.Errorf("%q: %q, wrong %q", c.words, got, wrong)
		}
	}
	scope, _ := hub.NewScope([]string{"server:git", "server:mail", "group:office"})
	for name, c := range map[string]struct{ got, want bool }{
		"a server":       {scope.Server("mail"), true},
		"another server": {scope.Server("gi"), false},
		"the group":      {scope.Group("office"), true},
		"no group":       {scope.Group(""), false},
		"any door":       {scope.Door(hub.DoorREST), true},
		"anything":       {hub.Scope("").Server("x"), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %t", name, c.got)
		}
	}
}

func TestRisks(t *testing.T) {
	t.Parallel()
	for _, r := range hub.Risks {
		if got, ok := hub.ParseRisk(r.String()); got != r || !ok {
			t.Errorf("%s is read as %s, %t", r, got, ok)
		}
	}
	if _, ok := hub.ParseRisk("none"); ok {
		t.Error("there is a risk called none")
	}
}
