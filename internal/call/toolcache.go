package call

import (
	"bytes"
	"cmp"
	"context"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of the cache of tools' results, in bytes.
const (
	maxToolCache  = 64 << 20
	maxToolResult = 1 << 20  // of one
	maxToolAsked  = 64 << 10 // of the arguments for which one is kept
)

// toolCache keeps results of tools that only read, as long as they are good:
//
//   - as long as the server says, by ttlMs, and for whom, by cacheScope
//     (2026-07-28, "Caching"); what is not public is kept for each principal;
//   - else as long as [hub.Server.ToolCache] has it, or the tool's own setting, for
//     each principal, and for each caller that may have a connection of its own.
//
// They are good no longer when the server says that its tools have changed, or is
// configured otherwise. Neither errors nor questions are kept, nor what came while
// the server told of a change. Two equal calls at once are two: that one of them is
// answered says nothing of whether the other may be. Safe for concurrent use.
type toolCache struct{ shelf[answer] }

// answer is a result that is kept.
type answer struct {
	reply upstream.Reply
	entry *catalog.Entry // the tool as it was
	at    time.Time      // when it was kept
	life  time.Duration
	said  bool // the server said how long it is good
}

// Cached says of what use the cache of results has been for a server's tools.
type Cached struct {
	Server       string // its key
	Hits, Misses uint64 // since the start, of calls whose result might have been kept
	Results      int    // that are kept now
	Bytes        int    // that they take up
}

func newToolCache() *toolCache { return &toolCache{newShelf[answer](maxToolCache)} }

// Cached tells of what use the cache of tools' results has been, in the order of
// the servers' keys; of those only for which it might have been of any.
func (p *Pipeline) Cached() []Cached { return p.tools.counts() }

// recall answers a call of a tool that only reads with what is kept, if that is
// good. A call to which somebody has to agree is none of these. One that says more than the tool's name and its arguments, such as what
// the server has asked, is not answered so.
func (c *toolCache) recall(_ context.Context, r *run) error {
	m := r.Message
	if r.judgement.Stops() || !r.entry.Tool.ReadOnly || !saysOnly(m, "name", "arguments", "_meta") || m.Member("arguments").Len() > maxToolAsked {
		return nil
	}
	var changes uint64
	if r.reply, changes = c.get(r); r.reply == nil {
		r.stands = &standing{changes: changes, server: r.server.Key}
		return nil
	}
	r.record.Cached = true
	return nil
}

// keep keeps the result of a call that might have been answered so.
func (c *toolCache) keep(_ context.Context, r *run) error {
	m := &r.reply.Message
	if r.stands == nil || r.stands.server != r.server.Key || m.Kind != wire.Response || len(m.Raw) > maxToolResult ||
		protocol.KindOf(m, r.reply.Era) != protocol.ResultComplete || string(m.Member("isError").Of(m.Raw)) == "true" {
		return nil
	}
	life := toolLife(r.entry)
	scope, said, ok := r.lasting(life > 0)
	if ok {
		c.put(r, scope, cmp.Or(said, life), said > 0)
	}
	return nil
}

// toolLife is how long results of the tool are kept, by what is configured.
func toolLife(e *catalog.Entry) time.Duration {
	if own := e.Server.Rules.Override[e.Tool.Name].Cache; own != nil {
		return *own
	}
	return e.Server.ToolCache
}

// get returns a copy of what is kept and good for the run, nil if there is none,
// and how the cache stands.
func (c *toolCache) get(r *run) (reply *upstream.Reply, changes uint64) {
	life := toolLife(r.entry)
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.byServer[r.server.Key]
	if of == nil {
		if life <= 0 {
			return nil, 0 // as almost always
		}
		of = c.of(r.server.Key)
	}
	if life <= 0 && len(of.sizes) == 0 {
		return nil, of.changes
	}
	var age time.Duration
	key := cached{server: r.server.Key, own: r.own, arguments: digest(r.Message)}
	this := c.find(r, key, func(this *answer) bool {
		age = time.Since(this.at)
		return age < this.life && this.of(r.entry)
	})
	if this == nil {
		of.misses++
		return nil, of.changes
	}
	of.hits++
	return this.copy(age), of.changes
}

// put keeps the run's reply, unless something has changed since it was sent.
func (c *toolCache) put(r *run, scope string, life time.Duration, said bool) {
	m := r.reply.Message
	m.Raw = bytes.Clone(m.Raw) // the reply's own bytes are the caller's
	this := &answer{upstream.Reply{Message: m, Era: r.reply.Era}, r.entry, time.Now(), life, said}
	c.shelf.put(cached{scope, r.server.Key, r.own, digest(r.Message)}, this, len(m.Raw)+overhead, r.stands.changes)
}

// counts is of what use the cache has been, in the order of the servers' keys.
func (c *toolCache) counts() []Cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Cached, 0, len(c.byServer))
	for server, of := range c.byServer {
		all = append(all, Cached{server, of.hits, of.misses, len(of.sizes), of.bytes})
	}
	slices.SortFunc(all, func(a, b Cached) int { return cmp.Compare(a.Server, b.Server) })
	return all
}

// of reports whether the answer is that of the tool as it is now: described, and
// its server configured, as it was.
func (a *answer) of(now *catalog.Entry) bool {
	if a.entry == now {
		return true
	}
	if !bytes.Equal(a.entry.Tool.Raw, now.Tool.Raw) || !reflect.DeepEqual(a.entry.Server, now.Server) {
		return false
	}
	a.entry = now
	return true
}

// metaCache is the member of a result's _meta that says that it was kept.
const metaCache = "toolcrib/cache"

// copy is the reply, with a mark that it was kept, and with the time that is left
// in the place of what the server said.
func (a *answer) copy(age time.Duration) *upstream.Reply {
	m := &a.reply.Message
	mark := strconv.AppendInt([]byte(`"`+metaCache+`":{"hit":true,"ageMs":`), age.Milliseconds(), 10)
	mark = append(mark, '}')
	var edits []wire.Edit
	if ttl := m.Member("ttlMs"); ttl.Exists() && a.said {
		edits = append(edits, wire.Replace(ttl, strconv.AppendInt(nil, (a.life-age).Milliseconds(), 10)))
	}
	meta := m.Member("_meta")
	if meta.Exists() && m.Raw[meta.Start] == '{' {
		drop := func(key wire.Span) bool { return wire.KeyIs(m.Raw, key, metaCache) }
		edits = wire.EditObject(edits, m.Raw, meta, drop, mark)
	} else if !meta.Exists() {
		mark = append(append([]byte(`"_meta":{`), mark...), '}')
		edits = append(edits, wire.Insert(m.Raw, m.Result, mark))
	}
	return &upstream.Reply{Message: rescan(wire.Splice(m.Raw, edits...)), Era: a.reply.Era}
}
