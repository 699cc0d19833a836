package call

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of the cache, in bytes.
const (
	maxCache  = 64 << 20
	maxCached = 4 << 20 // of one resource
)

// cache keeps the contents of resources, as long as they are good:
//
//   - as long as the server says, by ttlMs, and for whom, by cacheScope
//     (2026-07-28, "Caching"); what is not public is kept for each principal;
//   - else, if the server says nothing, as long as [hub.Server.ResourceCache]
//     has it, for each principal, and for each caller that may have a connection
//     of its own, on which the server may answer otherwise.
//
// They are good no longer when the server tells that they have changed, when it
// is asked for its resources anew, and when the connection on which they came has
// ended. Neither errors nor questions are kept, nor what came while the server
// told of a change. Safe for concurrent use.
type cache struct{ shelf[content] }

// content is what was read.
type content struct {
	reply upstream.Reply
	at    time.Time     // when it was kept
	life  time.Duration // as the server said; 0 if it said nothing
	conn  <-chan struct{}
}

func newCache() *cache { return &cache{newShelf[content](maxCache)} }

// recall answers a read with what is kept, if that is good. A read that says more
// than its URI, such as what the server has asked, is not answered so.
func (p *Pipeline) recall(_ context.Context, r *run) error {
	if r.judgement.Stops() || !saysOnly(r.Message, "uri", "_meta") {
		return nil
	}
	var changes uint64
	if r.reply, changes = p.cache.get(r); r.reply == nil {
		r.stands = &standing{changes: changes}
	}
	r.record.Cached = r.reply != nil
	return nil
}

// keep keeps what was read.
func (p *Pipeline) keep(_ context.Context, r *run) error {
	if r.stands == nil || r.reply.Message.Kind != wire.Response || protocol.KindOf(&r.reply.Message, r.reply.Era) != protocol.ResultComplete {
		return nil
	}
	if scope, life, ok := r.lasting(r.server.ResourceCache > 0); ok {
		p.cache.put(r, scope, life)
	}
	return nil
}

// get returns a copy of what is kept and good for the run, nil if there is none,
// and how the cache stands.
func (c *cache) get(r *run) (reply *upstream.Reply, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.byServer[r.server.Key]
	if of == nil {
		return nil, 0
	}
	var left time.Duration
	this := c.find(r, cached{server: r.server.Key, own: r.own}, func(this *content) bool {
		left = this.left(r.server)
		return left > 0
	})
	if this == nil {
		return nil, of.changes
	}
	return this.copy(left), of.changes
}

// put keeps the run's reply, unless something has changed since it was sent.
func (c *cache) put(r *run, scope string, life time.Duration) {
	m := r.reply.Message
	if len(m.Raw) > maxCached {
		return
	}
	m.Raw = bytes.Clone(m.Raw) // the reply's own bytes are the caller's
	this := &content{upstream.Reply{Message: m, Era: r.reply.Era}, time.Now(), life, r.stands.conn}
	key := cached{scope: scope, server: r.server.Key, own: r.own}
	c.shelf.put(key, this, len(m.Raw)+len(key.own)+len(scope)+overhead, r.stands.changes)
}

// left is how long the content is good for; not positive if it is not any more.
func (c *content) left(server *hub.Server) time.Duration {
	select {
	case <-c.conn:
		return 0
	default:
	}
	life := c.life
	if life == 0 {
		life = server.ResourceCache
	}
	return life - time.Since(c.at)
}

// copy is the reply, with the time that is left in the place of what the server
// said.
func (c *content) copy(left time.Duration) *upstream.Reply {
	reply := c.reply
	m := &reply.Message
	if ttl := m.Member("ttlMs"); ttl.Exists() && c.life > 0 {
		raw := wire.Splice(m.Raw, wire.Replace(ttl, strconv.AppendInt(nil, left.Milliseconds(), 10)))
		reply.Message = rescan(raw)
		return &reply
	}
	m.Raw = bytes.Clone(m.Raw)
	return &reply
}

// Updated is to be called with each notification of a server's that a resource
// has changed, and the ids of the callers that are told: what is kept of it, of
// what it is a part of, and of its parts is dropped. Neither the bytes nor the ids
// are kept.
func (p *Pipeline) Updated(server string, callers []string, raw []byte) {
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		return
	}
	uri, ok := wire.String(raw, m.Member("uri"))
	if !ok {
		return
	}
	if len(callers) > 0 {
		p.mentions.hint(server, uri) // they may read it
	}
	p.cache.changed(server, func(kept cached) bool { return partOf(kept.own, uri) || partOf(uri, kept.own) })
}

// Listed is to be called when a server has been asked for its lists, since its
// resources may then be others than before: what is kept of them is dropped.
func (p *Pipeline) Listed(server hub.Server, lists hub.Lists) {
	if lists.Asked&(hub.ListResources|hub.ListTemplates) != 0 {
		p.cache.changed(server.Key, nil)
	}
	if lists.Announced.Has(hub.ListTools) {
		p.tools.changed(server.Key, nil)
	}
}

// partOf reports whether a resource is another, or a part of it by its URI.
func partOf(uri, whole string) bool {
	rest, ok := strings.CutPrefix(uri, whole)
	if !ok {
		return false
	}
	return rest == "" || strings.ContainsRune("/?#", rune(rest[0])) || strings.HasSuffix(whole, "/")
}
