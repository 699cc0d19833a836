// Package builtin has the MCP servers that are part of the program. They are
// made with the official SDK and speak MCP over a pair of pipes as any local
// server does, so that nothing else need know that they are built in.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/hub"
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

	// Network carries the requests of those servers that ask others; nil is the
	// way that the environment says. No connection is kept open.
	Network http.RoundTripper
}

// Builtins are the built-in servers. What one connection sets in the machine,
// also in a simulated one, or notes down, the others find.
type Builtins struct {
	opt       Options
	machine   *device
	simulated *device
	notes     *notes
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
	if opt.Network == nil {
		opt.Network = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	return &Builtins{opt: opt, machine: newMachine(runtime.GOOS, opt.Sys), simulated: newSimulation(), notes: newNotes()}
}

// builtin is one of the servers.
type builtin struct {
	key, title, description string

	add func(b *Builtins, s *mcp.Server, env map[string]string)

	optional bool // it is there only if the configuration has an entry for it
}

// all returns the servers in the order in which they are listed.
func all() []builtin {
	return []builtin{
		{key: "calculator", title: "Toolcrib calculator", description: "Calculates with numbers, exactly where that is possible.", add: (*Builtins).addCalculator},
		{key: "datetime", title: "Toolcrib datetime", description: "Tells the time in any time zone, formats dates and calculates with them.", add: (*Builtins).addDatetime},
		{
			key: "device", title: "Toolcrib device", add: (*Builtins).addDevice,
			description: "Reads and sets the screen brightness and the volume of this machine, and tells about the machine.",
		},
		{key: "hefeng", title: "Toolcrib QWeather", description: "Tells the weather, now and for days to come, by QWeather.", add: (*Builtins).addQWeather, optional: true},
		{key: "wttr", title: "Toolcrib wttr.in", description: "Tells the weather, now and for three days, by wttr.in.", add: (*Builtins).addWttr, optional: true},
		{key: "demo", title: "Toolcrib demo", description: "Tools to try Toolcrib out with, which do no harm.", add: (*Builtins).addDemo, optional: true},
	}
}

// Keys returns the keys of the servers that are part of every configuration, in
// the order in which they are listed.
func Keys() []string { return keys(false) }

// OptionalKeys returns the keys of those that only are there if the configuration
// has an entry for them.
func OptionalKeys() []string { return keys(true) }

func keys(optional bool) []string {
	var keys []string
	for _, s := range all() {
		if s.optional == optional {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// server returns a new MCP server, which serves one connection with these
// variables, or false if no built-in one has the key.
func (b *Builtins) server(key string, env map[string]string) (*mcp.Server, bool) {
	for _, s := range all() {
		if s.key != key {
			continue
		}
		server := mcp.NewServer(
			&mcp.Implementation{Name: s.key, Title: s.title, Description: s.description, Version: version},
			// The tools never change, and there is nothing to log.
			&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}},
		)
		s.add(b, server, env)
		return server, true
	}
	return nil, false
}

// Serve serves one connection of the built-in server with the given key, until
// its peer closes r or ctx is done; both are no errors. Messages are lines, as
// on the standard streams of a local server. Serve closes r and w; a call that
// is being worked on is cancelled, and Serve returns when it has ended, which
// takes milliseconds. What the server is to know besides is in the context; see
// [hub.WithEnviron].
func (b *Builtins) Serve(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
	// The SDK closes both too, but not if it cannot connect.
	defer r.Close()
	defer w.Close()
	server, ok := b.server(key, hub.EnvironOf(ctx))
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
