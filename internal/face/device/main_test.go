package device_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	rig.Main(m)
}

const (
	mac   = "aa:bb:cc:dd:ee:01"
	alias = "device-aabbccddee01"
	host  = "192.0.2.7:8004"
)

// house is the hub as far as it has to do with devices, with a listener for them.
type house struct {
	t       testing.TB
	door    *device.Door
	fleet   *fleet.Fleet
	catalog *catalog.Catalog
	control *control.Control
	call    *call.Pipeline
	ended   *bus.Bus
	events  *bus.Bus
	client  *http.Client
	end     func() // shuts the door, and returns when it is
}

// open makes a house in which devices are let in by these settings.
func open(t testing.TB, conf hub.Devices, adjust ...func(*device.Options)) *house {
	t.Helper()
	return openTo(t, conf, nil, adjust...)
}

// openTo is open with the client by which the door dials backends.
func openTo(t testing.TB, conf hub.Devices, client *http.Client, adjust ...func(*device.Options)) *house {
	t.Helper()
	h := &house{t: t, events: &bus.Bus{}, ended: &bus.Bus{}}
	log := slog.New(slog.DiscardHandler)
	src, err := control.Load("", false, builtin.Keys())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	secrets, err := secret.OpenStore(dir+"/key", dir+"/secrets")
	if err != nil {
		t.Fatal(err)
	}
	if h.catalog, err = catalog.Open(catalog.Options{Bus: h.events, Log: log}); err != nil {
		t.Fatal(err)
	}
	opt := device.Options{
		Devices: conf, Key: []byte("a key of thirty-two bytes, or so"), ClientInfo: []byte(`{"name":"hub","version":"1"}`), Bus: h.events, Log: log, Client: client,
		Attach: func(ctx context.Context, def hub.Server) error { return h.control.Attach(ctx, def) },
		Detach: func(key, name string) { h.control.Detach(key, name) },
	}
	for _, one := range adjust {
		one(&opt)
	}
	h.door = device.New(opt)
	h.fleet = fleet.New(fleet.Options{
		Servers: src.Config.Servers, Dial: upstream.Dial, Serve: h.door.Serve, ClientInfo: []byte(`{"name":"hub","version":"1"}`),
		Bus: h.events, Log: log, Listed: h.catalog.Listed, Withhold: h.catalog.Withhold, OnDemand: true,
	})
	h.control = control.New(control.Options{
		Source: src, Builtins: builtin.Keys(), Fleet: h.fleet, Catalog: h.catalog, Secrets: secrets, Log: log, Views: h.catalog.SetViews,
	})
	h.call = call.New(call.Options{Catalog: h.catalog, Fleet: h.fleet, Bus: h.ended, Log: log})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = h.fleet.Run(ctx) })
	shut, shutting := context.WithCancel(ctx)
	done := make(chan struct{})
	all.Go(func() { _ = h.door.Run(shut); close(done) })
	h.end = func() { shutting(); <-done }
	ln := rig.NewListener(net.Pipe)
	server := &http.Server{Handler: h.door.Handler(), ReadHeaderTimeout: time.Minute}
	all.Go(func() { _ = server.Serve(ln) })
	pool := &http.Transport{DialContext: ln.Dial}
	h.client = &http.Client{Transport: pool}
	t.Cleanup(func() {
		shutting()
		cancel()
		pool.CloseIdleConnections()
		_ = server.Close()
		all.Wait()
	})
	return h
}

// usual are settings by which the device of the tests needs no token.
func usual() hub.Devices { return hub.Devices{Allow: []string{mac}, Keep: 10 * time.Minute} }

// in runs a test in which time is not real.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// dial connects a fake, which is sent away at the end.
func (h *house) dial(d *voice.Device) *voice.DeviceSocket {
	h.t.Helper()
	d.HTTP = h.client
	s, _, err := d.Dial(h.t.Context(), "ws://"+host+device.PathSocket)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(s.Drop)
	return s
}

// here connects a fake and waits until its tools are listed.
func (h *house) here(d *voice.Device) *voice.DeviceSocket {
	h.t.Helper()
	s := h.dial(d)
	synctest.Wait()
	if got := h.status(d.ID); got.Reason != nil || !got.Online {
		h.t.Fatalf("the device is not listed: %+v", got)
	}
	return s
}

// status is that of a device.
func (h *house) status(id string) hub.DeviceStatus {
	h.t.Helper()
	for _, s := range h.door.Statuses() {
		if s.ID == id {
			return s
		}
	}
	h.t.Fatalf("there is no device %s", id)
	return hub.DeviceStatus{}
}

// tools are the exposed names of all that is listed of a server.
func (h *house) tools(key string) []string {
	view, err := h.catalog.View(hub.Viewer{})
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, e := range view.Tools() {
		if e.Server.Key == key {
			names = append(names, e.Exposed)
		}
	}
	return names
}

// answer is what came of a call.
type answer struct {
	result string // raw
	fault  string // raw, of a JSON-RPC error
	err    *hub.Error
	took   time.Duration
}

// ask calls a tool as a program does.
func (h *house) ask(name, arguments string) answer {
	return h.askAs(hub.RoleCaller, false, name, arguments)
}

func (h *house) askAs(role hub.Role, person bool, name, arguments string) answer {
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%s,"arguments":%s}}`, wire.AppendString(nil, name), arguments)
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		h.t.Fatal(err)
	}
	began := time.Now()
	res, err := h.call.Do(context.Background(), &call.Request{
		Principal: hub.Principal{Subject: "test", Door: hub.DoorREST, Role: role}, Session: fmt.Sprint("call-", serials.Add(1)),
		Message: &m, Exchange: nobody{}, Viewer: hub.Viewer{Person: person},
	})
	a := answer{err: hub.AsError(err), took: time.Since(began)}
	if err == nil {
		got := wire.Splice(res.Message.Raw, res.Edits...)
		var said struct {
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(got, &said); err != nil {
			h.t.Fatal(err)
		}
		a.result, a.fault = string(said.Result), string(said.Error)
	}
	return a
}

var serials atomic.Int64 //nolint:gochecknoglobals // a counter

// nobody is the way back to a caller who does not listen.
type nobody struct{}

func (nobody) Notify([]byte) {}

func (nobody) Ask(_ context.Context, q hub.Question) { q.Answer(nil, hub.E(message.NotAskable, nil)) }

// request makes an HTTP request to the door, with the headers, and returns the answer.
func (h *house) request(method, path, body string, header ...string) (int, http.Header, string) {
	h.t.Helper()
	return h.do(h.make(method, path, body, header...))
}

func (h *house) make(method, path, body string, header ...string) *http.Request {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+host+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func (h *house) do(req *http.Request) (int, http.Header, string) {
	h.t.Helper()
	res, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(said)
}
