package app

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/face/login"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// openIdentity opens the tokens, tenants and login sessions of the database, and
// makes what finds out who comes.
func (a *App) openIdentity(ctx context.Context) error {
	book, err := auth.OpenBook(ctx, auth.BookOptions{DB: a.store, Log: a.log})
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if a.network.Proxy != nil {
		transport.Proxy = a.network.Proxy
	}
	if a.network.RootCAs != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: a.network.RootCAs, MinVersion: tls.VersionTLS12}
	}
	a.onStop("issuers", func(context.Context) error { transport.CloseIdleConnections(); return nil })
	resolver := secret.New(secret.Options{Dir: filepath.Dir(a.source.Path), Store: a.secrets})
	a.gate = auth.NewGate(auth.GateOptions{
		Tokens: a.tokens, Book: book, Client: &http.Client{Transport: transport}, Log: a.log,
		Secret: func(setting string) (string, error) { return config.ResolveAuthSecret(setting, resolver) },
	})
	a.setIdentity(a.source.Config.Auth)
	return nil
}

// setIdentity puts in force who may come in.
func (a *App) setIdentity(said hub.Auth) {
	a.gate.Set(said)
	if p := said.Protected; p != nil && p.URL == "" && a.ln != nil && !localOnly(a.ln) {
		a.log.Warn(`"auth.resource" has no "url", which cannot be told from an address that others reach: access tokens are refused`)
	}
}

// localOnly reports whether only this machine reaches a listener.
func localOnly(ln net.Listener) bool {
	tcp, ok := ln.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// signIn is the door for people who sign in.
func (a *App) signIn() *login.Door {
	return login.New(login.Options{Gate: a.gate, Refuse: a.refuse, Language: a.language, Record: a.recordLogin})
}

// admitted lets only those to a handler who may look around, and none of a tenant:
// it tells of all servers.
func (a *App) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := auth.From(r.Context())
		p.Door = hub.DoorREST
		e := auth.Admit(p, "")
		if e == nil && !p.Hubwide() {
			e = hub.E(message.HubwideRequired, nil)
		}
		if e != nil {
			a.refuse(w, r, http.StatusForbidden, e)
			return
		}
		next.ServeHTTP(w, r)
	})
}
