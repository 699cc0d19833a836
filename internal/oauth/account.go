package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Account is one owner's credentials at one server. It puts them into requests,
// and knows what to do when the server refuses them; transport.Authorizer is what
// it is to the way there. Safe for concurrent use.
type Account struct {
	keeper *Keeper
	name   account

	bearer atomic.Pointer[bearer] // nil for none
	at     atomic.Pointer[string] // the server's address; nil before the first connection. It does not change
	trial  bool                   // nothing of it is kept

	mu         sync.Mutex
	url        *url.URL   // of the server, as tokens name it; nil before the first connection
	conf       hub.OAuth  // with its placeholders filled in
	configured bool       // the configuration asks for OAuth
	gone       bool       // it is not the account of its name any more
	era        int        // goes up with each logout: what was begun before is not kept
	record     *record    // nil for none
	need       *need      // what a login is needed for; nil for nothing
	flight     *flight    // under way to a token
	pending    *login     // that somebody has begun
	fault      *hub.Error // why the last login did not come about
}

// bearer is a token as it is sent.
type bearer struct {
	header  string
	due     time.Time // when it is to be had anew; zero if it cannot be, or lasts
	expires time.Time // zero if it does not
	got     time.Time
	renews  bool // it can be had anew without a person
	again   bool // as it was

	rest atomic.Int64 // Unix time before which that is not tried once more
}

// need is what the server has asked for.
type need struct {
	said   challenge
	step   bool   // the token is good, but not for all
	issuer string // where to log in; "" if it is not known
}

// flight is one attempt to have a token, which all share who want one.
type flight struct {
	done chan struct{}
	err  error
}

// young is how long a token is taken for new: one that is refused at once is not
// asked for again.
const young = 30 * time.Second

// pauseLimit is how long nothing is asked of an authorization server that was not
// reached, as long as the token is good.
const pauseLimit = 10 * time.Second

// Account returns the credentials of an owner at a server, of which the
// placeholders are filled in; nil if the server takes none. The owner is "" for
// the hub itself; see [Keeper.Owner].
func (k *Keeper) Account(server hub.Server, owner string) *Account {
	if !unused(&server).Empty() {
		return nil
	}
	to, err := resourceOf(server.URL)
	if err != nil {
		return nil
	}
	a, old := k.accountAt(account{server.Key, owner}, to)
	if old != nil {
		old.retire()
	}
	a.configure(to, server.OAuth)
	return a
}

// configure has the account be one at the address. What was got for another one,
// or from another authorization server, or as another client, is not sent.
func (a *Account) configure(to *url.URL, conf *hub.OAuth) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.configured = conf != nil
	before := a.conf
	a.url, a.conf = to, usual(conf)
	if !before.Equal(&a.conf) {
		a.pending = nil // it would be another one now
	}
	if a.record != nil && !a.fits(a.record) {
		a.record = nil
		a.bearer.Store(nil)
	}
}

// fits reports whether a record is one by what the configuration says now. The
// caller holds mu.
func (a *Account) fits(r *record) bool {
	switch {
	case r.URL != a.url.String(), r.Grant != a.conf.Grant:
		return false
	case a.conf.AuthorizationServer != "" && !sameIssuer(r.Issuer, a.conf.AuthorizationServer):
		return false
	case a.conf.ClientID != "" && r.Client.ID != a.conf.ClientID, unsaid(&a.conf):
		return false
	}
	return true
}

// take has the account use a record. The caller holds mu, or is alone.
func (a *Account) take(r *record) {
	a.record = r
	t := &r.Tokens
	if t.Access == "" {
		a.bearer.Store(nil)
		return
	}
	b := &bearer{header: "Bearer " + t.Access, expires: t.Expires, got: t.Got, again: t.Again}
	b.renews = t.Refresh != "" || r.Grant == hub.GrantClient
	if b.renews {
		b.due = t.due()
	}
	a.bearer.Store(b)
}

// Authorization returns the value of the header Authorization for a request to the
// server, "" for none. A token that is about to expire is had anew before, once for
// all who ask. The error is a [*hub.Error].
func (a *Account) Authorization(ctx context.Context) (string, error) {
	b := a.bearer.Load()
	if b == nil {
		return "", nil
	}
	now := time.Now()
	if b.due.IsZero() || now.Before(b.due) {
		return b.header, nil
	}
	good := b.expires.IsZero() || now.Before(b.expires)
	if good && now.Unix() < b.rest.Load() {
		return b.header, nil
	}
	err := a.renew(ctx, b)
	switch next := a.bearer.Load(); {
	case err == nil && next != nil:
		return next.header, nil
	case good && ctx.Err() == nil:
		b.rest.Store(now.Add(pauseLimit).Unix())
		return b.header, nil // as long as the server takes it
	case err == nil:
		return "", nil
	case passing(err):
		return "", a.away(err)
	}
	return "", nil // the server says what it wants
}

