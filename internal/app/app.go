// Package app puts the program together: it makes every part, starts them in
// order, and stops them in the opposite one. Several instances may live in one
// process, as they do in tests.
package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/events"
	"github.com/toolcrib/toolcrib/internal/face/broker"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/face/mcp"
	"github.com/toolcrib/toolcrib/internal/face/rest"
	"github.com/toolcrib/toolcrib/internal/face/xiaozhi"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/oauth"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/proc"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/stats"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/telemetry"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// Options are what a person can choose at the start.
type Options struct {
	// Config is the path of the configuration file. Strict makes a file that
	// is missing or cannot be used an error of New; else the hub runs with its
	// built-in servers and tells what is wrong with the file. An empty path
	// stands for no file.
	Config string
	Strict bool

	// Listen is host and port, with port 0 for any that is free; "" to serve
	// the local socket in the data directory only.
	Listen       string
	AllowHosts   []string // names of this machine, beside loopback, in requests that come through a proxy
	RequireToken bool     // every caller has to show a token; needed for addresses other than loopback
	TLSCert      string   // files of certificate and key; "" for plain HTTP
	TLSKey       string

	// DeviceListen is host and port at which devices dial in, each with a token of
	// its own; "" for none.
	DeviceListen string

	CACert string // file of further certificate authorities for remote servers
	Proxy  string // URL of a proxy for remote servers, in place of the environment's

	// AllowPrivateLinks has links in results also fetched from addresses that are
	// not public; see [call.Options].
	AllowPrivateLinks bool

	DataDir string // "" for the default of the system
	Version string
	Log     *slog.Logger

	// OnDemand starts servers only when a call needs them, whatever the
	// configuration says.
	OnDemand bool
	// Linger has the hub end by itself when the last client that is attached
	// by "toolcrib stdio" has gone.
	Linger bool

	// Budget says how often servers are tried, and for how long; zero for the
	// default.
	Budget fleet.Budget

	// Hurry, once closed, has Stop kill what is left and return at once. Nil
	// lets it take its time.
	Hurry <-chan struct{}
}

// App is one running hub.
type App struct {
	opt     Options
	log     *slog.Logger
	started time.Time

	dir     *datadir.Dir
	tokens  *auth.Tokens
	gate    *auth.Gate // who may come in
	secrets *secret.Store
	logins  *oauth.Keeper // at servers
	ln      net.Listener  // nil if only the socket is served
	socket  net.Listener
	tls     *tls.Config // nil for plain HTTP
	network transport.Network

	bus   *bus.Bus
	ended *bus.Bus // of calls; apart, since a burst of them would push other events out
	shown *bus.Bus // of the states of calls; apart as well

	source  *control.Source
	store   *store.DB
	keys    audit.Keys                // of the record of calls
	taken   atomic.Pointer[hub.Error] // that another hub has the same key; nil if none has
	audit   *audit.Log
	states  *callstate.Tracker
	rules   atomic.Pointer[policy.Policy]
	desk    *approval.Desk // at which people agree to calls
	events  *events.Log
	trees   *proc.Ledger // the processes of servers
	catalog *catalog.Catalog
	fleet   *fleet.Fleet
	stats   *stats.Stats
	tally   telemetry.Tally
	traces  *telemetry.Traces // nil if none are sent
	call    *call.Pipeline
	gateway *gateway.Gateway
	control *control.Control

	builtins  *builtin.Builtins
	endpoints *xiaozhi.Endpoints
	backends  *xiaozhi.Backends
	devices   *device.Door
	broker    *broker.Broker
	deviceLn  net.Listener                                                   // of devices; nil if they cannot dial in
	fill      func(text string) (filled string, secrets []string, err error) // placeholders

	mcp  *mcp.Door
	rest *rest.Door
	http *httpd.Server

	once    sync.Once
	stopped chan struct{} // closed when Stop has done all
	stopErr error         // written before
	over    chan struct{} // closed when somebody has asked for the end
	end     sync.Once
	failed  chan error
	steps   []step
	phases  phases
}

