package catalog_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// disk mounts a small file system of its own. Without the right to, the test
// is left out.
func disk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no room in a directory's file system, until the file that it
// returns is removed.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "fill")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return path
}

// On a disk that is full or read-only nothing is lost but what could not be
// saved: the lists go on, the file of before is whole, there is one line in the
// log, and it is saved when it can be.
func TestDiskThatCannotBeWrittenTo(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string) (mend func() error){
		"full": func(t *testing.T, dir string) func() error {
			path := fill(t, dir)
			return func() error { return os.Remove(path) }
		},
		"read-only": func(t *testing.T, dir string) func() error {
			remount := func(flags uintptr) error { return syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, "") }
			if err := remount(syscall.MS_RDONLY); err != nil {
				t.Fatal(err)
			}
			return func() error { return remount(0) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := disk(t)
			path := filepath.Join(dir, "index.json")
			var log record
			synctest.Test(t, func(t *testing.T) {
				c := open(t, catalog.Options{IndexPath: path, Log: log.logger()})
				defer run(t, c)()
				c.SetServers([]hub.Server{server("a"), server("b")})
				c.Replace(server("a"), offer(t, "x"))
				settle := func() {
					time.Sleep(time.Second)
					synctest.Wait()
				}
				settle()
				before, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				mend := spoil(t, dir)
				for i := range 3 {
					c.Replace(server("b"), offer(t, fmt.Sprint("y", i)))
					settle()
				}
				if text, err := os.ReadFile(path); err != nil || string(text) != string(before) {
					t.Errorf("the index is %q, %v", text, err)
				}
				if got := exposed(c.Snapshot()); strings.Join(got, " ") != "a__x b__y2" {
					t.Errorf("listed %q", got)
				}
				if n := log.lines("could not be saved"); n != 1 {
					t.Errorf("%d lines in the log:\n%s", n, log.text.String())
				}
				if err := mend(); err != nil {
					t.Fatal(err)
				}
				c.Replace(server("b"), offer(t, "z"))
				settle()
				if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"z"`) {
					t.Errorf("the index is %q, %v", text, err)
				}
				if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
					t.Errorf("left behind: %v, %v", files, err)
				}
			})
		})
	}
}

// The same where no file may grow, for which nobody needs to be root: in a
// process of its own, which it would else hold for good.
func TestFileSizeLimit(t *testing.T) {
	const inChild = "CATALOG_FILE_SIZE_LIMIT"
	if os.Getenv(inChild) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestFileSizeLimit$", "-test.v")
		child.Env = append(os.Environ(), inChild+"=1")
		if text, err := child.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS: TestFileSizeLimit") {
			t.Fatalf("%v\n%s", err, text)
		}
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "index.json")
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000}); err != nil {
		t.Fatal(err)
	}
	var log record
	c := open(t, catalog.Options{IndexPath: path, Log: log.logger()})
	stop := run(t, c)
	c.SetServers([]hub.Server{server("a")})
	c.Replace(server("a"), offer(t, names("x", 100)...))
	stop()
	if n := log.lines("could not be saved"); n != 1 || !strings.Contains(log.text.String(), "file too large") {
		t.Errorf("%d lines in the log:\n%s", n, log.text.String())
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	if got := exposed(c.Snapshot()); len(got) != 100 {
		t.Errorf("listed %q", got)
	}
}
