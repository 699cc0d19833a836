package hub

import "slices"

// OAuth says how the hub gets itself let in to a remote server by OAuth. Its texts
// are as they were written, placeholders included. It is a value: once handed out
// nobody changes it or what it refers to.
type OAuth struct {
	Off   bool  // it does not, whatever the server asks for
	Grant Grant // "" stands for GrantCode

	ClientID     string // of the client that was registered by hand; "" for none
	ClientSecret string // of that client; "" for none
	PrivateKey   string // of that client, as PEM, which it signs with in place of a secret; "" for none
	MetadataURL  string // of the document that describes the hub as a client, which is then its id; "" for none

	Scopes              []string // in place of those that the server asks for; nil for these
	AuthorizationServer string   // which of those that the server names; "" for the first one
	Shared              bool     // all callers are let in by the one login of the hub, also those with a name of their own
}

// Grant is how access tokens are got (RFC 6749, section 4).
type Grant string

// The grants.
const (
	GrantCode   Grant = "authorization_code" // a person logs in, once
	GrantClient Grant = "client_credentials" // the hub itself is who is let in
)

// Equal reports whether two say the same; either may be nil.
func (o *OAuth) Equal(other *OAuth) bool {
	if o == nil || other == nil {
		return o == other
	}
	return o.Off == other.Off && o.Grant == other.Grant && o.ClientID == other.ClientID && o.ClientSecret == other.ClientSecret &&
		o.PrivateKey == other.PrivateKey && o.MetadataURL == other.MetadataURL && slices.Equal(o.Scopes, other.Scopes) &&
		o.AuthorizationServer == other.AuthorizationServer && o.Shared == other.Shared
}
