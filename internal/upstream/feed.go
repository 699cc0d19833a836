package upstream

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// listenLimit is how long a modern server may take to acknowledge that it is
// listened to.
const listenLimit = 10 * time.Second

// feed is the news of a modern server: one request to listen, which names all
// that is wanted. Another set of resources is another request, and the one
// before ends when the server has acknowledged it, so that nothing is missed
// between them; what is told twice meanwhile does no harm (2026-07-28,
// "Subscriptions"). All fields but changes belong to the goroutine of run.
type feed struct {
	conn    *Conn
	changes chan change

	uris  []string // of resources, sorted
	now   *listening
	retry <-chan time.Time // when to try again; nil if not
	wait  time.Duration    // the time after that
	gap   bool             // there was none for a while, in which something may have changed
}

// change is a resource that is wanted, or not any more.
type change struct {
	uri  string
	add  bool
	done chan error // takes the one outcome
}

// listening is a request to listen that was acknowledged. The zero value is
// none.
type listening struct {
	filter
	began time.Time
	stop  context.CancelFunc
	ended chan error // takes one: why, or nil if the server said so
}

// filter is what a server listens for on the hub's behalf.
type filter struct {
	tools, prompts, resources bool
	uris                      []string
}

func (f *filter) empty() bool {
	return !f.tools && !f.prompts && !f.resources && len(f.uris) == 0
}

func newFeed(c *Conn) *feed {
	return &feed{conn: c, changes: make(chan change), now: &listening{}, wait: resumeWait}
}

// want asks for news of a resource, or for none any more, and returns when the
// server has acknowledged it. The error is one of a request's.
func (f *feed) want(ctx context.Context, uri string, add bool) error {
	ch := change{uri, add, make(chan error, 1)}
	select {
	case f.changes <- ch:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.conn.ctx.Done():
		return context.Cause(f.conn.ctx)
	}
	select {
	case err := <-ch.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.conn.ctx.Done():
		return context.Cause(f.conn.ctx)
	}
}

// run listens until the connection ends.
func (f *feed) run() {
	f.renew()
	for {
		select {
		case <-f.conn.ctx.Done():
			return
		case first := <-f.changes:
			f.change(f.gather(first))
		case err := <-f.now.ended:
			f.lost(err)
		case <-f.retry:
			f.renew()
		}
	}
}

// gather takes the changes that wait already, so that many at once, as after a
// reconnect, are one request.
func (f *feed) gather(first change) []change {
	all := []change{first}
	for {
		select {
		case ch := <-f.changes:
			all = append(all, ch)
		default:
			return all
		}
	}
}

// renew listens for what is wanted.
func (f *feed) renew() {
	f.retry = nil
	want := f.filter(f.uris)
	if want.empty() {
		return
	}
	next, err := f.open(&want)
	if err != nil {
		f.lost(err)
		return
	}
	f.adopt(next)
}

// adopt goes on with another request to listen.
func (f *feed) adopt(next *listening) {
	if f.now.stop != nil {
		f.now.stop()
	}
	f.now, f.retry = next, nil
	f.conn.mute.Store(f.conn.hello.Capabilities.ToolsListChanged && !next.tools)
	if next.empty() { // nothing will come
		next.stop()
		f.now = &listening{}
	}
	if !f.gap {
		return
	}
	f.gap = false
	f.conn.changed(hub.ListAll)
	if f.conn.opt.Updated == nil {
		return
	}
	for _, uri := range next.uris {
		f.conn.opt.Updated(uri, Updated(uri))
	}
}

// Updated is the notification that a resource has changed, as a legacy server
// sends it: for news that were missed.
func Updated(uri string) []byte {
	raw := []byte(`{"jsonrpc":"2.0","method":"` + protocol.NotificationUpdated + `","params":{"uri":`)
	return append(wire.AppendString(raw, uri), "}}"...)
}

// lost is called when nothing is listened to any more.
func (f *feed) lost(err error) {
	if f.now.stop != nil && time.Since(f.now.began) > resumeLimit {
		f.wait = resumeWait
	}
	f.now, f.gap = &listening{}, true
	if isRefusal(err) && len(f.uris) == 0 {
		f.conn.mute.Store(true)
		return
	}
	f.retry = time.After(f.wait)
	f.wait = min(2*f.wait, resumeLimit)
}

