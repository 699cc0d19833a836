package call

import "github.com/toolcrib/toolcrib/internal/hub"

// whose names a principal where things are kept for it: two tenants may have the
// same subject. No name of a tenant has the character between.
func whose(p *hub.Principal) string {
	if p.Tenant == "" {
		return p.Subject
	}
	return p.Tenant + "\x00" + p.Subject
}
