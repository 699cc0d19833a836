package control_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// attached is the key of a server that no configuration has.
const attached = "kitchen"

// A server that is attached is listed and started beside those of the configuration,
// outlives changes of that, and goes when it is detached. What the configuration has
// goes before it.
func TestAttach(t *testing.T) {
	s := open(t, `{"mcpServers":{"one":{"command":"none"}}}`)
	def := hub.Server{Key: attached, Kind: hub.KindDevice, Enabled: true}
	if err := s.Attach(t.Context(), def); err != nil {
		t.Fatal(err)
	}
	listed := func() int { return s.catalog.Snapshot().Offered(def.Key) }
	if got, err := s.Server(def.Key); err != nil || got.Status.State != hub.StateReady || got.Defined || listed() == 0 {
		t.Errorf("%+v %v", got, err)
	}
	if err := s.Attach(t.Context(), def); err != nil { // once more: it is connected anew
		t.Error(err)
	}
	if got, _ := s.Server(def.Key); got.Status.Starts != 2 {
		t.Errorf("connected %d times", got.Status.Starts)
	}
	s.write(`{"mcpServers":{"two":{"command":"none"}}}`)
	if _, err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Server(def.Key); err != nil || got.Status.State != hub.StateReady || listed() == 0 {
		t.Errorf("after another configuration: %+v %v", got, err)
	}
	if err := s.Attach(t.Context(), hub.Server{Key: "two", Kind: hub.KindBuiltin, Enabled: true}); hub.AsError(err) == nil || hub.AsError(err).Code != message.ServerExists {
		t.Errorf("in the place of another: %v", err)
	}
	s.write(`{"mcpServers":{"` + attached + `":{"command":"none"}}}`)
	if _, err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Server(def.Key); err != nil || got.Definition.Kind != hub.KindStdio || !got.Defined {
		t.Errorf("the configuration's own: %+v %v", got, err)
	}
	s.write(`{}`)
	if _, err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	s.Detach(def.Key, def.Name)
	s.Detach(def.Key, def.Name)
	if _, err := s.Server(def.Key); err == nil || listed() != 0 {
		t.Error("it is there after it was detached")
	}
}

// A server that a person has stopped stays so when it is attached once more, until a
// person starts it.
func TestAttachStopped(t *testing.T) {
	s := open(t, `{}`)
	def := hub.Server{Key: attached, Name: "a", Kind: hub.KindDevice, Enabled: true}
	if err := s.Attach(t.Context(), def); err != nil {
		t.Fatal(err)
	}
	if err := s.fleet.Stop(t.Context(), def.Key); err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(t.Context(), def); err != nil {
		t.Error(err)
	}
	if got, err := s.Server(def.Key); err != nil || got.Status.State != hub.StateStopped {
		t.Errorf("it runs again: %+v %v", got, err)
	}
	if err := s.fleet.Start(t.Context(), def.Key); err != nil {
		t.Error(err)
	}
}

// A server that was attached in the place of another is not taken away with that one.
func TestDetachIsOfOne(t *testing.T) {
	s := open(t, `{}`)
	for _, name := range []string{"a", "b"} {
		if err := s.Attach(t.Context(), hub.Server{Key: attached, Name: name, Kind: hub.KindDevice, Enabled: true}); err != nil {
			t.Fatal(err)
		}
	}
	s.Detach(attached, "a")
	if got, err := s.Server(attached); err != nil || got.Definition.Name != "b" {
		t.Errorf("%+v %v", got, err)
	}
	s.Detach(attached, "b")
	if _, err := s.Server(attached); err == nil {
		t.Error("it is there after it was detached")
	}
}
