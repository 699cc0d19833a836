package hub

import (
	"slices"
	"time"
)

// Kind is how a server is reached.
type Kind string

// The kinds of server.
const (
	KindBuiltin   Kind = "builtin" // part of this program
	KindStdio     Kind = "stdio"   // a child process, on its standard input and output
	KindHTTP      Kind = "http"    // streamable HTTP
	KindSSE       Kind = "sse"     // HTTP with server-sent events, as of 2024-11-05
	KindWebSocket Kind = "ws"      // one message in each text frame
)

// Remote reports whether the server is reached over the network.
func (k Kind) Remote() bool { return k == KindHTTP || k == KindSSE || k == KindWebSocket }

// Server is what the configuration says about one MCP server. It is a value:
// once handed out nobody changes it or what it refers to.
//
// Command, Args, Env, Dir, URL and Headers are as they were written: the
// placeholders in them, such as ${env:NAME}, are filled in each time the
// server is connected, by whoever dials it. They may hold secrets all the
// same, since people write them there.
type Server struct {
	Key   string // unique; the first half of its tools' exposed names
	Name  string // for people; empty if it has none but its key
	Order int    // place in the configuration, built-ins first
	Kind  Kind

	// Stdio.
	Command string
	Args    []string
	Env     map[string]string
	EnvFile string // of further variables, which those of Env go before; "" for none
	Dir     string

	// HTTP, SSE and WebSocket.
	URL     string
	Headers map[string]string

	Enabled       bool
	AutoStart     bool          // connected when the hub starts; otherwise at the first call
	AutoRestart   bool          // a process that ended by itself is started again
	AutoReconnect bool          // a remote server that was lost is tried again
	Priority      int           // higher is listed and resolved first
	Timeout       time.Duration // of one call; always set
	BareNames     bool          // expose tools under their own names, without the server's
	PrefixURIs    bool          // expose resources under URIs with the server's key ("resources": "prefixed")
	Simulated     bool          // a built-in one that only pretends, as asked for

	Rules ToolRules
}

// Title is the server's name for people.
func (s *Server) Title() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Key
}

// ToolRules say which of a server's tools are offered, and as what. Names are
// the server's own.
type ToolRules struct {
	Allow    []string // only these; all if empty
	Deny     []string // not these, whatever Allow says
	Override map[string]ToolOverride
}

// ToolOverride is what is told of a tool in place of what its server says.
type ToolOverride struct {
	Name        string // in place of the tool's own in its exposed name; "" to keep it
	Description string // "" to keep the server's
}

// Offers reports whether a tool is offered.
func (r *ToolRules) Offers(tool string) bool {
	if slices.Contains(r.Deny, tool) {
		return false
	}
	return len(r.Allow) == 0 || slices.Contains(r.Allow, tool)
}

// Default priorities (seed order: built-in before remote before local) and
// the time a call may take.
const (
	PriorityBuiltin = 100
	PriorityRemote  = 50
	PriorityLocal   = 10

	DefaultTimeout = 30 * time.Second
)

// State is where a server is in its life.
type State string

// The states of a server.
const (
	StateDisabled     State = "disabled"     // by configuration: not listed, never started
	StateIdle         State = "idle"         // not running; a call starts it
	StateStarting     State = "starting"     // being started or connected for the first time
	StateReady        State = "ready"        // connected, tools known
	StateReconnecting State = "reconnecting" // lost or not reached; tried again by itself
	StateFailed       State = "failed"       // given up; Reason says what to do
	StateStopping     State = "stopping"     // being ended
	StateStopped      State = "stopped"      // ended by a person, or with the hub: not listed, a call does not start it
)

// Status is what there is to tell about a server at one moment.
type Status struct {
	Key      string
	State    State
	Since    time.Time // when it came into this state
	Reason   *Error    // why it is not ready; nil if it is
	Retry    time.Time // reconnecting: when it is tried next
	PID      int       // of the process, 0 if there is none
	Junk     int64     // lines on its standard output that were no messages
	Stderr   string    // the end of what it wrote to standard error
	Tools    int       // that it has, before any rule
	Protocol string    // the revision agreed upon; "" if it is not connected
	Info     string    // what it calls itself, name and version; "" if it did not say
}

// LogLine is one line of a server's log.
type LogLine struct {
	Seq    uint64 // grows by one with every line of the server, from 1
	Time   time.Time
	Source LogSource
	Text   string
}

// LogSource is where a line of a server's log comes from.
type LogSource string

// The sources.
const (
	LogStderr LogSource = "stderr" // its process wrote it to standard error
	LogJunk   LogSource = "junk"   // its process wrote it to standard output, and it is no message
	LogServer LogSource = "server" // an MCP log message that belongs to no call
	LogHub    LogSource = "hub"    // what happened to it, by the hub
)

// Offer is what a server has to give, as it said so itself.
type Offer struct {
	Tools        []Tool
	Instructions string
}

// Tool is one tool of a server, as the server described it.
type Tool struct {
	Name string // the server's own name for it
	Raw  []byte // the whole description, the bytes that came; nobody changes them

	ReadOnly   bool // annotations.readOnlyHint
	Idempotent bool // annotations.idempotentHint

	Headers []ParamHeader // arguments to be mirrored into HTTP headers
}

// ParamHeader says that an argument is mirrored into the header
// Mcp-Param-{Name} (2026-07-28, "Custom Headers from Tool Parameters").
type ParamHeader struct {
	Path []string // of members within the arguments
	Name string
}
