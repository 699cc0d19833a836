package app

import (
	"context"
	"time"
)

// Limits of a hub that was started for the clients attached to it.
const (
	lingerFirst = 30 * time.Second // for the first to come
	lingerLast  = 3 * time.Second  // after the last has gone, for one that comes back
)

// linger asks for the end of the hub when no client is attached any more.
func (a *App) linger(ctx context.Context) error {
	wait := lingerFirst
	for {
		open, changed := a.mcp.Attached()
		var alone <-chan time.Time
		if open == 0 {
			alone = time.After(wait)
		} else {
			wait = lingerLast
		}
		select {
		case <-ctx.Done():
			return nil
		case <-alone:
			a.log.Info("no client is attached any more")
			a.End()
			return nil
		case <-changed:
		}
	}
}
