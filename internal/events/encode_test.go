package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// callView is a record as the shape has it: what is written by hand has to be
// the same.
func callView(c *hub.CallRecord) api.EventCall {
	v := api.EventCall{
		ID: c.ID, Time: shown(c.Time), Method: c.Method, Subject: c.Subject, Door: string(c.Door), Session: c.Session,
		Client: c.Client, Group: c.Group, Name: c.Name, Server: c.Server, Tool: c.Tool, Changing: c.Changing, Verdict: c.Verdict,
		Mode: string(c.Mode), Risk: c.Risk, Rule: c.Rule, Approval: c.Approval, Grant: c.Grant, Tenant: c.Tenant,
		Outcome: string(c.Outcome), Code: c.Code, Reason: c.Reason, Cached: c.Cached, Queued: float64(c.Queued.Microseconds()) / 1000,
		Held:     float64(c.Held.Microseconds()) / 1000,
		Duration: float64(c.Duration.Microseconds()) / 1000, Bytes: c.Bytes, Trace: c.Trace,
	}
	for _, a := range c.Attempts {
		v.Attempts = append(v.Attempts, api.EventAttempt{Server: a.Server, Code: a.Code, Duration: float64(a.Duration.Microseconds()) / 1000})
	}
	return v
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	must(t, enc.Encode(v))
	return string(bytes.TrimSpace(b.Bytes()))
}

func TestCallIsItsShape(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_007_000, time.FixedZone("there", 3600))
	for _, c := range []hub.CallRecord{
		{Time: at},
		{
			ID: "id", Time: at, Method: "tools/call", Subject: `a"b`, Door: hub.DoorMCP, Session: "s", Client: "c\n\x01<&>é正", Group: "g",
			Name: "n", Server: "v", Tool: "t", Arguments: `{"secret":1}`, Digest: "d", Changing: true, Verdict: hub.VerdictAsk,
			Mode: hub.PolicyEnforce, Risk: "high", Rule: "w", Policy: "p", Approval: "a", Grant: "q", Tenant: "h",
			Outcome: hub.OutcomeToolError, Code: "x", Reason: "r", Cached: true, Queued: 1500 * time.Microsecond, Held: 2500 * time.Microsecond,
			Attempts: []hub.Attempt{{Server: "a", Code: "timeout", Duration: time.Second}, {Server: "b"}},
			Duration: 1234567 * time.Nanosecond, Bytes: 42, Trace: "0af7",
		},
	} {
		got := string(appendCall(nil, &c))
		if diff := cmp.Diff(marshal(t, callView(&c)), got); diff != "" {
			t.Errorf("(-shape +written)\n%s", diff)
		}
	}
}

func TestStateIsItsShape(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6_000, time.UTC)
	for _, s := range []hub.CallState{
		{Session: "s", Subject: "local", Status: hub.CallIdle},
		{Session: "s", Subject: "local", Status: hub.CallCalling, Tool: "t", Started: now}, // it has taken 0 ms
		{Session: "s", Subject: "local", Status: hub.CallCalling, Tool: "t", Started: now.Add(-time.Second), Arguments: `{"a":[1,"<"]}`, MaxRetries: 2},
		{Session: "s", Subject: "local", Status: hub.CallRetrying, Tool: "t", Started: now.Add(-time.Second), Arguments: `{"a":"cut of`, Retries: 1},
		{
			Session: "s", Subject: "x", Status: hub.CallFailed, Call: "c", Server: "v", Tool: "t", Arguments: "{}", Started: now.Add(-3 * time.Second),
			Ended: now.Add(-2 * time.Second), Retries: 1, MaxRetries: 2, Outcome: hub.OutcomeUnknown, Code: "timeout", Error: "e", Message: "网络", Others: 3, Resets: now.Add(time.Second),
		},
	} {
		want := marshal(t, StateView(&s, now))
		if got := string(appendState(nil, &s, now)); got != want {
			t.Errorf("(-shape +written)\n%s", cmp.Diff(want, got))
		}
	}
}

// A result comes with the event from memory, on one line.
func TestResult(t *testing.T) {
	s := hub.CallState{Session: "s", Subject: "x", Status: hub.CallSuccess, Result: []byte("{\n\"content\":\r\n[]}")}
	e := describe(hub.CallStateChanged{State: s})
	e.id = 7
	whole := Event{ID: 7, Kind: e.kind, event: e}
	line, got := whole.AppendData(nil), decoded(t, whole)
	if bytes.ContainsAny(line, "\r\n") || string(got.State.Result) != `{ "content":  []}` {
		t.Errorf("%s", line)
	}
	if bytes.Contains(written(e), []byte("content")) {
		t.Error("the result would be written to the database")
	}
	if string(s.Result) != "{\n\"content\":\r\n[]}" {
		t.Error("the state's own result was changed")
	}
}

