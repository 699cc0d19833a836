// Package xiaozhi has the hub be an MCP server at backends of voice assistants: it
// dials their endpoints, and answers on the connection that it has made. It enters
// at call and catalog itself and keeps no sessions: peers begin their conversation
// anew whenever they like, share a connection, and use ids again.
package xiaozhi

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// maxDials is how many endpoints are dialled at once.
const maxDials = 3

// Options describe the endpoints' surroundings.
type Options struct {
	Call       *call.Pipeline
	Catalog    *catalog.Catalog
	Bus        *bus.Bus // has changes of the tools, and gets one [hub.EndpointChanged] for each change of a state
	Log        *slog.Logger
	ServerInfo []byte // JSON object: name and version of the hub

	// Leases has what endpoints need kept running; nil for nothing.
	Leases *control.Control
	// Language is that in which endpoints that name none are told things; nil for
	// English. It is asked each time.
	Language func() message.Lang
	// Resolve fills in the placeholders of a URL, as [secret.Resolver.Fill] does; nil
	// for URLs that have none.
	Resolve func(text string) (filled string, secrets []string, err error)

	Network transport.Network
	// Dial opens connections; nil for the system's way.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Endpoints are all endpoints that the hub is an MCP server at. Safe for concurrent
// use.
type Endpoints struct {
	opt    Options
	client *http.Client
	dials  chan struct{} // holds one for each endpoint that is being dialled

	identities *identities // of backends; nil if these are endpoints

	applied chan struct{} // holds one if tokens may be others

	applying sync.Mutex // held by Apply; taken before mu

	mu    sync.Mutex
	life  context.Context //nolint:containedctx // of Run; nil before it and after it
	order []*endpoint     // as they were applied
}

// New returns endpoints; Apply says which there are, and Run keeps them.
func New(opt Options) *Endpoints {
	if opt.Language == nil {
		opt.Language = func() message.Lang { return message.English }
	}
	if opt.Resolve == nil {
		opt.Resolve = func(text string) (string, []string, error) { return text, nil, nil }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Endpoints{opt: opt, client: newClient(&opt), dials: make(chan struct{}, maxDials), applied: make(chan struct{}, 1)}
}

// Run keeps the endpoints connected until ctx ends, and then closes them all. It
// may run once.
func (e *Endpoints) Run(ctx context.Context) error {
	events := e.opt.Bus.Subscribe(64)
	defer events.Close()
	e.mu.Lock()
	e.life = ctx
	for _, one := range e.order {
		one.start(ctx)
	}
	e.mu.Unlock()
	tokens := time.NewTimer(0)
	defer tokens.Stop()
	for {
		select {
		case <-ctx.Done():
			e.mu.Lock()
			e.life = nil
			all := slices.Clone(e.order)
			e.mu.Unlock()
			stopAll(all, hub.EndpointStopped)
			return nil
		case <-tokens.C:
			tokens.Reset(e.watchTokens())
		case <-e.applied:
			tokens.Reset(0)
		case event := <-events.C():
			_, tools := event.(hub.ToolsChanged)
			_, server := event.(hub.ServerChanged)
			missed := events.Dropped() > 0
			for _, one := range e.all() {
				switch {
				case tools || missed:
					one.toolsChanged()
				case server && len(one.def.Load().RequiredTools) > 0: // what it has may be stopped, and what it lacks started
					one.hold()
				}
			}
		}
	}
}

// Apply says which endpoints there are, in their order. One that is reached as
// before stays connected, and follows what is new about it; of several with one URL
// the first is dialled. It returns when those that are not among them any more are
// closed, which takes a few seconds at most.
func (e *Endpoints) Apply(all []hub.Endpoint) {
	defs := make([]definition, 0, len(all))
	for _, one := range all {
		defs = append(defs, definition{Endpoint: words.WithDefaults(one)})
	}
	e.apply(defs)
}

func (e *Endpoints) apply(all []definition) {
	e.applying.Lock()
	defer e.applying.Unlock()
	old := e.all()
	before := make(map[string]*endpoint, len(old))
	for _, one := range old {
		before[one.name] = one
	}
	next := make([]*endpoint, 0, len(all))
	taken := make(map[string]string, len(all)) // name by URL
	var gone, fresh []*endpoint
	for _, def := range all {
		twin := ""
		if def.Enabled {
			key := e.identity(&def)
			if twin = taken[key]; twin == "" {
				taken[key] = def.Name
			}
		}
		one := before[def.Name]
		switch old := one; {
		case old == nil:
			one = newEndpoint(e, def, twin)
			fresh = append(fresh, one)
		case !old.follows(def, twin):
			gone = append(gone, old)
			one = newEndpoint(e, def, twin)
			one.inherit(old)
			fresh = append(fresh, one)
		}
		delete(before, def.Name)
		next = append(next, one)
	}
	for _, old := range before {
		gone = append(gone, old)
	}
	stopAll(gone, hub.EndpointDisabled) // before others dial what may be the same address
	for _, old := range gone {
		if !slices.ContainsFunc(next, func(one *endpoint) bool { return one.name == old.name && one.def.Load().leadsTo(old.def.Load()) }) {
			who := old.principal()
			e.opt.Call.Forget(&who) // whoever has the name next is somebody else
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.order = next
	select {
	case e.applied <- struct{}{}:
	default:
	}
	if e.life != nil {
		for _, one := range fresh {
			one.start(e.life)
		}
	}
}

// identity names what is reached by a definition.
func (e *Endpoints) identity(def *definition) string {
	if def.device != nil {
		if def.device.DeviceID == "" {
			return def.Name // a device of its own
		}
		address, _ := e.filled(cmp.Or(def.URL, def.device.OTA))
		return address + "\x00" + def.device.DeviceID
	}
	address, _ := e.filled(def.URL)
	return address
}

// shown is the address of a definition without what is secret of it, and when its
// token ends; zero if it does not say.
func (e *Endpoints) shown(def *definition) (address string, expires time.Time) {
	if def.device != nil {
		address, values := e.filled(cmp.Or(def.URL, def.device.OTA))
		token, _ := e.filled(def.device.Token)
		return words.Mask(address, values...), words.TokenExpiry(token)
	}
	address, values := e.filled(def.URL)
	return words.Mask(address, values...), words.Expiry(address)
}

// filled is a text with placeholders filled in if they can be, and the values that
// are not to be shown.
func (e *Endpoints) filled(text string) (_ string, values []string) {
	if filled, values, err := e.opt.Resolve(text); err == nil {
		return trimmed(filled), values
	}
	return trimmed(text), nil
}

// stopAll ends endpoints side by side, and returns when they have ended.
func stopAll(all []*endpoint, as hub.EndpointState) {
	var ended sync.WaitGroup
	for _, one := range all {
		ended.Go(func() { one.stop(as) })
	}
	ended.Wait()
}

func (e *Endpoints) all() []*endpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.order)
}

func (e *Endpoints) find(name string) *endpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.order {
		if one.name == name {
			return one
		}
	}
	return nil
}

// Statuses tell how all endpoints stand, in the order in which they were applied.
func (e *Endpoints) Statuses() []hub.EndpointStatus {
	all := e.all()
	list := make([]hub.EndpointStatus, 0, len(all))
	for _, one := range all {
		list = append(list, one.status())
	}
	return list
}

// Status tells how an endpoint stands; false if there is none of the name.
func (e *Endpoints) Status(name string) (hub.EndpointStatus, bool) {
	one := e.find(name)
	if one == nil {
		return hub.EndpointStatus{}, false
	}
	return one.status(), true
}

// Log returns the lines of an endpoint's log after the one with the number, oldest
// first, and a channel that is closed when there are more; both are nil if there is
// no endpoint of the name. Lines hold no token, and nothing of arguments and
// results.
func (e *Endpoints) Log(name string, after uint64) (lines []hub.LogLine, changed <-chan struct{}) {
	one := e.find(name)
	if one == nil {
		return nil, nil
	}
	return one.journal.after(after)
}

// Reconnect closes the connection of an endpoint, if there is one, and dials it at
// once. It reports false if there is no endpoint of the name, or it is not enabled.
func (e *Endpoints) Reconnect(name string) bool {
	one := e.find(name)
	return one != nil && one.reconnect()
}

// newClient is the way to the endpoints. Redirects are not followed: a token is for
// the one address.
func newClient(opt *Options) *http.Client {
	return &http.Client{
		Transport:     newTransport(opt),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(opt *Options) *http.Transport {
	proxy := opt.Network.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	dial := opt.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext // the request has a time limit
	} else {
		proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	return &http.Transport{
		Proxy: proxy, DialContext: dial, TLSClientConfig: trust(opt.Network), DisableKeepAlives: true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// trimmed is an address without the white space that came with it from a page.
func trimmed(address string) string { return strings.TrimSpace(address) }
