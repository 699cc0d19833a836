package auth

import (
	"strconv"
	"time"
)

// TenantID is the id of the tenant that has a name now, which none that had it
// before or will have it has; "" if there is none.
func (b *Book) TenantID(name string) string {
	founded, ok := b.now.Load().founded[name]
	if !ok {
		return ""
	}
	return strconv.FormatInt(founded, 10)
}

// Lets reports whether the API token of an id lets somebody in.
func (b *Book) Lets(id string) bool {
	p := b.now.Load()
	t, ok := p.byID[id]
	return ok && t.Good(time.Now()) && (t.Tenant == "" || p.tenants[t.Tenant])
}
