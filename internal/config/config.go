// Package config reads and writes the configuration file: JSON with comments
// and trailing commas, whose "mcpServers" member is the block that other MCP
// clients keep in theirs. Files of those clients are read as they are; [Form]
// says which.
//
// A file is read as a whole: every problem in it is reported with its line and
// column, not just the first. Values of "env", "headers", "args", "url" and
// "apiKey" may be secrets; they stand in no error and no warning. Names are
// the same only if they are the same to the letter, upper and lower case too.
//
// Placeholders stay in the texts (see package secret) until [Resolve] fills
// them in for a connection.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of a file. What goes beyond is refused, so that a wrong path cannot
// take the machine's memory.
const (
	maxFile  = 8 << 20 // bytes
	maxDepth = 64      // of objects and arrays
	maxNotes = 100     // problems, and as many warnings, that are reported
)

// Config is what a configuration file says, with the defaults filled in. It
// belongs to whoever loaded it; nothing else refers to it.
type Config struct {
	Path string // of the file, as it was given; empty if there is none
	Form Form   // of the file; empty if there is none

	// Servers are the built-in ones, in the order of their table, then those
	// of the file in its order. Their Order is their index.
	Servers []hub.Server

	// Endpoints and Backends are voice assistants' backends that the hub dials: the
	// ones where it is an MCP server, the others where it is a device. Each of them
	// has a name of its own. Their addresses may hold tokens, and placeholders.
	Endpoints []hub.Endpoint
	Backends  []hub.Backend
	// Devices say how devices may dial in.
	Devices hub.Devices

	// Groups and Profiles are those of the file, in its order. There are none
	// but these: what a client is like is for the person who uses it to say.
	Groups   []hub.Group
	Profiles []hub.Profile

	// Language is that of what the hub says to callers that do not say which they
	// want.
	Language message.Lang
	// Callers bounds the calls of each caller, besides what holds for servers and
	// tools.
	Callers hub.Gate
	Audit   Audit
	Events  Events

	// Policy says who has to agree to which call, and Approval how people are asked.
	// Expressions in the policy's rules compile, and its ids are unique.
	Policy   hub.Policy
	Approval hub.Approval

	// Auth says who may come in, besides who has a token of the hub's.
	Auth hub.Auth

	// Store and Traces hold for the next start of the hub; see [Pending].
	Store  Store
	Traces Traces

	// CacheTTL is the age up to which the tools that are known from before the
	// hub's start need not be asked for when it starts. It is more than 0.
	CacheTTL time.Duration
	// ForceRefresh has every server asked for its tools when the hub starts,
	// whatever is known.
	ForceRefresh bool
}

// Warning is something in the file that has no effect, or another one than its
// writer may think. The file is used nevertheless.
type Warning struct {
	Path   string
	Line   int // from 1
	Column int // in characters, from 1
	Detail message.Phrase
}

// In is the detail in a language.
func (w Warning) In(lang message.Lang) string { return w.Detail.In(lang) }

// String is the warning in the form path:line:column: detail.
func (w Warning) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", w.Path, w.Line, w.Column, w.Detail)
}

// Problems is the error of a file that was read and cannot be used: one
// [message.ConfigInvalid] for each problem, in the order of the file. There is
// at least one, and errors.As finds the first.
type Problems []*hub.Error

// Error is every problem on a line of its own.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, e := range p {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each problem.
func (p Problems) Unwrap() []error {
	errs := make([]error, len(p))
	for i, e := range p {
		errs[i] = e
	}
	return errs
}

// Default is the configuration without a file: the built-in servers with the
// given keys, in that order.
func Default(builtins []string) *Config {
	c := &Config{CacheTTL: defaultCacheTTL, Devices: usualDevices()}
	c.set(usualSettings())
	for _, key := range builtins {
		c.Servers = append(c.Servers, builtin(key))
	}
	c.number()
	return c
}

// Load reads the file at path. Built-in servers, named by their keys in the
// order of their table, are part of every configuration: an entry of the file
// with such a key changes the built-in's settings, or takes its place if it
// has a command or a url.
//
// The error is a [message.ConfigUnreadable] if the file cannot be read, else
// [Problems]; with an error there is no Config. Warnings are returned in the
// order of the file, also along with Problems.
func Load(path string, builtins []string) (*Config, []Warning, error) {
	raw, err := read(path)
	if err != nil {
		return nil, nil, err
	}
	return Parse(path, raw, builtins)
}

func read(path string) ([]byte, error) {
	unreadable := func(err error, detail message.Phrase) error {
		return hub.E(message.ConfigUnreadable, err, "path", path).With("detail", detail)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err, reason(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, unreadable(nil, message.Say("it is a directory"))
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unreadable(err, reason(err))
	}
	if len(raw) > maxFile {
		return nil, unreadable(nil, message.Say("it is larger than %d MiB", maxFile>>20))
	}
	return raw, nil
}

// reason is err without the path, which the text around it names already.
func reason(err error) message.Phrase {
	if errors.Is(err, fs.ErrNotExist) {
		return message.Say("there is no such file")
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return message.Cause(p.Err)
	}
	return message.Cause(err)
}

// Parse is [Load] of a text that was read already. The path names it in what
// is told, and its directory may be that in which servers run; the file need
// not be there. An error is always [Problems].
func Parse(path string, text []byte, builtins []string) (*Config, []Warning, error) {
	r := &reader{document: &document{path: path}, builtins: builtins}
	root, ok := r.parse(text)
	if ok {
		r.read(root)
	}
	if len(r.problems) > 0 {
		return nil, r.sorted(), r.errors()
	}
	c := r.config()
	return c, r.sorted(), nil
}

// set takes over what is said about the hub itself.
func (c *Config) set(s settings) {
	c.Language, c.Callers, c.Audit, c.Events, c.Store, c.Traces = s.Language, s.Callers, s.Audit, s.Events, s.Store, s.Traces
	c.Policy, c.Approval, c.Auth = s.Policy, s.Approval, s.Auth
}

// number sets the servers' places.
func (c *Config) number() {
	for i := range c.Servers {
		c.Servers[i].Order = i
	}
}

// builtin is a built-in server with its default settings.
func builtin(key string) hub.Server {
	s := usualOf(hub.KindBuiltin)
	s.Key = key
	return s
}
