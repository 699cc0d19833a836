package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// A copy of a data directory does not start while the hub of the original runs on the
// same database: it would give back what that one has claimed.
func TestCopiedNodeIsRefused(t *testing.T) {
	dir := t.TempDir()
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{}, "store": map[string]any{"url": storetest.PostgreSQL(t).URL}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "toolcrib.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(data string) (*app.App, error) {
		return app.New(t.Context(), app.Options{
			Config: path, Listen: "127.0.0.1:0", DataDir: filepath.Join(dir, data), Version: "v1", Log: slog.New(slog.DiscardHandler),
		})
	}
	stop := func(a *app.App) {
		t.Helper()
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	a, err := start("copy") // has a key of its own so far
	if err != nil {
		t.Fatal(err)
	}
	stop(a)
	if a, err = start("data"); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "data", "keys", "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "copy", "keys", "audit.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := start("copy"); !hub.IsCode(err, message.AuditNodeTaken) {
		t.Errorf("the copy: %v", err)
		if err == nil {
			stop(b)
		}
	}
	stop(a)
	b, err := start("copy") // there is only one now
	if err != nil {
		t.Fatal(err)
	}
	stop(b)
}
