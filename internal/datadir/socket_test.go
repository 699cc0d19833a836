package datadir

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// longDir opens a data directory whose path is too long for a socket in it.
func longDir(t *testing.T) *Dir {
	t.Helper()
	return mustOpen(t, filepath.Join(t.TempDir(), strings.Repeat("d", maxSocket)))
}

// shortDir makes a directory in which a socket has room, unlike those of
// t.TempDir on some systems.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// canListen fails the test unless the path can be a socket's.
func canListen(t *testing.T, path string) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

func TestSocketInTheDirectory(t *testing.T) {
	d := mustOpen(t, filepath.Join(shortDir(t), "d"))
	path, err := d.Socket()
	if want := filepath.Join(d.Path(), "hub.sock"); path != want || err != nil {
		t.Fatalf("Socket() = %q, %v; want %q", path, err, want)
	}
	canListen(t, path)
}

func TestSocketElsewhere(t *testing.T) {
	base := shortDir(t)
	t.Setenv("XDG_RUNTIME_DIR", base)
	d := longDir(t)
	path, err := d.Socket()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if filepath.Dir(dir) != base || len(path) > maxSocket {
		t.Errorf("Socket() = %q", path)
	}
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("its directory: %v, %v", info, err)
	}
	canListen(t, path)
	if again, err := d.Socket(); again != path || err != nil {
		t.Errorf("another time: %q, %v", again, err)
	}
	if other, err := longDir(t).Socket(); other == path || err != nil {
		t.Errorf("of another data directory: %q, %v", other, err)
	}
}

func TestSocketInTemporaryFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the variable is another one")
	}
	base := shortDir(t)
	t.Setenv("XDG_RUNTIME_DIR", "relative")
	t.Setenv("TMPDIR", base)
	path, err := longDir(t).Socket()
	if filepath.Dir(filepath.Dir(path)) != base || err != nil {
		t.Errorf("Socket() = %q, %v", path, err)
	}
}

func TestSocketHasNoRoom(t *testing.T) {
	base := filepath.Join(t.TempDir(), strings.Repeat("r", maxSocket))
	t.Setenv("XDG_RUNTIME_DIR", base)
	if path, err := longDir(t).Socket(); err == nil || !strings.Contains(err.Error(), "shorter data directory") {
		t.Errorf("Socket() = %q, %v", path, err)
	}
	if _, err := os.Stat(base); err == nil {
		t.Error("directories were made in vain")
	}
}

// In a directory for everybody's temporary files anybody can be there first.
func TestSocketDirectoryIsSomebodyElses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes say nothing on Windows, and links are not for everybody")
	}
	for name, plant := range map[string]func(dir string) error{
		"link": func(dir string) error { return os.Symlink(t.TempDir(), dir) },
		"file": func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"open": func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chmod(dir, 0o711)
		},
		"owner": func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chown(dir, 12345, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "owner" && os.Geteuid() != 0 {
				t.Skip("only the superuser can give directories away")
			}
			t.Setenv("XDG_RUNTIME_DIR", shortDir(t))
			d := longDir(t)
			path, err := d.Socket()
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(path)
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			if err := plant(dir); err != nil {
				t.Fatal(err)
			}
			if path, err := d.Socket(); err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("Socket() = %q, %v", path, err)
			}
		})
	}
}
