// Package device is the door for voice devices that dial in: to them the hub is a
// backend of XiaoZhi that does nothing but use their tools. What a device offers is
// an MCP server of the hub's ([hub.KindDevice]) for as long as it is there, and for
// a while after that.
//
// A device's own words are a dialect of MCP, in envelopes on a WebSocket between
// frames of sound; firmware takes numbers of 32 bits as ids, runs one tool at a time,
// and writes errors that are no JSON. All of that ends here: what the rest of the hub
// sees is MCP over a stream ([Door.Serve]).
package device

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// The paths at which the handler serves.
const (
	PathSocket = "/xiaozhi/v1/"            // the WebSocket of devices
	PathOTA    = "/xiaozhi/ota/"           // where devices ask for its address
	PathVision = "/xiaozhi/vision/explain" // where devices send pictures
)

// defaultQueue is how many calls wait for a device where nothing else is said.
const defaultQueue = 16

// Options is what a [Door] is made of.
type Options struct {
	Devices hub.Devices // in force until [Door.Apply]

	// Attach has a device's tools listed, or listed anew, and waits until they are;
	// Detach undoes it, unless another one's are listed under the key by now. See [control.Control.Attach] for both. They ask [Door.Serve]
	// for the tools.
	Attach func(ctx context.Context, def hub.Server) error
	Detach func(key, name string)

	Key        []byte  // that tokens of devices are made with
	Epochs     *Epochs // what of them was revoked; nil for what is kept nowhere
	ClientInfo []byte  // JSON object: name and version of the hub
	Bus        *bus.Bus
	Log        *slog.Logger

	// Resolve is an address of a backend with its placeholders filled in, and what was
	// filled in that is not to be shown; nil for one that has none.
	Resolve func(text string) (filled string, secrets []string, err error)

	// Witness puts a call on record that a device's backend makes of its tools, see
	// [call.Pipeline.Witness], which does not keep the arguments; nil records none.
	Witness func(c hub.CallRecord, arguments []byte) (end func(outcome hub.Outcome, e *hub.Error, size int))

	// Client dials the backends that devices' frames go on to; nil for the usual one.
	// It follows no redirect.
	Client *http.Client

	Language func() message.Lang // of who does not say which they want; nil for English

	// Refuse answers a request with an error, in the language; nil answers with its text.
	Refuse func(w http.ResponseWriter, l message.Lang, status int, e *hub.Error)

	// Notable reports whether one more refusal of somebody at an address is to be
	// logged; nil for each. Everybody on the network can have himself refused.
	Notable func(remote string) bool
}

// Door is the door for devices, and knows which there are. Safe for concurrent use.
type Door struct {
	opt  Options
	life context.Context // ends with the door
	shut context.CancelFunc
	work sync.WaitGroup // connections, and what is done about them

	mu      sync.Mutex
	conf    hub.Devices
	devices map[string]*device // by id in lower case
	links   int
	over    bool
}

// New returns a door to which no device has come yet.
func New(opt Options) *Door {
	if opt.Language == nil {
		opt.Language = func() message.Lang { return message.English }
	}
	if opt.Epochs == nil {
		opt.Epochs = &Epochs{}
	}
	if opt.Resolve == nil {
		opt.Resolve = func(text string) (string, []string, error) { return text, nil, nil }
	}
	if opt.Witness == nil {
		opt.Witness = func(hub.CallRecord, []byte) func(hub.Outcome, *hub.Error, int) {
			return func(hub.Outcome, *hub.Error, int) {}
		}
	}
	if opt.Refuse == nil {
		opt.Refuse = func(w http.ResponseWriter, l message.Lang, status int, e *hub.Error) { http.Error(w, e.In(l), status) }
	}
	opt.Client = dialler(opt.Client)
	d := &Door{opt: opt, conf: opt.Devices, devices: make(map[string]*device)}
	d.life, d.shut = context.WithCancel(context.Background())
	return d
}

