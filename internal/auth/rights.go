package auth

import (
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Admit reports why a principal may not come in by its door at the address of a
// group, "" being that of none: role_refused or scope_refused. Nil lets it in.
func Admit(p hub.Principal, group string) *hub.Error {
	scope := hub.Scope(p.Scope)
	switch {
	case !p.Role.May(hub.MayLook):
		return hub.E(message.RoleRefused, nil, "role", roleName(p.Role))
	case !scope.Door(p.Door):
		return hub.E(message.ScopeRefused, nil, "what", "door:"+string(p.Door))
	case !scope.Group(group):
		if group == "" {
			return hub.E(message.ScopeRefused, nil).With("what", message.Say("the address of no group"))
		}
		return hub.E(message.ScopeRefused, nil, "what", "group:"+message.Quote(group))
	}
	return nil
}

// roleName is a role as it stands in a text.
func roleName(r hub.Role) string {
	if r == "" {
		return "-"
	}
	return string(r)
}
