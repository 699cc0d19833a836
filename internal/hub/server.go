package hub

import (
	"time"
)

// Kind is how a server is reached.
type Kind string

// The kinds of server.
const (
	KindBuiltin Kind = "builtin" // part of this program
	KindStdio   Kind = "stdio"   // a child process, on its standard input and output
	KindHTTP    Kind = "http"    // streamable HTTP
)

// Server is what the configuration says about one MCP server. It is a value:
// once handed out nobody changes it or what it refers to.
type Server struct {
	Key   string // unique; the first half of its tools' exposed names
	Order int    // place in the configuration, built-ins first
	Kind  Kind

	// Stdio.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string

	// HTTP.
	URL     string
	Headers map[string]string

	Enabled   bool
	AutoStart bool          // connected when the hub starts; otherwise at the first call
	Priority  int           // higher is listed and resolved first
	Timeout   time.Duration // of one call; always set
	BareNames bool          // expose tools under their own names, without the server's
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
	StateStopped      State = "stopped"      // ended with the hub
)

// Status is what there is to tell about a server at one moment.
type Status struct {
	Key    string
	State  State
	Since  time.Time // when it came into this state
	Reason *Error    // why it is not ready; nil if it is
	Retry  time.Time // reconnecting: when it is tried next
	PID    int       // of the process, 0 if there is none
	Junk   int64     // lines on its standard output that were no messages
	Stderr string    // the end of what it wrote to standard error
	Tools  int
}

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
