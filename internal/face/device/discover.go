package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	discoverLimit = 15 * time.Second // to find out a device's tools
	discoverTries = 3
	maxPages      = 50

	pingEvery    = 30 * time.Second
	pongLimit    = 10 * time.Second
	refreshEvery = 90 * time.Second
	refreshLimit = time.Minute // a tool may run meanwhile, and a device does one thing at a time
	maxMisses    = 3
)

// offer is what a device has: the descriptions of its tools, and the names of those
// among them that are for people alone. It is not changed once made.
type offer struct {
	tools  [][]byte
	people []string
}

// learn finds out the tools of a device that has greeted the hub, and has them
// listed. If they cannot be found out, it is tried again each time that the device would
// be asked for news of them.
func (l *link) learn() {
	var err error
	for range discoverTries {
		if err = l.study(); err == nil {
			l.list()
			return
		}
		if l.ctx.Err() != nil {
			return
		}
	}
	d := l.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.dev.link == l {
		l.failed = true
		l.dev.reason = hub.E(message.DeviceSilent, err, "device", l.dev.id).With("detail", message.Say("its tools could not be found out"))
		d.changed(l.dev)
	}
}

// study tries once to find out the tools of a device. What was listed of it before is
// not taken away any more from then on.
func (l *link) study() error {
	found, err := l.discover()
	if err != nil {
		if l.ctx.Err() == nil {
			l.dev.book.add(hub.LevelWarning, "its tools were not found out: "+err.Error())
		}
		return err
	}
	d := l.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.dev.link == l {
		l.ready, l.failed, l.dev.offer = true, false, found
		l.dev.stay()
	}
	return nil
}

// discover asks a device for everything, once.
func (l *link) discover() (offer, error) {
	ctx, cancel := context.WithTimeout(l.ctx, discoverLimit)
	defer cancel()
	capabilities := []byte(`{}`)
	// The pictures of a device that has a backend of its own are that one's.
	if url := l.door.settings().Vision; url != "" && l.relay == nil {
		capabilities = append(wire.AppendString([]byte(`{"vision":{"url":`), url), `,"token":"`+l.picture.token()+`"}}`...)
	}
	info := l.door.opt.ClientInfo
	if len(info) == 0 {
		info = []byte(`{"name":"toolcrib","version":"0"}`)
	}
	f, err := l.ask(ctx, "initialize", fmt.Appendf(nil, `{"protocolVersion":"2024-11-05","capabilities":%s,"clientInfo":%s}`, capabilities, info))
	if err != nil {
		return offer{}, fmt.Errorf("initialize: %w", err)
	}
	if f.fault != nil {
		return offer{}, fmt.Errorf("initialize: it refused: %s", message.Quote(string(f.fault)))
	}
	l.tell("notifications/initialized")
	return l.offered(ctx, offer{})
}

// offered asks a device for its tools, which were others before.
func (l *link) offered(ctx context.Context, before offer) (offer, error) {
	all, err := l.pages(ctx, false)
	if err != nil {
		return offer{}, err
	}
	var o offer
	seen := make(map[string]bool, len(all))
	for _, t := range all {
		seen[t.name] = true
		o.add(t)
	}
	// A device that knows of no second list answers with the first one, or with an
	// error. One that has answered with more before has no fewer by an error.
	more, err := l.pages(ctx, true)
	if err != nil && ctx.Err() != nil {
		return offer{}, err
	}
	if err != nil {
		more = before.forPeople()
	}
	for _, t := range more {
		if !seen[t.name] {
			t.people = true
			o.add(t)
		}
	}
	return o, nil
}

// listedTool is a tool as a device lists it.
type listedTool struct {
	name   string
	raw    []byte
	people bool
}

// forPeople are the tools for people.
func (o *offer) forPeople() (all []listedTool) {
	for _, raw := range o.tools {
		if name, _ := wire.String(raw, wire.Lookup(raw, wire.Value(raw), "name")); slices.Contains(o.people, name) {
			all = append(all, listedTool{name: name, raw: raw})
		}
	}
	return all
}

// has reports whether a tool of the name is among them.
func (o *offer) has(tool string) bool {
	return slices.ContainsFunc(o.tools, func(raw []byte) bool {
		name, ok := wire.String(raw, wire.Lookup(raw, wire.Value(raw), "name"))
		return ok && name == tool
	})
}

