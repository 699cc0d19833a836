// Package builtin has the MCP servers that are part of the program. They are
// made with the official SDK and speak MCP over a pair of pipes as any local
// server does, so that nothing else need know that they are built in.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// version is what the servers say of themselves. It counts changes of what
// their tools do, not releases of the program.
const version = "1.0.0"

// Server is one built-in MCP server.
type Server struct {
	Key         string // its name in the configuration
	Description string // one English sentence for people

	add func(*mcp.Server, Options)
}

// Options are what a server takes from the world around it. The zero Options
// are the machine's.
type Options struct {
	Now  func() time.Time // the clock; nil is time.Now
	Zone *time.Location   // the zone where a call names none; nil is time.Local
}

// All returns the built-in servers in the order in which they are listed.
func All() []Server {
	return []Server{
		{Key: "calculator", Description: "Calculates with numbers, exactly where that is possible.", add: addCalculator},
		{Key: "datetime", Description: "Tells the time in any time zone, formats dates and calculates with them.", add: addDatetime},
	}
}

// Keys returns the keys of [All], in its order.
func Keys() []string {
	var keys []string
	for _, s := range All() {
		keys = append(keys, s.Key)
	}
	return keys
}

// New returns a new MCP server, which serves any number of connections.
func (s Server) New(opt Options) *mcp.Server {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	server := mcp.NewServer(
		&mcp.Implementation{Name: s.Key, Title: "Toolcrib " + s.Key, Version: version},
		// The tools never change, and there is nothing to log.
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}},
	)
	s.add(server, opt)
	return server
}

// Serve serves one connection of the built-in server with the given key, until
// its peer closes r or ctx is done; both are no errors. Messages are lines, as
// on the standard streams of a local server. Serve closes r and w; a call that
// is being worked on is finished first, which takes milliseconds.
func Serve(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
	// The SDK closes both too, but not if it cannot connect.
	defer r.Close()
	defer w.Close()
	for _, s := range All() {
		if s.Key != key {
			continue
		}
		err := s.New(Options{}).Run(ctx, &mcp.IOTransport{Reader: r, Writer: w})
		if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("serving the built-in server %q: %w", key, err)
		}
		return nil
	}
	return fmt.Errorf("there is no built-in server %q", key)
}

// readOnly is what all tools here have in common: they look and calculate, and
// nothing outside is asked or changed.
func readOnly() *mcp.ToolAnnotations {
	closed := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}
}

// text is a result with one text for the model.
func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
