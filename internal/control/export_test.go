package control

import "context"

// WatchByGlances is Watch on a system that tells nothing of changes.
func (c *Control) WatchByGlances(ctx context.Context) { c.watch(ctx, c.Source().Path, nil) }
