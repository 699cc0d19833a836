package rest

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// The rights that operations need, as the description of the API names them.
const (
	rightLook    = "look"
	rightCall    = "call"
	rightDecide  = "decide"
	rightOperate = "operate"
	rightManage  = "manage"
)

// The extensions of an operation in the description.
const (
	extRight   = "x-toolcrib-right"
	extHubwide = "x-toolcrib-hubwide"
)

// metaOperation is where an operation has what is said of it.
const metaOperation = "operation"

func rightName(r hub.Right) string {
	switch r {
	case hub.MayCall:
		return rightCall
	case hub.MayDecide:
		return rightDecide
	case hub.MayOperate:
		return rightOperate
	case hub.MayManage:
		return rightManage
	}
	return rightLook
}

// schemes are the security schemes: one for each right.
func schemes() map[string]*huma.SecurityScheme {
	all := make(map[string]*huma.SecurityScheme)
	for name, text := range map[string]string{
		rightLook:    "A token of any role.",
		rightCall:    "A token of a caller, an operator or an administrator.",
		rightDecide:  "A token of an approver, an operator or an administrator.",
		rightOperate: "A token of an operator or an administrator.",
		rightManage:  "A token of an administrator. The first one is made at the first start.",
	} {
		all[name] = &huma.SecurityScheme{Type: "http", Scheme: "bearer", Description: text}
	}
	return all
}

// protect says of an operation what it needs, and returns the statuses that come
// with that. What the caller on this machine may do needs no token there.
func protect(op *huma.Operation, o *operation) []int {
	right := rightName(o.needs)
	op.Metadata = map[string]any{metaOperation: o}
	op.Extensions = map[string]any{extRight: right}
	if o.hubwide {
		op.Extensions[extHubwide] = true
	}
	if hub.RoleCaller.May(o.needs) {
		op.Security = []map[string][]string{{}, {right: {}}}
	} else {
		op.Security = []map[string][]string{{right: {}}}
	}
	return []int{http.StatusUnauthorized, http.StatusForbidden}
}

// authorise lets only those use an operation who have the right that it needs.
// Whoever shows no token is asked for it; to whom the token says what he may,
// asking again would be of no use (RFC 6750, section 3.1).
func (d *Door) authorise(ctx huma.Context, next func(huma.Context)) {
	o := operationOf(ctx)
	p := principal(ctx.Context())
	status, e := refusal(ctx, o, p)
	if e == nil {
		d.act(ctx, o, p, next)
		return
	}
	challenge := `Bearer realm="toolcrib"`
	if status == http.StatusForbidden {
		challenge += `, error="insufficient_scope"`
		if more := auth.StepUp(ctx.Context(), o.needs); more != "" {
			challenge = more
		}
	}
	ctx.SetHeader("WWW-Authenticate", challenge)
	if status == http.StatusForbidden {
		d.actRefused(ctx, o, p, status, e)
	}
	refuse(ctx, status, e)
}

// operationOf is what is said of the operation of a request.
func operationOf(ctx huma.Context) *operation {
	o, _ := ctx.Operation().Metadata[metaOperation].(*operation)
	return o
}

// refusal is why a principal may not use an operation; nil if it may.
func refusal(ctx huma.Context, o *operation, p hub.Principal) (int, *hub.Error) {
	if !p.Role.May(o.needs) {
		if auth.Of(ctx.Context()).How == auth.HowLocal {
			if o.needs == hub.MayManage {
				return http.StatusUnauthorized, hub.E(message.AdminRequired, nil)
			}
			return http.StatusUnauthorized, hub.E(message.TokenRequired, nil)
		}
		if o.needs == hub.MayManage {
			return http.StatusForbidden, hub.E(message.AdminRequired, nil)
		}
		return http.StatusForbidden, hub.E(message.RoleRefused, nil, "role", string(p.Role))
	}
	if o.hubwide && !p.Hubwide() {
		return http.StatusForbidden, hub.E(message.HubwideRequired, nil)
	}
	if o.hubwide && !hub.Scope(p.Scope).Server("") { // it is for some servers only
		return http.StatusForbidden, hub.E(message.ScopeRefused, nil).With("what", message.Say("servers as a whole"))
	}
	if e := auth.Admit(p, ctx.Query("group")); e != nil {
		return http.StatusForbidden, e
	}
	return 0, nil
}
