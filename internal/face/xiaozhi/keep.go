package xiaozhi

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

const (
	brokerSilence = 150 * time.Second // of a peer that sends a ping each minute
	newsDelay     = 3 * time.Second   // for more changes of the tools
	newsLimit     = 15 * time.Second  // that they are waited for at most
	refreshEvery  = 30 * time.Second  // at most one new connection because of the tools
	drainLimit    = 10 * time.Second  // for calls to be answered before it
)

// beat looks after the connection: one that is gone without a word is found by pings.
func (c *conversation) beat() {
	for {
		def := c.endpoint.def.Load()
		select {
		case <-time.After(def.Ping):
		case <-c.changed:
			continue
		case <-c.ctx.Done():
			return
		}
		before := c.heard.Load()
		if c.isBroker() && time.Since(time.Unix(0, before)) > brokerSilence {
			c.end(errSilent)
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, def.PingTimeout)
		err := c.conn.Ping(ctx)
		late := ctx.Err() != nil
		cancel()
		switch {
		case err == nil || c.ctx.Err() != nil || c.heard.Load() != before:
		case late:
			c.end(errSilent)
			return
		default:
			c.broken(err)
			return
		}
	}
}

// isBroker reports whether the peer is the cloud's.
func (c *conversation) isBroker() bool {
	return c.callers.Load() > 0 && c.endpoint.viewer().Client == words.Broker
}

// toolsChanged says that what the peer was told of may be another list by now.
func (c *conversation) toolsChanged() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// watch tells the peer of changes of the tools: by both notifications that there are
// for it and, where those are known to be of no use, by a new connection.
func (c *conversation) watch() {
	var settled, again <-chan time.Time
	var first time.Time
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.news:
			if settled == nil {
				first = time.Now()
			}
			settled = time.After(min(newsDelay, newsLimit-time.Since(first)))
			continue
		case <-settled:
			settled = nil
			if !c.differs() {
				again = nil // it is as it was
				continue
			}
			c.tell()
			if again == nil && c.refreshes() {
				again = time.After(c.endpoint.nextRefresh())
			}
		case <-again:
			if again = nil; !c.differs() {
				continue
			}
			c.drain()
			c.endpoint.refreshes()
			c.end(errRefresh)
			return
		}
	}
}

// differs reports whether the list is another one than the peer has.
func (c *conversation) differs() bool {
	o, err := c.endpoint.offer()
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return o.sum != c.listed
}

// tell tells the peer to ask for the list.
func (c *conversation) tell() {
	c.endpoint.journal.add(hub.LevelInfo, "the tools have changed")
	c.send([]byte(`{"jsonrpc":"2.0","method":"` + protocol.NotificationToolsList + `"}`))
	c.send([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/updated"}`)) // of one of the self-hosted backends
}

// refreshes reports whether the peer gets a new connection.
func (c *conversation) refreshes() bool {
	switch c.endpoint.def.Load().Refresh {
	case hub.RefreshAlways:
		return true
	case hub.RefreshNever:
		return false
	case hub.RefreshAuto:
	}
	return c.isBroker()
}

// drain waits until nothing is to be answered any more, for a while.
func (c *conversation) drain() {
	limit := time.After(drainLimit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for c.running() > 0 {
		select {
		case <-tick.C:
		case <-limit:
			return
		case <-c.ctx.Done():
			return
		}
	}
	select {
	case <-c.out.written():
	case <-limit:
	case <-c.ctx.Done():
	}
}

// nextRefresh is how long it is until the endpoint may be dialled anew because of the
// tools.
func (e *endpoint) nextRefresh() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(0, refreshEvery-time.Since(e.refreshed))
}

// refreshes notes that the endpoint is dialled anew because of the tools.
func (e *endpoint) refreshes() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refreshed = time.Now()
}
