package call

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"reflect"
	"slices"
	"strconv"
	"sync"
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
type toolCache struct {
	mu       sync.Mutex
	kept     *lru[askedKey, *answer]
	byServer map[string]*asked
}

// askedKey names a result: for whom it is, whose, and of which arguments.
type askedKey struct {
	scope, server, tool string
	arguments           [sha256.Size]byte
}

// answer is a result that is kept.
type answer struct {
	reply upstream.Reply
	entry *catalog.Entry // the tool as it was
	at    time.Time      // when it was kept
	life  time.Duration
	said  bool // the server said how long it is good
}

// asked is what is kept of one server, and how often that was of use.
type asked struct {
	keys         map[askedKey]struct{}
	bytes        int
	changes      uint64 // how often all of it was dropped
	hits, misses uint64
}

// Cached says of what use the cache of results has been for a server's tools.
type Cached struct {
	Server       string // its key
	Hits, Misses uint64 // since the start, of calls whose result might have been kept
	Results      int    // that are kept now
	Bytes        int    // that they take up
}

func newToolCache() *toolCache {
	c := &toolCache{byServer: make(map[string]*asked)}
	c.kept = newLRU(maxToolCache, func(key askedKey, this *answer) {
		of := c.byServer[key.server]
		of.bytes -= this.size()
		delete(of.keys, key)
	})
	return c
}

// Cached tells of what use the cache of tools' results has been, in the order of
// the servers' keys; of those only for which it might have been of any.
func (p *Pipeline) Cached() []Cached { return p.tools.counts() }

// recall answers a call of a tool that only reads with what is kept, if that is
// good. A call that says more than the tool's name and its arguments, such as what
// the server has asked, is not answered so.
func (c *toolCache) recall(_ context.Context, r *run) error {
	e := r.entry
	if e == nil || !e.Tool.ReadOnly {
		return nil
	}
	m := r.Message
	for one := range m.Members() {
		if !wire.KeyIs(m.Raw, one.Key, "name") && !wire.KeyIs(m.Raw, one.Key, "arguments") && !wire.KeyIs(m.Raw, one.Key, "_meta") {
			return nil
		}
	}
	if m.Member("arguments").Len() > maxToolAsked {
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
	if life <= 0 && len(of.keys) == 0 {
		return nil, of.changes
	}
	key := askedKey{server: r.server.Key, tool: r.own, arguments: digest(r.Message)}
	for _, scope := range [...]string{scopePublic, scopeModern + r.Principal.Subject, r.scope()} {
		key.scope = scope
		this, ok := c.kept.get(key)
		if !ok {
			continue
		}
		age := time.Since(this.at)
		if age >= this.life || !this.of(r.entry) {
			c.kept.drop(key)
			continue
		}
		of.hits++
		return this.copy(age), of.changes
	}
	of.misses++
	return nil, of.changes
}

// of returns what there is of a server. The caller holds the lock.
func (c *toolCache) of(server string) *asked {
	of := c.byServer[server]
	if of == nil {
		of = &asked{keys: make(map[askedKey]struct{})}
		c.byServer[server] = of
	}
	return of
}

// put keeps the run's reply, unless something has changed since it was sent.
func (c *toolCache) put(r *run, scope string, life time.Duration, said bool) {
	m := r.reply.Message
	m.Raw = bytes.Clone(m.Raw) // the reply's own bytes are the caller's
	this := &answer{upstream.Reply{Message: m, Era: r.reply.Era}, r.entry, time.Now(), life, said}
	key := askedKey{scope, r.server.Key, r.own, digest(r.Message)}
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of(r.server.Key)
	if of.changes == r.stands.changes && c.kept.put(key, this, this.size()) {
		of.keys[key] = struct{}{}
		of.bytes += this.size()
	}
}

// changed drops what is kept of a server.
func (c *toolCache) changed(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of(server)
	of.changes++
	for key := range of.keys {
		c.kept.drop(key)
	}
}

// counts is of what use the cache has been, in the order of the servers' keys.
func (c *toolCache) counts() []Cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Cached, 0, len(c.byServer))
	for server, of := range c.byServer {
		all = append(all, Cached{server, of.hits, of.misses, len(of.keys), of.bytes})
	}
	slices.SortFunc(all, func(a, b Cached) int { return cmp.Compare(a.Server, b.Server) })
	return all
}

// size is what the answer takes up.
func (a *answer) size() int { return len(a.reply.Message.Raw) + overhead }

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
