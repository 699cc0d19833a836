// Package api is the HTTP API's vocabulary: the shapes of what goes over it,
// shared by the door that serves it and the client that uses it. It has no
// behaviour.
//
// All paths are below [Base]. Errors are [Problem] documents. A change, a check
// and a test need the administrator's token as a bearer token; looking around
// and calling need none on this machine. The whole API is described by
// api/openapi.json, which is generated from these shapes.
package api

import (
	"encoding/json"
	"time"
)

// Base is where the API begins.
const Base = "/api/v1"

// Problem is an error (RFC 9457), with the stable code of the message
// catalogue. Title, Detail and Remedy are in the language asked for.
type Problem struct {
	Type   string `json:"type" doc:"URN of the code" example:"urn:toolcrib:server_unknown"`
	Title  string `json:"title" doc:"What went wrong"`
	Status int    `json:"status" doc:"HTTP status"`
	Code   string `json:"code" doc:"Stable code, for programs"`
	Detail string `json:"detail,omitempty" doc:"What went wrong, and what to do"`
	Remedy string `json:"remedy,omitempty" doc:"What to do"`

	Class       string `json:"class" doc:"Of what kind the error is; one for each code, but outcome for any of which the call may have taken effect" enum:"network,permission,unavailable,params,server,request,question,cancelled,limit,outcome,config,internal"`
	UserMessage string `json:"userMessage" doc:"One sentence for a person who knows nothing of MCP"`
	Outcome     string `json:"outcome,omitempty" enum:"unknown" doc:"unknown if the call may have taken effect, or not; not there otherwise"`

	Problems []ConfigProblem `json:"problems,omitempty" doc:"For config_invalid: every problem of the text"`

	// On the paths that other programs know.
	Success *bool  `json:"success,omitempty" doc:"false, on the paths of docs/compatibility.md only"`
	Error   string `json:"error,omitempty" doc:"The same as detail, on the paths of docs/compatibility.md only"`
}

// ConfigProblem is one thing that is wrong with a configuration, or odd.
type ConfigProblem struct {
	Line   int    `json:"line" doc:"From 1; 0 if it has no place"`
	Column int    `json:"column" doc:"In characters, from 1"`
	Detail string `json:"detail"`
}

// Status is what there is to tell about the hub.
type Status struct {
	Version   string       `json:"version"`
	Started   time.Time    `json:"started"`
	PID       int          `json:"pid"`
	Listen    string       `json:"listen" doc:"URL of the listener; empty if only the local socket is served"`
	DataDir   string       `json:"dataDir"`
	Config    ConfigStatus `json:"config"`
	Record    RecordStatus `json:"record"`
	Servers   int          `json:"servers"`
	Ready     int          `json:"ready" doc:"Servers that are connected"`
	Tools     int          `json:"tools" doc:"Tools that are offered"`
	Resources int          `json:"resources" doc:"Resources that are offered"`
	Prompts   int          `json:"prompts" doc:"Prompts that are offered"`
	Sessions  int          `json:"sessions" doc:"Open MCP sessions of callers"`
	Phases    []Phase      `json:"phases" doc:"Of the start, in their order"`

	Approvals int               `json:"approvals" doc:"Calls that wait for somebody to agree, of those that whoever asks may see"`
	Policy    map[string]string `json:"policy" doc:"By door: whether the rules are enforced or only observed"`
}

// Phase is one step of the hub's start.
type Phase struct {
	Name     string  `json:"name" example:"configuration"`
	Duration float64 `json:"durationMs"`
}

// ConfigStatus tells about the configuration file.
type ConfigStatus struct {
	Path     string          `json:"path" doc:"Empty if there is none"`
	Exists   bool            `json:"exists"`
	ETag     string          `json:"etag" doc:"Of the text that was last read"`
	Writable bool            `json:"writable" doc:"False if the file is broken or not to be written to"`
	Problems []ConfigProblem `json:"problems" doc:"Why the file is not in force"`
	Warnings []ConfigProblem `json:"warnings"`
}

