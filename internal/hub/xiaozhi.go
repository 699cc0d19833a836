package hub

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Endpoint is an address of a voice assistant's backend at which the hub is an MCP
// server: it dials, and answers. It is a value: once handed out nobody changes it
// or what it refers to. URL may have placeholders, and a token.
type Endpoint struct {
	Name    string // of letters, digits, "-" and "_"; unique
	URL     string // ws or wss; its query is kept to the byte
	Enabled bool
	Profile EndpointProfile // of the backend; "" for [ProfileXiaoZhi]

	Group string   // what it is offered: that of the group; "" for everything
	Allow []string // by exposed name, "*" standing for any text: only these; all if empty
	Deny  []string // not these, whatever Allow says

	// RequiredTools are names of tools, or keys of servers, that are kept running while
	// the endpoint is connected.
	RequiredTools []string

	Deadline   time.Duration // of a call, after which it is answered with a task's id
	CancelLate bool          // a call that is late is cancelled, and not kept

	MaxResult int  // bytes of a whole response
	MaxTools  int  // tools from which on it warns
	MaxList   int  // bytes of the list of tools from which on it warns
	Pages     bool // the list is given in pages of MaxList

	MaxMessage  int           // bytes of a message of the peer's; a larger one closes the connection
	Concurrency int           // calls at once
	Queue       int           // that wait besides
	KeepActions bool          // "action" in a tool's text is left as it is
	Refresh     Refresh       // whether a change of tools reconnects
	Ping        time.Duration // between two of the WebSocket's own
	PingTimeout time.Duration // until an answer

	// The pause before it is dialled anew grows from Delay to MaxDelay.
	Delay, MaxDelay time.Duration
	DialTimeout     time.Duration

	Language message.Lang // of what it is told; "" for the hub's
}

// EndpointProfile is a kind of backend at whose endpoint the hub is. It says what
// holds for an endpoint that does not say otherwise.
type EndpointProfile string

// The profiles.
const (
	ProfileXiaoZhi    EndpointProfile = "xiaozhi"     // any: what each of them bears
	ProfileCloud      EndpointProfile = "cloud"       // xiaozhi.me, which waits 300 s for a call
	ProfileCloudShort EndpointProfile = "cloud-short" // xiaozhi.me as it was at first: it waits 10 s
	ProfileSelfHosted EndpointProfile = "self-hosted" // a server of one's own: it waits 30 s, and takes long answers
)

// EndpointProfiles are all profiles. The first holds if none is named.
func EndpointProfiles() []EndpointProfile {
	return []EndpointProfile{ProfileXiaoZhi, ProfileCloud, ProfileCloudShort, ProfileSelfHosted}
}

// Usual is an endpoint with nothing but what the profile says: its deadline, the
// length of its answers, and whether it is dialled anew when the tools have changed.
// One that is not known is [ProfileXiaoZhi].
func (p EndpointProfile) Usual() Endpoint {
	const (
		short, usual, long = 9 * time.Second, 25 * time.Second, 290 * time.Second
		page, text         = 8 << 10, 64 << 10
	)
	switch p {
	case ProfileCloud: // it asks for the list once in a connection
		return Endpoint{Profile: p, Deadline: long, MaxResult: page, Refresh: RefreshAlways}
	case ProfileCloudShort:
		return Endpoint{Profile: p, Deadline: short, MaxResult: page, Refresh: RefreshAlways}
	case ProfileSelfHosted: // each device asks for the list itself
		return Endpoint{Profile: p, Deadline: usual, MaxResult: text, Refresh: RefreshNever}
	case ProfileXiaoZhi:
	}
	return Endpoint{Profile: ProfileXiaoZhi, Deadline: usual, MaxResult: page}
}

// Refresh says whether an endpoint is dialled anew when the tools have changed, for
// peers that ask for the list once in a connection.
type Refresh string

// The kinds of refresh.
const (
	RefreshAuto   Refresh = ""       // where the peer is known to need it
	RefreshAlways Refresh = "always" // in any case
	RefreshNever  Refresh = "never"
)

