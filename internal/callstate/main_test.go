package callstate

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// display is a tracker, with what is published of it.
type display struct {
	*Tracker
	sub  *bus.Subscription
	stop func() // ends Run, if it runs
}

func newDisplay(t *testing.T) *display {
	t.Helper()
	b := &bus.Bus{}
	d := &display{Tracker: New(Options{Bus: b}), sub: b.Subscribe(1 << 15)}
	t.Cleanup(d.sub.Close)
	return d
}

// running has the ends be reset.
func (d *display) running(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	d.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(d.stop)
}

// published are the states that were published since it was asked last.
func (d *display) published() []hub.CallState {
	var all []hub.CallState
	for len(d.sub.C()) > 0 {
		all = append(all, (<-d.sub.C()).(hub.CallStateChanged).State)
	}
	return all
}

func statuses(all []hub.CallState) []hub.CallStatus {
	var s []hub.CallStatus
	for _, one := range all {
		s = append(s, one.Status)
	}
	return s
}

// shown is what a session shows, idle if nothing.
func (d *display) shown(session string) hub.CallState {
	s, ok := d.State(session)
	if !ok {
		return hub.CallState{Status: hub.CallIdle}
	}
	return s
}

// beginning is that of a call which can be made again.
func beginning(session, call string) Beginning {
	return Beginning{
		Session: session, Subject: "local", Call: call, Tool: "x__get_weather", Arguments: `{"city":"Bremen"}`, MaxRetries: 2, Lang: "en",
		Request: Request{Principal: hub.Local(hub.DoorMCP), Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`), Level: "info"},
	}
}
