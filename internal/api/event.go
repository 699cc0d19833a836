package api

import "time"

// The kinds of events.
const (
	KindGap              = "gap"               // events are missing here
	KindServerChanged    = "server.changed"    // a server came into another state
	KindToolsChanged     = "tools.changed"     // the list of tools is another one
	KindResourcesChanged = "resources.changed" // the resources or their templates are other ones
	KindPromptsChanged   = "prompts.changed"   // the prompts are other ones
	KindToolsDrifted     = "tools.drifted"     // a pinned server has tools to be accepted, or none any more
	KindCallEnded        = "call.ended"        // a call ended, well or badly
	KindCallState        = "call.state"        // what a session shows of its calls changed
	KindEndpointChanged  = "endpoint.changed"  // an endpoint or a backend of a voice assistant came into another state
	KindDeviceChanged    = "device.changed"    // a device came, went, or has other tools than before
	KindApprovalChanged  = "approval.changed"  // somebody is asked to agree to a call, or that was decided or has ended otherwise
)

// Event is one thing that happened in the hub. Some kinds have more to tell, in
// the member that is named after what they are about.
type Event struct {
	ID     int64        `json:"id" doc:"Greater than that of every event before; one that is followed from goes in Last-Event-ID"`
	Time   time.Time    `json:"time" doc:"When the hub took note of it"`
	Kind   string       `json:"kind" enum:"gap,server.changed,tools.changed,resources.changed,prompts.changed,tools.drifted,call.ended,call.state,approval.changed,endpoint.changed,device.changed"`
	Gap    *EventGap    `json:"gap,omitempty" doc:"Of gap"`
	Server *EventServer `json:"server,omitempty" doc:"Of server.changed"`
	Drift  *EventDrift  `json:"drift,omitempty" doc:"Of tools.drifted"`
	Call   *EventCall   `json:"call,omitempty" doc:"Of call.ended"`
	State  *CallState   `json:"state,omitempty" doc:"Of call.state. What the server said, as its result or its error, is there only as long as the event is kept in memory"`

	Approval *EventApproval `json:"approval,omitempty" doc:"Of approval.changed"`
	Endpoint *EventEndpoint `json:"endpoint,omitempty" doc:"Of endpoint.changed"`
	Device   *EventDevice   `json:"device,omitempty" doc:"Of device.changed"`
}

// EventEndpoint is the state of a voice assistant's backend that the hub dials.
type EventEndpoint struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind" enum:"endpoints,backends" doc:"endpoints: the hub is an MCP server there; backends: it is a device"`
	State     string    `json:"state" enum:"disabled,connecting,connected,waiting,replaced,auth_failed,stopped"`
	Since     time.Time `json:"since" doc:"When it came into this state"`
	Code      string    `json:"code,omitempty" doc:"Why it is not connected: the stable code"`
	Reason    string    `json:"reason,omitempty" doc:"Why it is not connected, in English"`
	Retry     time.Time `json:"retry,omitzero" doc:"When it is dialled again"`
	CloseCode int       `json:"closeCode,omitempty" doc:"Of the WebSocket, when it was closed last"`

	Warnings []EndpointWarning `json:"warnings,omitempty" doc:"In English: of limits, of what it needs and is not there, of a token that ends"`
}

// EventDevice is how a device stands.
type EventDevice struct {
	ID     string    `json:"id"`
	Alias  string    `json:"alias" doc:"Key of its server"`
	Online bool      `json:"online"`
	Since  time.Time `json:"since" doc:"When it came, or went"`
	Tools  int       `json:"tools"`
	Code   string    `json:"code,omitempty" doc:"Why it has no tools, or is gone: the stable code"`
	Reason string    `json:"reason,omitempty" doc:"In English"`
}

// EventApproval is how a request to agree to a call stands, without its arguments.
type EventApproval struct {
	ID      string    `json:"id"`
	Status  string    `json:"status" enum:"pending,approved,edited,rejected,expired,cancelled,superseded" doc:"pending: somebody has to decide, or a second person after the one in by"`
	Tenant  string    `json:"tenant,omitempty"`
	Subject string    `json:"subject" doc:"Who asks"`
	Server  string    `json:"server,omitempty"`
	Tool    string    `json:"tool" doc:"As the caller put it"`
	Risk    string    `json:"risk" enum:"low,medium,high,critical"`
	Expires time.Time `json:"expires" doc:"Until when it can be decided or, once it is agreed to, used"`
	By      string    `json:"by,omitempty" doc:"Who has decided last"`
}

