package store_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

// smallDisk is a disk of few bytes, for the user given.
func smallDisk(t *testing.T, uid, gid uint32) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "toolcrib-disk-") // where another user gets to
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); errors.Is(err, syscall.EPERM) {
		t.Skip("NOT TESTED ON A FULL DISK: only an administrator may mount one")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(os.Chown(dir, int(uid), int(gid)), os.Chmod(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFullDisk: a disk that is full. When there is room again, all goes on.
func TestFullDisk(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		dir := smallDisk(t, uint32(os.Geteuid()), uint32(os.Getegid()))
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 100<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		db := storetest.Open(t, store.Options{Path: filepath.Join(dir, "toolcrib.db")})
		write(t, db, store.Disk, "CREATE TABLE thing (id TEXT PRIMARY KEY)")
		wantFull(t, db)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if err := add(db, "later"); err != nil {
			t.Errorf("with room again: %v", err)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		opt := storetest.PostgreSQL(t)
		u, err := url.Parse(opt.URL)
		if err != nil {
			t.Fatal(err)
		}
		var owner syscall.Stat_t
		if err := syscall.Stat(u.Query().Get("host"), &owner); err != nil {
			t.Fatal(err)
		}
		dir := smallDisk(t, owner.Uid, owner.Gid)
		db := storetest.Open(t, opt)
		for _, s := range []string{"CREATE TABLESPACE small LOCATION '" + dir + "'", "CREATE TABLE thing (id TEXT) TABLESPACE small"} {
			if _, err := db.Exec(s); err != nil { // not in a transaction
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			for _, s := range []string{"DROP TABLE thing", "DROP TABLESPACE small"} {
				if _, err := db.Exec(s); err != nil {
					t.Error(err)
				}
			}
		})
		wantFull(t, db)
	})
}