// New makes a hub that holds its data directory and its addresses, and does
// nothing yet. On an error, a [*hub.Error] or [config.Problems], nothing is
// held. Stop is to be called also if Start never is.
func New(ctx context.Context, opt Options) (_ *App, err error) {
	opt.Log = slog.New(telemetry.NewHandler(opt.Log.Handler()))
	a := &App{
		opt: opt, log: opt.Log, started: time.Now(), bus: &bus.Bus{}, ended: &bus.Bus{}, shown: &bus.Bus{},
		failed: make(chan error, 8), over: make(chan struct{}), stopped: make(chan struct{}),
		phases: phases{last: time.Now()},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(ctx))
		}
	}()
	if a.source, err = control.Load(opt.Config, opt.Strict, Builtins()); err != nil {
		return nil, err
	}
	a.tellSource()
	a.phases.done("configuration")
	if err := a.openData(opt.DataDir); err != nil {
		return nil, err
	}
	a.phases.done("data directory")
	if err := a.openStore(ctx); err != nil {
		return nil, err
	}
	a.phases.done("database")
	if err := a.listen(ctx); err != nil {
		return nil, err
	}
	a.phases.done("listeners")
	if a.network, err = network(opt); err != nil {
		return nil, err
	}
	if err := a.openIdentity(ctx); err != nil {
		return nil, err
	}
	if err := a.assemble(ctx); err != nil {
		return nil, err
	}
	a.phases.done("parts")
	return a, nil
}

// tellSource logs what is wrong or odd in the configuration file.
func (a *App) tellSource() {
	for _, w := range a.source.Warnings {
		a.log.Warn("configuration", "warning", w.String())
	}
	if a.source.Fault != nil {
		a.log.Error("the configuration file is not in force", "path", a.source.Path, "error", a.source.Fault)
	}
}

// openData takes the data directory, and opens what must be readable before
// anything else is done.
func (a *App) openData(path string) error {
	if path == "" {
		var err error
		if path, err = datadir.Default(); err != nil {
			return hub.E(message.DataDirUnusable, err, "path", "").With("detail", message.Cause(err))
		}
	}
	unusable := func(err error) error {
		return hub.E(message.DataDirUnusable, err, "path", path).With("detail", message.Cause(err))
	}
	dir, err := datadir.Open(path)
	if taken, ok := errors.AsType[*datadir.LockedError](err); ok {
		return hub.E(message.DataDirTaken, err, "path", path, "pid", fmt.Sprint(taken.PID))
	}
	if err != nil {
		return unusable(err)
	}
	a.dir = dir
	a.onStop("data directory", func(context.Context) error { return dir.Close() })
	if a.tokens, err = auth.OpenTokens(dir.AdminToken(), dir.CallerToken()); err != nil {
		return err
	}
	if a.secrets, err = secret.OpenStore(dir.SealKey(), dir.Secrets()); err != nil {
		return unusable(err)
	}
	if a.trees, err = proc.OpenLedger(dir.Trees()); err != nil {
		a.log.Warn("processes cannot be recorded; those of a hub that is killed would stay", "error", err)
	}
	if a.catalog, err = catalog.Open(catalog.Options{
		IndexPath: dir.Index(), PinsPath: dir.Pins(), Bus: a.bus, Log: a.log,
		TTL: a.source.Config.CacheTTL, ForceRefresh: a.source.Config.ForceRefresh,
	}); err != nil {
		return unusable(err)
	}
	return nil
}

// listen opens the address and the local socket.
func (a *App) listen(ctx context.Context) (err error) {
	if a.opt.TLSCert != "" || a.opt.TLSKey != "" {
		if a.tls, err = httpd.LoadTLS(a.opt.TLSCert, a.opt.TLSKey, a.log); err != nil {
			return err
		}
	}
	if a.opt.Listen != "" {
		if a.ln, err = httpd.Listen(ctx, a.opt.Listen, a.opt.RequireToken); err != nil {
			return err
		}
		a.onStop("listener", func(context.Context) error { return closed(a.ln.Close()) })
	}
	if a.opt.DeviceListen != "" {
		if a.deviceLn, err = httpd.Listen(ctx, a.opt.DeviceListen, true); err != nil {
			return err
		}
		a.onStop("device listener", func(context.Context) error { return closed(a.deviceLn.Close()) })
	}
	path, err := a.dir.Socket()
	if err != nil {
		return hub.E(message.DataDirUnusable, err, "path", a.dir.Path()).With("detail", message.Cause(err))
	}
	if a.socket, err = httpd.ListenSocket(ctx, path); err != nil {
		return err
	}
	a.onStop("socket", func(context.Context) error { return closed(a.socket.Close()) })
	return nil
}

