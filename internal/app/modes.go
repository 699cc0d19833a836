package app

import (
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
)

// Policy says in one sentence at which doors the rules are enforced, and at which
// calls are only observed.
func (a *App) Policy() message.Phrase {
	return modes(a.rules.Load().Mode, a.control.Source().Config.Policy.Given)
}

// openDoors are the doors that calls come in by: all but that of the agent, which is
// not built in.
func openDoors() []hub.Door {
	return slices.DeleteFunc(policy.Doors(), func(door hub.Door) bool { return door == hub.DoorAgent })
}

// modes is the sentence; given says whether the configuration has a policy.
func modes(mode func(hub.Door) hub.PolicyMode, given bool) message.Phrase {
	by := make(map[hub.PolicyMode][]string)
	for _, door := range openDoors() {
		by[mode(door)] = append(by[mode(door)], string(door))
	}
	enforced, observed := strings.Join(by[hub.PolicyEnforce], ", "), strings.Join(by[hub.PolicyObserve], ", ")
	switch {
	case observed == "":
		return message.Say("Policy: enforced at %s", enforced)
	case enforced == "":
		return message.Say("Policy: only observed at %s", observed)
	case !given:
		return message.Say("Policy: enforced at %s; only observed at %s, as the configuration has no policy", enforced, observed)
	}
	return message.Say("Policy: enforced at %s; only observed at %s", enforced, observed)
}
