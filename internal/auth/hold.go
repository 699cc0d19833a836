package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// ErrOver is why a context of [Hold] ends.
var ErrOver = errors.New("the token is good no more")

// Hold returns a context that ends when what the request showed is good no more:
// for what goes on by itself, such as a stream of events. The function is to be
// called when that is over.
func Hold(ctx context.Context) (context.Context, func()) {
	s := Of(ctx)
	if s.Expires.IsZero() && s.watch == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := func() { cancel(ErrOver) }
	var timer *time.Timer
	if !s.Expires.IsZero() {
		timer = time.AfterFunc(time.Until(s.Expires)+s.grace, over)
	}
	unwatch := func() {}
	if s.watch != nil {
		unwatch = s.watch(over)
	}
	return ctx, func() {
		unwatch()
		if timer != nil {
			timer.Stop()
		}
		cancel(context.Canceled)
	}
}

// watcher waits for a token or session to be good no more.
type watcher struct {
	digest  [sha256.Size]byte
	session bool
	over    func()
}

// watching returns how one waits for a token or session to be over.
func (b *Book) watching(digest [sha256.Size]byte, session bool) func(over func()) (stop func()) {
	return func(over func()) func() {
		w := &watcher{digest, session, over}
		b.watchMu.Lock()
		b.watchers[w] = struct{}{}
		b.watchMu.Unlock()
		return func() {
			b.watchMu.Lock()
			delete(b.watchers, w)
			b.watchMu.Unlock()
		}
	}
}

// tellWatchers tells those whose token or session is over by the page.
func (b *Book) tellWatchers(p *page, now time.Time) {
	b.watchMu.Lock()
	defer b.watchMu.Unlock()
	for w := range b.watchers {
		good := false
		if w.session {
			s, ok := p.sessions[w.digest]
			good = ok && now.Before(s.expires)
		} else {
			t, ok := p.tokens[w.digest]
			good = ok && t.Good(now)
		}
		if !good {
			w.over()
		}
	}
}
