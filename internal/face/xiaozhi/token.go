package xiaozhi

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const (
	// tokenWarning is how long before its end there is a warning about a token.
	tokenWarning = 14 * 24 * time.Hour
	// tokenLook is how often it is seen at least how long tokens are good for: the clock
	// may be set, and a value that is filled in may be another one.
	tokenLook = time.Hour
)

// ends is the warning about a token that ends at a time; nil if there is none.
func (e *endpoint) ends(at time.Time) *hub.Error {
	code := message.EndpointTokenEnds
	switch left := time.Until(at); {
	case at.IsZero() || left > tokenWarning:
		return nil
	case left <= 0:
		code = message.EndpointTokenEnded
	}
	return hub.E(code, nil, "endpoint", e.name, "at", at.Format(time.DateOnly))
}

// warned is what was told last about an endpoint's token.
type warned struct {
	code message.Code // "" for nothing
	at   time.Time
}

// watchTokens tells of each token that ends soon, or has ended, once: in the log of the
// endpoint, in that of the hub, and to those who listen. It returns when to look again.
func (e *Endpoints) watchTokens() time.Duration {
	next := tokenLook
	for _, one := range e.all() {
		def := one.def.Load()
		if one.twin != "" || !def.Enabled {
			continue
		}
		_, at := e.shown(def)
		for _, moment := range [...]time.Time{at.Add(-tokenWarning), at} {
			if left := time.Until(moment); !at.IsZero() && left > 0 {
				next = min(next, left)
			}
		}
		w, now := one.ends(at), warned{at: at}
		if w != nil {
			now.code = w.Code
		}
		one.mu.Lock()
		before := one.warned
		one.warned = now
		one.mu.Unlock()
		if now == before || w == nil {
			continue
		}
		one.journal.add(hub.LevelWarning, w.In(message.English))
		e.opt.Log.Warn("the token of an endpoint", "endpoint", one.name, "warning", w.Text(message.English).What)
		one.tell()
	}
	return next
}
