// Package broker is the door at which tools and those who call them meet: an endpoint
// pair as the self-hosted backends of XiaoZhi know it. On its one side an MCP server
// dials in, on the other its callers do, several at once; both show the same token. What
// a caller asks goes on to the tool with an id that says whose it is, and comes back
// with the caller's own.
//
// The hub is one of the callers: a tool that is here is a server of its ([hub.KindDevice]),
// for as long as it is here and for a while after that. A call of the tool by another
// caller is one of the hub's: it is judged and recorded as any. All else that goes between
// the two sides of a token is theirs, and the hub carries it.
package broker

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// The paths at which the handler serves.
const (
	Prefix   = "/mcp_endpoint/"
	PathTool = Prefix + "mcp/"  // where tools dial in
	PathCall = Prefix + "call/" // and those who call them
)

const (
	maxSockets = 512
	maxRefused = 16 // connections without a good token that are told so at once
	maxCallers = 32 // of a token, the hub among them
)

// Options is what a [Broker] is made of.
type Options struct {
	Devices hub.Devices // in force until [Broker.Apply]

	// Verify reports whether a token was good at the moment that was made for the device,
	// and for the program with the client id if that is not empty, and has not been taken
	// away since.
	Verify func(id, client, token string, at time.Time) bool

	// Attach has a tool's server listed, or listed anew, and waits until it is; Detach
	// undoes it. They ask [Broker.Serve] for what it has.
	Attach func(ctx context.Context, def hub.Server) error
	Detach func(key, name string)

	// Call carries a call out until a deadline, see [call.Pipeline.DoBy], and View is what
	// there is to be called.
	Call func(ctx context.Context, req *call.Request, by call.Deadline) (*call.Result, error)
	View func(viewer hub.Viewer) (*catalog.View, error)

	Log      *slog.Logger
	Language func() message.Lang // of who does not say which they want; nil for English

	// Refuse answers a request with an error, in the language; nil answers with its text.
	Refuse func(w http.ResponseWriter, l message.Lang, status int, e *hub.Error)

	// Notable reports whether one more refusal of somebody at an address is to be
	// logged; nil for each.
	Notable func(remote string) bool
}

// Broker is the door. Safe for concurrent use.
type Broker struct {
	opt  Options
	life context.Context // ends with the door
	shut context.CancelFunc
	work sync.WaitGroup // connections, and what is done about them

	mu      sync.Mutex
	conf    hub.Devices
	agents  map[string]*agent // by id in lower case
	sockets map[*socket]bool
	refused int // of the sockets
	over    bool
}

// New returns a door to which nobody has come yet.
func New(opt Options) *Broker {
	if opt.Language == nil {
		opt.Language = func() message.Lang { return message.English }
	}
	if opt.Refuse == nil {
		opt.Refuse = func(w http.ResponseWriter, l message.Lang, status int, e *hub.Error) { http.Error(w, e.In(l), status) }
	}
	b := &Broker{opt: opt, conf: opt.Devices, agents: make(map[string]*agent), sockets: make(map[*socket]bool)}
	b.life, b.shut = context.WithCancel(context.Background())
	return b
}

// Run keeps the connections until ctx ends, and then closes them all and returns when
// they have ended. It must not run twice; connections may come before it runs.
func (b *Broker) Run(ctx context.Context) error {
	<-ctx.Done()
	b.mu.Lock()
	b.over = true
	for s := range b.sockets {
		s.close(websocket.StatusGoingAway, "the hub stops")
	}
	for _, a := range b.agents {
		a.stay()
	}
	b.mu.Unlock()
	b.shut()
	b.work.Wait()
	return nil
}

// Apply puts other settings in force, and does as [Broker.Recheck]. A tool whose device
// is called otherwise now is listed under that name: a name that is another one's now is
// free for that one first. All else holds from the next connection on.
func (b *Broker) Apply(conf hub.Devices) {
	b.Recheck()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conf = conf
	if b.over {
		return
	}
	moved := b.rename()
	b.work.Go(func() {
		for _, a := range moved {
			a.yield()
		}
		for _, a := range moved {
			if t := a.here(); t != nil {
				b.work.Go(func() { a.list(t) })
			}
		}
	})
}

