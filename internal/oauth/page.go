package oauth

import (
	"html/template"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// CallbackPath is where browsers come back to.
const CallbackPath = "/oauth/callback"

// confirmed is what the form adds to what the browser came back with. An
// authorization server sends nobody to an address that has it.
const confirmed = "confirmed"

// page is what a person sees. It loads nothing, runs nothing and sends nothing on.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="{{.Lang}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{{.Title}} - Toolcrib</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:34em;margin:18vh auto 0;padding:0 1.5em}h1{font-size:1.35em;font-weight:600}button{font:inherit;padding:.4em 1.2em}</style>
</head><body><h1>{{.Title}}</h1><p>{{.Text}}</p>
{{if .Button}}<form action="` + CallbackPath + `">{{range .Fields}}<input type="hidden" name="{{.Name}}" value="{{.Value}}">{{end}}<button>{{.Button}}</button></form>{{end}}
</body></html>
`))

// pageField is what a form sends on.
type pageField struct{ Name, Value string }

type pageData struct {
	Lang, Title, Text, Button string
	Fields                    []pageField
}

// ServeHTTP takes browsers that come back from a login. What they bring is in none
// of the answers, and no other site gets to know the address.
//
// A login of somebody with a name of his own is to be confirmed: the address of it
// may have been passed on, to have somebody else log in for him.
func (k *Keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	lang := message.English
	if k.opt.Language != nil {
		lang = k.opt.Language(r)
	}
	q := r.URL.Query()
	if l := k.find(q.Get("state"), false); l != nil && l.account.name.owner != "" && q.Get(confirmed) == "" {
		k.confirm(w, lang, l, q)
		return
	}
	done, err := k.Complete(r.Context(), q)
	if e := hub.AsError(err); e != nil {
		k.show(w, lang, http.StatusBadRequest, e)
		return
	}
	say := message.Say("Logged in to %s", done.Title)
	show(w, http.StatusOK, pageData{
		Lang: string(lang), Title: say.In(lang), Text: message.Say("You can close this window. Toolcrib is connecting to the server.").In(lang),
	})
}

// confirm asks whether it is for whom the login was begun.
func (k *Keeper) confirm(w http.ResponseWriter, lang message.Lang, l *login, q map[string][]string) {
	owner, _ := ownerFrom(l.account.name.owner)
	data := pageData{
		Lang: string(lang), Title: message.Say("Let %s use %s in your name?", owner.String(), l.title).In(lang),
		Text:   message.Say("Go on only if this is you, and you have begun this login yourself.").In(lang),
		Button: message.Say("Go on").In(lang),
	}
	data.Fields = append(data.Fields, pageField{confirmed, "yes"})
	for _, name := range [...]string{"state", "code", "iss", "error"} {
		for _, value := range q[name] {
			data.Fields = append(data.Fields, pageField{name, value})
		}
	}
	show(w, http.StatusOK, data)
}

func (k *Keeper) show(w http.ResponseWriter, lang message.Lang, status int, e *hub.Error) {
	text := e.Text(lang)
	show(w, status, pageData{Lang: string(lang), Title: message.Say("Not logged in").In(lang), Text: text.String()})
}

func show(w http.ResponseWriter, status int, data pageData) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page.Execute(w, data) // the browser may be gone
}
