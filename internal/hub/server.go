package hub

import (
	"math"
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
	KindDevice    Kind = "device"  // a device that has dialled in; it comes and goes by itself
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
	OAuth   *OAuth // nil: as the server asks for it

	// When it runs. A server that is neither AutoStart nor Preload is started by
	// the first call, or once at the start of the hub to learn its tools.
	Enabled   bool
	AutoStart bool          // connected when the hub starts, and never ended for want of use
	Preload   bool          // connected when the hub starts, so that the first call finds it running
	IdleStop  time.Duration // ended after so long without a call or a lease; 0 for never
	Instances Instances

	// How it is watched and healed.
	AutoRestart   bool // a process that ended by itself is started again
	AutoReconnect bool // a remote server that was lost is tried again
	MaxReconnects int  // failed attempts in a row after which a remote server is given up; 0 for never
	Health        Health
	Breaker       Breaker

	// What its process may do. They are of stdio servers only.
	Limits     Limits
	Sandbox    *Sandbox // nil for none
	DirectNode bool     // npx is left out once the package that it would run is there

	// Its lists.
	ListTTL time.Duration // asked for again at this age while it runs, unless it announces changes; 0 for never
	Pinned  bool          // a tool whose description changed is not offered before that was accepted

	Priority   int           // higher is listed and resolved first
	Pool       string        // servers of one pool have the same tools, under the pool's name in place of theirs; "" for none
	Timeout    time.Duration // of one call with all its retries; always set
	Retry      Retry
	Gate       Gate
	ToolCache  time.Duration // results of read-only tools are kept so long, if the server does not say how long itself; 0 for not
	NoValidate bool          // arguments are sent as they are, also if they are none by the tool's schema
	BareNames  bool          // expose tools under their own names, without the server's
	PrefixURIs bool          // expose resources under URIs with the server's key ("resources": "prefixed")

	// Whose the connections are, and what is kept of results.
	Connection    Connection    // "" stands for ConnectionAuto
	MaxCallers    int           // callers that have connections of their own at once; 0 for DefaultMaxCallers
	ResourceCache time.Duration // a resource that was read is kept so long, if the server does not say how long itself; 0 for not
	Spill         int           // a result of more bytes is kept, and a link to it given instead; 0 for never

	// Who may see it, and what is thought of its tools.
	Tenants []string // by name; empty for the hub's own, "*" for everybody
	Trusted bool     // what its tools say about themselves is believed also where it makes them look harmless
	Tags    []string // for rules

	UserTools bool // tools that say that they are for people alone are hidden from programs

	Simulated bool // a built-in one that only pretends, as asked for

	Rules ToolRules
}

// Instances say how many processes or connections a server may have at once.
// The zero value stands for one.
type Instances struct {
	Min   int // that are kept while it runs; at least 1
	Max   int // at least Min
	Queue int // calls under way on each of them from which one more is started; at least 1
}

// Health says how a connected server is watched.
type Health struct {
	Interval time.Duration // between two probes; 0 for none
	Timeout  time.Duration // of one; 0 for 10 s
	Misses   int           // in a row that make a server degraded, and as many more that have it connected anew; 0 for 3
	Path     string        // of a remote server: a GET of it, on the host of its URL, is the probe; "" for a probe in MCP
}

// Breaker says when calls are kept away from a server whose calls fail.
type Breaker struct {
	Failures int           // in a row that open it; 0 for no breaker
	Cooldown time.Duration // until one call may try again
}

// Limits bound the processes of a server. Zero stands for no limit.
type Limits struct {
	Memory    int64   // bytes, of all its processes where a cgroup can be had, else of the data of each
	CPU       float64 // processors, where a cgroup can be had
	Processes int     // where a cgroup can be had
	Files     int     // open at once, of each process
}

// Sandbox is what a process may reach, besides what every program needs to run.
// Paths are absolute or relative to its working directory.
type Sandbox struct {
	Read    []string // files and directories that may be read and run
	Write   []string // that may be changed as well
	Connect []uint16 // TCP ports that it may connect to
	Bind    []uint16 // that it may listen on
}

// Connection says whose the connections to a server are. It matters to servers
// of the legacy era only: those of the modern one keep no conversations.
type Connection string

// The kinds of connection (design D3).
const (
	// ConnectionAuto is shared until the server puts a question to a caller; from
	// then on callers that can be asked have connections of their own.
	ConnectionAuto Connection = "auto"
	// ConnectionShared is one for all, also if the server asks questions. They
	// reach a caller only if it is certain whose call they belong to.
	ConnectionShared Connection = "shared"
	// ConnectionPerCaller is one for each caller that can be asked.
	ConnectionPerCaller Connection = "perCaller"
)

// DefaultMaxCallers is how many callers have connections of their own to one
// server at once.
const DefaultMaxCallers = 64

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

