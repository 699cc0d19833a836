package call

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strconv"
	"testing"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// BenchmarkCall is a call of a tool, all the way to a server in this process that
// answers at once.
func BenchmarkCall(b *testing.B) { benchmarkCall(b, Options{}, `{}`) }

// BenchmarkJudgedCall is the same call when there are rules: what it takes more than
// the other one is what judging adds.
func BenchmarkJudgedCall(b *testing.B) {
	rules, faults := policy.Compile(hub.Policy{Given: true, Rules: []hub.Rule{
		{Effect: hub.VerdictDeny, Tools: []string{"*__delete_*"}}, {Effect: hub.VerdictAsk, Servers: []string{"prod"}}, {Effect: hub.VerdictAllow, Servers: []string{"s"}},
	}})
	if len(faults) > 0 {
		b.Fatal(faults)
	}
	for _, small := range []string{`{}`, `{"path":"notes/today.md","text":"Buy milk, and call Ann about the flat.","tags":["home","todo"],"limit":20}`} {
		b.Run(strconv.Itoa(len(small))+" bytes", func(b *testing.B) {
			benchmarkCall(b, Options{Policy: func() *policy.Policy { return rules }}, small)
		})
	}
}

func benchmarkCall(b *testing.B, opt Options, arguments string) {
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
	opt.Catalog, opt.Fleet, opt.Log = cat, f, log
	p := New(opt)
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__x","arguments":`+arguments+`}}`), wire.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	req := &Request{Principal: hub.Local(hub.DoorMCP), Session: "session", Message: &m, Exchange: &caller{}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Do(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}