// EndpointState is where an endpoint is in its life.
type EndpointState string

// The states of an endpoint, and of a backend.
const (
	EndpointDisabled   EndpointState = "disabled"    // by configuration
	EndpointConnecting EndpointState = "connecting"  // being dialled
	EndpointConnected  EndpointState = "connected"   // the connection is up
	EndpointWaiting    EndpointState = "waiting"     // lost or not reached; dialled anew at Retry
	EndpointReplaced   EndpointState = "replaced"    // another client took its place; dialled anew at Retry
	EndpointAuthFailed EndpointState = "auth_failed" // its token is refused; dialled anew at Retry, every 5 minutes
	EndpointStopped    EndpointState = "stopped"     // the hub stops, or has not begun
)

// EndpointStatus is what there is to tell about an endpoint at one moment.
type EndpointStatus struct {
	Name    string
	URL     string          // without what is secret of it: of a token the last four characters
	Profile EndpointProfile // "" for a backend
	State   EndpointState
	Since   time.Time
	Reason  *Error    // why it is not connected; nil if it is, or has not been tried
	Retry   time.Time // zero if it is not waiting
	Peer    string    // what the peer calls itself; "" if it has not said
	Callers int       // conversations that were opened on this connection

	CloseCode   int    // of the last close; 0 for none
	CloseReason string // shortened
	Connects    int    // so far
	LastHeard   time.Time
	LastPing    time.Time // MCP's

	Tools    int      // that it is offered
	ListSize int      // bytes
	Warnings []*Error // of limits, and of a token that ends

	Calls, Truncated, TimedOut, Junk, Running int

	TokenExpires time.Time // zero if it does not say
}

// Backend is a voice assistant's backend to which the hub is a device. It is a
// value, as [Endpoint] is. URL, Token and OTA may have placeholders.
type Backend struct {
	Name     string
	URL      string // ws or wss; "" to ask OTA for it
	OTA      string // http or https; "" for none
	Token    string
	DeviceID string // "" for one that is made once, and kept
	ClientID string // as well
	Query    bool   // it is told who the device is in the query in place of headers
	Enabled  bool

	Group     string
	Allow     []string
	Deny      []string
	Prefix    bool          // tools are named self.server.tool in place of as the hub exposes them
	Deadline  time.Duration // of a call
	MaxList   int           // bytes of a page of tools
	KeepAlive time.Duration // between two pings in the backend's own words; 0 for none

	Delay, MaxDelay time.Duration
	DialTimeout     time.Duration
	Language        message.Lang
}

// EndpointChanged says that an endpoint or a backend came into another state.
type EndpointChanged struct {
	Status EndpointStatus
	Device bool // it is a backend
}

func (EndpointChanged) event() {}

// Devices say how devices may dial in.
type Devices struct {
	Aliases map[string]string // by device id: the key that its tools have in the catalog
	Allow   []string          // ids of devices that need no token
	Keep    time.Duration     // how long the tools of a device stay listed when it has gone; 0 for not

	Websocket string            // the address that devices are told at /xiaozhi/ota/; "" for that at which they ask
	Vision    string            // address to which devices send pictures; "" for none
	Relay     map[string]string // by device id, "*" for all others: the backend to which all frames go on, by URL
	Timeout   time.Duration     // of a call
	Queue     int               // calls that wait for a device
}

// DeviceStatus is what there is to tell about a device at one moment.
type DeviceStatus struct {
	ID        string // as it calls itself
	Alias     string // key of its server
	Client    string // id of its program
	Online    bool
	Since     time.Time
	Address   string
	Tools     int
	UserTools []string // those that only people may call
	Reason    *Error   // why it has no tools, or is gone
	Relay     string   // masked address that its frames go on to; "" for none

	Connects, Calls, Late, Junk, Audio int64
}

// DeviceChanged says that a device came, went, or has other tools than before.
type DeviceChanged struct{ Status DeviceStatus }

func (DeviceChanged) event() {}
