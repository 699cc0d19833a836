package auth

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// How says by what it is known who makes a request.
type How string

// The ways.
const (
	HowLocal   How = "local"   // nothing was shown, on this machine
	HowFile    How = "file"    // one of the two tokens that the hub keeps in files
	HowToken   How = "token"   // an API token
	HowSession How = "session" // the cookie of a login session
	HowOAuth   How = "oauth"   // an access token of an authorization server
)

// Shown is whom a request is made by, and by what that is known. It is a value.
type Shown struct {
	Principal hub.Principal // without its door, which each door sets
	How       How
	Name      string    // of the person, as the provider calls it; "" if it did not
	Expires   time.Time // when what was shown ends; zero for never

	stepUp func(hub.Right) string             // of an access token; nil for all else
	watch  func(over func()) (unwatch func()) // tells when it is revoked; nil if it cannot be
	grace  time.Duration                      // that it is good for after Expires
}

type contextKey struct{}

// WithShown returns a context that carries what a request showed.
func WithShown(ctx context.Context, s Shown) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// With is [WithShown] for a principal of which nothing else is known.
func With(ctx context.Context, p hub.Principal) context.Context {
	return WithShown(ctx, Shown{Principal: p, How: HowFile})
}

// Of returns what a request showed: what the guard at the entrance has put there,
// or the local caller if that was nothing.
func Of(ctx context.Context) Shown {
	if s, ok := ctx.Value(contextKey{}).(Shown); ok {
		return s
	}
	return Shown{Principal: hub.Local(""), How: HowLocal}
}

// From returns the principal of a request: the one that the guard at the
// entrance has put there, or the local caller if no token was shown. Its door
// is not set; each door sets its own.
func From(ctx context.Context) hub.Principal { return Of(ctx).Principal }

// StepUp returns the challenge (WWW-Authenticate) by which a client with an access
// token learns which scope it lacks for a right; "" if it has the right, or did not
// show such a token.
func StepUp(ctx context.Context, right hub.Right) string {
	s := Of(ctx)
	if s.stepUp == nil || s.Principal.Role.May(right) {
		return ""
	}
	return s.stepUp(right)
}
