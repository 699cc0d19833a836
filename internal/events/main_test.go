package events

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/toolcrib/toolcrib/internal/store/storetest.newServer"))
}

// life is a log that runs.
type life struct {
	*Log
	bus  bus.Bus
	stop func()
}

// begin starts a log on a database, or in memory only; its end is the test's or
// stop.
func begin(t testing.TB, opt Options) *life {
	t.Helper()
	l := &life{}
	opt.Buses = []*bus.Bus{&l.bus}
	var err error
	l.Log, err = Open(t.Context(), opt)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	l.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(l.stop)
	return l
}

// next waits for n events at least.
func (l *life) next(t testing.TB, r *Reader, n int) []api.Event {
	t.Helper()
	var all []api.Event
	for len(all) < n {
		got, more, err := r.Next(t.Context(), nil)
		must(t, err)
		for _, e := range got {
			all = append(all, decoded(t, e))
		}
		if more == nil || len(all) >= n {
			continue
		}
		select {
		case <-more:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d events came, and then none", len(all), n)
		}
	}
	return all
}

// settle waits until so many events have been taken.
func (l *life) settle(t testing.TB, seq int64) {
	t.Helper()
	for range 10_000 {
		l.mu.Lock()
		now := l.seq
		l.mu.Unlock()
		if now >= seq {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d events were not taken", seq)
}

// writtenDown waits until nothing waits to be written.
func (l *life) writtenDown(t testing.TB) {
	t.Helper()
	for range 10_000 {
		if l.Figures().Waiting == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the events are not written")
}

func decoded(t testing.TB, e Event) api.Event {
	t.Helper()
	var v api.Event
	if err := json.Unmarshal(e.AppendData(nil), &v); err != nil {
		t.Fatalf("%s: %v", e.AppendData(nil), err)
	}
	if v.ID != e.ID || v.Kind != e.Kind {
		t.Fatalf("%+v is not %d %s", v, e.ID, e.Kind)
	}
	return v
}

// ended is a call by the name of its tool.
func ended(tool string) hub.Event {
	return hub.CallEnded{Call: &hub.CallRecord{Time: time.Now(), Subject: "local", Door: hub.DoorREST, Name: tool, Server: "s", Tool: tool, Outcome: hub.OutcomeOK}}
}

func state(session, subject string, status hub.CallStatus) hub.Event {
	return hub.CallStateChanged{State: hub.CallState{Session: session, Subject: subject, Status: status, Tool: "t", Result: []byte(`{"content":[]}`)}}
}

func (l *life) publish(from, to int) {
	for i := from; i < to; i++ {
		l.bus.Publish(ended(fmt.Sprint("tool", i)))
	}
}

// tools are the names of the tools of calls that ended, and the other kinds.
func tools(all []api.Event) []string {
	var names []string
	for _, e := range all {
		if e.Call != nil {
			names = append(names, e.Call.Tool)
		} else {
			names = append(names, e.Kind)
		}
	}
	return names
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