// Run keeps the connections until ctx ends, and then closes them all and returns
// when they have ended. It must not run twice; devices may come before it runs.
func (d *Door) Run(ctx context.Context) error {
	<-ctx.Done()
	d.mu.Lock()
	d.over = true
	for _, dev := range d.devices {
		dev.stay()
		if l := dev.link; l != nil {
			l.close(websocket.StatusGoingAway, "the hub stops", hub.E(message.ShuttingDown, nil))
		}
	}
	d.mu.Unlock()
	d.shut()
	d.work.Wait()
	return nil
}

// Verify reports whether a token was good at the moment for the device, and for the
// client id if it was made for one, and has not been taken away since: by
// [Door.Revoke], or since it was given by the hub's own accord to a device that needs
// none, and the device needs one now.
func (d *Door) Verify(id, client, token string, at time.Time) bool {
	if !nameable(id) || client != "" && !nameable(client) {
		return false
	}
	switch verify(d.opt.Key, d.opt.Epochs.of(id), visitor{id: id, client: client, token: token}, at) {
	case byHand:
		return true
	case byOTA:
		return allows(d.settings(), id)
	}
	return false
}

// Revoke has none of the tokens be good any more that the device has been given, and
// sends it away. Those that it is given from then on are. A device that needs no token
// may come again without. After an error nothing has changed.
func (d *Door) Revoke(id string) error {
	if err := d.opt.Epochs.renew(id); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if dev := d.devices[strings.ToLower(id)]; dev != nil && dev.link != nil {
		dev.book.add(hub.LevelInfo, "its tokens were revoked")
		d.recheck(dev.link)
	}
	return nil
}

// recheck sends a device away that was let in by what does not count any more. The
// caller holds mu.
func (d *Door) recheck(l *link) {
	refused := hub.E(message.DeviceRefused, nil, "device", l.dev.id)
	switch {
	case l.ctx.Err() != nil: // it is on its way out
	case l.pass.epoch != d.opt.Epochs.of(l.dev.id):
		l.close(websocket.StatusPolicyViolation, "token revoked", refused)
	case l.pass.listed && !allows(d.conf, l.dev.id):
		l.close(websocket.StatusPolicyViolation, "not allowed any more", refused)
	}
}

// Handler serves devices at [PathSocket], [PathOTA] and [PathVision]. It is for a
// listener of devices, which has no other way in: each request shows by itself that it
// comes from a device that may.
func (d *Door) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(PathSocket, d.socket)
	mux.HandleFunc(PathOTA, d.ota)
	mux.HandleFunc(PathVision, d.vision)
	mux.HandleFunc("/", d.unknown)
	return mux
}

// Apply puts other settings in force. A device that is called otherwise now has its
// tools listed under that name; one that was let in because it was on the list of
// those that need no token, and is not any more, is sent away. All else holds from
// the next connection on.
func (d *Door) Apply(conf hub.Devices) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conf = conf
	moved := d.rename()
	var here []*link
	for _, dev := range d.devices {
		l := dev.link
		if l == nil {
			continue
		}
		if d.recheck(l); l.ready && l.ctx.Err() == nil {
			here = append(here, l)
		}
	}
	if d.over {
		return
	}
	d.work.Go(func() {
		for _, dev := range moved {
			d.yield(dev)
		}
		for _, l := range here {
			d.work.Go(l.list)
		}
	})
}