// RecordStatus tells whether the record of calls can be written.
type RecordStatus struct {
	Up     bool   `json:"up" doc:"False if it could not be written the last time that there was something to write: then calls that may change something are refused"`
	Reason string `json:"reason,omitempty" doc:"Why it could not be written"`
	Lost   int64  `json:"lost" doc:"Entries that were dropped since the start, for want of room while it could not be written"`

	Taken *RecordTaken `json:"taken,omitempty" doc:"There only if another hub has the key of this one, and so writes the same chain"`
}

// RecordTaken tells that two hubs write one chain of the record of calls.
type RecordTaken struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
}

// Server is one server.
type Server struct {
	Key           string      `json:"key"`
	Name          string      `json:"name" doc:"For people"`
	Kind          string      `json:"kind" enum:"builtin,stdio,http,sse,ws,device"`
	State         string      `json:"state" enum:"disabled,idle,stopped,starting,ready,degraded,reconnecting,crashed,failed,stopping"`
	Event         string      `json:"event,omitempty" doc:"What led to this state, as docs/servers.md names it"`
	Since         time.Time   `json:"since" doc:"When it came into this state"`
	Code          string      `json:"code,omitempty" doc:"Why it is not ready: the stable code"`
	Reason        string      `json:"reason,omitempty" doc:"Why it is not ready"`
	Remedy        string      `json:"remedy,omitempty" doc:"What to do about it"`
	Retry         *time.Time  `json:"retry,omitempty" doc:"When it is tried next"`
	PID           int         `json:"pid,omitempty" doc:"Of the first of its processes"`
	PIDs          []int       `json:"pids,omitempty" doc:"Of all processes that were started for it, without those that they started"`
	Connection    string      `json:"connection,omitempty" enum:"auto,shared,perCaller" doc:"Whose the connections to it are; not there for one that is built in"`
	Instances     int         `json:"instances" doc:"Shared connections that are up"`
	Callers       int         `json:"callers,omitempty" doc:"Connections of callers' own that are up"`
	Subscriptions int         `json:"subscriptions,omitempty" doc:"Of callers to its resources"`
	Calls         int         `json:"calls" doc:"Under way on it"`
	Leases        []Lease     `json:"leases,omitempty" doc:"That keep it running"`
	Starts        int         `json:"starts" doc:"Attempts to connect since the hub started"`
	Losses        int         `json:"losses" doc:"Connections that ended by themselves since the hub started"`
	Misses        int         `json:"misses,omitempty" doc:"Health checks in a row without an answer"`
	Breaker       string      `json:"breaker" enum:"closed,open,half-open" doc:"open: no call is sent to it for a while, as the last ones failed"`
	Changed       []string    `json:"changedTools,omitempty" doc:"Of a pinned server: tools to be accepted"`
	Tools         int         `json:"tools" doc:"Tools that are offered"`
	Hidden        int         `json:"hidden,omitempty" doc:"Tools that the configuration hides"`
	Resources     int         `json:"resources" doc:"Resources that are offered"`
	Templates     int         `json:"templates" doc:"Templates of resources that are offered"`
	Prompts       int         `json:"prompts" doc:"Prompts that are offered"`
	Clashing      []string    `json:"clashingUris,omitempty" doc:"URIs and templates that another server has as well, so that these are listed in a form with the server's key"`
	Junk          int64       `json:"junkLines,omitempty" doc:"Lines on its standard output that were no messages"`
	Stderr        string      `json:"stderr,omitempty" doc:"The end of what it wrote to standard error"`
	Protocol      string      `json:"protocol,omitempty" doc:"The MCP revision agreed upon"`
	Info          string      `json:"info,omitempty" doc:"What it calls itself"`
	Enabled       bool        `json:"enabled"`
	AutoStart     bool        `json:"autoStart"`
	Preload       bool        `json:"preload"`
	IdleStop      string      `json:"idleStop,omitempty" doc:"It ends after so long without a call or a lease" example:"5m0s"`
	Pinned        bool        `json:"pinned"`
	Priority      int         `json:"priority"`
	Timeout       string      `json:"timeout" doc:"Of one call" example:"30s"`
	Retries       int         `json:"retries" doc:"How often a call that failed is tried again, if it certainly cannot take effect twice"`
	CallLimits    *CallLimits `json:"callLimits,omitempty" doc:"How many calls it gets"`
	ToolCache     string      `json:"toolCache,omitempty" doc:"Results of tools that only read are kept so long" example:"30s"`
	Validate      bool        `json:"validate" doc:"Arguments are held against the tools' schemas"`
	Pool          string      `json:"pool,omitempty" doc:"Whose members have the same tools"`
	Command       string      `json:"command,omitempty" doc:"What may be a secret is masked"`
	Args          []string    `json:"args,omitempty" doc:"What may be a secret is masked"`
	Dir           string      `json:"cwd,omitempty"`
	URL           string      `json:"url,omitempty" doc:"Without what may be a secret: user, query, and keys in its path"`
	Env           []string    `json:"env,omitempty" doc:"Names only"`
	Headers       []string    `json:"headers,omitempty" doc:"Names only"`
	Auth          *ServerAuth `json:"auth,omitempty" doc:"Of a remote server that takes a login"`
	Tenants       []string    `json:"tenants,omitempty" doc:"Whose it is, as the configuration says; told to principals of the hub itself only"`
	Defined       bool        `json:"defined" doc:"It has an entry in the configuration file"`
}

