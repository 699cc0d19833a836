package app_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// A record that cannot be written is told of wherever one looks for what is
// wrong, for as long as that is so; the hub is ready all the same.
func TestUnwritableRecordIsTold(t *testing.T) {
	dir := t.TempDir()
	a, err := app.New(t.Context(), app.Options{
		Config: filepath.Join(dir, "toolcrib.json"), Listen: "127.0.0.1:0", DataDir: filepath.Join(dir, "data"), Version: "v1",
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "data", "toolcrib.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	change := func(statement string) {
		t.Helper()
		if err := db.Tx(t.Context(), store.Process, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	call := func() {
		t.Helper()
		body := strings.NewReader(`{"tool":"calculator__calculator","arguments":{"expression":"6*7"}}`)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/api/v1/calls", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		get(t, client, a.URL()+"/api/v1/calls") // has what waits written
	}
	type taken struct{ Code, Reason, Remedy string }
	type record struct {
		Up    bool
		Taken *taken
		taken
	}
	var status struct{ Record *record }
	var ready struct {
		Status string
		Record *record
	}
	look := func() {
		t.Helper()
		status.Record, ready.Record = nil, nil
		for _, err := range []error{
			json.Unmarshal([]byte(get(t, client, a.URL()+"/api/v1/status")), &status),
			json.Unmarshal([]byte(get(t, client, a.URL()+"/readyz")), &ready),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	until := func(up bool) {
		t.Helper()
		for range 100 { // each has what waits written
			if look(); status.Record != nil && status.Record.Up == up {
				return
			}
			get(t, client, a.URL()+"/api/v1/calls")
		}
		t.Fatalf("the record is %+v", status.Record)
	}
	call()
	if look(); status.Record == nil || !status.Record.Up || ready.Record != nil {
		t.Errorf("while all is well: %+v, %+v", status, ready)
	}
	change("ALTER TABLE audit_entry RENAME TO elsewhere")
	call()
	until(false)
	if status.Record.Reason == "" || ready.Record == nil || ready.Record.Up || ready.Status == "" {
		t.Errorf("/readyz has %+v, %+v", ready, ready.Record)
	}
	change("ALTER TABLE elsewhere RENAME TO audit_entry")
	until(true)
	if status.Record.Reason != "" || ready.Record != nil {
		t.Errorf("/readyz still has %+v", ready.Record)
	}

	// So is one that another hub writes as well, by a hub that is ready all the same.
	rig.Await(t, "the hub is ready", func() bool { look(); return ready.Status == "ready" })
	a.NodeHeld(false)
	if look(); ready.Record == nil || !ready.Record.Up || ready.Record.Code != string(message.AuditNodeTaken) || ready.Record.Remedy == "" || ready.Status != "ready" {
		t.Errorf("/readyz has %+v, %+v", ready, ready.Record)
	}
	if got := status.Record.Taken; got == nil || *got != ready.Record.taken || !status.Record.Up {
		t.Errorf("the status has %+v", status.Record)
	}
	a.NodeHeld(true)
	if look(); ready.Record != nil || status.Record.Taken != nil {
		t.Errorf("they still have %+v, %+v", ready.Record, status.Record)
	}
}
