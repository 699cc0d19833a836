package telemetry

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func TestTally(t *testing.T) {
	tally := &Tally{}
	for _, r := range []hub.CallRecord{
		{Server: "a", Outcome: hub.OutcomeOK},
		{Server: "a", Outcome: hub.OutcomeToolError},
		{Server: "a", Outcome: hub.OutcomeOK, Attempts: []hub.Attempt{{Server: "a", Code: "server_down"}}},
		{Server: "a", Outcome: hub.OutcomeOK, Queued: time.Second, Attempts: []hub.Attempt{
			{Server: "a", Code: "server_down"}, {Server: "a", Code: "server_down", Duration: 1}, {Server: "a", Duration: 1},
		}},
		{Server: "b", Outcome: hub.OutcomeFailed, Code: string(message.Timeout), Queued: 2 * time.Second, Attempts: []hub.Attempt{
			{Server: "a", Code: "server_down"}, {Server: "c", Code: "server_down"}, {Server: "c", Code: "timeout", Duration: 1}, {Server: "b", Code: "timeout", Duration: 1},
		}},
		{Server: "b", Outcome: hub.OutcomeFailed, Code: string(message.Timeout), Queued: time.Second},
		// The second round begins with the first server again, and passes over the other.
		{Server: "d", Outcome: hub.OutcomeFailed, Code: string(message.Timeout), Attempts: []hub.Attempt{
			{Server: "d", Code: "timeout", Duration: 1},
			{Server: "e", Code: "server_down", Duration: 1},
			{Server: "d", Code: "timeout", Duration: 1},
			{Server: "e", Code: "server_circuit_open"},
		}},
		{Outcome: hub.OutcomeFailed, Code: string(message.ToolUnknown), Queued: time.Second},
		{Server: "a", Outcome: hub.OutcomeFailed, Code: "made up"},
		// The hub has refused these itself; the last one may have been sent before.
		{Server: "f", Outcome: hub.OutcomeFailed, Code: string(message.ArgumentsInvalid)},
		{Server: "f", Outcome: hub.OutcomeFailed, Code: string(message.QueueFull)},
		{Server: "f", Outcome: hub.OutcomeFailed, Code: string(message.AuditUnwritable)},
		{Server: "f", Outcome: hub.OutcomeUnknown, Code: string(message.Limited)},
	} {
		tally.Observe(&r)
	}
	got := tally.Errors()
	want := Errors{
		Codes: map[message.Code]int64{
			message.Timeout: 3, message.ToolUnknown: 1, message.Internal: 1,
			message.ArgumentsInvalid: 1, message.QueueFull: 1, message.AuditUnwritable: 1, message.Limited: 1,
		},
		Refused:   map[string]int64{"f": 3},
		Retries:   map[string]int64{"a": 2, "c": 1, "d": 1},
		Failovers: map[string]int64{"a": 1, "c": 1, "d": 2, "e": 1},
		Waited:    map[string]time.Duration{"a": time.Second, "b": 3 * time.Second},
	}
	if !maps.Equal(got.Codes, want.Codes) || !maps.Equal(got.Refused, want.Refused) || !maps.Equal(got.Retries, want.Retries) ||
		!maps.Equal(got.Failovers, want.Failovers) || !maps.Equal(got.Waited, want.Waited) {
		t.Errorf("got  %+v,\nwant %+v", got, want)
	}
	got.Codes[message.Timeout] = 99
	if tally.Errors().Codes[message.Timeout] != 3 {
		t.Error("what was counted can be changed from outside")
	}
}

// Every verdict is counted, by what becomes of it.
func TestVerdicts(t *testing.T) {
	tally := &Tally{}
	for _, r := range []hub.CallRecord{
		{Verdict: hub.VerdictAllow, Mode: hub.PolicyEnforce, Outcome: hub.OutcomeOK},
		{Verdict: hub.VerdictAllow, Mode: hub.PolicyEnforce, Outcome: hub.OutcomeToolError},
		{Verdict: hub.VerdictAsk, Mode: hub.PolicyObserve, Outcome: hub.OutcomeOK},
		{Verdict: hub.VerdictDeny, Mode: hub.PolicyEnforce, Outcome: hub.OutcomeFailed, Code: string(message.PolicyDenied)},
		{Outcome: hub.OutcomeFailed, Code: string(message.ToolUnknown)}, // never judged
	} {
		tally.Observe(&r)
	}
	want := map[Verdict]int64{
		{hub.VerdictAllow, hub.PolicyEnforce}: 2, {hub.VerdictAllow, hub.PolicyObserve}: 0, {hub.VerdictAsk, hub.PolicyEnforce}: 0,
		{hub.VerdictAsk, hub.PolicyObserve}: 1, {hub.VerdictDeny, hub.PolicyEnforce}: 1, {hub.VerdictDeny, hub.PolicyObserve}: 0,
	}
	if got := tally.Verdicts(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What a server did, or did not do, is no refusal of the hub's.
func TestRefusals(t *testing.T) {
	for code, want := range map[message.Code]bool{
		message.ArgumentsInvalid: true, message.ParamsInvalid: true, message.Limited: true, message.QueueFull: true,
		message.QueueExpired: true, message.ToolChanged: true, message.NotAskable: true, message.QuestionDeclined: true,
		message.AuditUnwritable: true, message.ShuttingDown: true,
		message.PolicyDenied: true, message.ApprovalPending: true, message.ApprovalRejected: true, message.ApprovalExpired: true, message.ApprovalCancelled: true,
		message.ApprovalTaken: true, message.ApprovalsFull: true, message.ApprovalUnknown: true, message.RoleRefused: true, message.ScopeRefused: true,
		message.Timeout: false, message.ServerStopped: true, message.ServerDisabled: true, message.ServerDown: false, message.ServerBroken: false,
		message.ServerBadReply: false, message.ServerUnauthorized: false, message.AllFailed: false, message.Internal: false,
		message.SettingUnresolved: false,
	} {
		if refusal(code) != want {
			t.Errorf("%s: %v", code, !want)
		}
	}
}

func TestTallyIsBounded(t *testing.T) {
	tally := &Tally{}
	for i := range mostServers + 10 {
		tally.Observe(&hub.CallRecord{Server: fmt.Sprint(i), Queued: 1})
	}
	tally.Observe(&hub.CallRecord{Server: "0", Queued: 1})
	if e := tally.Errors(); len(e.Waited) != mostServers || e.Waited["0"] != 2 {
		t.Errorf("it counts %d servers, and %d of the first", len(e.Waited), e.Waited["0"])
	}
}

func TestTallyFromEverywhere(t *testing.T) {
	tally := &Tally{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				tally.Observe(&hub.CallRecord{Code: string(message.Timeout)})
				tally.Errors()
			}
		})
	}
	all.Wait()
	if n := tally.Errors().Codes[message.Timeout]; n != 800 {
		t.Errorf("counted %d", n)
	}
}

func BenchmarkTally(b *testing.B) {
	tally, r := &Tally{}, &hub.CallRecord{Server: "a", Tool: "t", Outcome: hub.OutcomeOK}
	b.ReportAllocs()
	for b.Loop() {
		tally.Observe(r)
	}
}
