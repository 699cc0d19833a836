package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"first, and longer", "second"} {
		if err := atomicfile.WriteBytes(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%q, %v", got, err)
		}
	}
	only(t, dir, "file")
	if runtime.GOOS == "windows" {
		return
	}
	mode(t, path, 0o600)
	if err := atomicfile.Write(path, 0o640, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	mode(t, path, 0o640)
}

// TestFailure leaves the file as it was, and nothing beside it.
func TestFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := atomicfile.WriteBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := atomicfile.Write(path, 0o600, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file holds %q", got)
	}
	only(t, dir, "file")

	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, "directory"), nil); err == nil {
		t.Error("a directory was replaced")
	}
	only(t, dir, "directory", "file")
	other := &fs.PathError{Op: "open", Path: "other", Err: fs.ErrPermission}
	if err := atomicfile.Write(path, 0o600, func(io.Writer) error { return other }); !errors.Is(err, other) {
		t.Errorf("the error of another file became %v", err)
	}
	missing := filepath.Join(dir, "none", "file")
	err = atomicfile.WriteBytes(missing, nil)
	if p, ok := errors.AsType[*fs.PathError](err); !ok || p.Path != missing || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(names) {
		t.Fatalf("%v, %v; want %v", entries, err, names)
	}
	for i, e := range entries {
		if e.Name() != names[i] {
			t.Errorf("%s beside %v", e.Name(), names)
		}
	}
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != want {
		t.Errorf("%v, %v; want mode %o", info.Mode(), err, want)
	}
}
