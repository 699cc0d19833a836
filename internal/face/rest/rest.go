// Package rest is the door for the HTTP API: decode, check who asks, have
// control or the call pipeline do it, encode. It has no rules of its own.
//
// Reading and calling are open to whoever may reach the listener; a change
// needs an administrator. Errors are problem documents in the language that
// Accept-Language asks for.
package rest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/events"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/stats"
)

// Options are what the API is about. The functions may be called from any
// goroutine.
type Options struct {
	Control *control.Control
	Call    *call.Pipeline
	Catalog *catalog.Catalog
	Audit   *audit.Log
	Taken   func() *hub.Error // that another hub writes to Audit as well; nil, or of none, if that cannot be
	Stats   *stats.Stats
	States  *callstate.Tracker // of the calls of Call; nil for none
	Events  *events.Log

	Approvals *approval.Desk
	Policy    func() *policy.Policy // in force; nil if there is none

	Endpoints, Backends Dialled
	Devices             Devices

	Identity *auth.Gate // with its tokens, tenants and login sessions

	Version  string
	Started  time.Time
	Listen   func() string // URL of the listener; "" if there is none
	DataDir  string
	Sessions func() int         // open MCP sessions
	Shutdown func()             // has the hub stop, soon
	Phases   func() []api.Phase // of the start so far

	// Language is that of answers to callers that do not say which they want; nil
	// for English. It is asked each time.
	Language func() message.Lang
}

// Times of a request.
const (
	bodyLimit = 30 * time.Second // to send a body
	beatEvery = 15 * time.Second // a silent stream shows that it is alive
)

// Door serves the API.
type Door struct {
	opt Options
	api huma.API
	mux *http.ServeMux

	bodyLimit, beat time.Duration
	refusals        *auth.Meter // that are recorded, by who was refused

	closed chan struct{} // closed by Close
	end    sync.Once
}

// New returns the door. Who asks is what the context of a request says; see
// [auth.From].
func New(opt Options) *Door {
	if opt.Language == nil {
		opt.Language = func() message.Lang { return message.English }
	}
	d := &Door{opt: opt, mux: http.NewServeMux(), bodyLimit: bodyLimit, beat: beatEvery, closed: make(chan struct{}), refusals: auth.NewMeter(mostRefusals, refusalsWithin)}
	json := huma.Format{Marshal: encode, Unmarshal: decode}
	d.api = humago.NewWithPrefix(d.mux, api.Base, huma.Config{
		OpenAPI:       description(),
		Formats:       map[string]huma.Format{"application/json": json, "json": json}, // "json" stands for all that end in +json
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{problems},

		RejectUnknownQueryParameters: true,
	})
	d.api.UseMiddleware(d.language, d.authorise, d.query, d.body)
	d.status()
	d.servers()
	d.log()
	d.tools()
	d.groups()
	d.resources()
	d.prompts()
	d.index()
	d.leases()
	d.calls()
	d.callStates()
	d.events()
	d.audit()
	d.acts()
	d.analysis()
	d.approvals()
	d.grants()
	d.policy()
	d.stats(opt.Stats)
	d.config()
	d.secrets()
	d.identity()
	d.dialled()
	d.devices()
	d.compat()
	d.describe()
	d.mux.HandleFunc(elsewhere, func(w http.ResponseWriter, r *http.Request) {
		l := message.Prefer(r.Header.Get("Accept-Language"), opt.Language())
		if methods := d.methods(r); len(methods) > 0 {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			RefuseAt(w, r.URL.Path, l, http.StatusMethodNotAllowed, hub.E(message.HTTPMethodRefused, nil, "method", message.Quote(r.Method)))
			return
		}
		RefuseAt(w, r.URL.Path, l, http.StatusNotFound, hub.E(message.PathUnknown, nil, "path", message.Quote(r.URL.Path)))
	})
	return d
}

// elsewhere is the pattern of all that no operation serves.
const elsewhere = api.Base + "/"

// methods are those by which the path of a request is served.
func (d *Door) methods(r *http.Request) []string {
	all := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete}
	other := r.Clone(r.Context())
	return slices.DeleteFunc(all, func(method string) bool {
		other.Method = method
		_, pattern := d.mux.Handler(other)
		return pattern == elsewhere
	})
}

// Close ends the streams that would go on for ever. It may be called more than
// once.
func (d *Door) Close() { d.end.Do(func() { close(d.closed) }) }

// ServeHTTP serves everything below [api.Base].
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }
