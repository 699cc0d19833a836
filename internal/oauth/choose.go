package oauth

import (
	"net/url"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// accountAt is the account of the name for a server at the address; one of which
// nothing is kept if there are too many. One for another
// address is taken out: who still has connections there gets no token that is
// issued for this one.
func (k *Keeper) accountAt(name account, to *url.URL) (a, old *Account) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.accounts[name] == nil && !k.room(name) {
		return &Account{keeper: k, name: name, trial: true}, nil
	}
	a = k.at(name)
	address := to.String()
	if at := a.at.Load(); at != nil && *at != address {
		old = a
		for state, l := range k.logins {
			if l.account == old {
				delete(k.logins, state)
			}
		}
		delete(k.accounts, name)
		a = k.at(name)
	}
	a.at.Store(&address)
	return a, old
}

// maxAccounts bounds the accounts, whoever comes.
const maxAccounts = 10_000

// room reports whether there may be one more account. Those of which nothing is
// kept, and with which nobody is logging in, make room. The hub's own are as many
// as there are servers. The caller holds mu.
func (k *Keeper) room(name account) bool {
	if name.owner == "" || len(k.accounts) < k.most {
		return true
	}
	busy := make(map[account]bool, len(k.logins))
	for _, l := range k.logins {
		busy[l.account.name] = true
	}
	for other, a := range k.accounts {
		if other.owner != "" && a.bearer.Load() == nil && !busy[other] && k.busy[other] == 0 {
			delete(k.accounts, other)
		}
	}
	return len(k.accounts) < k.most
}

// occupy keeps the account of a name, if there is none yet the next one, from making
// room until done is called, which has to be once.
func (k *Keeper) occupy(name account) (done func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy[name]++
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.busy[name]--; k.busy[name] == 0 {
			delete(k.busy, name)
		}
	}
}

// retire has the account send nothing any more.
func (a *Account) retire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.record, a.need, a.pending = nil, nil, nil
	a.gone = true
	a.bearer.Store(nil)
}

// Trial returns the hub's own credentials at a server that is tried out: those that
// there are, if the server is the very one, else some of which nothing is kept. It
// is nil if the server takes none.
func (k *Keeper) Trial(server hub.Server) *Account {
	if !unused(&server).Empty() {
		return nil
	}
	to, err := resourceOf(server.URL)
	if err != nil {
		return nil
	}
	k.mu.Lock()
	a := k.accounts[account{server: server.Key}]
	k.mu.Unlock()
	if a != nil && a.is(to, server.OAuth) {
		return a
	}
	a = &Account{keeper: k, name: account{server: server.Key}, trial: true}
	a.configure(to, server.OAuth)
	return a
}

// is reports whether the account is the one of a server with that definition.
func (a *Account) is(to *url.URL, conf *hub.OAuth) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.url == nil || a.url.String() != to.String() || a.configured != (conf != nil) {
		return false
	}
	want := usual(conf)
	return a.conf.Equal(&want)
}

// usual is what is said of OAuth, with what holds if nothing is.
func usual(conf *hub.OAuth) hub.OAuth {
	var o hub.OAuth
	if conf != nil {
		o = *conf
	}
	if o.Grant == "" {
		o.Grant = hub.GrantCode
	}
	return o
}
