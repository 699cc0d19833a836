// Package login is the door for people who sign in through a provider, and for
// clients that look for who gives tokens for /mcp.
package login

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Options are what a door is made of.
type Options struct {
	Gate *auth.Gate
	// Refuse answers a program with an error.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, e *hub.Error)
	// Language is that of who made a request.
	Language func(r *http.Request) message.Lang
	// Record is told that somebody has signed in ("login") or out ("logout"), or why a
	// person that the provider knows was not let in, of each once a minute; nil for
	// nobody.
	Record func(r *http.Request, operation string, who auth.Person, e *hub.Error)
}

// Door serves /auth/ and the metadata of the protected resource. It is safe for
// concurrent use.
type Door struct {
	opt     Options
	refused *auth.Meter // that are told to Record
}

// New returns the door.
func New(opt Options) *Door { return &Door{opt, auth.NewMeter(1, time.Minute)} }

// home is where a browser is sent that has signed in or out.
const home = "/"

// groupParam names a group in a path.
const groupParam = "group"

// Login sends the browser to the provider (GET [auth.LoginPath]).
func (d *Door) Login(w http.ResponseWriter, r *http.Request) {
	login := d.opt.Gate.Login()
	if login == nil {
		d.fail(w, r, hub.E(message.LoginOff, nil))
		return
	}
	to, cookie, e := login.Start(r.Context(), back(r))
	if e != nil {
		d.fail(w, r, e)
		return
	}
	http.SetCookie(w, d.opt.Gate.SetFlow(r, cookie))
	redirect(w, to)
}

// Callback takes the provider's answer (GET [auth.CallbackPath]), and sends the
// browser home with the cookie of a new login session. One that it had before is
// over.
func (d *Door) Callback(w http.ResponseWriter, r *http.Request) {
	login, book := d.opt.Gate.Login(), d.opt.Gate.Book()
	if login == nil || book == nil {
		d.fail(w, r, hub.E(message.LoginOff, nil))
		return
	}
	http.SetCookie(w, d.opt.Gate.SetFlow(r, "")) // it is good once
	who, e := login.Finish(r.Context(), auth.AddressOf(r.RemoteAddr), r.URL.Query(), d.opt.Gate.FlowCookie(r), back(r))
	if e != nil {
		if e.Code == message.LoginForbidden { // else anybody could have made it up
			if ok, _ := d.refused.Allow(who.Subject, time.Now()); ok {
				d.record(r, "login", who, e)
			}
		}
		d.fail(w, r, e)
		return
	}
	cookie, end, err := book.Begin(r.Context(), who, d.opt.Gate.SessionCookie(r))
	d.record(r, "login", who, hub.AsError(err))
	if err != nil {
		d.fail(w, r, hub.AsError(err))
		return
	}
	http.SetCookie(w, d.opt.Gate.SetSession(r, cookie, end))
	redirect(w, home)
}

// Logout ends the login session (POST [auth.LogoutPath]). Whoever has none is
// signed out already. The entrance has seen to it that a page of ours has sent a
// cookie that is good.
func (d *Door) Logout(w http.ResponseWriter, r *http.Request) {
	if cookie, book := d.opt.Gate.SessionCookie(r), d.opt.Gate.Book(); cookie != "" && book != nil {
		if err := book.End(r.Context(), cookie); err != nil {
			d.fail(w, r, hub.AsError(err))
			return
		}
		if p := auth.From(r.Context()); p.Token != "" {
			d.record(r, "logout", auth.Person{Subject: p.Subject, Tenant: p.Tenant, Role: p.Role}, nil)
		}
	}
	http.SetCookie(w, d.opt.Gate.SetSession(r, "", time.Time{}))
	if forPeople(r) {
		redirect(w, home)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

func (d *Door) record(r *http.Request, operation string, who auth.Person, e *hub.Error) {
	if d.opt.Record != nil {
		d.opt.Record(r, operation, who, e)
	}
}

// Metadata tells about /mcp as a protected resource, or about the address of the
// group that the path value "group" names (RFC 9728). It says nothing about whether
// there is such a group.
func (d *Door) Metadata(w http.ResponseWriter, r *http.Request) {
	m, ok := d.opt.Gate.Metadata(r, r.PathValue(groupParam))
	if !ok {
		d.opt.Refuse(w, r, http.StatusNotFound, hub.E(message.PathUnknown, nil, "path", message.Quote(r.URL.Path)))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store") // the configuration may change at any time
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(m) // the client may be gone
}

// back is the address of the callback as the browser that makes a request knows
// it; "" if that cannot be told.
func back(r *http.Request) string {
	if origin := auth.Origin(r); origin != "" {
		return origin + auth.CallbackPath
	}
	return ""
}

func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// forPeople reports whether a request wants a page.
func forPeople(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// page is what a person is told. It loads nothing and runs nothing.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="{{.Lang}}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Toolcrib</title>
<h1>Toolcrib</h1>
<p>{{.What}}</p>
{{if .Remedy}}<p>{{.Remedy}}</p>
{{end}}<p><a href="{{.Login}}">{{.Again}}</a></p>
`)) //nolint:gochecknoglobals // parsed once

// fail answers with a page or, for programs, with what all doors answer.
func (d *Door) fail(w http.ResponseWriter, r *http.Request, e *hub.Error) {
	status := statusOf(e.Code)
	if !forPeople(r) {
		d.opt.Refuse(w, r, status, e)
		return
	}
	lang := d.opt.Language(r)
	text := e.Text(lang)
	again := "Sign in"
	if lang == message.Chinese {
		again = "登录"
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = page.Execute(w, struct{ Lang, What, Remedy, Login, Again string }{string(lang), text.What, text.Remedy, (&url.URL{Path: auth.LoginPath}).String(), again})
}

// statusOf is the HTTP status of an error.
func statusOf(code message.Code) int {
	switch code {
	case message.LoginOff:
		return http.StatusNotFound
	case message.LoginFailed:
		return http.StatusBadRequest
	case message.LoginForbidden, message.TenantUnknown:
		return http.StatusForbidden
	case message.Internal:
		return http.StatusInternalServerError
	}
	return http.StatusServiceUnavailable
}
