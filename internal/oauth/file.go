package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// What is sealed has a name of its kind and a hash of what it is of: names are in
// clear.
const (
	sealedLogin  = "login-"
	sealedClient = "client-"
)

// record is a login, as it is sealed. What the configuration says of the client is
// not in it.
type record struct {
	Server   string    `json:"server"`
	Owner    string    `json:"owner"`
	URL      string    `json:"url"`      // of the server
	Resource string    `json:"resource"` // that the tokens are for
	Issuer   string    `json:"issuer"`
	Endpoint string    `json:"endpoint"` // for tokens
	Revoke   string    `json:"revoke,omitempty"`
	Redirect string    `json:"redirect,omitempty"` // of the client, which may have registered itself with it
	Grant    hub.Grant `json:"grant"`
	Client   client    `json:"client"`
	Asked    []string  `json:"asked,omitempty"` // scopes that were asked for
	Tokens   tokens    `json:"tokens"`
}

// registered is a client that has registered itself, as it is sealed.
type registered struct {
	Issuer   string `json:"issuer"`
	Redirect string `json:"redirect"`
	Client   client `json:"client"`
}

func sealedName(kind string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00\x00")))
	return kind + hex.EncodeToString(sum[:16])
}

// load reads all that is sealed.
func (k *Keeper) load() error {
	all, err := k.opt.Vault.List()
	if err != nil {
		return err
	}
	unowned := 0
	for _, one := range all {
		text, err := k.opt.Vault.Get(one.Name)
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(one.Name, sealedLogin):
			var r record
			if json.Unmarshal([]byte(text), &r) != nil {
				return fmt.Errorf("the sealed login %q cannot be read", one.Name)
			}
			if _, ok := ownerFrom(r.Owner); r.Owner != "" && !ok {
				if carried, err := k.carry(&r); err != nil {
					return err
				} else if !carried {
					unowned++
				}
				continue
			}
			k.at(account{r.Server, r.Owner}).take(&r)
		case strings.HasPrefix(one.Name, sealedClient):
			var r registered
			if json.Unmarshal([]byte(text), &r) != nil {
				return fmt.Errorf("the sealed client %q cannot be read", one.Name)
			}
			k.clients[registration{r.Issuer, r.Redirect}] = &r.Client
		}
	}
	if unowned > 0 {
		k.opt.Log.Warn("logins that were kept by a name only are forgotten, as it is not known whose that is now; their owners have to log in again",
			"count", unowned)
	}
	return nil
}

// carry keeps a login that is of a name, as once they all were, by whom that name
// is of: one that an issuer gave, where no tenant is. It reports false if it is not
// known who that is now. The one by the name is taken off the disk.
func (k *Keeper) carry(r *record) (bool, error) {
	old := account{r.Server, r.Owner}
	tenant, subject, _ := strings.Cut(r.Owner, ownerParts)
	o := Owner{Tenant: tenant, Subject: subject}
	if tenant != "" || !o.Issued() {
		k.forget(old)
		return false, nil
	}
	r.Owner = o.text()
	switch _, err := k.opt.Vault.Get(sealedName(sealedLogin, r.Server, r.Owner)); {
	case err == nil: // a newer one
		k.forget(old)
		return true, nil
	case !errors.Is(err, secret.ErrNotSet):
		return false, err
	}
	k.at(account{r.Server, r.Owner}).take(r)
	if err := k.save(r); err != nil {
		k.opt.Log.Error("a login could not be sealed, and is kept by its name until the next start", "server", r.Server, "error", err)
		return true, nil
	}
	k.forget(old)
	return true, nil
}

// at is the account of the name, made if there is none. The caller holds mu, or is
// alone.
func (k *Keeper) at(name account) *Account {
	a := k.accounts[name]
	if a == nil {
		a = &Account{keeper: k, name: name}
		k.accounts[name] = a
	}
	return a
}

// save seals a login. Without it the login is good as long as the hub runs.
func (k *Keeper) save(r *record) error {
	kept := *r
	if !kept.Client.Dynamic {
		kept.Client.Secret = ""
	}
	text, err := json.Marshal(&kept)
	if err != nil {
		return err
	}
	return k.opt.Vault.Set(sealedName(sealedLogin, r.Server, r.Owner), string(text))
}

// forget takes a login off the disk.
func (k *Keeper) forget(name account) {
	if err := k.opt.Vault.Delete(sealedName(sealedLogin, name.server, name.owner)); err != nil && !errors.Is(err, secret.ErrNotSet) {
		k.opt.Log.Error("a login could not be taken off the disk", "server", name.server, "error", err)
	}
}

// registered is the client that has registered itself with an authorization server
// for a redirect address; nil if there is none that can still be used.
func (k *Keeper) registered(issuer, redirect string) *client {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.clients[registration{issuer, redirect}]; c != nil && c.good(time.Now()) {
		copied := *c
		return &copied
	}
	return nil
}

func (k *Keeper) keepClient(issuer, redirect string, c *client) {
	k.mu.Lock()
	crowded := k.crowded(registration{issuer, redirect})
	k.clients[registration{issuer, redirect}] = c
	k.mu.Unlock()
	for name, id := range crowded {
		k.dropClient(name.issuer, name.redirect, id)
	}
	text, err := json.Marshal(registered{issuer, redirect, *c})
	if err == nil {
		err = k.opt.Vault.Set(sealedName(sealedClient, issuer, redirect), string(text))
	}
	if err != nil { // it registers itself once more after a restart
		k.opt.Log.Error("a client could not be sealed", "issuer", issuer, "error", err)
	}
}

// maxClients bounds those that have registered themselves: servers name their
// authorization servers.
const maxClients = 256

// crowded are the clients that make room for one more, by their ids: those that
// cannot be used any more, else any. Logins have their client with them, and go on.
// The caller holds mu.
func (k *Keeper) crowded(with registration) map[registration]string {
	if _, known := k.clients[with]; known || len(k.clients) < maxClients {
		return nil
	}
	now, gone := time.Now(), make(map[registration]string)
	for name, c := range k.clients {
		if !c.good(now) {
			gone[name] = c.ID
		}
	}
	for name, c := range k.clients {
		if len(gone) > 0 {
			break
		}
		gone[name] = c.ID
	}
	return gone
}

// dropClient forgets a client that an authorization server does not know any more.
func (k *Keeper) dropClient(issuer, redirect, id string) {
	k.mu.Lock()
	name := registration{issuer, redirect}
	c := k.clients[name]
	gone := c != nil && c.ID == id
	if gone {
		delete(k.clients, name)
	}
	k.mu.Unlock()
	if !gone {
		return
	}
	if err := k.opt.Vault.Delete(sealedName(sealedClient, issuer, redirect)); err != nil && !errors.Is(err, secret.ErrNotSet) {
		k.opt.Log.Error("a client could not be taken off the disk", "issuer", issuer, "error", err)
	}
}
