// Package builtin has the MCP servers that are part of the program. They are
// made with the official SDK and speak MCP over a pair of pipes as any local
// server does, so that nothing else need know that they are built in.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// version is what the servers say of themselves. It counts changes of what
// their tools do, not releases of the program.
const version = "1.0.0"

// Options are what the servers take from the world around them. The zero
// Options are the machine's.
type Options struct {
	Now  func() time.Time // the clock; nil is time.Now
	Zone *time.Location   // the zone where a call names none; nil is time.Local
	Sys  string           // where Linux shows its devices; "" is /sys

	// Simulated reports whether the server with a key only pretends. It is
	// asked at the start of each connection; nil is never. Only device can
	// pretend, and its tools then say so.
	Simulated func(key string) bool
}

// Builtins are the built-in servers. What one connection sets in the machine,
// also in a simulated one, the others find.
type Builtins struct {
	opt       Options
	machine   *device
	simulated *device
}

// New returns the servers. It starts and touches nothing; the result needs no
// closing.
func New(opt Options) *Builtins {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	if opt.Sys == "" {
		opt.Sys = "/sys"
	}
	if opt.Simulated == nil {
		opt.Simulated = func(string) bool { return false }
	}
	return &Builtins{opt: opt, machine: newMachine(runtime.GOOS, opt.Sys), simulated: newSimulation()}
}

// builtin is one of the servers.
type builtin struct {
	key, title, description string

	add func(*Builtins, *mcp.Server)
}

// all returns the servers in the order in which they are listed.
func all() []builtin {
	return []builtin{
		{"calculator", "Toolcrib calculator", "Calculates with numbers, exactly where that is possible.", (*Builtins).addCalculator},
		{"datetime", "Toolcrib datetime", "Tells the time in any time zone, formats dates and calculates with them.", (*Builtins).addDatetime},
		{"device", "Toolcrib device", "Reads and sets the screen brightness and the volume of this machine, and tells about the machine.", (*Builtins).addDevice},
	}
}

// Keys returns the keys of the servers, in the order in which they are listed.
func Keys() []string {
	var keys []string
	for _, s := range all() {
		keys = append(keys, s.key)
	}
	return keys
}

// server returns a new MCP server, which serves one connection, or false if no
// built-in one has the key.
func (b *Builtins) server(key string) (*mcp.Server, bool) {
	for _, s := range all() {
		if s.key != key {
			continue
		}
		server := mcp.NewServer(
			&mcp.Implementation{Name: s.key, Title: s.title, Description: s.description, Version: version},
			// The tools never change, and there is nothing to log.
			&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}},
		)
		s.add(b, server)
		return server, true
	}
	return nil, false
}

// Serve serves one connection of the built-in server with the given key, until
// its peer closes r or ctx is done; both are no errors. Messages are lines, as
// on the standard streams of a local server. Serve closes r and w; a call that
// is being worked on is cancelled, and Serve returns when it has ended, which
// takes milliseconds.
func (b *Builtins) Serve(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
	// The SDK closes both too, but not if it cannot connect.
	defer r.Close()
	defer w.Close()
	server, ok := b.server(key)
	if !ok {
		return fmt.Errorf("there is no built-in server %q", key)
	}
	// The SDK cancels the calls under way when its reader ends, not with ctx.
	stop := context.AfterFunc(ctx, func() { r.Close() })
	defer stop()
	err := server.Run(ctx, &mcp.IOTransport{Reader: r, Writer: w})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("serving the built-in server %q: %w", key, err)
	}
	return nil
}

// readOnly is what all tools have in common that only look and calculate, and
// for which nothing outside is asked.
func readOnly() *mcp.ToolAnnotations {
	closed := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}
}

// text is a result with texts for the model.
func text(texts ...string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{}
	for _, s := range texts {
		res.Content = append(res.Content, &mcp.TextContent{Text: s})
	}
	return res
}
