package call

import (
	"crypto/sha256"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// overhead is how many bytes it costs to keep something, besides its own.
const overhead = 512

// maxLife is how long a server may say that an answer is good.
const maxLife = 24 * time.Hour

// shelf keeps what servers answered, up to a total size, until they say that it has
// changed. Safe for concurrent use.
type shelf[V any] struct {
	mu       sync.Mutex
	kept     *lru[cached, *V]
	byServer map[string]*origin
}

// cached names what is kept: for whom it is, whose, of which resource or tool by
// the server's own name for it, and for which arguments.
type cached struct {
	scope, server, own string
	arguments          [sha256.Size]byte
}

// origin is what is kept of one server, and how often that was of use.
type origin struct {
	sizes        map[cached]int
	bytes        int    // all sizes together
	changes      uint64 // how often something was dropped because the server said so
	hits, misses uint64
}

func newShelf[V any](most int) shelf[V] {
	byServer := make(map[string]*origin)
	return shelf[V]{byServer: byServer, kept: newLRU(most, func(key cached, _ *V) {
		of := byServer[key.server]
		of.bytes -= of.sizes[key]
		delete(of.sizes, key)
	})}
}

// of returns what there is of a server. The caller holds the lock.
func (s *shelf[V]) of(server string) *origin {
	of := s.byServer[server]
	if of == nil {
		of = &origin{sizes: make(map[cached]int)}
		s.byServer[server] = of
	}
	return of
}

// find returns what is kept for the run, in whatever scope, and is good; nil if
// there is none. What is not good is dropped. The caller holds the lock.
func (s *shelf[V]) find(r *run, key cached, good func(*V) bool) *V {
	for _, key.scope = range [...]string{r.public(), scopeModern + whose(&r.Principal), r.scope()} {
		this, ok := s.kept.get(key)
		if !ok {
			continue
		}
		if good(this) {
			return this
		}
		s.kept.drop(key)
	}
	return nil
}

// put keeps a value, unless something has changed since there were so many changes.
func (s *shelf[V]) put(key cached, value *V, size int, changes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.of(key.server); of.changes == changes && s.kept.put(key, value, size) {
		of.sizes[key] = size
		of.bytes += size
	}
}

// changed drops what is kept of a server for which is reports true; nil is all.
func (s *shelf[V]) changed(server string, is func(cached) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of(server)
	of.changes++
	for key := range of.sizes {
		if is == nil || is(key) {
			s.kept.drop(key)
		}
	}
}

// standing says how a shelf stood when a request was sent.
type standing struct {
	changes uint64
	server  string          // that was asked; "" for a resource
	conn    <-chan struct{} // closed when the connection that it was sent on has ended
}

// The scopes of what is kept, besides that of a caller.
const (
	scopePublic = "public " // and the tenant: that others have called shows nowhere
	scopeModern = "modern " // and the principal
	scopeShared = "shared " // and the principal
	scopeCaller = "caller " // and its id
)

// lasting is for whom, and how long, the reply is good: 0 for as long as is
// configured, if that is set.
func (r *run) lasting(set bool) (scope string, life time.Duration, ok bool) {
	m := &r.reply.Message
	if r.reply.Era == protocol.Legacy {
		return r.scope(), 0, set
	}
	scope = scopeModern + whose(&r.Principal)
	ttl := m.Member("ttlMs")
	if !ttl.Exists() {
		return scope, 0, set
	}
	if shared, _ := wire.String(m.Raw, m.Member("cacheScope")); shared == "public" {
		scope = r.public()
	}
	ms, err := strconv.ParseFloat(string(ttl.Of(m.Raw)), 64)
	if err != nil || !(ms >= 1) {
		return "", 0, false
	}
	return scope, time.Duration(math.Min(ms, float64(maxLife.Milliseconds()))) * time.Millisecond, true
}

// public is for whom an answer is that is everybody's.
func (r *run) public() string { return scopePublic + r.Principal.Tenant }

// scope is for whom the answer of a legacy server is.
func (r *run) scope() string {
	if r.Caller.Own() && r.server.Connection != hub.ConnectionShared && r.server.Kind != hub.KindBuiltin {
		return scopeCaller + r.Caller.ID
	}
	return scopeShared + whose(&r.Principal)
}

// saysOnly reports whether a request has no params but those that are named.
func saysOnly(m *wire.Message, names ...string) bool {
	for one := range m.Members() {
		if !slices.ContainsFunc(names, func(name string) bool { return wire.KeyIs(m.Raw, one.Key, name) }) {
			return false
		}
	}
	return true
}
