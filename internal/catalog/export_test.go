package catalog

import (
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// List is a page of one of the lists as they are before any view is made of them;
// see [View.List].
func (c *Catalog) List(era protocol.Era, which hub.ListSet, cursor string) ([]byte, error) {
	return c.view.Load().book(which).list(era, cursor)
}
