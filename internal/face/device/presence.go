package device

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// photoTool is the tool of firmware that takes longer than others, and how long.
const (
	photoTool    = "self.camera.take_photo"
	photoTimeout = time.Minute
)

// replaceGrace is how long at least the tools of a device stay listed that has
// connected anew, so that it has the time to tell them.
const replaceGrace = time.Minute

// attachLimit bounds how long a device's tools take to be listed once they are known.
const attachLimit = 30 * time.Second

// device is one that has been here since the hub started. What follows attaching is
// under the door's mu, but for the counters.
type device struct {
	id   string // as it calls itself
	book book

	attaching sync.Mutex // held while its server is attached or detached; taken before the door's mu

	link     *link // nil if it is not here
	key      string
	taken    bool // key is that of another one, whose id is not to be told from this one's by it
	client   string
	address  string
	relay    string // masked address of the backend that its frames go on to; "" for none
	since    time.Time
	reason   *hub.Error
	offer    offer
	attached string      // key of the server that is attached; "" for none
	expiry   *time.Timer // until its tools are not listed any more; nil if it has told them, or has none

	connects, calls, late, junk, audio atomic.Int64
}

// status tells about the device. The caller holds the door's mu.
func (v *device) status() hub.DeviceStatus {
	return hub.DeviceStatus{
		ID: v.id, Alias: v.key, Client: v.client, Online: v.link != nil, Since: v.since, Address: v.address,
		Tools: len(v.offer.tools) - len(v.offer.people), UserTools: v.offer.people, Reason: v.reason, Relay: v.relay,
		Connects: v.connects.Load(), Calls: v.calls.Load(), Late: v.late.Load(), Junk: v.junk.Load(), Audio: v.audio.Load(),
	}
}

// stay has its tools stay listed. The caller holds the door's mu.
func (v *device) stay() {
	if v.expiry != nil {
		v.expiry.Stop()
		v.expiry = nil
	}
}

// come enters a connection as that of its device. The one before, if it is still
// there, is sent away: a device that connects anew does not know of it any more. Relay
// is the masked address of the backend that its frames go on to; "" for none.
func (d *Door) come(l *link, v visitor, address, relay string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dev := d.devices[strings.ToLower(v.id)]
	if dev == nil {
		dev = &device{id: v.id}
		d.devices[strings.ToLower(v.id)] = dev
	}
	l.dev = dev
	if old := dev.link; old != nil {
		dev.book.add(hub.LevelInfo, "connects anew; the connection before is closed")
		old.close(websocket.StatusNormalClosure, "replaced by a new connection", hub.E(message.DeviceReplaced, nil, "device", dev.id))
		d.leaves(dev, max(d.conf.Keep, replaceGrace)) // unless the new one tells of tools as well
	}
	dev.link, dev.client, dev.address, dev.since, dev.reason = l, v.client, address, time.Now(), nil
	dev.relay = relay
	d.name(dev)
	dev.connects.Add(1)
	dev.book.add(hub.LevelInfo, "connected from "+address)
	d.changed(dev)
	if d.over {
		l.close(websocket.StatusGoingAway, "the hub stops", hub.E(message.ShuttingDown, nil))
	}
	d.recheck(l) // it may have been let in a moment before that was taken away
}

// gone takes a connection that has ended away from its device, unless the device has
// another one by now.
func (d *Door) gone(l *link) {
	dev := l.dev
	why := hub.AsError(context.Cause(l.ctx))
	d.mu.Lock()
	defer d.mu.Unlock()
	l.ready = false
	if dev.link != l {
		return
	}
	dev.link, dev.since, dev.reason = nil, time.Now(), why
	dev.book.add(hub.LevelInfo, "gone: "+why.Text(message.English).What)
	d.changed(dev)
	d.leaves(dev, d.conf.Keep)
}

// leaves has the tools of a device not listed any more after a time, unless it has
// told them again by then. The caller holds mu.
func (d *Door) leaves(dev *device, after time.Duration) {
	if d.over || dev.attached == "" || dev.expiry != nil {
		return
	}
	dev.expiry = time.AfterFunc(after, func() { d.expire(dev) })
}

// expire has the tools of a device not listed any more, unless it has told them
// again.
func (d *Door) expire(dev *device) {
	dev.attaching.Lock()
	defer dev.attaching.Unlock()
	d.mu.Lock()
	key := dev.attached
	if dev.expiry == nil || d.over || key == "" {
		d.mu.Unlock()
		return
	}
	dev.attached, dev.offer, dev.expiry = "", offer{}, nil
	dev.book.add(hub.LevelInfo, "its tools are not listed any more")
	d.changed(dev)
	d.mu.Unlock()
	d.opt.Detach(key, dev.id)
}

// rename gives every device the key that it is to have by the settings, all in one go:
// an alias that is another one's now is free for that one at once. What it returns are
// those whose server is listed under a key that is theirs no more. The caller holds mu.
func (d *Door) rename() (moved []*device) {
	var others []*device
	for _, id := range slices.Sorted(maps.Keys(d.devices)) {
		if dev := d.devices[id]; dev.taken || dev.key != d.keyFor(dev) {
			dev.key, dev.taken = "", false
			others = append(others, dev)
		}
	}
	for _, dev := range others {
		if d.name(dev); dev.attached != "" && dev.attached != dev.key {
			moved = append(moved, dev)
		}
	}
	return moved
}

