package api

import "time"

// ServerAuth is how whoever asks is let in to a remote server.
type ServerAuth struct {
	Type    string     `json:"type" enum:"oauth"`
	State   string     `json:"state" enum:"none,needed,pending,granted,limited" doc:"none: the server has not asked for a login. needed: it has. pending: one was begun. granted: somebody is logged in. limited: as well, and the server has asked for further rights"`
	Grant   string     `json:"grant" enum:"authorization_code,client_credentials"`
	Owner   string     `json:"owner" enum:"hub,own" doc:"hub: by the hub's own login. own: by one for whoever asks"`
	Shared  bool       `json:"shared" doc:"The hub's own login is everybody's"`
	Issuer  string     `json:"issuer,omitempty" doc:"Of the authorization server"`
	Scopes  []string   `json:"scopes,omitempty" doc:"That were given"`
	Expires *time.Time `json:"expires,omitempty" doc:"When the token expires"`
	Renews  bool       `json:"renews" doc:"It is then had anew without a person"`
	Until   *time.Time `json:"until,omitempty" doc:"Until when the login that was begun can be completed"`
	Code    string     `json:"code,omitempty" doc:"Why the last login did not come about: the stable code"`
	Reason  string     `json:"reason,omitempty" doc:"Why the last login did not come about"`
}

// ServerLogin is what a person has to do to log in at a server.
type ServerLogin struct {
	URL     string    `json:"url" doc:"To be opened in a browser"`
	Expires time.Time `json:"expires" doc:"Until when that is good"`
}