// CallLimits are how many calls there may be. What is not there is not bounded.
type CallLimits struct {
	Concurrency int     `json:"concurrency,omitempty" doc:"Under way at once"`
	Queue       int     `json:"queue,omitempty" doc:"That may wait for their turn"`
	Rate        float64 `json:"rate,omitempty" doc:"A second, on average"`
	Burst       int     `json:"burst,omitempty" doc:"At once after a pause"`
}

// ServerList is every server, in the order of the configuration.
type ServerList struct {
	Servers []Server `json:"servers"`
}

// Entry is what the configuration file says about one server, as JSON: the
// members that docs/configuration.md describes.
type Entry = json.RawMessage

// ServerAdd defines a server. Values that are secrets are sealed before they
// are written.
type ServerAdd struct {
	Key   string `json:"key"`
	Entry Entry  `json:"entry"`
}

// ServerChange replaces what the configuration says about a server.
type ServerChange struct {
	Entry Entry `json:"entry" doc:"The whole entry; a value of \"${unchanged}\" stays what it is"`
}

// ServerEntry is what the configuration file says about a server, with its
// secrets masked as "${unchanged}".
type ServerEntry struct {
	Key   string `json:"key"`
	Entry Entry  `json:"entry"`
	ETag  string `json:"etag" doc:"Of the configuration file"`
}

// Actions on a server.
const (
	ActionEnable  = "enable"  // in the configuration
	ActionDisable = "disable" // in the configuration
	ActionStart   = "start"   // now; waits until it is ready or known not to be
	ActionStop    = "stop"    // now, until it is started or the hub restarts
	ActionRestart = "restart"
	ActionRefresh = "refresh" // ask for its tools again
)

// LogLine is one line of a server's log.
type LogLine struct {
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"`
	Source string    `json:"source" enum:"stderr,junk,server,hub"`
	Level  string    `json:"level" enum:"debug,info,warning,error"`
	Text   string    `json:"text"`
}

// Log is the end of a server's log, oldest line first.
type Log struct {
	Lines []LogLine `json:"lines"`
}