// closed is the error of closing what may be closed already.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// assemble makes the parts out of each other.
func (a *App) assemble(ctx context.Context) error {
	info := implementation(a.opt.Version)
	a.builtins = builtin.New(builtin.Options{Network: outward(a.network), Simulated: func(key string) bool {
		s, _ := a.fleet.Server(key)
		return s.Simulated
	}})
	resolver := secret.New(secret.Options{Dir: filepath.Dir(a.source.Path), Store: a.secrets})
	resolve := func(s hub.Server) (hub.Server, []string, *hub.Error) { return config.Resolve(s, resolver) }
	if err := a.openLogins(resolve); err != nil {
		return err
	}
	if err := a.openDevices(info, resolver); err != nil {
		return err
	}
	a.fleet = fleet.New(fleet.Options{
		Servers: a.source.Config.Servers, Dial: upstream.Dial, Serve: a.serve, ClientInfo: info,
		Bus: a.bus, Log: a.log, Resolve: resolve, Network: a.network, Authorize: a.authorize, Owner: a.logins.Owner,
		Listed: a.listed, Updated: a.updated, Elicited: a.elicited, Known: a.catalog.Known, Withhold: a.catalog.Withhold,
		Budget: a.opt.Budget, OnDemand: a.opt.OnDemand, Processes: a.trees,
	})
	a.stats = a.measure(ctx)
	if err := a.openTraces(resolver); err != nil {
		return err
	}
	a.control = control.New(control.Options{
		Source: a.source, Builtins: Builtins(), Fleet: a.fleet, Catalog: a.catalog, Secrets: a.secrets, Logins: a.logins, Log: a.log,
		Brief: a.opt.OnDemand, Costs: a.stats.Typical, Views: a.catalog.SetViews, Settings: a.applied, Written: func() { a.recordReload(nil) },
		Redial: a.redial,
		Probe: func(ctx context.Context, s hub.Server) (*upstream.Conn, error) {
			return upstream.Dial(ctx, upstream.Options{
				Server: s, ClientInfo: info, Serve: a.serve, Log: a.log, Resolve: resolve, Network: a.network,
				Authorize: func(s hub.Server) transport.Authorizer { return a.tryOut(s) },
				Processes: a.trees, Capabilities: []byte(fleet.Askable), // or it would find fewer tools
			})
		},
	})
	a.call = call.New(call.Options{
		Catalog: a.catalog, Fleet: a.fleet, Bus: a.ended, Log: a.log, Observe: a.observe, Tracer: a.traces.Tracer(),
		Audit: a.audit, States: a.states, Settings: a.callSettings,
		Policy: a.rules.Load, Approvals: a.desk,
		AllowPrivateLinks: a.opt.AllowPrivateLinks,
	})
	a.gateway = gateway.New(gateway.Options{
		Call: a.call, Catalog: a.catalog, Bus: a.bus, Log: a.log, ServerInfo: info, Language: a.usual,
	})
	a.mcp = mcp.New(a.gateway)
	a.openVoice(info, resolver)
	endpoints, backends := a.dialled()
	a.rest = rest.New(rest.Options{
		Control: a.control, Call: a.call, Catalog: a.catalog, Audit: a.audit, Taken: a.taken.Load, Stats: a.stats, States: a.states, Events: a.events,
		Identity: a.gate,
		Version:  a.opt.Version, Started: a.started, Listen: a.URL, DataDir: a.dir.Path(),
		Sessions: a.gateway.Sessions, Shutdown: a.End, Phases: a.phases.list,
		Approvals: a.desk, Policy: a.rules.Load,
		Language:  a.usual,
		Endpoints: endpoints, Backends: backends, Devices: a.deviceView(),
	})
	listeners := []net.Listener{a.socket}
	if a.ln != nil {
		listeners = append(listeners, a.ln)
	}
	var err error
	a.http, err = httpd.New(httpd.Options{
		Listeners: listeners, Doors: a.doors(), Refuse: a.refuse, Log: a.log, Gate: a.gate,
		AllowHosts: a.opt.AllowHosts, RequireToken: a.opt.RequireToken, TLS: a.tls,
	})
	return err
}

// implementation is what the hub calls itself, to callers and to servers.
func implementation(version string) []byte {
	b, err := json.Marshal(struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}{"toolcrib", "Toolcrib", version})
	if err != nil {
		panic(err) // three strings
	}
	return b
}

// URL is where the hub listens, without a path; "" if it serves the local
// socket only.
func (a *App) URL() string { return a.http.URL() }

// Socket is the path of the local socket.
func (a *App) Socket() string { return a.socket.Addr().String() }

// DataDir is the data directory.
func (a *App) DataDir() string { return a.dir.Path() }

// Servers is how many servers the configuration has, the built-in ones
// included.
func (a *App) Servers() int { return len(a.control.Source().Config.Servers) }
