package api

import "time"

// Me is who asks, and what he may do.
type Me struct {
	Subject string     `json:"subject"`
	Name    string     `json:"name,omitempty" doc:"For people: what the provider of a login calls him, or the note of a token"`
	Role    string     `json:"role" enum:"viewer,caller,approver,operator,admin"`
	Rights  []string   `json:"rights" doc:"Of look, call, decide, operate and manage, those that the role has"`
	Tenant  string     `json:"tenant,omitempty" doc:"Empty for who belongs to the hub itself"`
	Scopes  []string   `json:"scopes" doc:"What the token is good for; empty if nothing is said about that"`
	How     string     `json:"how" enum:"local,file,token,session,oauth" doc:"By what that is known: nothing, on this machine; a token that the hub keeps in a file; an API token; a login; an access token"`
	Token   string     `json:"token,omitempty" doc:"Id of the API token or login session"`
	Expires *time.Time `json:"expires,omitempty" doc:"When what was shown ends"`
	Login   bool       `json:"login" doc:"People can sign in here, at /auth/login"`
}

// Token is what is known of an API token.
type Token struct {
	ID      string     `json:"id"`
	Subject string     `json:"subject" doc:"Whoever shows it is called so"`
	Tenant  string     `json:"tenant,omitempty"`
	Role    string     `json:"role" enum:"viewer,caller,approver,operator,admin"`
	Scopes  []string   `json:"scopes" doc:"server:KEY, group:NAME or door:NAME; empty for no limits"`
	Note    string     `json:"note,omitempty"`
	Created time.Time  `json:"created"`
	By      string     `json:"by" doc:"Who made it, after the tenant and a / if there is one"`
	Parent  string     `json:"parent,omitempty" doc:"Id of the token or login that it was made by. It is good no longer than such a token, and is revoked with it"`
	Expires *time.Time `json:"expires,omitempty" doc:"Not there if it does not"`
	Used    *time.Time `json:"used,omitempty" doc:"When it was last shown, to the minute; not there if it never was"`
	Revoked *time.Time `json:"revoked,omitempty"`
	Good    bool       `json:"good" doc:"It lets somebody in"`
}

// TokenList is API tokens, the newest first.
type TokenList struct {
	Tokens []Token `json:"tokens"`
}

// TokenRequest is what a token is to be.
type TokenRequest struct {
	Subject string   `json:"subject" doc:"1 to 64 letters, digits, dots, underscores and hyphens"`
	Role    string   `json:"role,omitempty" doc:"caller by default" enum:"viewer,caller,approver,operator,admin"`
	Tenant  string   `json:"tenant,omitempty" doc:"That of who asks by default"`
	Scopes  []string `json:"scopes,omitempty" doc:"server:KEY, group:NAME or door:NAME; of several of one kind each counts"`
	Expires string   `json:"expires,omitempty" doc:"After which it is good no more: 1m to 3650d, or never; 90d by default" example:"90d"`
	Note    string   `json:"note,omitempty" doc:"For people; at most 200 characters"`
}

// TokenGrant is a new token.
type TokenGrant struct {
	Secret string `json:"secret" doc:"The token itself, which is shown this once"`
	Token  Token  `json:"token"`
}

// Tenant is a part of those who use the hub.
type Tenant struct {
	Name    string    `json:"name"`
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created"`
	By      string    `json:"by"`
	Tokens  int       `json:"tokens" doc:"That are good"`
}

// TenantList is every tenant, by name.
type TenantList struct {
	Tenants []Tenant `json:"tenants"`
}

// TenantRequest is a tenant to be made.
type TenantRequest struct {
	Name string `json:"name" doc:"1 to 63 lower-case letters, digits and hyphens, no hyphen first"`
	Note string `json:"note,omitempty" doc:"For people; at most 200 characters"`
}
