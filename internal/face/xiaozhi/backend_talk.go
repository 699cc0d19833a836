package xiaozhi

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

const (
	greetLimit = 10 * time.Second // for a backend to greet its device
	sayEvery   = time.Minute      // one line of the log about what is skipped, for each kind
	maxKinds   = 64               // that are told apart
)

var errUngreeted = errors.New("the backend does not greet")

// deviceSide is what a conversation has besides where the hub is a device: the
// messages stand in envelopes, and there is more than these on the connection.
type deviceSide struct {
	greeted chan struct{} // closed when the backend has greeted

	mu      sync.Mutex
	session []byte               // of the last greeting, raw; nil before
	said    map[string]time.Time // when the log was last told of what is skipped, by its kind
}

func newDeviceSide() *deviceSide {
	return &deviceSide{greeted: make(chan struct{}), said: make(map[string]time.Time)}
}

// greet greets the backend, waits until that greets as well, and then tells it from
// time to time that the device is there.
func (c *conversation) greet() {
	c.put([]byte(words.DeviceHello))
	limit := time.NewTimer(greetLimit)
	defer limit.Stop()
	select {
	case <-c.device.greeted:
	case <-limit.C:
		c.end(errUngreeted)
		return
	case <-c.ctx.Done():
		return
	}
	if c.def.device.KeepAlive <= 0 {
		return
	}
	tick := time.NewTicker(c.def.device.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.put([]byte(words.DevicePing))
		case <-c.ctx.Done():
			return
		}
	}
}

// open takes what came in one frame of a backend's.
func (c *conversation) open(raw []byte, limit int) {
	e, ok := words.ParseEnvelope(raw, limit)
	switch {
	case !ok && !c.device.isGreeted():
		// This is how some say why they let nobody in.
		c.junk("plain text: " + message.Quote(words.Redact(string(raw), c.secrets)))
	case !ok:
		c.junk("plain text")
	case e.Greets():
		if c.device.greets(e.SessionID()) {
			c.connected()
		}
	case e.Type == "mcp" && e.Payload != nil:
		c.one(e.Payload, e.SessionID(), limit)
	case e.Type == "mcp", e.Type == "":
		c.junk("a message of the type " + message.Quote(e.Type))
	default:
		c.ignore("a message of the type " + message.Quote(words.Redact(e.Type, c.secrets)))
	}
}

// framed is a message in the envelope of its session, or of the one that the backend
// greeted with last.
func (c *conversation) framed(raw, session []byte) []byte {
	if c.device == nil {
		return raw
	}
	if session == nil {
		c.device.mu.Lock()
		session = c.device.session
		c.device.mu.Unlock()
	}
	return words.AppendEnvelope(nil, session, raw)
}

// greets notes a greeting, and reports whether it is the first.
func (d *deviceSide) greets(session []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = bytes.Clone(session)
	if d.isGreeted() {
		return false
	}
	close(d.greeted)
	return true
}

func (d *deviceSide) isGreeted() bool {
	select {
	case <-d.greeted:
		return true
	default:
		return false
	}
}

// due reports whether the log is to be told that something of a kind was skipped.
func (d *deviceSide) due(kind string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, known := d.said[kind]
	if !known && len(d.said) >= maxKinds {
		kind = "" // all others are one
		last, known = d.said[kind]
	}
	if known && time.Since(last) < sayEvery {
		return false
	}
	d.said[kind] = time.Now()
	return true
}

// ending is what a close means that would be of the kind at an endpoint.
// Lasted is how long ago the backend has greeted.
func (d *deviceSide) ending(kind words.Ending, code int, lasted time.Duration) words.Ending {
	if !d.isGreeted() {
		return kind // it was refused, in whatever words
	}
	return words.OfBackendClose(kind, code, lasted)
}

// severity is how much an ending matters.
func (e *ending) severity() hub.LogLevel {
	if e.kind == words.EndingClean {
		return hub.LevelInfo
	}
	return hub.LevelWarning
}
