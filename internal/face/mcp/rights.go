package mcp

import (
	"cmp"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// viewer is through which view a principal looks at the address of a group.
func viewer(p hub.Principal, group string) hub.Viewer {
	return hub.Viewer{Group: group, Tenant: p.Tenant, Scope: p.Scope}
}

// isSame reports whether two principals are the same but for what they may do: a
// client with an access token goes on in its session after it has got a token for
// more.
func isSame(a, b hub.Principal) bool {
	a.Role = b.Role
	return a == b
}

// inside is who makes a request in a session, with the rights of what the request
// itself shows.
func inside(r *http.Request, s *gateway.Session) *gateway.Caller {
	caller := s.Caller()
	caller.Principal.Role = auth.From(r.Context()).Role
	caller.Accept = cmp.Or(language(r), caller.Accept)
	return caller
}

// refuseCaller refuses who may not come in by the door, at the address of the
// group. It reports whether it did.
func (d *Door) refuseCaller(w http.ResponseWriter, r *http.Request, door hub.Door, group string) bool {
	e := auth.Admit(principal(r, door), group)
	if e == nil {
		return false
	}
	d.refuse(w, r, http.StatusForbidden, e)
	return true
}

// refuseScope tells a client whose access token has not the scope for a call which
// one it needs, so that it can ask for it (2025-11-25, "Authorization", Scope
// Challenge Handling). What other tokens allow is for the pipeline to say. It
// reports whether it did.
func (d *Door) refuseScope(w http.ResponseWriter, r *http.Request, m *wire.Message, conv conversation) bool {
	method, _ := protocol.LookupMethod(m.MethodName(), conv.era)
	if method.Stage != protocol.StageCall {
		return false
	}
	challenge := auth.StepUp(r.Context(), hub.MayCall)
	if challenge == "" {
		return false
	}
	w.Header().Set("WWW-Authenticate", challenge)
	e := hub.E(message.RoleRefused, nil, "role", string(auth.From(r.Context()).Role))
	as := gateway.Voice{Lang: d.gateway.Language(conv.viewer(), language(r)), Method: m.MethodName()}
	refuseID(w, http.StatusForbidden, conv.era, requestID(m), e, as)
	return true
}