// EventGap says that events are missing between the one before and the one
// after it. Whoever shows something has to read it anew.
type EventGap struct {
	Reason string `json:"reason" enum:"expired,rush,killed,store,unknown" doc:"expired: they are not kept any more. rush: more happened than could be taken note of. killed: the hub was killed before it had written the last quarter of a second. store: they could not be written to the database, or are damaged there. unknown: the id to follow from is none of this hub's"`
	Missed int64  `json:"missed,omitempty" doc:"How many, of all kinds; not there if that is not known"`
}

// EventServer is a server's state.
type EventServer struct {
	Key       string     `json:"key"`
	State     string     `json:"state" enum:"disabled,idle,stopped,starting,ready,degraded,reconnecting,crashed,failed,stopping"`
	Event     string     `json:"event,omitempty" doc:"What led to this state, as docs/servers.md names it"`
	Since     time.Time  `json:"since" doc:"When it came into this state"`
	Code      string     `json:"code,omitempty" doc:"Why it is not ready: the stable code"`
	Reason    string     `json:"reason,omitempty" doc:"Why it is not ready, in English"`
	Retry     *time.Time `json:"retry,omitempty" doc:"When it is tried next"`
	Breaker   string     `json:"breaker,omitempty" enum:"closed,open,half-open" doc:"open: no call is sent to it for a while"`
	Instances int        `json:"instances" doc:"Shared connections that are up"`
	Calls     int        `json:"calls" doc:"Under way on it"`
	Tools     int        `json:"tools" doc:"That it has, before any rule"`
}

// EventDrift names the tools of a pinned server that are to be accepted.
type EventDrift struct {
	Server string   `json:"server"`
	Tools  []string `json:"tools" doc:"The server's own names; none if there is nothing to accept any more"`
}

// EventCall is one call that ended, without its arguments and its result.
type EventCall struct {
	ID       string         `json:"id,omitempty" doc:"Of the call, in the record of calls"`
	Time     time.Time      `json:"time" doc:"When it began"`
	Method   string         `json:"method,omitempty" example:"tools/call"`
	Subject  string         `json:"subject" doc:"Who called"`
	Door     string         `json:"door" doc:"By which way"`
	Session  string         `json:"session,omitempty" doc:"Of the caller, as in call.state"`
	Client   string         `json:"client,omitempty" doc:"The caller's program, as it calls itself"`
	Group    string         `json:"group,omitempty" doc:"At whose address"`
	Name     string         `json:"name" doc:"Of the tool or prompt, or the URI, as the caller put it"`
	Server   string         `json:"server,omitempty"`
	Tool     string         `json:"tool,omitempty" doc:"The server's own name for it"`
	Changing bool           `json:"changing" doc:"It may change something"`
	Verdict  string         `json:"verdict,omitempty" doc:"Of the rules"`
	Mode     string         `json:"mode,omitempty" doc:"Whether the verdict was only observed"`
	Risk     string         `json:"risk,omitempty"`
	Rule     string         `json:"rule,omitempty" doc:"That decided"`
	Approval string         `json:"approval,omitempty" doc:"By which it was made, or for which it waits"`
	Grant    string         `json:"grant,omitempty" doc:"By which nobody was asked"`
	Tenant   string         `json:"tenant,omitempty" doc:"Of the caller"`
	Outcome  string         `json:"outcome" enum:"ok,tool_error,failed,cancelled,unknown"`
	Code     string         `json:"code,omitempty"`
	Reason   string         `json:"reason,omitempty" doc:"In English"`
	Attempts []EventAttempt `json:"attempts,omitempty" doc:"Each time that it was sent or tried to be sent; not there if it was once and went well"`
	Cached   bool           `json:"cached,omitempty" doc:"The answer was kept from before"`
	Queued   float64        `json:"queuedMs,omitempty" doc:"How long it waited for its turn"`
	Held     float64        `json:"heldMs,omitempty" doc:"How long it waited for a person to agree to it"`
	Duration float64        `json:"durationMs" doc:"Without the time that it was held"`
	Bytes    int            `json:"bytes" doc:"Of the answer"`
	Trace    string         `json:"trace,omitempty" doc:"W3C trace id"`
}

// EventAttempt is one try to have a call carried out.
type EventAttempt struct {
	Server   string  `json:"server"`
	Code     string  `json:"code,omitempty" doc:"Of its error; not there if it was answered"`
	Duration float64 `json:"durationMs"`
}
