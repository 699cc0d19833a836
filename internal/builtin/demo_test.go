package builtin

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/preset"
)

// The presets that are part of the program are there, with the tools that are
// told of them.
func TestOptionalServersArePresets(t *testing.T) {
	var keys []string
	for _, p := range preset.All() {
		if p.Package != "" {
			continue
		}
		keys = append(keys, p.Key)
		list, err := connect(t, p.Key, Options{}).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Title == "" || tool.Description == "" || tool.Annotations == nil {
				t.Errorf("%s: %+v", tool.Name, tool)
			}
		}
		if !slices.Equal(names, p.Tools) {
			t.Errorf("%s: %q, told are %q", p.Key, names, p.Tools)
		}
	}
	if !slices.Equal(keys, OptionalKeys()) {
		t.Errorf("the keys are %q, the presets' are %q", OptionalKeys(), keys)
	}
}

func TestDemoResults(t *testing.T) {
	s := connect(t, "demo", Options{})
	for kind, want := range map[string]string{"text": "*mcp.TextContent", "structured": "*mcp.TextContent", "image": "*mcp.ImageContent", "link": "*mcp.ResourceLink", "resource": "*mcp.EmbeddedResource"} {
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "show_result", Arguments: map[string]any{"kind": kind}})
		if err != nil || res.IsError || len(res.Content) == 0 {
			t.Errorf("%s: %+v %v", kind, res, err)
			continue
		}
		if got := typeOf(res.Content[len(res.Content)-1]); got != want || (kind == "structured") != (res.StructuredContent != nil) {
			t.Errorf("%s: %s", kind, got)
		}
	}
	for _, kind := range []string{"error", "else"} {
		if _, _, isError := call(t, s, "show_result", map[string]any{"kind": kind}); !isError {
			t.Errorf("%s is no error", kind)
		}
	}
}

func typeOf(c mcp.Content) string {
	switch c.(type) {
	case *mcp.TextContent:
		return "*mcp.TextContent"
	case *mcp.ImageContent:
		return "*mcp.ImageContent"
	case *mcp.ResourceLink:
		return "*mcp.ResourceLink"
	case *mcp.EmbeddedResource:
		return "*mcp.EmbeddedResource"
	}
	return ""
}

// Counting tells how far it has come.
func TestDemoCounts(t *testing.T) {
	near, far := pipe()
	server, _ := New(Options{}).server("demo", nil)
	done := make(chan error, 1)
	go func() { done <- server.Run(context.Background(), far) }()
	var mu sync.Mutex
	var told []float64
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, r.Params.Progress/r.Params.Total)
		},
	})
	s, err := client.Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	params := &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"to": 4, "delay_ms": 0}}
	params.SetProgressToken("p")
	if res, err := s.CallTool(t.Context(), params); err != nil || res.IsError {
		t.Errorf("%+v %v", res, err)
	}
	for _, args := range []map[string]any{{"to": -1}, {"to": 31}, {"delay_ms": -1}, {"delay_ms": 1001}, {"delay_ms": 1 << 62}} {
		if said, _, isError := call(t, s, "count", args); !isError {
			t.Errorf("%v: %s", args, said)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-done
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(told, []float64{.25, .5, .75, 1}) {
		t.Errorf("told %v", told)
	}
}

// Notes are kept from one connection to the next, and bounded.
func TestDemoNotes(t *testing.T) {
	b := New(Options{})
	one, _ := b.server("demo", nil)
	first := session(t, one)
	if said, _, isError := call(t, first, "write_note", map[string]any{"name": "a", "text": "b"}); isError {
		t.Error(said)
	}
	two, _ := b.server("demo", nil)
	second := session(t, two)
	if said, _, _ := call(t, second, "list_notes", map[string]any{}); !strings.Contains(said, "a: b") {
		t.Error(said)
	}
	if _, got, isError := call(t, second, "delete_note", map[string]any{"name": "a"}); isError || got["text"] != "b" {
		t.Errorf("%v", got)
	}
	for _, test := range []struct {
		tool string
		args map[string]any
	}{
		{"delete_note", map[string]any{"name": "a"}},
		{"delete_note", map[string]any{"name": ""}},
		{"write_note", map[string]any{"name": strings.Repeat("x", maxNoteName+1), "text": ""}},
		{"write_note", map[string]any{"name": "x", "text": strings.Repeat("x", maxNote+1)}},
	} {
		if said, _, isError := call(t, second, test.tool, test.args); !isError {
			t.Errorf("%s: %s", test.tool, said)
		}
	}
	for i := range maxNotes + 1 {
		_, _, isError := call(t, second, "write_note", map[string]any{"name": strings.Repeat("n", i%maxNoteName+1) + string(rune('a'+i/maxNoteName)), "text": ""})
		if full := i >= maxNotes-3; isError != full {
			t.Fatalf("note %d: %t", i, isError)
		}
	}
}

// A server is served with the variables of its context.
func TestServeHasEnviron(t *testing.T) {
	f, env := qweatherFake(t)
	near, far := pipe()
	done := make(chan error, 1)
	go func() {
		done <- New(Options{}).Serve(hub.WithEnviron(t.Context(), env), "hefeng", far.Reader, far.Writer)
	}()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	if said, _, isError := call(t, s, "get_weather", map[string]any{"city": "北京"}); isError || len(f.asked) != 2 {
		t.Error(said)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
