package property_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/face/mcp"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// Limits of the hub under test. They are such that the time of a run, which is
// not real, passes all of them.
const (
	callLimit     = 30 * time.Second
	questionLimit = 20 * time.Second
	idle          = 10 * time.Minute
)

// house is a hub with its door, served over connections within the process.
type house struct {
	catalog  *catalog.Catalog
	fleet    *fleet.Fleet
	pipeline *call.Pipeline
	gateway  *gateway.Gateway
	door     *mcp.Door

	line      *rig.Listener
	transport *http.Transport
	client    *http.Client
	web       *http.Server
	cancel    context.CancelFunc
	all       sync.WaitGroup
}

// open makes a hub of the servers, and returns when each of them is known.
func open(servers []*server) (*house, error) {
	log := slog.New(slog.DiscardHandler)
	events := &bus.Bus{}
	cat, err := catalog.Open(catalog.Options{Bus: events, Log: log})
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]*server, len(servers))
	var defs []hub.Server
	var known sync.WaitGroup
	for _, s := range servers {
		byKey[s.def.Key] = s
		defs = append(defs, s.def)
		known.Add(1)
	}
	cat.SetServers(defs)
	h := &house{catalog: cat, line: rig.NewListener(pipe)}
	h.fleet = fleet.New(fleet.Options{
		Servers: defs, ClientInfo: []byte(`{"name":"hub","version":"1"}`), Bus: events, Log: log,
		Dial: func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
			s := byKey[opt.Server.Key]
			opt.Server.Kind = hub.KindBuiltin
			opt.Serve = func(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
				s.serve(r, w)
				return nil
			}
			return upstream.Dial(ctx, opt)
		},
		Listed: func(def hub.Server, lists hub.Lists) {
			cat.Listed(def, lists)
			byKey[def.Key].listed.Do(known.Done)
		},
		Updated:  func(server string, callers []string, raw []byte) { h.gateway.Updated(server, callers, raw) },
		Elicited: func(server, id string, raw []byte) { h.gateway.Elicited(server, id, raw) },
	})
	h.pipeline = call.New(call.Options{Catalog: cat, Fleet: h.fleet, Bus: events, Log: log})
	h.gateway = gateway.New(gateway.Options{
		Call: h.pipeline, Catalog: cat, Bus: events, Log: log, ServerInfo: []byte(`{"name":"hub","version":"1"}`),
		Idle: idle, QuestionLimit: questionLimit,
	})
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(context.Background())
	h.all.Go(func() { _ = h.fleet.Run(ctx) })
	h.all.Go(func() { _ = h.gateway.Run(ctx) })
	known.Wait()

	h.door = mcp.New(h.gateway)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h.door)
	mux.Handle("/sse", h.door.SSE())
	mux.Handle("/messages", h.door.Messages())
	mux.Handle("/ws/mcp", h.door.WebSocket())
	h.web = &http.Server{Handler: mux, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	h.all.Go(func() { _ = h.web.Serve(h.line) })
	h.transport = &http.Transport{
		DialContext: h.line.Dial, DisableCompression: true, MaxIdleConnsPerHost: 4,
		ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10,
	}
	h.client = &http.Client{Transport: h.transport}
	return h, nil
}

// close stops the hub as the program does: the doors before the servers.
func (h *house) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = h.door.Close(ctx)
	h.transport.CloseIdleConnections()
	_ = h.web.Close()
	h.cancel()
	h.all.Wait()
}
