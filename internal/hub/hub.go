// Package hub holds the nouns that every part of Toolcrib shares: servers and
// their tools, who calls, the way back to a caller, events and errors. It has
// no behaviour of its own.
package hub

// Principal is who a call is made for.
type Principal struct {
	Subject string // stable id; "local" for a caller on this machine without a token
	Door    Door
	Role    Role
}

// Role is what a principal may do.
type Role uint8

// The roles; each may do what those before it may.
const (
	RoleCaller Role = iota // look around and call tools
	RoleAdmin              // change servers and the configuration
)

// Door is the way by which a caller came in.
type Door string

// The doors.
const (
	DoorMCP       Door = "mcp"   // streamable HTTP
	DoorSSE       Door = "sse"   // HTTP with server-sent events, as of 2024-11-05
	DoorWebSocket Door = "ws"    // MCP over a WebSocket
	DoorStdio     Door = "stdio" // a client that started "toolcrib stdio"
	DoorREST      Door = "rest"  // the HTTP API, also as the command line uses it
)

// Local is the caller on this machine who showed no token.
func Local(door Door) Principal { return Principal{Subject: "local", Door: door} }

// Event is something that happened in the hub that others may want to know.
type Event interface{ event() }

// ToolsChanged says that the list of tools is another one than before.
type ToolsChanged struct {
	Snapshot uint64 // the catalog's new snapshot
}

// ResourcesChanged says that the resources or their templates are other ones than
// before.
type ResourcesChanged struct{}

// PromptsChanged says that the prompts are other ones than before.
type PromptsChanged struct{}

// ServerChanged says that a server came into another state.
type ServerChanged struct {
	Status Status
}

// CallEnded says that a call ended, well or badly.
type CallEnded struct {
	Call *CallRecord // that nobody changes any more
}

// CallStateChanged says that what a caller's session shows of its calls changed.
type CallStateChanged struct {
	State CallState
}

// ToolsDrifted says that a server which is pinned describes tools otherwise
// than they were accepted; there is more to accept than before, or nothing any
// more.
type ToolsDrifted struct {
	Server string
	Tools  []string // the server's own names
}

func (ToolsDrifted) event()     {}
func (ToolsChanged) event()     {}
func (ResourcesChanged) event() {}
func (PromptsChanged) event()   {}
func (ServerChanged) event()    {}
func (CallEnded) event()        {}
func (CallStateChanged) event() {}