// name gives a device its key, by which no other one is known before. The caller holds
// mu.
func (d *Door) name(dev *device) {
	key := d.keyFor(dev)
	if dev.key == key && !dev.taken {
		return
	}
	other := d.keyed(key)
	dev.key, dev.taken = key, other != nil && other != dev
}

// yield has the server of a device not listed any more under a key that is not its own.
// One that is here is listed anew after that; of one that is not, nothing is left.
func (d *Door) yield(dev *device) {
	dev.attaching.Lock()
	defer dev.attaching.Unlock()
	d.mu.Lock()
	key := dev.attached
	if key == "" || key == dev.key || d.over {
		d.mu.Unlock()
		return
	}
	dev.attached = ""
	if dev.link == nil {
		dev.stay()
		dev.offer = offer{}
		d.changed(dev)
	}
	d.mu.Unlock()
	d.opt.Detach(key, dev.id)
}

// without notes that a device has no tools. What it had is listed as long as if it had
// gone.
func (d *Door) without(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.dev.link == l {
		l.dev.reason = hub.E(message.DeviceWithoutMCP, nil, "device", l.dev.id)
		l.dev.book.add(hub.LevelWarning, "says that it has no tools")
		d.changed(l.dev)
	}
}

// changed tells everybody of a device. The caller holds mu.
func (d *Door) changed(dev *device) {
	if d.opt.Bus != nil {
		d.opt.Bus.Publish(hub.DeviceChanged{Status: dev.status()})
	}
}

// keyFor is the key that a device's server is to have. The caller holds mu.
func (d *Door) keyFor(dev *device) string { return xiaozhi.DeviceName(dev.id, d.conf.Aliases) }

// definition is the server of a device. Its calls wait for each other, as firmware
// runs one tool at a time; what it did is not known when it has gone, so that nothing
// is tried again.
func definition(conf hub.Devices, dev *device) hub.Server {
	def := hub.Server{
		Key: dev.key, Name: dev.id, Kind: hub.KindDevice, Enabled: true, AutoStart: true,
		Priority: hub.PriorityDevice, Timeout: conf.Timeout, Connection: hub.ConnectionShared,
		Instances: hub.Instances{Min: 1, Max: 1, Queue: 1},
		Gate:      hub.Gate{Concurrency: 1, Queue: conf.Queue},
		Tags:      []string{"device"}, UserTools: true,
	}
	if def.Timeout <= 0 {
		def.Timeout = hub.DefaultTimeout
	}
	if def.Gate.Queue <= 0 {
		def.Gate.Queue = defaultQueue
	}
	if def.Timeout < photoTimeout {
		def.Rules.Override = map[string]hub.ToolOverride{photoTool: {Timeout: photoTimeout}}
	}
	return def
}

// list has the tools of a device listed that are known, under the name that it has
// now.
func (l *link) list() {
	d, dev := l.door, l.dev
	dev.attaching.Lock()
	defer dev.attaching.Unlock()
	d.mu.Lock()
	if dev.link != l || !l.ready || d.over {
		d.mu.Unlock()
		return
	}
	dev.stay()
	d.name(dev)
	before := dev.attached
	if dev.taken {
		dev.attached, dev.reason = "", hub.E(message.DeviceAliasTaken, nil, "device", dev.id, "server", dev.key)
		dev.book.add(hub.LevelWarning, "its tools are not listed: "+dev.reason.Text(message.English).What)
		d.changed(dev)
		d.mu.Unlock()
		if before != "" {
			d.opt.Detach(before, dev.id)
		}
		return
	}
	if before == dev.key && l.listed {
		d.mu.Unlock()
		return
	}
	def := definition(d.conf, dev)
	dev.attached, l.listed = def.Key, true
	d.mu.Unlock()
	if before != "" && before != def.Key {
		d.opt.Detach(before, dev.id)
	}
	ctx, cancel := context.WithTimeout(l.ctx, attachLimit)
	defer cancel()
	err := hub.AsError(d.opt.Attach(ctx, def))
	exists := err != nil && err.Code == message.ServerExists
	if exists {
		d.opt.Detach(def.Key, dev.id) // where it stood before a server of the configuration took the key
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if other := d.keyed(def.Key); other != nil && other != dev && other.link != nil && !d.over {
		// The key was given to another one meanwhile, in whose place this one has been put.
		other.link.listed = false
		d.work.Go(other.link.list)
	}
	if dev.link != l {
		return // there is another one, whose tools are listed after this
	}
	dev.reason = nil
	if err != nil {
		if dev.reason = err; exists {
			dev.attached = ""
			dev.reason = hub.E(message.DeviceAliasTaken, err, "device", dev.id, "server", def.Key)
		}
		dev.book.add(hub.LevelWarning, "its tools are not listed: "+dev.reason.Text(message.English).What)
	} else {
		dev.book.add(hub.LevelInfo, fmt.Sprintf("%d tools, and %d for people", len(dev.offer.tools)-len(dev.offer.people), len(dev.offer.people)))
	}
	d.changed(dev)
}

// sameOffer reports whether two lists of tools say the same.
func sameOffer(a, b offer) bool {
	return slices.Equal(a.people, b.people) && slices.EqualFunc(a.tools, b.tools, func(x, y []byte) bool { return string(x) == string(y) })
}
