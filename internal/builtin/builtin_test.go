package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipe is a pair of byte streams as the hub connects a built-in server.
func pipe() (near, far *mcp.IOTransport) {
	fromNear, toFar := io.Pipe()
	fromFar, toNear := io.Pipe()
	return &mcp.IOTransport{Reader: fromFar, Writer: toFar}, &mcp.IOTransport{Reader: fromNear, Writer: toNear}
}

// connect returns a client of the server with the key, which runs until the
// test ends.
func connect(t *testing.T, key string, opt Options) *mcp.ClientSession {
	t.Helper()
	server, ok := New(opt).server(key, nil)
	if !ok {
		t.Fatalf("no server %q", key)
	}
	return session(t, server)
}

// session returns a client of a server, which runs until the test ends.
func session(t *testing.T, server *mcp.Server) *mcp.ClientSession {
	t.Helper()
	near, far := pipe()
	done := make(chan error, 1)
	go func() { done <- server.Run(context.Background(), far) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return session
}

// call calls a tool and returns its texts, a line each, its structured
// content, and whether it is an error. The arguments are anything that is
// encoded as JSON.
func call(t *testing.T, s *mcp.ClientSession, tool string, args any) (text string, structured map[string]any, isError bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Errorf("%s(%v): %v", tool, args, err)
		return "", nil, true
	}
	var texts []string
	for _, c := range res.Content {
		content, ok := c.(*mcp.TextContent)
		if !ok {
			t.Fatalf("%s(%v): content %T", tool, args, c)
		}
		texts = append(texts, content.Text)
	}
	if res.StructuredContent != nil {
		var ok bool
		structured, ok = res.StructuredContent.(map[string]any)
		if !ok {
			t.Fatalf("%s(%v): structured content %T", tool, args, res.StructuredContent)
		}
	}
	return strings.Join(texts, "\n"), structured, res.IsError
}

func TestTools(t *testing.T) {
	want := map[string]string{
		"calculator": "calculator",
		"datetime":   "add_time format_datetime get_current_date get_current_time",
		"device":     "adjust_volume get_current_brightness get_current_volume get_system_info set_brightness",
	}
	if got := strings.Join(Keys(), " "); got != "calculator datetime device" {
		t.Errorf("keys %s", got)
	}
	for key, wanted := range want {
		session := connect(t, key, Options{})
		if info := session.InitializeResult().ServerInfo; info.Name != key || info.Version == "" || info.Title == "" || info.Description == "" {
			t.Errorf("%s: serverInfo %+v", key, info)
		}
		if caps := session.InitializeResult().Capabilities; caps.Tools == nil || caps.Tools.ListChanged {
			t.Errorf("%s: capabilities %+v", key, caps)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			a := tool.Annotations
			if a == nil || !a.IdempotentHint || a.OpenWorldHint == nil || *a.OpenWorldHint {
				t.Errorf("%s: annotations %+v", tool.Name, a)
			}
			changes := tool.Name == "set_brightness" || tool.Name == "adjust_volume"
			if a.ReadOnlyHint == changes || changes && (a.DestructiveHint == nil || *a.DestructiveHint) {
				t.Errorf("%s: annotations %+v", tool.Name, a)
			}
			if tool.Title == "" || tool.Description == "" || tool.OutputSchema == nil {
				t.Errorf("%s: title %q, description %q, output schema %v", tool.Name, tool.Title, tool.Description, tool.OutputSchema)
			}
			raw, err := json.Marshal(tool.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			var schema struct {
				Properties map[string]struct{ Description string }
			}
			if err := json.Unmarshal(raw, &schema); err != nil {
				t.Fatal(err)
			}
			for name, p := range schema.Properties {
				if p.Description == "" {
					t.Errorf("%s: the argument %s is not described", tool.Name, name)
				}
			}
		}
		if got := strings.Join(names, " "); got != wanted {
			t.Errorf("%s: tools %s", key, got)
		}
	}
}

// TestServeEnds checks both ends of Serve: the peer goes, and the context ends.
// Both are no errors, and both streams are closed after either.
func TestServeEnds(t *testing.T) {
	for name, end := range map[string]func(cancel func(), s *mcp.ClientSession) error{
		"peer closes":   func(_ func(), s *mcp.ClientSession) error { return s.Close() },
		"context ended": func(cancel func(), _ *mcp.ClientSession) error { cancel(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			near, far := pipe()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- New(Options{}).Serve(ctx, "calculator", far.Reader, far.Writer) }()
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), near, nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, _, _ := call(t, session, "calculator", map[string]any{"expression": "6*7"}); text != "42" {
				t.Errorf("6*7 = %s", text)
			}
			if err := end(cancel, session); err != nil {
				t.Error(err)
			}
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Serve: %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Serve did not end")
			}
			if _, err := far.Reader.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the reader is not closed: %v", err)
			}
			if _, err := far.Writer.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the writer is not closed: %v", err)
			}
			_ = session.Close() // the far end is gone already in one of the cases
		})
	}
}

func TestServeBeforeHandshake(t *testing.T) {
	near, far := pipe()
	done := make(chan error, 1)
	go func() { done <- New(Options{}).Serve(t.Context(), "datetime", far.Reader, far.Writer) }()
	if err := near.Writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeUnknown(t *testing.T) {
	_, far := pipe()
	if err := New(Options{}).Serve(t.Context(), "nobody", far.Reader, far.Writer); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("error %v", err)
	}
	if _, err := far.Writer.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the writer is not closed: %v", err)
	}
}