// change listens for another set of resources, and says to each who wanted that
// what has come of it. If it cannot be had, all is as before, only that news of
// what is not wanted any more may still come.
func (f *feed) change(all []change) {
	uris := slices.Clone(f.uris)
	for _, ch := range all {
		at, there := slices.BinarySearch(uris, ch.uri)
		switch {
		case ch.add && !there:
			uris = slices.Insert(uris, at, ch.uri)
		case !ch.add && there:
			uris = slices.Delete(uris, at, at+1)
		}
	}
	var err error
	switch want := f.filter(uris); {
	case slices.Equal(uris, f.uris) && f.now.stop != nil:
	case want.empty():
		f.adopt(&listening{stop: func() {}})
		f.uris = nil
	default:
		var next *listening
		if next, err = f.open(&want); err != nil {
			f.uris = slices.DeleteFunc(f.uris, func(uri string) bool { return !slices.Contains(uris, uri) })
			break
		}
		f.adopt(next)
		f.uris = slices.DeleteFunc(uris, func(uri string) bool { return !slices.Contains(next.uris, uri) })
	}
	for _, ch := range all {
		_, there := slices.BinarySearch(f.uris, ch.uri)
		switch {
		case !ch.add || there:
			ch.done <- nil
		case err != nil:
			ch.done <- err
		default:
			ch.done <- hub.E(message.NotOffered, nil, "server", f.conn.opt.Server.Key, "method", protocol.MethodSubscribe)
		}
	}
}

// filter is what is wanted of the server, of what it has declared.
func (f *feed) filter(uris []string) filter {
	caps := &f.conn.hello.Capabilities
	return filter{tools: caps.ToolsListChanged, prompts: caps.PromptsListChanged, resources: caps.ResourcesListChanged, uris: uris}
}

// open listens, and returns when the server has acknowledged it. One that does
// not within the limit is taken to listen for what it has declared; of a resource
// that is not known.
func (f *feed) open(want *filter) (*listening, error) {
	c := f.conn
	ctx, cancel := context.WithCancel(c.ctx)
	l := &listening{began: time.Now(), stop: cancel, ended: make(chan error, 1)}
	id := c.next.Add(1)
	out := &outbound{id: id, raw: want.request(&c.leg, id), method: protocol.MethodListen}
	acked := make(chan filter, 1)
	c.work.Go(func() {
		defer cancel()
		l.ended <- c.link.listen(ctx, out, func(m *wire.Message) {
			if m.MethodName() != protocol.NotificationListenAck {
				c.unasked(m)
				return
			}
			select {
			case acked <- acknowledged(m):
			default: // once is enough
			}
		})
	})
	timer := time.NewTimer(listenLimit)
	defer timer.Stop()
	select {
	case l.filter = <-acked:
		return l, nil
	case err := <-l.ended:
		select {
		case l.filter = <-acked: // it ended right behind that
			l.ended <- err
			return l, nil
		default:
		}
		switch {
		case c.ctx.Err() != nil:
			err = context.Cause(c.ctx)
		case err == nil:
			err = errors.New("the server has ended it before it was acknowledged")
		}
		return nil, err
	case <-timer.C:
		if len(want.uris) == 0 {
			l.filter = *want
			return l, nil
		}
		cancel()
		return nil, hub.E(message.ServerSilent, nil, "method", protocol.MethodListen, "limit", listenLimit.String(), "stderr", "")
	}
}

// request is the message by which a server is listened to.
func (f *filter) request(leg *protocol.Leg, id uint64) []byte {
	members := []byte(`"notifications":{`)
	for _, l := range [...]struct {
		name string
		is   bool
	}{{"toolsListChanged", f.tools}, {"promptsListChanged", f.prompts}, {"resourcesListChanged", f.resources}} {
		if l.is {
			members = append(members, `"`+l.name+`":true,`...)
		}
	}
	if len(f.uris) > 0 {
		members = append(members, `"resourceSubscriptions":[`...)
		for _, uri := range f.uris {
			members = append(wire.AppendString(members, uri), ',')
		}
		members = append(members[:len(members)-1], "],"...)
	}
	members[len(members)-1] = '}' // in the place of a comma: a filter is never empty
	b := append([]byte(`{"jsonrpc":"2.0","id":`), strconv.FormatUint(id, 10)...)
	b = append(b, `,"method":"`+protocol.MethodListen+`","params":`...)
	return append(append(b, leg.Params(members)...), '}')
}

// acknowledged reads what a server says that it listens for.
func acknowledged(m *wire.Message) filter {
	var got filter
	at := m.Member("notifications")
	is := func(name string) bool { return string(wire.Lookup(m.Raw, at, name).Of(m.Raw)) == "true" }
	got.tools, got.prompts, got.resources = is("toolsListChanged"), is("promptsListChanged"), is("resourcesListChanged")
	for uri := range wire.Array(m.Raw, wire.Lookup(m.Raw, at, "resourceSubscriptions")) {
		if s, ok := wire.String(m.Raw, uri); ok {
			got.uris = append(got.uris, s)
		}
	}
	return got
}

// isRefusal reports whether a server has no such stream of news, so that it need
// not be asked again. 404 may also stand for a session that is lost, which the
// next call finds out.
func isRefusal(err error) bool {
	if _, ok := errors.AsType[*RefusedError](err); ok {
		return true
	}
	if bad, ok := errors.AsType[*transport.StatusError](err); ok {
		switch bad.Status {
		case http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusNotFound, http.StatusBadRequest:
			return true
		}
	}
	return false
}