// What a server says of its error is as private as its result; what the hub says
// is kept.
func TestErrorOfAServer(t *testing.T) {
	for code, kept := range map[string]bool{"": false, "timeout": true} {
		s := hub.CallState{Session: "s", Subject: "x", Status: hub.CallFailed, Code: code, Error: "no \"such\" key", Result: []byte(`{"isError":true}`)}
		e := describe(hub.CallStateChanged{State: s})
		e.id = 7
		got := decoded(t, Event{ID: 7, Kind: e.kind, event: e})
		if got.State.Error != s.Error || string(got.State.Result) != string(s.Result) {
			t.Errorf("%q: a listener gets %+v", code, got.State)
		}
		if bytes.Contains(written(e), []byte("such")) != kept {
			t.Errorf("%q: the database gets %s", code, written(e))
		}
	}
}

func TestOtherKinds(t *testing.T) {
	since := time.Now().UTC()
	l := begin(t, Options{})
	r := l.Read(Now, Filter{})
	for _, e := range []hub.Event{
		hub.ToolsChanged{Snapshot: 1},
		hub.ResourcesChanged{},
		hub.PromptsChanged{},
		hub.ToolsDrifted{Server: "s", Tools: []string{"a"}},
		hub.ToolsDrifted{Server: "s"},
		hub.ServerChanged{Status: hub.Status{
			Key: "s", State: hub.StateCrashed, Event: "lost", Since: since, Retry: since, Breaker: hub.BreakerOpen, Tools: 3,
			Reason: hub.E(message.ServerExited, errors.New("cause of the log"), "server", "s"), Stderr: "private",
		}},
		hub.ApprovalChanged{ID: "i", Status: "pending", Tenant: "t", Subject: "u", Server: "s", Tool: "s__t", Risk: hub.RiskHigh, Expires: since, By: "b"},
		hub.EndpointChanged{Device: true, Status: hub.EndpointStatus{
			Name: "e", URL: "private", State: hub.EndpointWaiting, Since: since, Retry: since, CloseCode: 4004,
			Reason:   hub.E(message.EndpointFailing, errors.New("cause of the log"), "endpoint", "e"),
			Warnings: []*hub.Error{hub.E(message.EndpointTokenEnds, errors.New("cause of the log"), "endpoint", "e", "at", "2026-12-01")},
		}},
		hub.DeviceChanged{Status: hub.DeviceStatus{ID: "aa:bb", Alias: "kitchen", Online: true, Since: since, Address: "private", Tools: 4}},
	} {
		l.bus.Publish(e)
	}
	all := l.next(t, r, 9)
	if diff := cmp.Diff([]string{"tools.changed", "resources.changed", "prompts.changed", "tools.drifted", "tools.drifted", "server.changed", "approval.changed", "endpoint.changed", "device.changed"}, tools(all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]*api.EventDrift{{Server: "s", Tools: []string{"a"}}, {Server: "s", Tools: []string{}}}, []*api.EventDrift{all[3].Drift, all[4].Drift}); diff != "" {
		t.Error(diff)
	}
	want := &api.EventServer{
		Key: "s", State: "crashed", Event: "lost", Since: since, Retry: &since, Breaker: "open", Tools: 3, Code: "server_exited",
		Reason: hub.E(message.ServerExited, nil, "server", "s").Text(message.English).String(),
	}
	if diff := cmp.Diff(want, all[5].Server); diff != "" {
		t.Error(diff)
	}
	asked := &api.EventApproval{ID: "i", Status: "pending", Tenant: "t", Subject: "u", Server: "s", Tool: "s__t", Risk: "high", Expires: shown(since), By: "b"}
	if diff := cmp.Diff(asked, all[6].Approval); diff != "" {
		t.Error(diff)
	}
	ends := hub.E(message.EndpointTokenEnds, nil, "endpoint", "e", "at", "2026-12-01").Text(message.English)
	endpoint := &api.EventEndpoint{
		Name: "e", Kind: "backends", State: "waiting", Since: since, Retry: since, CloseCode: 4004, Code: "endpoint_failing",
		Reason:   hub.E(message.EndpointFailing, nil, "endpoint", "e").Text(message.English).String(),
		Warnings: []api.EndpointWarning{{Code: "endpoint_token_ends", Text: ends.What, Remedy: ends.Remedy}},
	}
	if diff := cmp.Diff(endpoint, all[7].Endpoint); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&api.EventDevice{ID: "aa:bb", Alias: "kitchen", Online: true, Since: since, Tools: 4}, all[8].Device); diff != "" {
		t.Error(diff)
	}
}

