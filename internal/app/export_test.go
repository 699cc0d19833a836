package app

// NodeHeld tells the hub, as its database does, whether it alone has its key.
func (a *App) NodeHeld(held bool) { a.nodeHeld(held) }
