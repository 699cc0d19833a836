package oauth

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// State says how somebody is let in to a server.
type State string

// The states.
const (
	StateNone    State = "none"    // the server has not asked for a login
	StateNeeded  State = "needed"  // nobody gets in before somebody has logged in
	StatePending State = "pending" // somebody is about to
	StateGranted State = "granted" // it is
	StateLimited State = "limited" // it is, and has asked for further rights
)

// Status is what there is to tell about an owner's credentials at a server.
type Status struct {
	State   State
	Grant   hub.Grant
	Shared  bool // they are everybody's
	Issuer  string
	Scopes  []string
	Expires time.Time  // when the token does; zero if that is not known
	Renews  bool       // then it is had anew without a person
	Pending time.Time  // until when the login that was begun can be completed; zero for none
	Fault   *hub.Error // why the last login did not come about
}

// Status tells about an owner's credentials at a server. It reports false for a
// server that takes none.
func (k *Keeper) Status(server hub.Server, owner string) (Status, bool) {
	if !unused(&server).Empty() {
		return Status{}, false
	}
	st := Status{State: StateNone, Grant: hub.GrantCode}
	if server.OAuth != nil {
		st.Shared = server.OAuth.Shared
		if server.OAuth.Grant != "" {
			st.Grant = server.OAuth.Grant
		}
	}
	k.mu.Lock()
	a := k.accounts[account{server.Key, owner}]
	k.mu.Unlock()
	if a == nil {
		return st, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, b := a.record, a.bearer.Load(); r != nil && b != nil {
		st.State, st.Issuer, st.Scopes, st.Expires, st.Renews = StateGranted, r.Issuer, r.Tokens.Scopes, b.expires, b.renews
		if a.need != nil && a.need.step {
			st.State = StateLimited
		}
	} else if a.need != nil {
		st.State, st.Issuer = StateNeeded, a.need.issuer
	}
	if p := a.pending; p != nil && time.Now().Before(p.expires) {
		st.State, st.Pending, st.Issuer = StatePending, p.expires, p.place.server.Issuer
	}
	st.Fault = a.fault
	return st, true
}
