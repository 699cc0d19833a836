package app

import "github.com/toolcrib/toolcrib/internal/hub"

// What servers tell outside of calls goes to all who have a part in it. These
// are called by the fleet, which is made before the others and runs after them.

// listed passes on what a server lists.
func (a *App) listed(server hub.Server, lists hub.Lists) {
	a.catalog.Listed(server, lists)
	a.call.Listed(server, lists)
}

// updated passes on that a resource has changed. What is kept of it is dropped
// before anybody is told to read it anew.
func (a *App) updated(server string, callers []string, raw []byte) {
	a.call.Updated(server, callers, raw)
	a.gateway.Updated(server, callers, raw)
}

// elicited passes on that what a person was asked to do at a URL is done.
func (a *App) elicited(server, id string, raw []byte) { a.gateway.Elicited(server, id, raw) }
