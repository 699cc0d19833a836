// Package app puts the program together: it makes every part, starts them in
// order, and stops them in the opposite one. Several instances may live in one
// process, as they do in tests.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/face/mcp"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// Limits of stopping.
const (
	drainLimit  = 10 * time.Second // for calls under way to end by themselves
	answerLimit = 2 * time.Second  // for the answers to those that were cancelled
	closeLimit  = 5 * time.Second  // for connections to close after that
)

// Options are what a person can choose at the start.
type Options struct {
	Config  *config.Config
	Listen  string // host and port; port 0 for any that is free
	DataDir string // "" for the default of the system
	Version string
	Log     *slog.Logger

	// Budget says how often servers are tried, and for how long; zero for the
	// default.
	Budget fleet.Budget
}

// App is one running hub.
type App struct {
	log     *slog.Logger
	dir     *datadir.Dir
	ln      net.Listener
	catalog *catalog.Catalog
	fleet   *fleet.Fleet
	call    *call.Pipeline
	gateway *gateway.Gateway
	http    *httpd.Server
	servers map[string]hub.Server

	once    sync.Once
	stopErr error
	failed  chan error
	steps   []step
}

// step is one thing to undo when the hub stops.
type step struct {
	name string
	undo func(ctx context.Context) error
}

// New makes a hub that holds its data directory and its address, and does
// nothing yet. On an error, a [*hub.Error], nothing is held. Stop is to be
// called also if Start never is.
func New(ctx context.Context, opt Options) (_ *App, err error) {
	a := &App{log: opt.Log, failed: make(chan error, 8), servers: make(map[string]hub.Server)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(ctx))
		}
	}()
	if err := a.openData(opt.DataDir); err != nil {
		return nil, err
	}
	if a.ln, err = httpd.Listen(ctx, opt.Listen); err != nil {
		return nil, err
	}
	a.onStop("listener", func(context.Context) error {
		if err := a.ln.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})

	events := &bus.Bus{}
	a.catalog, err = catalog.Open(catalog.Options{IndexPath: a.dir.Index(), Bus: events, Log: a.log})
	if err != nil {
		return nil, hub.E(message.DataDirUnusable, err, "path", a.dir.Path(), "detail", err.Error())
	}
	var enabled []hub.Server
	for _, s := range opt.Config.Servers {
		a.servers[s.Key] = s
		if s.Enabled {
			enabled = append(enabled, s)
		}
	}
	a.catalog.SetServers(enabled)
	info := implementation(opt.Version)
	a.fleet = fleet.New(fleet.Options{
		Servers: opt.Config.Servers, Dial: upstream.Dial, Serve: builtin.Serve, ClientInfo: info,
		Bus: events, Log: a.log, Listed: a.listed, Known: a.known,
		Budget: opt.Budget,
	})
	a.call = call.New(a.catalog, a.fleet, a.log)
	a.gateway = gateway.New(gateway.Options{
		Call: a.call, Catalog: a.catalog, Bus: events, Log: a.log, ServerInfo: info,
	})
	a.http = httpd.New(a.ln, a.doors(), mcp.Refuse, a.log)
	return a, nil
}

func (a *App) openData(path string) error {
	if path == "" {
		var err error
		if path, err = datadir.Default(); err != nil {
			return hub.E(message.DataDirUnusable, err, "path", "", "detail", err.Error())
		}
	}
	dir, err := datadir.Open(path)
	if taken, ok := errors.AsType[*datadir.LockedError](err); ok {
		return hub.E(message.DataDirTaken, err, "path", path, "pid", fmt.Sprint(taken.PID))
	}
	if err != nil {
		return hub.E(message.DataDirUnusable, err, "path", path, "detail", err.Error())
	}
	a.dir = dir
	a.onStop("data directory", func(context.Context) error { return dir.Close() })
	return nil
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

// listed takes what a server offers into the catalog.
func (a *App) listed(key string, tools [][]byte) {
	a.catalog.Replace(key, catalog.Accept(a.servers[key], tools, a.log))
}

// known reports whether the index has tools of the server.
func (a *App) known(key string) bool {
	for _, e := range a.catalog.Snapshot().Entries() {
		if e.Server.Key == key {
			return true
		}
	}
	return false
}

// Start begins to serve. It does not wait for any server: what is known of
// them from before is listed at once.
func (a *App) Start() {
	a.run("catalog", a.catalog.Run)
	a.run("servers", a.fleet.Run)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := a.http.Run(); err != nil {
			a.failed <- fmt.Errorf("serve HTTP: %w", err)
		}
	}()
	a.onStop("http", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, closeLimit)
		defer cancel()
		err := a.http.Shutdown(ctx)
		<-served
		return err
	})
	a.run("gateway", a.gateway.Run)
	a.onStop("calls", func(ctx context.Context) error {
		calls := a.call.Calls()
		patient, cancel := context.WithTimeout(ctx, drainLimit)
		defer cancel()
		if calls.Drain(patient) == nil {
			return nil
		}
		// Their callers get an answer, if not the one they hoped for.
		a.log.Warn("calls that did not end in time are cancelled")
		calls.CancelAll(hub.E(message.ShuttingDown, nil))
		last, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		return calls.Drain(last)
	})
}

// run starts a part that runs until its context ends, and has it end when its
// turn comes.
func (a *App) run(name string, part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := part(ctx)
		if err != nil && ctx.Err() == nil {
			a.failed <- fmt.Errorf("%s: %w", name, err)
		}
		done <- err
	}()
	a.onStop(name, func(context.Context) error {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
}

func (a *App) onStop(name string, undo func(context.Context) error) {
	a.steps = append(a.steps, step{name, undo})
}

// Failed tells of a part that ended by itself; the hub is then to be stopped.
func (a *App) Failed() <-chan error { return a.failed }

// Stop ends everything in the opposite order of the start: calls under way may
// end, then connections, processes, and what is saved. It may be called more
// than once and returns when all is done; each step is bounded in time.
func (a *App) Stop(ctx context.Context) error {
	a.once.Do(func() {
		ctx := context.WithoutCancel(ctx)
		for _, s := range slices.Backward(a.steps) {
			if err := s.undo(ctx); err != nil {
				a.stopErr = errors.Join(a.stopErr, fmt.Errorf("stop %s: %w", s.name, err))
			}
		}
	})
	return a.stopErr
}

// URL is where the hub listens, without a path.
func (a *App) URL() string { return "http://" + a.ln.Addr().String() }

// DataDir is the data directory.
func (a *App) DataDir() string { return a.dir.Path() }

// Run makes a hub, calls ready once it serves, keeps it until ctx ends or a
// part of it fails, and stops it.
func Run(ctx context.Context, opt Options, ready func(*App)) error {
	a, err := New(ctx, opt)
	if err != nil {
		return err
	}
	a.Start()
	ready(a)
	select {
	case <-ctx.Done():
		opt.Log.Info("stopping")
		return a.Stop(ctx)
	case err := <-a.Failed():
		return errors.Join(err, a.Stop(ctx))
	}
}

// doors is what there is behind the listener.
func (a *App) doors() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.New(a.gateway))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", a.readyz)
	return mux
}
