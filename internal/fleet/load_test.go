package fleet

import (
	"log/slog"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Whoever asks how a breaker stands lets nothing through.
func TestBreakerBars(t *testing.T) {
	b, now := newBreaker("s", hub.Breaker{Failures: 1, Cooldown: time.Minute}), time.Now()
	if e := b.bars(now); e != nil {
		t.Errorf("closed: %v", e)
	}
	p, _ := b.allow(now)
	b.report(now, p, unanswered)
	if e := b.bars(now.Add(time.Second)); e == nil || e.Code != message.ServerBroken {
		t.Errorf("open: %v", e)
	}
	now = now.Add(time.Minute)
	for range 2 {
		if e := b.bars(now); e != nil {
			t.Errorf("when a call may try: %v", e)
		}
	}
	if p, e := b.allow(now); e != nil || p.trial == 0 {
		t.Errorf("the trial was taken: %v", e)
	}
	if e := b.bars(now); e == nil {
		t.Error("while a call tries, another one may pass")
	}
}

// Of two servers the one is better that has less to do on each connection, where
// to start one counts as so many calls. At the same load one is started.
func TestLoadsCompare(t *testing.T) {
	away := hub.E(message.ServerStopped, nil, "server", "s")
	ready := func(calls, connections int) Load { return Load{Ready: true, Calls: calls, Connections: connections} }
	order := []Load{
		ready(0, 1), ready(2, 3), ready(1, 1), ready(3, 2),
		{Start: 2},
		ready(2, 1), ready(5, 2),
		{Start: 2, Calls: 1},
		ready(3, 1),
		{Start: 4},
		ready(4, 1),
		{Start: 2, Calls: 3},
		{Away: away, Ready: true, Connections: 1},
	}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%+v, %+v: %d", a, b, got)
			}
		}
	}
}

// What is not running is told apart: what a call would start, and what it would
// not get.
func TestLoadAtRest(t *testing.T) {
	off := hub.Server{Key: "off", Kind: hub.KindBuiltin}
	idle := hub.Server{Key: "idle", Kind: hub.KindBuiltin, Enabled: true}
	f := New(Options{Servers: []hub.Server{off, idle}, OnDemand: true, Bus: &bus.Bus{}, Log: slog.New(slog.DiscardHandler)})
	for key, want := range map[string]message.Code{"off": message.ServerDisabled, "none": message.ServerUnknown, "idle": ""} {
		l := f.Load(key)
		if want == "" && (l.Away != nil || l.Lost != nil) || want != "" && (l.Away == nil || l.Away.Code != want) || l.Ready {
			t.Errorf("%s: %+v", key, l)
		}
	}
}
