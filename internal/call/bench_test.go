package call

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// BenchmarkCall is a call of a tool, all the way to a server in this process that
// answers at once.
func BenchmarkCall(b *testing.B) {
	server, log := builtin("s"), slog.New(slog.DiscardHandler)
	cat, err := catalog.Open(catalog.Options{})
	if err != nil {
		b.Fatal(err)
	}
	cat.SetServers([]hub.Server{server})
	f := fleet.New(fleet.Options{
		Servers: []hub.Server{server}, Dial: upstream.Dial, ClientInfo: []byte(`{"name":"hub","version":"1"}`), Bus: &bus.Bus{}, Log: log,
		Listed: cat.Listed, Known: cat.Known, Withhold: cat.Withhold,
		Serve: func(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
			defer w.Close()
			offers(0, "x")(&peer{in: bufio.NewScanner(r), out: w})
			return nil
		},
	})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	if err := f.Start(ctx, "s"); err != nil {
		b.Fatal(err)
	}
	p := New(Options{Catalog: cat, Fleet: f, Log: log})
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__x","arguments":{}}}`), wire.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	req := &Request{Session: "session", Message: &m, Exchange: &caller{}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Do(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}
