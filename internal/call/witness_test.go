package call

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// A call that the hub has only carried is on record as any, with its arguments redacted,
// and counts once.
func TestWitness(t *testing.T) {
	l, _ := record(t)
	var seen []hub.CallRecord
	p := New(Options{Audit: l, Log: slog.New(slog.DiscardHandler), Observe: func(c hub.CallRecord) { seen = append(seen, c) }})
	made := hub.CallRecord{Method: "tools/call", Subject: "relay:aa:bb", Door: hub.DoorDevice, Server: "kitchen", Name: "self.reboot", Tool: "self.reboot"}
	first := p.Witness(made, []byte(`{"password":"hush-hush"}`))
	second := p.Witness(made, nil)
	second(hub.OutcomeUnknown, hub.E(message.DeviceDropped, nil, "device", "aa:bb").With("detail", message.Say("it does not answer any more")), 0)
	first(hub.OutcomeOK, nil, 12)
	first(hub.OutcomeToolError, nil, 13)
	if len(seen) != 2 {
		t.Fatalf("%d calls are told of", len(seen))
	}
	var page *audit.Page
	for deadline := time.Now().Add(time.Minute); page == nil || len(page.Calls) < 2; time.Sleep(time.Millisecond) {
		var err error
		if page, err = l.Query(context.Background(), audit.Filter{Subject: made.Subject}, "", 10); err != nil || time.Now().After(deadline) {
			t.Fatalf("on record is %+v (%v)", page, err)
		}
	}
	for _, one := range page.Calls {
		c := one.CallRecord
		want, known := map[hub.Outcome]struct {
			code      string
			arguments string
			bytes     int
		}{hub.OutcomeUnknown: {string(message.DeviceDropped), "", 0}, hub.OutcomeOK: {"", `{"password":"***"}`, 12}}[c.Outcome]
		if !known || c.Code != want.code || c.Arguments != want.arguments || c.Bytes != want.bytes || c.Server != "kitchen" || c.Tool != "self.reboot" || c.Door != hub.DoorDevice {
			t.Errorf("on record is %+v", c)
		}
	}
}

// What is not a tool of a server's is counted as no tool at all, and what a caller has
// sent is not kept until its call ends.
func TestWitnessOfWhatIsMadeUp(t *testing.T) {
	l, _ := record(t)
	var seen []hub.CallRecord
	p := New(Options{Audit: l, Log: slog.New(slog.DiscardHandler), Observe: func(c hub.CallRecord) { seen = append(seen, c) }})
	sent := []byte(`{"volume":5}`)
	end := p.Witness(hub.CallRecord{Method: "tools/call", Subject: "relay:aa:bb", Door: hub.DoorDevice, Name: "self.made\nup"}, sent)
	copy(sent, "************")
	end(hub.OutcomeOK, nil, 1)
	if len(seen) != 1 || seen[0].Server != "" || seen[0].Tool != "" || seen[0].Name != message.Quote("self.made\nup") || seen[0].Arguments != `{"volume":5}` {
		t.Errorf("it is told of %+v", seen)
	}
}