// add adds a tool, which says itself for whom it is.
func (o *offer) add(t listedTool) {
	at := wire.Value(t.raw)
	annotations := wire.Lookup(t.raw, at, "annotations")
	audience := wire.Lookup(t.raw, annotations, "audience")
	if own := compact(audience.Of(t.raw)); own == `["user"]` {
		t.people = true
	} else if t.people {
		var edit wire.Edit
		switch {
		case audience.Exists():
			edit = wire.Replace(audience, []byte(`["user"]`))
		case annotations.Exists() && t.raw[annotations.Start] == '{':
			edit = wire.Insert(t.raw, annotations, []byte(`"audience":["user"]`))
		case annotations.Exists():
			edit = wire.Replace(annotations, []byte(`{"audience":["user"]}`))
		default:
			edit = wire.Insert(t.raw, at, []byte(`"annotations":{"audience":["user"]}`))
		}
		t.raw = wire.Splice(t.raw, edit)
	}
	o.tools = append(o.tools, t.raw)
	if t.people {
		o.people = append(o.people, t.name)
	}
}

// compact is a short value without white space.
func compact(raw []byte) string {
	return string(bytes.Map(func(c rune) rune {
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			return -1
		}
		return c
	}, raw))
}

// pages asks for all pages of a list. Of several tools of one name the first counts.
func (l *link) pages(ctx context.Context, people bool) ([]listedTool, error) {
	var all []listedTool
	names, cursors := make(map[string]bool), make(map[string]bool)
	cursor := ""
	for range maxPages {
		params := wire.AppendString([]byte(`{"cursor":`), cursor)
		f, err := l.ask(ctx, "tools/list", fmt.Appendf(params, `,"withUserTools":%t}`, people))
		switch {
		case err != nil:
			return nil, fmt.Errorf("tools/list: %w", err)
		case f.fault != nil && len(all) > 0:
			return all, nil // firmware has an error where a list ends with what it cannot send
		case f.fault != nil:
			return nil, fmt.Errorf("tools/list: it refused: %s", message.Quote(string(f.fault)))
		case len(f.result) == 0:
			return nil, errors.New("tools/list: the answer is none")
		}
		result := wire.Value(f.result)
		for at := range wire.Array(f.result, wire.Lookup(f.result, result, "tools")) {
			name, ok := wire.String(f.result, wire.Lookup(f.result, at, "name"))
			if ok && name != "" && !names[name] {
				names[name] = true
				all = append(all, listedTool{name: name, raw: bytes.Clone(at.Of(f.result))})
			}
		}
		next, _ := wire.String(f.result, wire.Lookup(f.result, result, "nextCursor"))
		if next == "" || cursors[next] {
			return all, nil
		}
		cursors[next] = true
		cursor = next
	}
	return all, nil
}

// tend keeps the connection alive while nothing else is said, by the WebSocket's pings:
// these keep what lies between open, also while a device takes its time to say what
// tools it has.
func (l *link) tend() {
	l.regularly(pingEvery, func() bool {
		before := l.heard.Load()
		return ping(l.conn) == nil || l.heard.Load() != before
	})
}

// ping waits for the answer to a ping of the WebSocket's. It is not under the context of a
// link, whose end would cut the connection off in place of a goodbye.
func ping(conn *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), pongLimit)
	defer cancel()
	return conn.Ping(ctx)
}

// renew does so by data, which firmware wants to see as well. It has an error for MCP's
// ping, so that it is asked for its tools.
func (l *link) renew() { l.regularly(refreshEvery, l.refresh) }

// regularly asks a device something each time that so much time has passed, until the
// link ends, and gives it up when it has not answered for several times.
func (l *link) regularly(every time.Duration, answered func() bool) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for misses := 0; ; {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		if misses++; answered() {
			misses = 0
		}
		if misses >= maxMisses && l.ctx.Err() == nil {
			why := hub.E(message.DeviceDropped, nil, "device", l.dev.id).With("detail", message.Say("it does not answer any more"))
			l.close(1001, "no answer", why)
			return
		}
	}
}

// refresh asks a device for its tools once more, and has it told if they are others.
// One that has none hears something all the same. It reports whether the device has answered, or need not.
func (l *link) refresh() bool {
	d := l.door
	d.mu.Lock()
	ready, failed, before := l.ready, l.failed, l.dev.offer
	d.mu.Unlock()
	switch {
	case failed:
		err := l.study()
		if err == nil {
			d.work.Go(l.list)
		}
		return !errors.Is(err, context.DeadlineExceeded) // to refuse is an answer
	case !ready: // it has none, or they are being found out
		if l.relay == nil { // else it hears from its backend
			l.pong()
		}
		return true
	}
	ctx, cancel := context.WithTimeout(l.ctx, refreshLimit)
	defer cancel()
	found, err := l.offered(ctx, before)
	if err != nil {
		if l.ctx.Err() == nil {
			l.dev.book.add(hub.LevelWarning, "does not answer: "+err.Error())
		}
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.dev.link == l && !sameOffer(l.dev.offer, found) {
		l.dev.offer = found
		l.dev.book.add(hub.LevelInfo, "its tools are others than before")
		d.changed(l.dev)
		select {
		case l.news <- struct{}{}:
		default:
		}
	}
	return true
}
