package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// layout1 makes a directory as a hub of layout 1 has left it.
func layout1(t *testing.T) Layout {
	t.Helper()
	l := Layout(filepath.Join(t.TempDir(), "data"))
	if err := os.Mkdir(l.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"lock": "", "version": "1\n", "index.json": `{"kept":true}`} {
		put(t, l.join(name), content)
	}
	return l
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStepsLeadToVersion(t *testing.T) {
	if got := len(steps()) + 1; got != Version {
		t.Errorf("the steps lead to layout %d, not to %d", got, Version)
	}
}

func TestUpgrade(t *testing.T) {
	for name, before := range map[string]func(Layout) error{
		"as it was left":        func(Layout) error { return nil },
		"by a hub killed":       func(l Layout) error { return os.WriteFile(l.lockFile(), []byte("pid 1\n"), 0o600) },
		"after an interruption": func(l Layout) error { return os.Mkdir(l.join("keys"), 0o700) },
		"while it was written":  func(l Layout) error { return os.WriteFile(l.versionFile()+".part", []byte("2"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			l := layout1(t)
			if err := before(l); err != nil {
				t.Fatal(err)
			}
			d := mustOpen(t, l.Path())
			if got, err := os.ReadFile(l.versionFile()); string(got) != "2\n" {
				t.Errorf("version file: %q, %v", got, err)
			}
			if got, err := os.ReadFile(d.Index()); string(got) != `{"kept":true}` {
				t.Errorf("index: %q, %v", got, err)
			}
			info, err := os.Stat(filepath.Dir(d.SealKey()))
			if err != nil || runtime.GOOS != "windows" && info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("keys: %v, %v", info, err)
			}
			// The same again: nothing is left to do, and what is there stays.
			put(t, d.SealKey(), "key")
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			mustOpen(t, l.Path())
			if got, err := os.ReadFile(d.SealKey()); string(got) != "key" {
				t.Errorf("key: %q, %v", got, err)
			}
		})
	}
}

// A step that fails leaves the version as it was, and the directory free.
func TestUpgradeFails(t *testing.T) {
	for name, spoil := range map[string]func(keys string) error{
		"file": func(keys string) error { return os.WriteFile(keys, nil, 0o600) },
		"link": func(keys string) error { return os.Symlink(t.TempDir(), keys) },
		"open": func(keys string) error { return errors.Join(os.Mkdir(keys, 0o700), os.Chmod(keys, 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && name != "file" {
				t.Skip("file modes say nothing on Windows, and links are not for everybody")
			}
			l := layout1(t)
			if err := spoil(l.join("keys")); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				d, err := Open(l.Path())
				if err == nil {
					closeAtEnd(t, d)
					t.Fatal("it was opened")
				}
				if !strings.Contains(err.Error(), "from layout 1 to 2") || !strings.Contains(err.Error(), l.join("keys")) {
					t.Errorf("error %v, want one that names the step and the place", err)
				}
			}
			if got, err := os.ReadFile(l.versionFile()); string(got) != "1\n" {
				t.Errorf("version file: %q, %v", got, err)
			}
			if err := os.Remove(l.join("keys")); err != nil {
				t.Fatal(err)
			}
			mustOpen(t, l.Path())
		})
	}
}

func TestVersion(t *testing.T) {
	tests := []struct {
		name, content, want string // want is part of the error; empty if none
	}{
		{"known", "2\n", ""},
		{"without line end", "2", ""},
		{"windows line end", "2\r\n", ""},
		{"newer", "3\n", "written by a newer version"},
		{"much newer", "17", "layout 17"},
		{"zero", "0\n", "does not hold a version number"},
		{"negative", "-1\n", "does not hold a version number"},
		{"empty", "", "does not hold a version number"},
		{"text", "one", "does not hold a version number"},
		{"large", strings.Repeat("1", 1<<20), "does not hold a version number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := layout1(t)
			put(t, l.versionFile(), tt.content)
			d, err := Open(l.Path())
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				closeAtEnd(t, d)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			if got, _ := os.ReadFile(l.versionFile()); string(got) != tt.content {
				t.Errorf("the version file was changed to %q", got)
			}
			if _, err := os.Stat(l.join("keys")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a refused directory was changed: %v", err)
			}
			// A refused directory is not kept locked.
			put(t, l.versionFile(), "1\n")
			mustOpen(t, l.Path())
		})
	}
	l := layout1(t)
	put(t, l.versionFile(), "9")
	_, err := Open(l.Path())
	if v, ok := errors.AsType[*VersionError](err); !ok || v.Found != 9 || v.Path != l.Path() {
		t.Errorf("error %#v, want a VersionError with 9", err)
	}
}