// Recheck closes the connections whose token has been taken away since they came.
func (b *Broker) Recheck() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.sockets {
		if !s.refused && !s.good() {
			s.close(websocket.StatusPolicyViolation, textRefused)
		}
	}
}

// Serves reports whether the server with the key is one of this door's.
func (b *Broker) Serves(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.keyed(key) != nil
}

// Handler serves [PathTool] and [PathCall]. Each request shows by itself that it may
// come in: it is for a listener that has no other way to tell.
func (b *Broker) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		b.refuse(w, r, http.StatusNotFound, hub.E(message.PathUnknown, nil, "path", message.Quote(r.URL.Path)))
	})
	for path, serve := range map[string]func(*agent, *socket){PathTool: b.tool, PathCall: b.caller} {
		for _, form := range [...]string{path + "{$}", strings.TrimSuffix(path, "/")} {
			mux.HandleFunc(form, func(w http.ResponseWriter, r *http.Request) { b.socket(w, r, serve) })
		}
	}
	return mux
}

// socket takes a connection of either side. One without a good token is taken and
// closed, which is how peers of the original learn of it.
func (b *Broker) socket(w http.ResponseWriter, r *http.Request, serve func(*agent, *socket)) {
	refuse := func(status int, e *hub.Error) { b.refuse(w, r, status, e) }
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		refuse(http.StatusUpgradeRequired, hub.E(message.UpgradeRequired, nil))
		return
	}
	id, check := b.admit(r)
	s := newSocket(b.life)
	s.good = check
	good := check()
	if s.refused = !good; !b.enter(s) {
		if !good { // too many are being told
			refuse(http.StatusUnauthorized, hub.E(message.DeviceRefused, nil, "device", message.Quote(id)))
			return
		}
		refuse(http.StatusServiceUnavailable, hub.E(message.ShuttingDown, nil))
		return
	}
	defer b.leave(s)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // a page has no token but one that it was given
	if err != nil {
		return // Accept has answered
	}
	s.open(conn)
	if good && !s.good() { // it was taken away before the connection was counted
		s.close(websocket.StatusPolicyViolation, textRefused)
	}
	if !good {
		conn.SetReadLimit(maxUnheard)
		if b.opt.Notable == nil || b.opt.Notable(r.RemoteAddr) {
			b.opt.Log.Info("a connection to an endpoint was refused: its token is not good", "path", r.URL.Path, "from", r.RemoteAddr)
		}
		s.close(websocket.StatusPolicyViolation, textRefused)
		_ = s.read(func([]byte) {})
		return
	}
	a := b.agent(id)
	defer b.release(a)
	serve(a, s)
}

// refuse answers a request with an error.
func (b *Broker) refuse(w http.ResponseWriter, r *http.Request, status int, e *hub.Error) {
	b.opt.Refuse(w, message.Prefer(strings.Join(r.Header["Accept-Language"], ","), b.opt.Language()), status, e)
}

// admit reads by whose token a connection comes, which is good as long as good says so.
// A token stands alone, or behind the id of the device that it was made for: ID.TOKEN.
func (b *Broker) admit(r *http.Request) (id string, good func() bool) {
	q := r.URL.Query()
	token := q.Get("token")
	if id = q.Get("device-id"); id == "" {
		parts := strings.Split(token, ".")
		if len(parts) < 3 {
			return "", func() bool { return false }
		}
		id, token = strings.Join(parts[:len(parts)-2], "."), strings.Join(parts[len(parts)-2:], ".")
	}
	client, now := q.Get("client-id"), time.Now()
	return id, func() bool { return b.opt.Verify(id, client, token, now) }
}

// enter counts one more connection, if there may be one.
func (b *Broker) enter(s *socket) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := maxSockets - (len(b.sockets) - b.refused)
	if s.refused {
		room = maxRefused - b.refused
	}
	if b.over || room <= 0 {
		return false
	}
	b.sockets[s] = true
	if s.refused {
		b.refused++
	}
	b.work.Add(1)
	return true
}

func (b *Broker) leave(s *socket) {
	s.drop()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sockets, s)
	if s.refused {
		b.refused--
	}
	b.work.Done()
}

