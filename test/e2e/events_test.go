package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// until follows the events until one is the last that is wanted.
func until(t *testing.T, hub *rig.Hub, q apiclient.EventQuery, last func(api.Event) bool) []api.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []api.Event
	for e, err := range hub.API().FollowEvents(ctx, q) {
		if err != nil {
			t.Fatalf("after %+v: %v", all, err)
		}
		if n := len(all); n > 0 && e.ID <= all[n-1].ID {
			t.Errorf("the id %d comes after %d", e.ID, all[n-1].ID)
		}
		if all = append(all, e); last(e) {
			return all
		}
	}
	t.Fatalf("the stream has ended after %+v", all)
	return nil
}

// TestEventsOverRestarts: whoever was cut off goes on where he was, after the hub
// was stopped, and after it was killed.
func TestEventsOverRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ended := func(tool string) func(api.Event) bool {
		return func(e api.Event) bool { return e.Call != nil && e.Call.Name == tool }
	}
	calls := apiclient.EventQuery{After: 1, Kinds: []string{api.KindCallEnded}}
	arguments := map[string]string{"calculator__calculator": `{"expression":"2 + 3"}`, "datetime__get_current_date": `{}`}
	call := func(hub *rig.Hub, tool string) {
		t.Helper()
		if _, err := hub.API().Call(t.Context(), api.Call{Tool: tool, Arguments: []byte(arguments[tool])}); err != nil {
			t.Fatal(err)
		}
	}

	hub := rig.StartHubIn(t, dir)
	call(hub, "calculator__calculator")
	call(hub, "datetime__get_current_date")
	first := until(t, hub, calls, ended("datetime__get_current_date"))
	if len(first) != 3 || first[0].Gap == nil || first[1].Call.Name != "calculator__calculator" || first[1].Call.Subject != "admin" {
		t.Errorf("of the first life: %+v", first)
	}
	hub.Stop()

	hub = rig.StartHubIn(t, dir)
	call(hub, "calculator__calculator")
	calls.After = first[1].ID
	second := until(t, hub, calls, ended("calculator__calculator"))
	if len(second) != 2 || second[0].ID != first[2].ID || second[0].Call.ID != first[2].Call.ID {
		t.Errorf("after a restart: %+v, before it %+v", second, first[2])
	}
	hub.Kill()

	hub = rig.StartHubIn(t, dir)
	call(hub, "datetime__get_current_date")
	calls.After = second[1].ID
	third := until(t, hub, calls, ended("datetime__get_current_date"))
	if len(third) != 2 || third[0].Gap == nil || third[0].Gap.Reason != "killed" {
		t.Errorf("after the hub was killed: %+v", third)
	}
}
