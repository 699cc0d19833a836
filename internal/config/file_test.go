package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func openFile(t *testing.T, path string) *File {
	t.Helper()
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "config.json")
	f := openFile(t, path)
	if f.Exists() || f.ETag() != "" || len(f.Text()) != 0 || f.Path() != path {
		t.Fatalf("a missing file: %q, %q", f.ETag(), f.Text())
	}
	etag, err := f.Write([]byte("one"), "")
	if err != nil || etag != f.ETag() || etag != ETag([]byte("one")) || !f.Exists() {
		t.Fatalf("%q, %v", etag, err)
	}
	if len(etag) != 34 || etag[0] != '"' || etag[33] != '"' {
		t.Errorf("ETag %s", etag)
	}
	if runtime.GOOS != "windows" {
		if mode := modeOf(t, path); mode != 0o600 {
			t.Errorf("a new file has the mode %v", mode)
		}
		if mode := modeOf(t, filepath.Dir(path)); mode != 0o700 {
			t.Errorf("a new directory has the mode %v", mode)
		}
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Write([]byte("two"), etag); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && modeOf(t, path) != 0o640 {
		t.Errorf("the mode became %v", modeOf(t, path))
	}
	again := openFile(t, path)
	if string(again.Text()) != "two" || again.ETag() != f.ETag() {
		t.Errorf("%q", again.Text())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestFileStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, path)
	refused := func(ifMatch string) {
		t.Helper()
		before, _ := os.ReadFile(path)
		if _, err := f.Write([]byte("mine"), ifMatch); !hub.IsCode(err, message.ConfigStale) {
			t.Errorf("%q: %v", ifMatch, err)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%q was written nevertheless: %q", ifMatch, after)
		}
	}
	refused("")
	refused(`"0"`)
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(f.ETag())
	refused(ETag([]byte("theirs"))) // nobody has read that through f
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused(f.ETag())

	missing := openFile(t, path)
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Write([]byte("mine"), ""); !hub.IsCode(err, message.ConfigStale) {
		t.Errorf("a file that came meanwhile: %v", err)
	}
}

func TestFileSymlink(t *testing.T) {
	dir := t.TempDir()
	target, hop, link := filepath.Join(dir, "real", "config.json"), filepath.Join(dir, "hop"), filepath.Join(dir, "config.json")
	if err := os.Symlink(filepath.Join("real", "config.json"), hop); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := os.Symlink(hop, link); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, link) // its end is missing yet
	etag, err := f.Write([]byte("one"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("two"), etag); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "two" {
		t.Errorf("%q, %v", got, err)
	}
	for _, path := range []string{hop, link} {
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", path, err)
		}
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(loop); !hub.IsCode(err, message.ConfigUnreadable) {
		t.Errorf("a loop: %v", err)
	}
}

func TestFileUnwritable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, []byte("one"), 0o400); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, path)
	_, err := f.Write([]byte("two"), f.ETag())
	if e := hub.AsError(err); e == nil || e.Code != message.ConfigUnwritable || e.Args["path"] != path || e.Args["detail"] != "it is read-only" {
		t.Errorf("a read-only file: %v", err)
	}
	blocked := openFile(t, filepath.Join(dir, "none.json"))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := blocked.Write([]byte("x"), ""); err == nil {
		t.Error("a directory that became a file was written to")
	}
	if _, err := OpenFile(t.TempDir()); !hub.IsCode(err, message.ConfigUnreadable) {
		t.Errorf("a directory: %v", err)
	}
}

// TestFileRace has many writers of one File. Each of those who are told that
// they have written really has, and readers see whole texts only.
func TestFileRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	f := openFile(t, path)
	const writers, turns = 4, 25
	text := func(writer, turn int) string {
		return strings.Repeat(fmt.Sprintf("%d.%d ", writer, turn), 1000)
	}
	if _, err := f.Write([]byte(text(writers, 0)), ""); err != nil {
		t.Fatal(err)
	}
	var wrote sync.Map
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for turn := range turns {
				etag := f.ETag()
				_, err := f.Write([]byte(text(w, turn)), etag)
				switch {
				case err == nil:
					if _, again := wrote.LoadOrStore(etag, w); again {
						t.Errorf("two have followed %s", etag)
					}
				case !hub.IsCode(err, message.ConfigStale):
					t.Error(err)
				}
				raw, err := os.ReadFile(path)
				if first, _, _ := strings.Cut(string(raw), " "); err != nil || string(raw) != strings.Repeat(first+" ", 1000) {
					t.Errorf("half a text was read: %.20q, %v", raw, err)
				}
			}
		})
	}
	group.Wait()
	if raw, err := os.ReadFile(path); err != nil || ETag(raw) != f.ETag() {
		t.Errorf("what was told last is not what there is: %v", err)
	}
}