// agent is that of an id, made if there is none, for one more connection.
func (b *Broker) agent(id string) *agent {
	b.mu.Lock()
	defer b.mu.Unlock()
	id = strings.ToLower(id) // which says no more than it does otherwise
	a := b.agents[id]
	if a == nil {
		a = &agent{broker: b, id: id, callers: make(map[string]*caller)}
		b.agents[id] = a
	}
	if a.key == "" {
		a.key = b.free(keyFor(b.conf, a.id))
	}
	a.uses++
	return a
}

// release lets go of an agent for a connection that has ended.
func (b *Broker) release(a *agent) {
	b.mu.Lock()
	a.uses--
	b.mu.Unlock()
	b.tidy(a)
}

// tidy forgets an agent of which nothing is left: no connection, and nothing listed.
func (b *Broker) tidy(a *agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.uses == 0 && a.holds() == "" && b.agents[a.id] == a {
		delete(b.agents, a.id)
	}
}

// keyed is the agent whose server is listed under the key, and is to be; nil for none.
// The caller holds mu.
func (b *Broker) keyed(key string) *agent {
	for _, a := range b.agents {
		if a.key == key && a.holds() == key {
			return a
		}
	}
	return nil
}

// keyFor is the key that a server is to have: after the name of the device with the id,
// which its token is for.
func keyFor(conf hub.Devices, id string) string {
	return "tools-" + xiaozhi.DeviceName(id, conf.Aliases)
}

// free is a key, unless it is an agent's already: then it is "". The caller holds mu.
func (b *Broker) free(key string) string {
	for _, a := range b.agents {
		if a.key == key {
			return ""
		}
	}
	return key
}

// rename gives every agent the key that its server is to have by the settings in force,
// all in one go. What it returns are those that have another one than before, or whose
// tool could not be listed. The caller holds mu.
func (b *Broker) rename() (moved []*agent) {
	for _, id := range slices.Sorted(maps.Keys(b.agents)) {
		if a := b.agents[id]; a.key != keyFor(b.conf, a.id) {
			a.key = "" // free for another one
			moved = append(moved, a)
		} else if a.unlisted() {
			moved = append(moved, a)
		}
	}
	for _, a := range moved {
		if a.key == "" {
			a.key = b.free(keyFor(b.conf, a.id))
		}
	}
	return moved
}

// vacate has a key free for an agent that another one's server is still listed under.
func (b *Broker) vacate(a *agent) {
	b.mu.Lock()
	var before []*agent
	for _, other := range b.agents {
		if other != a && a.key != "" && other.key != a.key && other.holds() == a.key {
			before = append(before, other)
		}
	}
	b.mu.Unlock()
	for _, other := range before {
		other.yield()
	}
}

// keyOf is the key that an agent's server has, or is to have.
func (b *Broker) keyOf(a *agent) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return a.key
}

// tool has a connection be that of the agent's tool, until it ends.
func (b *Broker) tool(a *agent, s *socket) {
	t := a.join(s)
	key := b.keyOf(a)
	b.opt.Log.Info("a tool has connected to its endpoint", "server", key)
	b.work.Go(func() { a.list(t) })
	err := s.read(func(raw []byte) { a.fromTool(t, raw) })
	a.part(t)
	b.opt.Log.Info("a tool has gone from its endpoint", "server", key, "reason", err)
}

// caller has a connection be that of one who calls the agent's tool, until it ends.
func (b *Broker) caller(a *agent, s *socket) {
	c, ok := a.enter(func(raw []byte) bool {
		if s.send(raw) {
			return true
		}
		s.close(websocket.StatusTryAgainLater, "too slow")
		return false
	})
	if !ok {
		s.close(websocket.StatusTryAgainLater, "too many callers")
		_ = s.read(func([]byte) {})
		return
	}
	defer a.leave(c)
	_ = s.read(func(raw []byte) { a.fromCaller(c, raw) })
}

// settings are those in force.
func (b *Broker) settings() hub.Devices {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conf
}

// attachLimit bounds how long a tool's server takes to be listed.
const attachLimit = 30 * time.Second
