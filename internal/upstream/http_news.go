package upstream

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// hasNews reports whether something may come outside of any call.
func (c *Conn) hasNews() bool {
	caps := &c.hello.Capabilities
	if caps.ToolsListChanged || caps.ResourcesListChanged || caps.PromptsListChanged || caps.Subscribe {
		return true
	}
	return c.Era() == protocol.Legacy && (caps.Logging || c.outside != nil || c.mayAsk())
}

// mayAsk reports whether the server was told of something that it can ask for.
func (c *Conn) mayAsk() bool {
	raw := c.opt.Capabilities
	if len(raw) == 0 {
		return false
	}
	for range wire.Object(raw, wire.Value(raw)) {
		return true
	}
	return false
}

// watch keeps the stream open on which a legacy server says what belongs to no
// request (2025-11-25, "Listening for Messages from the Server").
func (l *httpLink) watch() {
	if l.conn.Era() == protocol.Modern || !l.conn.hasNews() {
		return
	}
	opened := make(chan struct{})
	answered := sync.OnceFunc(func() { close(opened) })
	l.conn.opened = opened
	ctx := httptrace.WithClientTrace(l.conn.ctx, &httptrace.ClientTrace{GotFirstResponseByte: answered})
	l.conn.work.Go(func() {
		last, wait := "", resumeWait
		for l.conn.ctx.Err() == nil {
			began := time.Now()
			got, err := l.open(ctx, last)
			answered()
			if isRefusal(err) {
				l.conn.mute.Store(true)
				return
			}
			if got.LastID != "" {
				last = got.LastID
			}
			if time.Since(began) > resumeLimit {
				wait = resumeWait
			}
			pause := max(got.Retry, wait)
			if err == nil && got.Retry > 0 {
				// It ends its streams by intent, and has said when to come back.
				pause, wait = max(got.Retry, resumeWait/10), resumeWait/2
			}
			if l.pause(l.conn.ctx, pause) != nil {
				return
			}
			wait = min(2*wait, resumeLimit)
			if err != nil || last == "" {
				// What changed while the stream was away is not known.
				l.conn.changed(hub.ListAll)
				if l.conn.opt.Missed != nil {
					l.conn.opt.Missed()
				}
			}
		}
	})
}

func (l *httpLink) open(ctx context.Context, last string) (transport.Stream, error) {
	out := l.outbound(nil, "", "", nil)
	return l.http.Listen(ctx, out.Session, out.Revision, last, l.news)
}

// news takes what came on the stream that belongs to no request, and reports
// whether the stream is of use.
func (l *httpLink) news(raw []byte) bool {
	if !isBatch(raw) {
		return l.item(raw)
	}
	parts, _, err := wire.Batch(raw, wire.Limits{})
	if err != nil {
		l.stray.Add(1)
		return false
	}
	more := true
	for _, part := range parts {
		more = l.item(part) && more
	}
	return more
}

// item takes one message of that stream. A question is for the caller of the one
// call under way, if it is certain that it is only one (design D3).
func (l *httpLink) item(raw []byte) bool {
	m, err := wire.Scan(raw, wire.Limits{})
	if err == nil {
		l.conn.hear()
	}
	switch {
	case err != nil || m.Kind == wire.Failure:
		l.stray.Add(1)
		return false
	case m.Kind == wire.Response:
		l.stray.Add(1)
	case m.Kind == wire.Notification:
		l.conn.unasked(&m)
	case l.conn.asks(&m):
		k := l.only()
		if k == nil {
			l.conn.unasked(&m)
			break
		}
		// Its caller may be slow, and others wait for this stream.
		k.askLater(&m)
	}
	return true
}

// listen is a POST whose answer lasts.
func (l *httpLink) listen(ctx context.Context, out *outbound, on func(*wire.Message)) error {
	var refused, broken error
	_, err := l.http.Post(ctx, l.outbound(out.raw, out.method, "", nil), func(raw []byte) bool {
		m, err := wire.Scan(raw, wire.Limits{})
		if err != nil {
			broken = fmt.Errorf("read the news: %w", err)
			return false
		}
		l.conn.hear()
		switch m.Kind {
		case wire.Notification:
			on(&m)
			return true
		case wire.Request:
			l.conn.asks(&m)
			return true
		case wire.Failure:
			refused = l.conn.refusedBy(out.method, m)
		}
		return false
	})
	switch {
	case refused != nil:
		return refused
	case broken != nil:
		return broken
	}
	return l.conn.saidBy(out.method, err)
}

// begin enters a call.
func (l *httpLink) begin(k *desk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = make(map[*desk]time.Time)
	}
	if len(l.calls) > 1000 {
		l.forget()
	}
	l.calls[k] = time.Time{}
}

// finish undoes begin. A legacy server may be at work on a call that was left.
func (l *httpLink) finish(k *desk, left bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left && l.conn.Era() == protocol.Legacy {
		l.calls[k] = time.Now()
	} else {
		delete(l.calls, k)
	}
}

// only returns the one call under way, as that of a stream does: nil if there is
// none or more than one, and also if its caller has left.
func (l *httpLink) only() *desk {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	if len(l.calls) != 1 {
		return nil
	}
	for k, left := range l.calls {
		if left.IsZero() {
			return k
		}
	}
	return nil
}

// forget drops the calls that were left long ago. The caller holds mu.
func (l *httpLink) forget() {
	for k, left := range l.calls {
		if !left.IsZero() && time.Since(left) > lingers {
			delete(l.calls, k)
		}
	}
}