// ToolOverride is what holds for a tool in place of what its server says, and of
// what holds for the server.
type ToolOverride struct {
	Name        string // in place of the tool's own in its exposed name; "" to keep it
	Description string // "" to keep the server's

	Timeout  time.Duration  // 0 for the server's
	Retry    *Retry         // nil for the server's
	Gate     Gate           // besides the server's
	Cache    *time.Duration // as Server.ToolCache; nil for the server's
	Messages CallMessages
}

// Retry says how often, and after which time, a call is tried again that cannot
// have taken effect twice (design D6).
type Retry struct {
	Max      int           // after the first try; 0 for never
	Delay    time.Duration // before the first retry; twice as long before each further one
	MaxDelay time.Duration // at most
	Jitter   float64       // share of a delay, from 0 to 1, that is left to chance
}

// Gate bounds calls. The zero value does not.
type Gate struct {
	Concurrency int     // calls at once; 0 for any number
	Queue       int     // that may wait for their turn; only with Concurrency
	Rate        float64 // calls a second, on average; 0 for any
	Burst       int     // calls at once after a pause; at least 1 if there is a Rate
}

// CallMessages are what a session's state tells a person of a call; "" for the
// usual text.
type CallMessages struct {
	Calling string
	Success string
	Failed  string
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

	// PriorityDevice is that of what has dialled in by itself. It is below each that a
	// configuration would name: a device names its tools as it likes, and must not take
	// the bare name of a configured server's tool.
	PriorityDevice = math.MinInt32

	DefaultTimeout = 30 * time.Second
)

// DefaultRetry is how calls are retried where nothing else is said.
func DefaultRetry() Retry {
	return Retry{Max: 2, Delay: 2 * time.Second, MaxDelay: 30 * time.Second, Jitter: 0}
}

// State is where a server is in its life.
type State string

// The states of a server; package fleet has the table of what leads from one
// to another.
const (
	StateDisabled     State = "disabled"     // by configuration: not listed, never started
	StateIdle         State = "idle"         // listed, not running; a call starts it
	StateStopped      State = "stopped"      // ended by a person, or with the hub: not listed, a call does not start it
	StateStarting     State = "starting"     // being started or connected for the first time
	StateReady        State = "ready"        // connected, tools known
	StateDegraded     State = "degraded"     // connected, but it does not answer probes
	StateReconnecting State = "reconnecting" // a remote server was lost or not reached; tried again by itself
	StateCrashed      State = "crashed"      // its process has ended or could not be used; see Retry for whether it is started again by itself
	StateFailed       State = "failed"       // given up; Reason says what to do
	StateStopping     State = "stopping"     // being ended
)

// Running reports whether calls are sent to a server in this state.
func (s State) Running() bool { return s == StateReady || s == StateDegraded }

// BreakerState says whether calls are kept away from a server.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"    // calls pass
	BreakerOpen     BreakerState = "open"      // no call passes
	BreakerHalfOpen BreakerState = "half-open" // one call is under way, on which it depends
)

// Status is what there is to tell about a server at one moment.
type Status struct {
	Key       string
	State     State
	Event     string    // that led to this state, as the table of states names it; "" at the beginning
	Since     time.Time // when it came into this state
	Reason    *Error    // why it is not ready; nil if it is
	Retry     time.Time // reconnecting, crashed: when it is tried next; zero if it is not
	PID       int       // of the first of its processes, 0 if there is none
	PIDs      []int     // of the leaders of all its processes
	Instances int       // shared connections that are up
	Callers   int       // connections of callers' own that are up
	Calls     int       // under way on it
	Leases    []Lease   // that keep it running
	Starts    int       // attempts to connect so far
	Losses    int       // connections that ended by themselves so far
	Misses    int       // probes in a row that were not answered
	Breaker   BreakerState
	Junk      int64  // lines on its standard output that were no messages
	Stderr    string // the end of what it wrote to standard error
	Tools     int    // that it has, before any rule
	Protocol  string // the revision agreed upon; "" if it is not connected
	Info      string // what it calls itself, name and version; "" if it did not say

	Subscriptions int // of callers to its resources, which keep it running too
}

// Lease keeps a server from being ended for want of use.
type Lease struct {
	Holder string
	Tool   string // for which it is held, by the server's own name; "" for the server as such
	Count  int
}

// LogLine is one line of a server's log.
type LogLine struct {
	Seq    uint64 // grows by one with every line of the server, from 1
	Time   time.Time
	Source LogSource
	Level  LogLevel
	Text   string
}

// LogLevel is how grave a line is: as its writer said, where that can be seen.
type LogLevel string

// The levels.
const (
	LevelDebug   LogLevel = "debug"
	LevelInfo    LogLevel = "info"
	LevelWarning LogLevel = "warning"
	LevelError   LogLevel = "error"
)

// LogSource is where a line of a server's log comes from.
type LogSource string

// The sources.
const (
	LogStderr LogSource = "stderr" // its process wrote it to standard error
	LogJunk   LogSource = "junk"   // its process wrote it to standard output, and it is no message
	LogServer LogSource = "server" // an MCP log message that belongs to no call
	LogHub    LogSource = "hub"    // what happened to it, by the hub
)
