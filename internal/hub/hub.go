// Package hub holds the nouns that every part of Toolcrib shares: servers and
// their tools, who calls, the way back to a caller, events and errors. It has
// no behaviour of its own.
package hub

// Principal is who a call is made for.
type Principal struct {
	Subject string // stable id; "local" for a caller on this machine without a token
	Door    Door
}

// Door is the way by which a caller came in.
type Door string

// The doors.
const (
	DoorMCP Door = "mcp"
)

// Local is the caller on this machine who showed no token.
func Local(door Door) Principal { return Principal{Subject: "local", Door: door} }

// Event is something that happened in the hub that others may want to know.
type Event interface{ event() }

// ToolsChanged says that the list of tools is another one than before.
type ToolsChanged struct {
	Snapshot uint64 // the catalog's new snapshot
}

// ServerChanged says that a server came into another state.
type ServerChanged struct {
	Status Status
}

func (ToolsChanged) event()  {}
func (ServerChanged) event() {}
