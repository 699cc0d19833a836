package api

import (
	"encoding/json"
	"time"
)

// Endpoint is a voice assistant's backend that the hub connects to: one at which it
// is an MCP server, or one to which it is a device.
type Endpoint struct {
	Name    string    `json:"name"`
	URL     string    `json:"url,omitempty" doc:"Of what is secret in it at most the last four characters; not there if it is to be asked for"`
	Enabled bool      `json:"enabled"`
	Group   string    `json:"group,omitempty" doc:"Whose tools it is offered; all if there is none"`
	Profile string    `json:"profile,omitempty" enum:"xiaozhi,cloud,cloud-short,self-hosted" doc:"What is behind the address, which says what holds unless the configuration does; not there for a backend"`
	State   string    `json:"state" enum:"disabled,connecting,connected,waiting,replaced,auth_failed,stopped" doc:"waiting, replaced, auth_failed: it is dialled again at retry; replaced: another program has taken its place; stopped: the hub does not run"`
	Since   time.Time `json:"since,omitzero" doc:"When it came into this state"`

	Code   string    `json:"code,omitempty" doc:"Why it is not connected: the stable code"`
	Reason string    `json:"reason,omitempty"`
	Remedy string    `json:"remedy,omitempty"`
	Retry  time.Time `json:"retry,omitzero" doc:"When it is dialled again"`

	Peer         string    `json:"peer,omitempty" doc:"What the other side calls itself"`
	Callers      int       `json:"callers" doc:"Conversations that were opened on this connection"`
	CloseCode    int       `json:"closeCode,omitempty" doc:"Of the WebSocket, when it was closed last"`
	CloseReason  string    `json:"closeReason,omitempty"`
	Connects     int       `json:"connects" doc:"So far"`
	LastHeard    time.Time `json:"lastHeard,omitzero"`
	LastPing     time.Time `json:"lastPing,omitzero" doc:"Of MCP"`
	TokenExpires time.Time `json:"tokenExpires,omitzero" doc:"If its token says so"`

	Tools     int               `json:"tools" doc:"That it is offered"`
	ListBytes int               `json:"listBytes" doc:"Length of the list of them"`
	Warnings  []EndpointWarning `json:"warnings"`

	Calls     int `json:"calls" doc:"So far"`
	Running   int `json:"running" doc:"Calls under way"`
	Truncated int `json:"truncated" doc:"Answers that were cut"`
	TimedOut  int `json:"timedOut" doc:"Calls that reached their deadline"`
	Junk      int `json:"junk" doc:"Frames that were no messages"`

	Entry Entry  `json:"entry,omitempty" doc:"What the configuration file says about it, its secrets masked; only when it is asked for alone. One that is in mcpEndpoint alone has an empty one"`
	ETag  string `json:"etag,omitempty" doc:"Of the configuration file; only when it is asked for alone"`
}

// EndpointWarning is something about an endpoint that does no harm yet.
type EndpointWarning struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// EndpointList is every endpoint, in the order of the configuration.
type EndpointList struct {
	Endpoints []Endpoint `json:"endpoints"`
}

// BackendList is every backend to which the hub is a device, in the order of the
// configuration.
type BackendList struct {
	Backends []Endpoint `json:"backends"`
}

// EndpointChange is what the configuration is to say about an endpoint or a backend.
type EndpointChange struct {
	Entry Entry `json:"entry" doc:"The whole entry; a value of \"${unchanged}\" stays what it is"`
}

// Device is a device that has dialled in.
type Device struct {
	ID        string    `json:"id" doc:"As it calls itself, usually a MAC address"`
	Alias     string    `json:"alias" doc:"Key of its server: the first half of its tools' names"`
	Client    string    `json:"client,omitempty" doc:"Id of its program"`
	Online    bool      `json:"online"`
	Since     time.Time `json:"since,omitzero" doc:"When it came, or went"`
	Address   string    `json:"address,omitempty"`
	Tools     int       `json:"tools"`
	UserTools []string  `json:"userTools" doc:"Its tools that only people may call"`
	Code      string    `json:"code,omitempty" doc:"Why it has no tools, or is gone: the stable code"`
	Reason    string    `json:"reason,omitempty"`
	Remedy    string    `json:"remedy,omitempty"`
	Relay     string    `json:"relay,omitempty" doc:"The backend that its frames go on to"`
	Connects  int64     `json:"connects" doc:"So far"`
	Calls     int64     `json:"calls" doc:"So far"`
	Late      int64     `json:"late" doc:"Answers that came when nobody waited any more"`
	Junk      int64     `json:"junk" doc:"Frames that were no messages"`
	Audio     int64     `json:"audio" doc:"Binary frames that were dropped"`
}

// DeviceList is every device that has been here since the hub started.
type DeviceList struct {
	Devices []Device `json:"devices"`
	Address string   `json:"address,omitempty" doc:"Where devices dial in; not there if they cannot" example:"ws://192.168.1.2:8090/xiaozhi/v1/"`
}

// DeviceTokenWanted is for whom a device's token is.
type DeviceTokenWanted struct {
	Client string `json:"client,omitempty" doc:"Id of the program of the device that may use it, its Client-Id; any if it is not given"`
}

// DeviceToken lets a device in.
type DeviceToken struct {
	Device  string    `json:"device" doc:"Id of the device that it is for"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// DeviceRevoked tells whose tokens are not good any more.
type DeviceRevoked struct {
	Device string `json:"device" doc:"Id of the device"`
}

// DeviceCall is a call of a device's tool by a person.
type DeviceCall struct {
	Tool      string          `json:"tool" doc:"The device's own name for it"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"An object"`
}
