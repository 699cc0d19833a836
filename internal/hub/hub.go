// Package hub holds the nouns that every part of Toolcrib shares: servers and
// their tools, who calls, the way back to a caller, events and errors. It has
// no behaviour of its own.
package hub

import "time"

// Principal is who a call is made for. Two are the same caller if they are equal.
type Principal struct {
	Subject string // stable id; "local" for a caller on this machine without a token
	Door    Door
	Role    Role

	// Tenant is whose servers, tools and records it sees; "" is who the hub itself
	// belongs to.
	Tenant string
	// Token is the id of the API token or login session that was shown; "" if it was neither.
	Token string
	// Scope narrows what a token is good for, as [Scope] reads it; "" does not.
	Scope string
}

// Role is what a principal may do. The zero value may do nothing.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // looks around
	RoleCaller   Role = "caller"   // and calls tools
	RoleApprover Role = "approver" // looks around, and decides what others ask for
	RoleOperator Role = "operator" // calls, decides, and has servers start and stop
	RoleAdmin    Role = "admin"    // all, also to change servers, the configuration, tokens and tenants
)

// Right is one thing that a role may do or not.
type Right uint8

// The rights.
const (
	MayLook    Right = iota // see servers, tools and the own calls
	MayCall                 // call tools, read resources, get prompts
	MayDecide               // agree to calls of others, and give grants
	MayOperate              // start and stop servers, and see the calls of all
	MayManage               // change servers, the configuration, tokens and tenants
)

// Roles are all of them.
var Roles = [...]Role{RoleViewer, RoleCaller, RoleApprover, RoleOperator, RoleAdmin} //nolint:gochecknoglobals // a table

// May reports whether the role has the right.
func (r Role) May(right Right) bool {
	switch r {
	case RoleAdmin:
		return true
	case RoleOperator:
		return right != MayManage
	case RoleApprover:
		return right == MayLook || right == MayDecide
	case RoleCaller:
		return right == MayLook || right == MayCall
	case RoleViewer:
		return right == MayLook
	}
	return false
}

// Hubwide reports whether the principal is of the hub itself and of no tenant: only
// such a one may change what all tenants share.
func (p *Principal) Hubwide() bool { return p.Tenant == "" }

// Door is the way by which a caller came in.
type Door string

// The doors.
const (
	DoorMCP       Door = "mcp"     // streamable HTTP
	DoorSSE       Door = "sse"     // HTTP with server-sent events, as of 2024-11-05
	DoorWebSocket Door = "ws"      // MCP over a WebSocket
	DoorStdio     Door = "stdio"   // a client that started "toolcrib stdio"
	DoorREST      Door = "rest"    // the HTTP API, also as the command line uses it
	DoorAgent     Door = "agent"   // the agent host
	DoorXiaoZhi   Door = "xiaozhi" // an endpoint of a voice assistant
	DoorDevice    Door = "device"  // a device
)

// Spoken reports whether what comes by the door is said by people, and what is
// answered is told to them: nobody there reads resources, or a ticket.
func (d Door) Spoken() bool { return d == DoorXiaoZhi || d == DoorDevice }

// Local is the caller on this machine who showed no token.
func Local(door Door) Principal { return Principal{Subject: "local", Door: door, Role: RoleCaller} }

// Event is something that happened in the hub that others may want to know.
type Event interface{ event() }

// ToolsChanged says that the list of tools is another one than before.
type ToolsChanged struct {
	Snapshot uint64 // the catalog's new snapshot
	Devices  bool   // it is so because devices have come or gone alone, which they do all the time
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

// ApprovalChanged says that a person is asked to agree to a call, or that it was
// decided or has ended otherwise.
type ApprovalChanged struct {
	ID      string
	Status  string // as of package approval
	Tenant  string
	Subject string // who asks
	Server  string
	Tool    string // as the caller put it
	Risk    Risk
	Expires time.Time
	By      string // who has decided; "" for nobody
}

func (ApprovalChanged) event()  {}
func (ToolsDrifted) event()     {}
func (ToolsChanged) event()     {}
func (ResourcesChanged) event() {}
func (PromptsChanged) event()   {}
func (ServerChanged) event()    {}
func (CallEnded) event()        {}
func (CallStateChanged) event() {}
