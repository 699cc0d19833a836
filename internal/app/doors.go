package app

import (
	"net/http"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/face/mcp"
	"github.com/toolcrib/toolcrib/internal/face/rest"
	"github.com/toolcrib/toolcrib/internal/face/web"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/oauth"
)

// doors is what there is behind the listener.
func (a *App) doors() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", a.mcp)
	mux.Handle("/mcp/{group}", a.mcp)
	mux.Handle("/sse", a.mcp.SSE())
	mux.Handle("/sse/{group}", a.mcp.SSE())
	mux.Handle("/messages", a.mcp.Messages())
	mux.Handle("/ws/mcp", a.mcp.WebSocket())
	mux.Handle(api.Base+"/", a.rest)
	sign := a.signIn()
	mux.HandleFunc("GET "+auth.LoginPath, sign.Login)
	mux.HandleFunc("GET "+auth.CallbackPath, sign.Callback)
	mux.HandleFunc("POST "+auth.LogoutPath, sign.Logout)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", sign.Metadata)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", sign.Metadata)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp/{group}", sign.Metadata)
	mux.Handle("GET "+oauth.CallbackPath, a.logins)
	page := web.New()
	mux.Handle("GET /{$}", page)
	mux.Handle("GET /ui/", page)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.Handle("GET /readyz", a.admitted(http.HandlerFunc(a.readyz)))
	mux.Handle("GET /metrics", a.admitted(a.metrics()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		rest.Refuse(w, a.language(r), http.StatusNotFound, hub.E(message.PathUnknown, nil, "path", message.Quote(r.URL.Path)))
	})
	return mux
}

// refuse answers a request that no door sees, in the way of the door that it
// was meant for.
func (a *App) refuse(w http.ResponseWriter, r *http.Request, status int, e *hub.Error) {
	if auth.IsMCP(r.URL.Path) {
		mcp.Refuse(w, a.language(r), status, e)
		return
	}
	rest.RefuseAt(w, r.URL.Path, a.language(r), status, e)
}

// language is that in which the client of a request is told things.
func (a *App) language(r *http.Request) message.Lang {
	return message.Prefer(strings.Join(r.Header["Accept-Language"], ","), a.usual())
}

// usual is the language of whoever does not say which they want.
func (a *App) usual() message.Lang { return a.control.Source().Config.Language }
