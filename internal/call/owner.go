package call

import "github.com/toolcrib/toolcrib/internal/hub"

// as is for whom a connection is: in whose conversation the call is made, or for
// whom, if it is made in none.
func (r *run) as() *hub.Caller {
	if r.Caller != nil {
		return r.Caller
	}
	return &hub.Caller{Principal: r.Principal}
}