// Tool is one tool that is offered.
type Tool struct {
	Name        string          `json:"name" doc:"The exposed name, by which it is called"`
	Server      string          `json:"server" doc:"Key of its server"`
	Tool        string          `json:"tool" doc:"The server's own name for it"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	ReadOnly    bool            `json:"readOnly"`
	Idempotent  bool            `json:"idempotent"`
	State       string          `json:"state" doc:"Of its server"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty" doc:"Of its arguments; only where all tools are asked for"`
	Definition  json.RawMessage `json:"definition,omitempty" doc:"The whole description, as MCP callers get it; only when one tool is asked for"`
}

// ToolList is every tool that is offered, in the order in which MCP callers
// see them.
type ToolList struct {
	Success bool   `json:"success" doc:"Always true"`
	Tools   []Tool `json:"tools"`
}

// Call asks for one call of a tool.
type Call struct {
	Tool      string          `json:"tool" doc:"Its exposed name, or its own name if that is clear"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"An object"`
	LogLevel  string          `json:"logLevel,omitempty" doc:"Log lines of the server from this level on are wanted" enum:"debug,info,notice,warning,error,critical,alert,emergency"`

	MaxRetries  *int   `json:"maxRetries,omitempty" doc:"How often it is tried again, from 0 to 10, in place of what is configured; only if it certainly cannot take effect twice"`
	Timeout     string `json:"timeout,omitempty" doc:"For the call with its retries, if that is sooner than the configured time" example:"30s"`
	UserMessage string `json:"userMessage,omitempty" doc:"What the session's state tells a person, in place of the usual sentences; at most 500 characters"`
	Session     string `json:"session,omitempty" doc:"A name for the caller's own conversation, of at most 128 characters: calls under one name have one state, and are found under it in the record of calls"`

	// A server that has questions (2026-07-28, "Multi Round-Trip Requests")
	// is answered by the same call with these two.
	Answers      json.RawMessage `json:"inputResponses,omitempty" doc:"Answers to the questions of the result before"`
	RequestState string          `json:"requestState,omitempty" doc:"From the result before"`
	Interactive  bool            `json:"interactive,omitempty" doc:"Questions can be answered; else a server with a question gets none"`
}

// CallResult is how a call went.
type CallResult struct {
	Server   string          `json:"server"`
	Tool     string          `json:"tool"`
	IsError  bool            `json:"isError" doc:"The tool says that it failed, or code says why the hub has not called it"`
	Code     string          `json:"code,omitempty" doc:"Stable code of the hub's refusal, which the result tells; not there if the server has answered"`
	Result   json.RawMessage `json:"result" doc:"The server's result, as it is"`
	Duration float64         `json:"durationMs"`
}

// CallEvent is what comes of a call that is followed as an event stream
// (Accept: text/event-stream): any number of progress and log, then one
// result or problem. The event's name says which member is set.
type CallEvent struct {
	Progress json.RawMessage `json:"progress,omitempty" doc:"params of notifications/progress"`
	Log      json.RawMessage `json:"log,omitempty" doc:"params of notifications/message"`
	Result   *CallResult     `json:"result,omitempty"`
	Problem  *Problem        `json:"problem,omitempty"`
}

// ConfigText is the configuration file.
type ConfigText struct {
	Path string `json:"path"`
	ETag string `json:"etag"`
	Text string `json:"text" doc:"With every value that may be a secret replaced by ${unchanged}"`
}

// ConfigUpload is a text to check or to put in force.
type ConfigUpload struct {
	Text string `json:"text" doc:"The whole file; a value of \"${unchanged}\" stays what it is"`
}

// ConfigCheck is what is said of a text.
type ConfigCheck struct {
	Valid    bool            `json:"valid"`
	Problems []ConfigProblem `json:"problems"`
	Warnings []ConfigProblem `json:"warnings"`
	Diff     ConfigDiff      `json:"diff" doc:"What would change if it were put in force"`
}

