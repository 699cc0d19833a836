package hub

import (
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Auth is what the configuration says about who may come in, besides the tokens
// of this hub. It is a value, as [Group] is.
type Auth struct {
	Login     *Login     // people sign in through a provider; nil for none
	Protected *Protected // tokens of others are good for /mcp; nil for none
}

// Login says through which OpenID provider people sign in, and what they may then
// do.
type Login struct {
	Issuer       string // as the provider calls itself, to the letter
	ClientID     string
	ClientSecret string // it may have placeholders; "" for a public client
	RedirectURL  string // of /auth/callback, as the provider knows it; "" for the address that was asked for
	Scopes       []string

	RoleClaim   string          // "" for "roles" and "groups"
	Roles       map[string]Role // by value of that claim
	DefaultRole Role            // of who has none of them; "" for nobody
	TenantClaim string          // "" if all belong to the hub itself
}

// LogValue implements [slog.LogValuer]: the secret is not shown.
func (l Login) LogValue() slog.Value { return slog.StringValue(l.Issuer) }

// String is the issuer, so that no verb of package fmt shows the secret.
func (l Login) String() string { return l.Issuer }

// GoString is String.
func (l Login) GoString() string { return l.String() }

// Protected says that /mcp is a protected resource of OAuth, and whose tokens are
// good for it.
type Protected struct {
	URL     string // of /mcp, as clients know it; "" for that of the listener, if that is of the loopback
	Issuers []Issuer
}

// Issuer is an authorization server.
type Issuer struct {
	Issuer       string // as it calls itself, to the letter
	Audience     string // "" for the resource's URL
	JWKS         string // where its keys are; "" for where its metadata says
	Scopes       map[string]Role
	SubjectClaim string // "" for "sub"
	TenantClaim  string // "" if all belong to the hub itself
}

// The scopes that are asked for where the configuration names none. Nobody is an
// administrator by a scope unless it says so.
const (
	ScopeView    = "toolcrib:view"
	ScopeCall    = "toolcrib:call"
	ScopeApprove = "toolcrib:approve"
	ScopeOperate = "toolcrib:operate"
	ScopeAdmin   = "toolcrib:admin"
)

// DefaultScopes are the roles of scopes where the configuration names none.
func DefaultScopes() map[string]Role {
	return map[string]Role{ScopeView: RoleViewer, ScopeCall: RoleCaller, ScopeApprove: RoleApprover, ScopeOperate: RoleOperator}
}

// RoleOf is the role of who has several: the one that stands last among viewer,
// approver, caller, operator and administrator; "" for none.
func RoleOf(several ...Role) Role {
	order := [...]Role{RoleAdmin, RoleOperator, RoleCaller, RoleApprover, RoleViewer}
	for _, role := range order {
		if slices.Contains(several, role) {
			return role
		}
	}
	return ""
}

// Within reports whether the role has no right that the other has not.
func (r Role) Within(other Role) bool {
	for right := MayLook; right <= MayManage; right++ {
		if r.May(right) && !other.May(right) {
			return false
		}
	}
	return true
}

// Words are the words of the scope; none of an empty one.
func (s Scope) Words() []string { return strings.Fields(string(s)) }

// Within reports whether what the scope leaves is left by the other, too.
func (s Scope) Within(other Scope) bool {
	for _, kind := range [...]string{"server:", "group:", "door:"} {
		mine, theirs := s.kind(kind), other.kind(kind)
		if len(theirs) == 0 {
			continue
		}
		if len(mine) == 0 || slices.ContainsFunc(mine, func(word string) bool { return !slices.Contains(theirs, word) }) {
			return false
		}
	}
	return true
}

func (s Scope) kind(prefix string) []string {
	return slices.DeleteFunc(s.Words(), func(word string) bool { return !strings.HasPrefix(word, prefix) })
}

// ValidTenant reports whether a tenant can have the name: lower-case letters,
// digits and hyphens, 63 at most, which begin with a letter or digit.
func ValidTenant(name string) bool {
	if name == "" || len(name) > 63 || name[0] == '-' {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') })
}

// EndpointFault says what is wrong with the address of who vouches for others, or
// of what he offers: it has to be https, or http on this machine. It is "" if
// nothing is.
func EndpointFault(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return "is not a valid URL"
	case u.User != nil:
		return "must not hold a user name or password"
	case u.Scheme == "http" && !IsLoopback(u.Hostname()), u.Scheme != "http" && u.Scheme != "https":
		return "must begin with https://; only on this machine http:// will do"
	case u.Fragment != "":
		return "must not have a fragment"
	}
	return ""
}

// IsLoopback reports whether a name of a host, without a port, is this machine's
// own.
func IsLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Zone() == "" && ip.IsLoopback()
}