// Refused is told that the server has answered 401 or 403 to a request with that
// header Authorization, and so has not carried it out. It reports whether the
// request is to be sent once more, with what Authorization returns then. An error,
// which is a [*hub.Error], says what is needed; without either, the answer stands.
func (a *Account) Refused(ctx context.Context, used string, status int, header http.Header) (again bool, err error) {
	said := challengeOf(header)
	if status == http.StatusForbidden {
		return a.stepUp(ctx, used, said)
	}
	b := a.bearer.Load()
	if b != nil && b.header != used {
		return true, nil // there is a newer one
	}
	fresh := b != nil && b.again && time.Since(b.got) < young
	if b != nil && b.renews && !fresh {
		err := a.renew(ctx, b)
		switch {
		case err == nil:
			return true, nil
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case passing(err):
			return false, a.away(err)
		}
	}
	a.mu.Lock()
	grant := a.conf.Grant
	a.mu.Unlock()
	if grant == hub.GrantClient {
		if fresh {
			return false, a.failed(message.Say("it refuses the token that it was given"))
		}
		return a.fetch(ctx, b, need{said: said})
	}
	return false, a.wanted(ctx, b, said)
}

// wanted notes that a person has to log in, and returns the error that says so;
// nil if the server does not speak of OAuth.
func (a *Account) wanted(ctx context.Context, b *bearer, said challenge) error {
	a.mu.Lock()
	to, conf, configured := a.url, a.conf, a.configured
	a.mu.Unlock()
	at, t := a.keeper.reachFor(ctx, to).find(ctx, to, said, conf.AuthorizationServer)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	n := &need{said: said}
	switch {
	case t != nil && t.passing:
		return a.unreached(t.detail)
	case t != nil && !configured && !said.bearer:
		return nil
	case t != nil:
		a.lose(b, n)
		return a.failed(t.detail)
	case at.found:
		n.issuer = at.server.Issuer
	case !configured && b == nil:
		// It may as well want a key. Who knows better can begin a login.
		if said.bearer {
			a.lose(b, n)
		}
		return nil
	default:
		n.issuer = at.server.Issuer
	}
	a.lose(b, n)
	return hub.E(message.UpstreamLoginNeeded, nil, "server", message.Quote(a.name.server), "issuer", message.Quote(origin(n.issuer)))
}

// lose forgets a token that the server does not take, and notes what it wants.
func (a *Account) lose(b *bearer, n *need) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.need = n
	lost := b != nil && a.bearer.CompareAndSwap(b, nil)
	if lost && a.record != nil {
		kept := *a.record // what was asked for is asked for again
		kept.Tokens.Access, kept.Tokens.Refresh = "", ""
		a.record = &kept
	}
	if lost && !a.trial {
		a.keeper.forget(a.name)
	}
}

// stepUp is [Account.Refused] for what the token is not good for.
func (a *Account) stepUp(ctx context.Context, used string, said challenge) (again bool, err error) {
	if !said.bearer || said.err != "insufficient_scope" {
		return false, nil
	}
	b := a.bearer.Load()
	if b == nil {
		return false, a.wanted(ctx, nil, said)
	}
	if b.header != used {
		return true, nil
	}
	a.mu.Lock()
	have := []string(nil)
	if a.record != nil {
		have = union(a.record.Asked, a.record.Tokens.Scopes)
	}
	grant := a.conf.Grant
	if len(said.scopes) == 0 || within(said.scopes, have) {
		a.mu.Unlock()
		return false, nil // what it asks for was asked for: it is not given
	}
	n := need{said: said, step: true}
	if a.record != nil {
		n.issuer = a.record.Issuer
	}
	if grant != hub.GrantClient {
		a.need = &n
	}
	a.mu.Unlock()
	if grant == hub.GrantClient {
		return a.fetch(ctx, b, n)
	}
	return false, hub.E(message.UpstreamScopeNeeded, nil, "server", message.Quote(a.name.server), "scopes", message.Quote(strings.Join(said.scopes, " ")))
}

// fetch has the hub itself let in, for what is needed.
func (a *Account) fetch(ctx context.Context, b *bearer, n need) (again bool, err error) {
	err = a.share(ctx, b, func(ctx context.Context) error { return a.byItself(ctx, n) })
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	if t, ok := errors.AsType[*trouble](err); ok {
		if t.passing {
			return false, a.unreached(t.detail)
		}
		return false, a.failed(t.detail)
	}
	if passing(err) {
		return false, a.away(err)
	}
	return false, a.failed(detail(err))
}

func (a *Account) failed(detail message.Phrase) *hub.Error {
	return hub.E(message.UpstreamLoginFailed, nil, "server", message.Quote(a.name.server)).With("detail", detail)
}

// away is the error of an authorization server that was not reached. It holds no
// more than can be shown.
func (a *Account) away(err error) *hub.Error { return a.unreached(detail(err)) }

func (a *Account) unreached(detail message.Phrase) *hub.Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := "?"
	switch {
	case a.record != nil:
		at = origin(a.record.Issuer)
	case a.url != nil:
		at = origin(a.url.String())
	}
	return hub.E(message.ServerUnreachable, nil, "url", message.Quote(at)).With("detail", detail)
}