// Endpoints and devices are told of to operators of the hub itself alone.
func TestVoiceSeen(t *testing.T) {
	red := "red"
	for _, p := range []hub.Event{
		hub.EndpointChanged{Status: hub.EndpointStatus{Name: "e"}}, hub.DeviceChanged{Status: hub.DeviceStatus{ID: "d", Alias: "kitchen"}},
	} {
		e := describe(p)
		if !(&Filter{}).wants(e) || (&Filter{Subject: "ann"}).wants(e) || (&Filter{Tenant: &red}).wants(e) {
			t.Errorf("%s is seen by the wrong ones", e.kind)
		}
	}
}

// Requests for approval are seen by who makes them, and by who may decide about
// them: those of the tenant, of servers that they see, also from the database.
func TestApprovalsSeen(t *testing.T) {
	tenant := func(name string) *string { return &name }
	git := func(server string) bool { return server == "git" }
	e := describe(hub.ApprovalChanged{ID: "i", Tenant: "red", Subject: "ann", Server: "files"})
	e.id = 5
	kept, err := decode(written(e), 4, 5)
	if err != nil || len(kept) != 1 {
		t.Fatal(err)
	}
	for _, test := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true},
		{Filter{Decides: true}, true},
		{Filter{Subject: "ann", Tenant: tenant("red")}, true},
		{Filter{Subject: "bob", Tenant: tenant("red")}, false},
		{Filter{Subject: "bob", Tenant: tenant("red"), Decides: true}, true},
		{Filter{Subject: "ann", Tenant: tenant("blue")}, false},
		{Filter{Subject: "ann", Tenant: tenant("blue"), Decides: true}, false},
		{Filter{Tenant: tenant("red"), Decides: true, Sees: git}, false},
		{Filter{Servers: []string{"files"}}, true},
		{Filter{Servers: []string{"git"}}, false},
	} {
		for _, one := range []*event{e, kept[0]} {
			if got := test.f.wants(one); got != test.want {
				t.Errorf("%+v: %v", test.f, got)
			}
		}
	}
	call := describe(hub.CallEnded{Call: &hub.CallRecord{Subject: "ann", Tenant: "red"}})
	if (&Filter{Subject: "bob", Tenant: tenant("red"), Decides: true}).wants(call) {
		t.Error("who decides sees calls of others")
	}
	if (&Filter{Subject: "ann", Servers: []string{"git"}}).wants(call) {
		t.Error("a call that names no server is told of to whom it is not known to concern")
	}
	if !(&Filter{Servers: []string{"git"}}).wants(describe(hub.ToolsChanged{})) {
		t.Error("that lists have changed is not told")
	}
}

// written is an event as it stands in a batch.
func written(e *event) []byte {
	var m maker
	m.add(e)
	return m.body
}

func FuzzDecode(f *testing.F) {
	e := &event{id: 5, seq: 1, kind: api.KindToolsChanged, server: `s"`, session: "x", subject: "y"}
	e.published = hub.ToolsChanged{}
	f.Add(written(e), int64(4), int64(5))
	f.Add([]byte("{}\n\n"), int64(-1), int64(0))
	f.Add([]byte(`{"n":1,"event":{"id":9,"kind":"gap"}}`), int64(0), int64(9))
	f.Fuzz(func(t *testing.T, body []byte, after, last int64) {
		events, err := decode(body, after, last)
		if err != nil {
			return
		}
		at := after
		for _, e := range events {
			if e.id <= at {
				t.Fatalf("%d is not after %d", e.id, at)
			}
			at = e.id
			again, err := decode(written(e), after, e.id)
			if err != nil || len(again) != 1 || again[0].id != e.id || again[0].session != e.session {
				t.Fatalf("%+v became %+v, %v", e, again, err)
			}
		}
		if len(events) > 0 && at != last {
			t.Fatalf("it ends with %d, and not with %d", at, last)
		}
	})
}