// Statuses tells about every device that has been here since the hub started, in the
// order of their names.
func (d *Door) Statuses() []hub.DeviceStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]hub.DeviceStatus, 0, len(d.devices))
	for _, dev := range d.devices {
		all = append(all, dev.status())
	}
	slices.SortFunc(all, func(a, b hub.DeviceStatus) int { return cmp.Or(cmp.Compare(a.Alias, b.Alias), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Log returns the lines of a device's log after the one with the number, oldest
// first, as far as they are kept: the last 500. The channel is closed when there are
// more. The device is named as for [Door.Identify]; it reports false for one that has
// not been here. No line holds a secret, or what somebody has said to the device.
func (d *Door) Log(name string, after uint64) (lines []hub.LogLine, more <-chan struct{}, ok bool) {
	d.mu.Lock()
	dev := d.named(name)
	d.mu.Unlock()
	if dev == nil {
		return nil, nil, false
	}
	lines, more = dev.book.after(after)
	return lines, more, true
}

// Identify is the id of the device that somebody means by a name: an alias, the name
// that the hub gives it, or its id. It reports whether the hub knows of such a device,
// which need not have been here; each MAC address is known. What is not known may be the
// id of another device if [Nameable] says so.
func (d *Door) Identify(name string) (id string, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.identify(name)
}

// Token makes a token with which the device, and of it the program with the client
// id or any if that is empty, may connect for 30 days, unless it is revoked before. The
// hub knows of the device from then on.
func (d *Door) Token(id, client string) string {
	if _, mac := xiaozhi.DeviceMAC(id); !mac {
		if err := d.opt.Epochs.learn(id); err != nil {
			d.opt.Log.Error("it is not kept that a device was given a token: to revoke it, another one has to be made first", "device", id, "error", err)
		}
	}
	return sign(d.opt.Key, byHand, d.opt.Epochs.of(id), id, client, time.Now())
}

// identify is Identify. A name that somebody has given to a device, or the hub has, goes
// before what one calls itself: a device cannot be taken for another one by its id. The
// caller holds mu.
func (d *Door) identify(name string) (id string, known bool) {
	for _, id := range slices.Sorted(maps.Keys(d.conf.Aliases)) {
		if d.conf.Aliases[id] == name {
			return d.spelled(id), nameable(id)
		}
	}
	if dev := d.keyed(name); dev != nil {
		return dev.id, true
	}
	if mac, ok := xiaozhi.DeviceMAC(name); ok {
		return d.spelled(mac), true
	}
	if dev := d.devices[strings.ToLower(name)]; dev != nil {
		return dev.id, true
	}
	known = false
	for _, id := range slices.Concat(d.conf.Allow, slices.Sorted(maps.Keys(d.conf.Aliases)), slices.Sorted(maps.Keys(d.conf.Relay)), d.opt.Epochs.ids()) {
		switch {
		case !nameable(id) || id == "*": // those of Relay are no id
		case xiaozhi.DeviceName(id, nil) == name:
			return d.spelled(id), true
		case strings.EqualFold(id, name):
			known = true
		}
	}
	return name, known
}

// spelled is an id as its device spells it, if that has been here. The caller holds mu.
func (d *Door) spelled(id string) string {
	if dev := d.devices[strings.ToLower(id)]; dev != nil {
		return dev.id
	}
	return id
}

// named is the device that has been here which somebody means by a name; nil for none.
// The caller holds mu.
func (d *Door) named(name string) *device {
	id, _ := d.identify(name)
	return d.devices[strings.ToLower(id)]
}

// keyed is the device whose server has the key; nil for none. The caller holds mu.
func (d *Door) keyed(key string) *device {
	for _, dev := range d.devices {
		if key != "" && dev.key == key && !dev.taken {
			return dev
		}
	}
	return nil
}

// settings are those in force.
func (d *Door) settings() hub.Devices {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conf
}

// language is that in which whoever made a request is told things.
func (d *Door) language(r *http.Request) message.Lang {
	return message.Prefer(strings.Join(r.Header["Accept-Language"], ","), d.opt.Language())
}

// refuse answers a request with an error.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, status int, e *hub.Error) {
	if d.opt.Notable == nil || d.opt.Notable(r.RemoteAddr) {
		d.opt.Log.Info("a device was refused", "path", r.URL.Path, "from", r.RemoteAddr, "status", status, "reason", e)
	}
	d.opt.Refuse(w, d.language(r), status, e)
}

// refuseMethod answers a request of a method that its path has not; these are what it has.
func (d *Door) refuseMethod(w http.ResponseWriter, r *http.Request, has string) {
	w.Header().Set("Allow", has)
	d.refuse(w, r, http.StatusMethodNotAllowed, hub.E(message.HTTPMethodRefused, nil, "method", message.Quote(r.Method)))
}

// unknown answers a request at a path where there is nothing.
func (d *Door) unknown(w http.ResponseWriter, r *http.Request) {
	d.refuse(w, r, http.StatusNotFound, hub.E(message.PathUnknown, nil, "path", message.Quote(r.URL.Path)))
}
