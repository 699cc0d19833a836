// Package oauth gets the hub let in to remote servers by OAuth 2.1, as MCP has it
// (2025-03-26 to 2026-07-28, "Authorization"): it finds the authorization server,
// is a client of it, has people log in, and keeps tokens fresh and sealed.
//
// Nobody's token is ever passed on: what a server gets was issued to the hub, for
// that server and for whom the call is made, and goes to no other host. The hub
// opens no browser; whoever asks for a login is given an address, one at a time.
package oauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// Vault keeps values sealed on the disk; [secret.Store] is one.
type Vault interface {
	Set(name, value string) error
	Get(name string) (string, error)
	Delete(name string) error
	List() ([]secret.Sealed, error)
}

// Options are what a [Keeper] is made of. The functions may be called from any
// goroutine.
type Options struct {
	Vault Vault
	Log   *slog.Logger

	// Redirect is the address to which browsers come back after a login; "" while
	// there is none. It is asked for each login.
	Redirect func() string
	// Resolve fills in the placeholders of a definition; nil leaves it as it is.
	Resolve func(hub.Server) (hub.Server, []string, *hub.Error)

	// Changed is told each time that an owner has logged in or out at a server; it
	// may take its time. Nil tells nobody.
	Changed func(ctx context.Context, server, owner string)

	// Tenant returns the id of the tenant that has a name now, which no other one has
	// or ever had; "" for none. Nil: tenants are what they are called.
	Tenant func(name string) string
	// Known reports whether an owner may still come; what one has who may not is
	// forgotten within the hour. Nil: all may.
	Known func(Owner) bool

	Proxy    func(*http.Request) (*url.URL, error) // nil for what the environment says
	RootCAs  *x509.CertPool                        // nil for those of the system
	Resolver *net.Resolver                         // of hosts' names; nil for that of the system

	// Language is that in which a browser is told things; nil for English.
	Language func(*http.Request) message.Lang
}

func (o *Options) tls() *tls.Config { return &tls.Config{RootCAs: o.RootCAs} }

// Keeper has all credentials towards servers. Safe for concurrent use.
type Keeper struct {
	opt   Options
	pools pools
	life  context.Context // ends with Close
	end   context.CancelFunc
	work  sync.WaitGroup // what fetches tokens
	most  int            // accounts

	mu       sync.Mutex
	closed   bool
	accounts map[account]*Account
	clients  map[registration]*client
	logins   map[string]*login    // by state
	changed  map[account]bool     // of which nobody was told yet
	busy     map[account]int      // with which somebody is logging in, beside logins
	near     map[string]time.Time // until when servers are taken to be where no public address is, by scheme and host
	wake     chan struct{}
}

// account names an [Account].
type account struct{ server, owner string }

// registration names a client that has registered itself.
type registration struct{ issuer, redirect string }

// Open reads what is sealed. The error is one of the vault; what is in it is left
// as it is.
func Open(opt Options) (*Keeper, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{
		opt: opt, accounts: make(map[account]*Account), clients: make(map[registration]*client), logins: make(map[string]*login),
		changed: make(map[account]bool), busy: make(map[account]int), near: make(map[string]time.Time), wake: make(chan struct{}, 1), most: maxAccounts,
	}
	k.pools = newPools(&opt)
	k.life, k.end = context.WithCancel(context.Background())
	if err := k.load(); err != nil {
		k.end()
		return nil, err
	}
	return k, nil
}

// Close ends what is being asked for, and drops all connections.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.end()
	k.work.Wait()
	k.pools.close()
}

// aside runs f on a goroutine of the keeper's, which Close waits for; it reports
// false, and does not, after that.
func (k *Keeper) aside(f func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.work.Go(f)
	}
	return !k.closed
}

// sweepEvery is how often is looked for owners who come no more.
const sweepEvery = time.Hour

// Run tells of logins, and forgets those of owners who come no more, until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	var told sync.WaitGroup
	defer told.Wait()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	told.Go(func() { k.sweep(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sweep.C:
			told.Go(func() { k.sweep(ctx) })
			continue
		case <-k.wake:
		}
		k.mu.Lock()
		all := k.changed
		k.changed = make(map[account]bool)
		k.mu.Unlock()
		for name := range all {
			if k.opt.Changed != nil {
				told.Go(func() { k.opt.Changed(ctx, name.server, name.owner) })
			}
		}
	}
}

// tell has Run tell of an account. The caller does not hold mu.
func (k *Keeper) tell(name account) {
	k.mu.Lock()
	k.changed[name] = true
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// unused is why a server takes no login; empty if it may. The definition may have
// its placeholders in it.
func unused(s *hub.Server) message.Phrase {
	switch {
	case !s.Kind.Remote():
		return message.Say("it is not reached over the network")
	case s.OAuth != nil && s.OAuth.Off:
		return message.Say("\"oauth\" is false in its configuration")
	case strings.Contains(s.URL, "@"):
		if u, err := url.Parse(s.URL); err == nil && u.User != nil {
			return message.Say("its address has a user")
		}
	}
	for name := range s.Headers {
		if textproto.CanonicalMIMEHeaderKey(name) == "Authorization" {
			return message.Say("its \"headers\" have an Authorization")
		}
	}
	return message.Phrase{}
}

// errURL says that there is no telling what a token would be for.
var errURL = errors.New("the server's address cannot be read")

// resourceOf is the address of a server as tokens for it name it (RFC 8707; MCP,
// "Canonical Server URI").
func resourceOf(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, errURL
	}
	to := &url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	switch to.Scheme {
	case "ws":
		to.Scheme = "http"
	case "wss":
		to.Scheme = "https"
	}
	return to, nil
}
