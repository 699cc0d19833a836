package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) {
	// The race detector would keep every child for a second after its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	rig.Main(m)
}

// shop is a control with everything that it ties together.
type shop struct {
	*control.Control
	t       testing.TB
	path    string // of the configuration file
	secrets *secret.Store
	fleet   *fleet.Fleet
	catalog *catalog.Catalog
	bus     *bus.Bus
	log     record
	inForce atomic.Pointer[config.Config] // as the options' Settings are told
	written atomic.Int32                  // how often the options' Written was told
	redials chan string                   // what the options' Redial was told
}

// record is a log that a test reads: the level, the message and the attributes
// of each line.
type record chan string

func (record) Enabled(context.Context, slog.Level) bool { return true }

func (r record) Handle(_ context.Context, line slog.Record) error {
	text := line.Level.String() + " " + line.Message
	line.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	r <- text
	return nil
}

func (r record) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r record) WithGroup(string) slog.Handler      { return r }

// open makes a shop with a configuration file of this text; none if it is
// empty. Nothing starts by itself in it.
func open(t testing.TB, text string) *shop {
	t.Helper()
	dir := t.TempDir()
	s := &shop{t: t, path: filepath.Join(dir, "config.json")}
	if text != "" {
		s.write(text)
	}
	s.start(dir)
	return s
}

func (s *shop) start(dir string) {
	t := s.t
	t.Helper()
	src, err := control.Load(s.path, false, builtin.Keys())
	if err != nil {
		t.Fatal(err)
	}
	if s.secrets, err = secret.OpenStore(filepath.Join(dir, "key"), filepath.Join(dir, "secrets")); err != nil {
		t.Fatal(err)
	}
	s.log, s.bus, s.redials = make(record, 10_000), &bus.Bus{}, make(chan string, 10)
	log, events := slog.New(s.log), s.bus
	if s.catalog, err = catalog.Open(catalog.Options{Bus: events, Log: log}); err != nil {
		t.Fatal(err)
	}
	builtins := builtin.New(builtin.Options{})
	resolver := secret.New(secret.Options{Dir: dir, Store: s.secrets})
	resolve := func(s hub.Server) (hub.Server, []string, *hub.Error) { return config.Resolve(s, resolver) }
	info := []byte(`{"name":"test","version":"1"}`)
	s.fleet = fleet.New(fleet.Options{
		Servers: src.Config.Servers, Dial: upstream.Dial, ClientInfo: info, Bus: events, Log: log,
		Serve: func(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
			if key == attached {
				key = "calculator"
			}
			return builtins.Serve(ctx, key, r, w)
		},
		Resolve: resolve, Listed: s.catalog.Listed, Withhold: s.catalog.Withhold, OnDemand: true,
	})
	s.Control = control.New(control.Options{
		Source: src, Builtins: builtin.Keys(), Fleet: s.fleet, Catalog: s.catalog, Secrets: s.secrets, Log: log, Views: s.catalog.SetViews,
		Settings: s.inForce.Store, Written: func() { s.written.Add(1) },
		Redial: func(kind config.Dialled, name string) { s.redials <- string(kind) + "/" + name },
		Probe: func(ctx context.Context, s hub.Server) (*upstream.Conn, error) {
			return upstream.Dial(ctx, upstream.Options{Server: s, ClientInfo: info, Serve: builtins.Serve, Log: log, Resolve: resolve})
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = s.fleet.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
}

// write is what somebody else does to the file.
func (s *shop) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// text is the file's; "" if there is none.
func (s *shop) text() string {
	s.t.Helper()
	text, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(text)
}

// sealed are the sealed values by their names.
func (s *shop) sealed() map[string]string {
	s.t.Helper()
	list, err := s.secrets.List()
	if err != nil {
		s.t.Fatal(err)
	}
	all := make(map[string]string)
	for _, one := range list {
		if all[one.Name], err = s.secrets.Get(one.Name); err != nil {
			s.t.Fatal(err)
		}
	}
	return all
}

// keys are the servers that the fleet has, without the built-in ones.
func (s *shop) keys() []string {
	keys := []string{}
	for _, st := range s.fleet.Status() {
		if !slices.Contains(builtin.Keys(), st.Key) {
			keys = append(keys, st.Key)
		}
	}
	return keys
}

// add adds a server and fails the test if that does.
func (s *shop) add(key, entry string) {
	s.t.Helper()
	if _, err := s.Add(key, []byte(entry)); err != nil {
		s.t.Fatalf("add %s: %v", key, err)
	}
}

// wantCode fails the test unless the error has the code.
func wantCode(t testing.TB, err error, code message.Code) {
	t.Helper()
	if !hub.IsCode(err, code) {
		t.Errorf("the error is %v, want %s", err, code)
	}
}

// wantText fails the test unless the file holds just this text.
func (s *shop) wantText(want string) {
	s.t.Helper()
	if got := s.text(); got != want {
		s.t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
}

// quote is a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// faultServer is the entry of a fault-injecting server with these members
// besides.
func faultServer(t testing.TB, members ...string) string {
	return "{" + strings.Join(append([]string{`"command":` + quote(rig.FaultServer(t))}, members...), ",") + "}"
}
