package app

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
)

// openApprovals puts the rules in force and opens the desk at which people agree to
// calls. What an earlier life of this hub has claimed there and never sent is given
// back, by what the record of calls knows.
func (a *App) openApprovals(ctx context.Context) (err error) {
	a.setPolicy(a.source.Config)
	a.desk, err = approval.Open(ctx, approval.Options{
		DB: a.store, Node: a.keys.Node(), Seal: a.secrets, Bus: a.bus, Log: a.log, Settings: a.approvalSettings,
		Made: func(token string, by hub.Principal) bool { return a.gate.Book().Made(token, by) }, // which is opened later
	})
	if err != nil {
		return err
	}
	return a.desk.Recover(ctx, a.audit.Sent)
}

// setPolicy puts the rules of a configuration in force, and tells who looks at lists
// if there is another tool in them now: the one for what waits for a person.
func (a *App) setPolicy(c *config.Config) {
	rules, faults := policy.Compile(c.Policy)
	for _, f := range faults {
		a.log.Warn("a rule cannot be used as it is written; calls that it may be about ask", "rule", f.Rule, "fault", f.Detail.String())
	}
	before := a.rules.Swap(rules)
	if before == nil {
		return
	}
	for _, door := range [...]hub.Door{hub.DoorMCP, hub.DoorSSE, hub.DoorWebSocket, hub.DoorStdio} {
		if before.Mode(door) != rules.Mode(door) {
			a.bus.Publish(hub.ToolsChanged{Snapshot: a.catalog.Snapshot().ID()})
			return
		}
	}
}

// approvalSettings is how people are asked now.
func (a *App) approvalSettings() hub.Approval {
	if a.control == nil {
		return a.source.Config.Approval
	}
	return a.control.Source().Config.Approval
}

// tellPolicy logs what becomes of verdicts at each door.
func (a *App) tellPolicy() {
	rules := a.rules.Load()
	var modes []any
	for _, door := range openDoors() {
		modes = append(modes, string(door), string(rules.Mode(door)))
	}
	a.log.Info("calls are judged", append(modes, "policy", message.Quote(rules.Version()))...)
}
