package oauth

import (
	"context"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Owner is who has a login of his own at a server. It is a value.
type Owner struct {
	Tenant  string // as it is called; "" for none
	Subject string // as an issuer or an API token names him
	ID      string // of the API token, else of the tenant: names are given again, ids are not
}

// ownerParts divides the parts of an owner as a text.
const ownerParts = "\x00"

func (o Owner) text() string { return o.Tenant + ownerParts + o.Subject + ownerParts + o.ID }

// ownerFrom reads an owner's text; false for one that is none.
func ownerFrom(text string) (Owner, bool) {
	parts := strings.Split(text, ownerParts)
	if len(parts) != 3 {
		return Owner{}, false
	}
	return Owner{parts[0], parts[1], parts[2]}, true
}

// Issued reports whether an issuer has named the owner, and not an API token: no
// token's name has an @.
func (o Owner) Issued() bool { return strings.Contains(o.Subject, "@") }

// String is the owner for people.
func (o Owner) String() string {
	if o.Tenant == "" {
		return o.Subject
	}
	return o.Subject + " (" + o.Tenant + ")"
}

// OwnerOf names whose credentials a principal uses at servers: "" are the hub's
// own, which all those use who have no name but that they are on this machine, or
// have shown one of the tokens in its files. Everybody else has credentials of his
// own, which nobody inherits by having the same name: those of an API token are
// that token's, and those of a tenant's people end with the tenant.
func (k *Keeper) OwnerOf(p hub.Principal) string {
	if p.Tenant == "" && p.Token == "" && (p.Subject == "local" || p.Subject == "admin" || p.Subject == "caller" || p.Subject == "") {
		return ""
	}
	o := Owner{Tenant: p.Tenant, Subject: p.Subject, ID: p.Token}
	if o.Issued() {
		o.ID = "" // that of a session, which is another one tomorrow
		if o.Tenant != "" && k.opt.Tenant != nil {
			o.ID = k.opt.Tenant(o.Tenant)
		}
	}
	return o.text()
}

// Owner names whose credentials a principal uses at a server: those of [Keeper.OwnerOf]
// where people log in and nobody has said that the hub's login is for all; else ""
// for the hub's own. Before the server was connected to, what is sealed says whether
// people log in there; that may turn out otherwise then.
func (k *Keeper) Owner(server string, p hub.Principal) string {
	owner := k.OwnerOf(p)
	if owner == "" {
		return "" // as almost always, without a lock
	}
	k.mu.Lock()
	ours, own := k.accounts[account{server: server}], k.accounts[account{server, owner}]
	k.mu.Unlock()
	logged, all := ours.people()
	if all || !logged && (own == nil || own.bearer.Load() == nil) {
		return ""
	}
	return owner
}

// people reports, of the hub's own account, whether the server lets people in by
// logins, and whether the hub's is everybody's. The account may be nil.
func (a *Account) people() (logged, all bool) {
	if a == nil {
		return false, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	grant := a.conf.Grant
	if a.url == nil && a.record != nil {
		grant = a.record.Grant // what is configured is not known yet
	}
	return a.record != nil || a.need != nil, a.conf.Shared || grant == hub.GrantClient
}

// sweep logs those out who come no more.
func (k *Keeper) sweep(ctx context.Context) {
	if k.opt.Known == nil {
		return
	}
	k.mu.Lock()
	var gone []account
	for name := range k.accounts {
		if o, ok := ownerFrom(name.owner); ok && !k.opt.Known(o) {
			gone = append(gone, name)
		}
	}
	k.mu.Unlock()
	for _, name := range gone {
		k.Logout(ctx, name.server, name.owner)
		k.mu.Lock()
		delete(k.accounts, name)
		k.mu.Unlock()
	}
}
