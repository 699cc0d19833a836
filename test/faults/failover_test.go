package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// gambit is a pipeline over servers of which each call says how it goes wrong.
type gambit struct {
	t     *testing.T
	pipe  *call.Pipeline
	tally string
	keys  []string // of the servers, the one of the highest priority first
	http  map[string]bool
	left  bool // after the last call that was alone, a process may have ended
}

const (
	spareTime = 500 * time.Millisecond // of a server that is not the last
	fullTime  = 20 * time.Second       // of the last one, and so of a call
)

// play starts the servers: "s" for each that is a process, "h" for each that is
// reached over HTTP.
func play(t *testing.T, kinds string) *gambit {
	t.Helper()
	g := &gambit{t: t, tally: filepath.Join(t.TempDir(), "tally"), http: make(map[string]bool)}
	var servers []hub.Server
	for i, kind := range kinds {
		key := string(rune('a' + i))
		args := []string{"-tally", g.tally, "-name", key}
		s := stdio(t, key, args...)
		if kind == 'h' {
			s = remote(t, key, args...)
			g.http[key] = true
		}
		s.Priority, s.Timeout = len(kinds)-i, spareTime
		if i == len(kinds)-1 {
			s.Timeout = fullTime
		}
		s.Retry = hub.Retry{Max: 2, Delay: 10 * time.Millisecond, MaxDelay: 50 * time.Millisecond, Jitter: 0.5}
		servers = append(servers, s)
		g.keys = append(g.keys, key)
	}
	log, events := slog.New(slog.DiscardHandler), &bus.Bus{}
	cat, err := catalog.Open(catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cat.SetServers(servers)
	b := budget()
	b.Ends, b.Ceiling, b.Pause, b.Backoff = 1_000_000, 50*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond
	f := fleet.New(fleet.Options{
		Servers: servers, Dial: upstream.Dial, ClientInfo: []byte(`{"name":"faults","version":"1"}`), Bus: events, Log: log,
		Listed: cat.Listed, Known: cat.Known, Withhold: cat.Withhold, Budget: b,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	g.pipe = call.New(call.Options{Catalog: cat, Fleet: f, Bus: events, Log: log})
	for _, s := range servers {
		if err := f.Wait(t.Context(), s.Key); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// risks draws how a call goes wrong at each server, each time that it gets it.
func (g *gambit) risks(r *rand.Rand) map[string][]string {
	all := make(map[string][]string)
	for i, key := range g.keys {
		what := []string{"crash before", "crash after", "leave after"}
		if g.http[key] {
			what = []string{
				"drop before", "drop after", "status before", "status after", "half before", "half after",
				"silent before", "silent after", "forget after",
			}
		}
		for range 3 {
			risk := ""
			switch n := r.IntN(20); {
			case n == 0 && i < len(g.keys)-1 && r.IntN(2) == 0: // the last one would take all the time there is
				risk = []string{"hang before", "hang after"}[r.IntN(2)]
			case n < 12:
				risk = what[r.IntN(len(what))]
			}
			all[key] = append(all[key], risk)
		}
	}
	return all
}

// marks are the servers at which the deed of a call was done, as often as it was,
// and those that have got the call.
func (g *gambit) marks(text string) (works, seen []string) {
	g.t.Helper()
	all, err := os.ReadFile(g.tally)
	if err != nil {
		g.t.Error(err)
	}
	for line := range strings.Lines(string(all)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == text {
			switch f[0] {
			case "work":
				works = append(works, f[1])
			case "seen":
				seen = append(seen, f[1])
			}
		}
	}
	return works, seen
}

// call makes a call.
func (g *gambit) call(tool, text string, risks map[string][]string) error {
	g.t.Helper()
	args, err := json.Marshal(map[string]any{"text": text, "risks": risks})
	if err != nil {
		return err
	}
	m, err := wire.Scan(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args), wire.Limits{})
	if err != nil {
		return err
	}
	_, err = g.pipe.Do(g.t.Context(), &call.Request{Principal: hub.Local(hub.DoorREST), Message: &m, Exchange: unasked{}})
	return err
}

// unasked is a caller that is told nothing and cannot be asked.
type unasked struct{}

func (unasked) Notify([]byte) {}

func (unasked) Ask(_ context.Context, q hub.Question) { q.Answer(nil, hub.E(message.NotAskable, nil)) }

// doubted reports whether an error says that the call may have been carried out.
func doubted(err error) bool {
	e := hub.AsError(err)
	return e.Code == message.OutcomeUnknown || e.Args["outcome"] == string(hub.OutcomeUnknown)
}

// Whatever goes wrong, what must not be repeated is sent once at most, and its
// caller learns whether it may have been done; what changes nothing is answered as
// long as one server works (design D6).
func TestFailoverRepeatsNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN: the tally needs lines that are appended in one piece")
	}
	const (
		most  = 20 * time.Second // of all rounds
		calls = 250              // of one
	)
	deadline := time.Now().Add(most)
	rounds := []string{"ss", "sh", "hs", "hh", "shs"}
	for i, kinds := range rounds {
		t.Run(kinds, func(t *testing.T) {
			g := play(t, kinds)
			seed := rand.Uint64()
			t.Logf("the seed is %d", seed)
			r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it has to be the same again
			until := time.Now().Add(time.Until(deadline) / time.Duration(len(rounds)-i))
			n := 0
			for ; n < calls && time.Now().Before(until); n++ {
				tool := []string{"risk_plain", "risk_plain", "risk_again", "risk_look"}[r.IntN(4)]
				risks := g.risks(r)
				if well := g.keys[r.IntN(len(g.keys))]; tool == "risk_look" {
					delete(risks, well)
				}
				if g.judge(tool, fmt.Sprintf("%s-%d", kinds, n), risks, true); t.Failed() {
					return
				}
			}
			t.Logf("%d calls", n)
			// And many at once, where a process that one call ends takes others along.
			var all sync.WaitGroup
			for w := range uint64(4) {
				all.Go(func() {
					r := rand.New(rand.NewPCG(seed, w+1)) //nolint:gosec // it has to be the same again
					for n := range calls / 10 {
						g.judge([]string{"risk_plain", "risk_again"}[r.IntN(2)], fmt.Sprintf("%s-%d-%d", kinds, w, n), g.risks(r), false)
					}
				})
			}
			all.Wait()
		})
	}
}

// judge makes a call, and says what is wrong about how it ended. alone says that
// no other call is under way.
func (g *gambit) judge(tool, text string, risks map[string][]string, alone bool) {
	g.t.Helper()
	err := g.call(tool, text, risks)
	works, seen := g.marks(text)
	fail := func(what string) {
		g.t.Helper()
		g.t.Errorf("%s %s: %s: %v; got by %q, done at %q; the risks: %v", tool, text, what, err, seen, works, risks)
	}
	// What is written to a process that ends by itself just then is in doubt.
	leaves := g.left
	if alone {
		g.left = slices.ContainsFunc(g.keys, func(key string) bool { return slices.Contains(risks[key], "leave after") })
		leaves = leaves || g.left
	}
	switch changing := tool != "risk_look"; {
	case tool == "risk_plain" && len(works) > 1:
		fail("it was repeated")
	case tool == "risk_plain" && len(seen) > 1:
		fail("it was sent twice")
	case err == nil && len(works) == 0:
		fail("it was answered and not done")
	case err != nil && changing && len(works) > 0 && !doubted(err):
		fail("it was done, and nobody is told that it may have been")
	case err != nil && alone && changing && !leaves && len(seen) == 0 && doubted(err):
		fail("it is in doubt, and nobody has got it")
	case err != nil && alone && !changing:
		fail("it was not answered, though one server works")
	}
}
