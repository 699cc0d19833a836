package control_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// What is known of the servers of a file that is broken when the hub starts is
// there again when the file is mended, also by a later hub.
func TestBrokenFileKeepsLists(t *testing.T) {
	const good = `{"mcpServers":{"a":{"command":"a"}}}`
	dir := t.TempDir()
	path, index := filepath.Join(dir, "config.json"), filepath.Join(dir, "index.json")
	hubOf := func(text string) (*control.Control, *catalog.Catalog, func()) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := control.Load(path, false, builtin.Keys())
		if err != nil {
			t.Fatal(err)
		}
		cat, err := catalog.Open(catalog.Options{IndexPath: index})
		if err != nil {
			t.Fatal(err)
		}
		c := control.New(control.Options{
			Source: src, Builtins: builtin.Keys(), Catalog: cat, Log: slog.New(slog.DiscardHandler),
			Fleet: fleet.New(fleet.Options{Servers: src.Config.Servers, Bus: &bus.Bus{}, Log: slog.New(slog.DiscardHandler)}),
		})
		return c, cat, func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := cat.Run(ctx); err != nil { // saves
				t.Fatal(err)
			}
		}
	}
	known := func(cat *catalog.Catalog) bool { _, ok := cat.Snapshot().Resolve("a__x"); return ok }

	c, cat, save := hubOf(good)
	server, err := c.Server("a")
	if err != nil {
		t.Fatal(err)
	}
	cat.Listed(server.Definition, hub.Lists{Asked: hub.ListTools, Tools: [][]byte{[]byte(`{"name":"x","inputSchema":{"type":"object"}}`)}})
	save()

	_, cat, save = hubOf(`{"mcpServers":`)
	if known(cat) {
		t.Error("a tool is listed whose server is not configured")
	}
	cat.Listed(hub.Server{Key: "calculator", Kind: hub.KindBuiltin}, hub.Lists{Asked: hub.ListAll}) // so that there is something to save
	save()

	if _, cat, save = hubOf(good); !known(cat) {
		t.Error("the list is lost with a later hub")
	}
	save()

	c, cat, _ = hubOf(`{"mcpServers":`)
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	if !known(cat) {
		t.Error("the list is lost when the file is mended")
	}
}
