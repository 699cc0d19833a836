package catalog

import (
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// SetViews says which groups there are, with unique names, and what is known of
// clients: of several profiles that fit a client the first counts.
func (c *Catalog) SetViews(groups []hub.Group, profiles []hub.Profile) {}

// View returns what a caller sees now. The error is a [message.GroupUnknown]. It
// costs next to nothing if somebody has looked through the same view since the
// last change.
func (c *Catalog) View(v hub.Viewer) (*View, error) {
	return &View{snapshot: c.Snapshot(), catalog: c}, nil
}

// View is the catalog as a kind of caller sees it, at one moment. It never
// changes, and all its methods may be called from any goroutine. What they return
// is shared and must not be changed either.
type View struct {
	catalog  *Catalog
	snapshot *Snapshot
}

// Snapshot is what the view is a part of.
func (v *View) Snapshot() *Snapshot { return v.snapshot }

// Profile is what is known of the client; the zero value for nothing.
func (v *View) Profile() hub.Profile { return hub.Profile{} }

// List returns a page of one of the lists: a whole result, as callers of the era
// expect it; see [Catalog.List].
func (v *View) List(era protocol.Era, which hub.ListSet, cursor string) ([]byte, error) {
	return v.catalog.List(era, cursor)
}

// Tool returns the tool that the caller means by a name; see [Snapshot.Resolve].
func (v *View) Tool(name string) (*Entry, bool) { return v.snapshot.Resolve(name) }

// Prompt returns the prompt that the caller means by a name, by the same rules.
func (v *View) Prompt(name string) (*PromptEntry, bool) { return nil, false }

// PromptEntry is one prompt as callers see it; see [Entry].
type PromptEntry struct {
	Server  hub.Server
	Prompt  hub.Prompt
	Exposed string
	Raw     []byte
}

// Resource returns whose resource a caller means by a URI, listed or not: one
// that is listed under it, one in the prefixed form, one that fits a template. Of
// several servers that have it the first in the order of the configuration
// counts.
func (v *View) Resource(uri string) (Place, bool) { return Place{}, false }

// Template returns whose template a caller means by a URI template, as
// completion/complete names one.
func (v *View) Template(uri string) (Place, bool) { return Place{}, false }

// Place is where a resource is.
type Place struct {
	Server   hub.Server
	URI      string // the server's own
	Prefixed bool   // the caller knows it by the prefixed form, and is answered in it
}

// Prefixed is the form of a server's URI that names the server:
// toolcrib://KEY/URI, with the key escaped as a path segment and the URI, or URI
// template, verbatim.
func Prefixed(server, uri string) string { return "" }

// Unprefixed undoes Prefixed.
func Unprefixed(uri string) (server, own string, ok bool) { return "", "", false }

// Instructions is what a client is told of the use of what it sees; "" for
// nothing.
func (v *View) Instructions() string { return "" }

// Capabilities is the union of what the servers in the view have, by what is
// saved and what they declared since this program started.
func (v *View) Capabilities() protocol.Capabilities {
	return protocol.Capabilities{Tools: true, Logging: true}
}
