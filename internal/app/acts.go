package app

import (
	"context"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// recordReload records that the configuration file was put in force, or could not
// be, by whoever can write it or send the hub a signal.
func (a *App) recordReload(err error) {
	a.record(&audit.Act{Operation: "reload", Door: audit.DoorFile, Subject: string(audit.DoorFile)}, hub.AsError(err))
}

// recordLogin records that somebody has signed in or out, or was not let in.
func (a *App) recordLogin(r *http.Request, operation string, who auth.Person, e *hub.Error) {
	a.record(&audit.Act{
		Operation: operation, Door: hub.DoorREST, Tenant: who.Tenant, Subject: who.Subject, Role: who.Role,
		Token: auth.From(r.Context()).Token, Request: hub.RequestOf(r.Context()),
	}, e)
}

// record records an act that has ended. That it cannot is told by the log.
func (a *App) record(act *audit.Act, e *hub.Error) {
	act.Outcome = hub.OutcomeOK
	if e != nil {
		act.Outcome, act.Code = hub.OutcomeFailed, string(e.Code)
	}
	_ = a.audit.Act(context.Background(), act)
}
