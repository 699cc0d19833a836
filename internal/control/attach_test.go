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
	s.Detach(def.Key)
	s.Detach(def.Key)
	if _, err := s.Server(def.Key); err == nil || listed() != 0 {
		t.Error("it is there after it was detached")
	}
}