// ConfigDiff names the servers by what happens to them.
type ConfigDiff struct {
	Added     []string `json:"added"`
	Changed   []string `json:"changed"`
	Restarted []string `json:"restarted" doc:"Those of changed that are ended and started anew, if they run; what changed about the others holds at once"`
	Removed   []string `json:"removed"`
	Unchanged []string `json:"unchanged"`
	Views     bool     `json:"views" doc:"Groups, or what is known of clients, change"`
	Settings  bool     `json:"settings" doc:"What is about Toolcrib itself changes, such as the limits of callers; it holds at once"`
	NextStart []string `json:"nextStart" doc:"Members of the file that say other than when Toolcrib started, and take effect when it starts the next time"`
}

// Import is another program's file, whose servers are to be taken over.
type Import struct {
	Text     string   `json:"text" doc:"Of the file, in any form that is known"`
	Name     string   `json:"name,omitempty" doc:"Of the file, for messages"`
	Keys     []string `json:"keys,omitempty" doc:"Only these servers; all if empty"`
	Replace  bool     `json:"replace,omitempty" doc:"Also those whose key is taken by another definition"`
	Disabled bool     `json:"disabled,omitempty" doc:"Take them over disabled"`
}

// ImportResult is what an import does, or would do.
type ImportResult struct {
	Form     string   `json:"form" doc:"Whose file it is" example:"claude"`
	New      []string `json:"new"`
	Same     []string `json:"same" doc:"Already there just so"`
	Clashing []string `json:"clashing" doc:"Another definition has the key"`
	Written  []string `json:"written" doc:"Taken over now; empty for a dry run"`

	Endpoints []string        `json:"endpoints" doc:"Of voice assistants that are not there yet, and are taken over too unless servers were selected"`
	Warnings  []ConfigProblem `json:"warnings"`
}

// Test is a server to try out: the one with the key or, with an entry, the one
// that it would be if the entry were written under the key.
type Test struct {
	Key   string `json:"key,omitempty" doc:"Of the server; it need not be there if there is an entry"`
	Entry Entry  `json:"entry,omitempty" doc:"An entry that is not saved; a value of \"${unchanged}\" stands for what the file has there"`
}

// The steps of a test, in this order. A step is only tried if those before it
// went well.
const (
	StepConfig    = "config"    // the entry makes sense and its placeholders can be filled in
	StepCommand   = "command"   // the command is found; of a remote server, the host is reached
	StepStart     = "start"     // the process runs
	StepHandshake = "handshake" // it answers as an MCP server
	StepVersion   = "version"   // in a revision that is known
	StepAuth      = "auth"      // it lets us in
	StepTools     = "tools"     // it lists its tools
)

// TestResult is how far a test came.
type TestResult struct {
	OK       bool       `json:"ok"`
	Steps    []TestStep `json:"steps"`
	Tools    []string   `json:"tools" doc:"The server's own names"`
	Protocol string     `json:"protocol,omitempty"`
	Info     string     `json:"info,omitempty" doc:"What it calls itself"`
	Stderr   string     `json:"stderr,omitempty"`
	Duration float64    `json:"durationMs"`
}

// TestStep is one step of a test.
type TestStep struct {
	Step   string `json:"step" enum:"config,command,start,handshake,version,auth,tools"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty" doc:"What was found, or what went wrong"`
	Code   string `json:"code,omitempty" doc:"What went wrong: the stable code"`
	Remedy string `json:"remedy,omitempty"`
}

// Secret names a sealed value; the value itself never leaves the hub.
type Secret struct {
	Name string    `json:"name"`
	Set  time.Time `json:"set"`
	Used []string  `json:"used" doc:"Keys of the servers that refer to it"`
}

// SecretList is the names of the sealed values.
type SecretList struct {
	Secrets []Secret `json:"secrets"`
}

// SecretValue is a value to be sealed.
type SecretValue struct {
	Value string `json:"value"`
}
