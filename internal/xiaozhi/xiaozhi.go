// Package xiaozhi has the words of the XiaoZhi dialects of MCP: how backends of
// voice assistants write messages, addresses, names and closes, what they bear,
// and what a result has to look like for them. It is pure: nothing here holds a
// connection, waits or sends.
package xiaozhi

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Broker is what the cloud's side calls itself. It asks for the list of tools once
// in a connection, and sends a ping each minute.
const Broker = "xz-mcp-broker"

// What peers bear.
const (
	// DefaultResult is how many bytes a whole response may have for the cloud.
	DefaultResult = 8192
	// MaxFrame is how many bytes a message may have at most: the self-hosted
	// backend loses the connection, and all tools with it, at 1 MiB.
	MaxFrame = 1<<20 - 4<<10
	// MaxList is how many bytes the list of tools may have at most.
	MaxList = 900 << 10
	// MaxID is how many bytes the id of a request may have.
	MaxID = 4 << 10
)

// WithDefaults fills in what an endpoint leaves open, by its profile, and bounds what
// it must not exceed. It leaves Refresh as it is, which says something also if it is
// empty.
func WithDefaults(e hub.Endpoint) hub.Endpoint {
	usual := func(d *time.Duration, or time.Duration) {
		if *d <= 0 {
			*d = or
		}
	}
	count := func(n *int, or int) {
		if *n <= 0 {
			*n = or
		}
	}
	its := e.Profile.Usual()
	e.Profile = its.Profile
	usual(&e.Deadline, its.Deadline)
	count(&e.MaxResult, its.MaxResult)
	e.MaxResult = min(max(e.MaxResult, 512), MaxFrame)
	count(&e.MaxTools, 64)
	count(&e.MaxList, 64<<10)
	count(&e.MaxMessage, 4<<20)
	count(&e.Concurrency, 16)
	count(&e.Queue, 64)
	usual(&e.Ping, 25*time.Second)
	usual(&e.PingTimeout, 15*time.Second)
	usual(&e.Delay, time.Second)
	usual(&e.MaxDelay, time.Minute)
	e.MaxDelay = max(e.MaxDelay, e.Delay)
	usual(&e.DialTimeout, 10*time.Second)
	return e
}
