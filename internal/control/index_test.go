package control_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/toolindex"
)

// lists is what a server says that it has: a tool for each pair of a name and a
// description.
func (s *shop) lists(key string, pairs ...string) {
	s.t.Helper()
	server, err := s.Server(key)
	if err != nil {
		s.t.Fatal(err)
	}
	var tools [][]byte
	for i := 0; i < len(pairs); i += 2 {
		tools = append(tools, []byte(`{"name":`+quote(pairs[i])+`,"description":`+quote(pairs[i+1])+`,"inputSchema":{"type":"object"}}`))
	}
	s.catalog.Listed(server.Definition, hub.Lists{Asked: hub.ListTools, Tools: tools})
}

// everything is the view of a caller of the hub itself.
func (s *shop) everything() *catalog.View {
	s.t.Helper()
	view, err := s.catalog.View(hub.Viewer{})
	if err != nil {
		s.t.Fatal(err)
	}
	return view
}

// found are the names of what a query finds.
func (s *shop) found(q toolindex.Query) string {
	var all []string
	for _, e := range s.Index(s.everything(), q) {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

// What one hub exports another one can import: for servers that it has, and of
// which it knows nothing better.
func TestIndexFromOneHubToAnother(t *testing.T) {
	const servers = `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b","priority":99}}}`
	from, to := open(t, servers), open(t, servers)
	from.lists("a", "go", "Navigates the robot.", "see", "Takes a picture.")
	from.lists("b", "go", "Goes.")
	if got := from.found(toolindex.Query{Tool: "go"}); got != "b__go a__go" {
		t.Errorf("found %q", got)
	}
	if got := from.found(toolindex.Query{Tag: toolindex.TagNavigation}); got != "a__go" {
		t.Errorf("found %q", got)
	}

	text := from.ExportIndex(from.everything())
	text = []byte(strings.Replace(string(text), `"servers": [`, `"servers": [{"server_id":"foreign","tools":[]},`, 1))
	to.lists("b", "stay", "")
	done, err := to.ImportIndex(text, true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(control.IndexImport{Servers: []string{"a"}, Skipped: []string{"foreign", "b"}, Tools: 2}, done); diff != "" {
		t.Error(diff)
	}
	if got := to.found(toolindex.Query{}); got != "b__stay a__go a__see" {
		t.Errorf("found %q", got)
	}
	if e := to.Index(to.everything(), toolindex.Query{Tool: "see"})[0]; e.Live {
		t.Error("what was imported is live")
	}

	_, err = to.ImportIndex([]byte(`{"version":"1.0.0"}`), false)
	wantCode(t, err, message.IndexInvalid)
}

func TestDriftAndAccept(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":{"command":"a","pinned":true}}}`)
	s.lists("a", "x", "reads")
	s.lists("a", "x", "reads all", "y", "new")
	drift, err := s.Drift("a")
	if err != nil || len(drift) != 2 || !strings.Contains(drift[0].Diff, "-| reads\n+| reads all\n") {
		t.Errorf("drift %+v, %v", drift, err)
	}
	wantCode(t, s.Accept("a", []string{"z"}), message.ToolUnknown)
	if err := s.Accept("a", []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if got := s.found(toolindex.Query{Server: "a"}); got != "a__x" {
		t.Errorf("found %q", got)
	}
	if err := s.Accept("a", nil); err != nil {
		t.Fatal(err)
	}
	if got := s.found(toolindex.Query{Server: "a"}); got != "a__x a__y" {
		t.Errorf("found %q", got)
	}
	_, err = s.Drift("none")
	wantCode(t, err, message.ServerUnknown)
	wantCode(t, s.Accept("none", nil), message.ServerUnknown)
}

// A server that is switched off and on again has its tools at once, though
// nobody has asked it.
func TestEnabledAgain(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":{"command":"a"}}}`)
	s.lists("a", "x", "")
	for _, on := range []bool{false, true} {
		if err := s.SetEnabled(t.Context(), "a", on); err != nil {
			t.Fatal(err)
		}
		if got := s.found(toolindex.Query{Server: "a"}); (got == "a__x") != on {
			t.Errorf("enabled %t: found %q", on, got)
		}
	}
	server, err := s.Server("a")
	if err != nil || server.Status.State != hub.StateIdle {
		t.Errorf("%+v, %v", server.Status, err)
	}
}
