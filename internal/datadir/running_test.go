package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPeek(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	wantHeld := func(want int) {
		t.Helper()
		held, pid, err := Peek(path)
		if held != (want != 0) || pid != want || err != nil {
			t.Errorf("Peek: %v, %d, %v; want process %d", held, pid, err, want)
		}
	}
	wantHeld(0)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a look made the directory: %v", err)
	}

	cmd, in := startHolder(t, path)
	wantHeld(cmd.Process.Pid)
	wantHeld(cmd.Process.Pid) // the look has not disturbed it
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	wantHeld(0)

	cmd, _ = startHolder(t, path)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wantHeld(0) // though the lock file names a process

	d := mustOpen(t, path)
	wantHeld(os.Getpid())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	wantHeld(0)
}

func TestPeekRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	mustOpen(t, "data")
	if held, _, err := Peek("data"); !held || err != nil {
		t.Errorf("Peek: %v, %v", held, err)
	}
}

// Those who look must not be taken for a holder.
func TestPeekKeepsNobodyOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	mustOpen(t, path).Close()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, _, err := Peek(path); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 100 {
		d, err := Open(path)
		if err != nil {
			t.Error(err)
			break
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

func TestHubFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	d := mustOpen(t, path)
	if _, err := ReadHub(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it serves: %v", err)
	}
	want := HubInfo{
		PID: os.Getpid(), URL: "http://127.0.0.1:8080", Socket: filepath.Join(path, "hub.sock"),
		Version: "1.2.3", Started: time.Now().UTC().Truncate(time.Second),
	}
	for range 2 { // the second replaces the first
		if err := d.WriteHub(want); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadHub(path); got != want || err != nil {
			t.Errorf("ReadHub: %+v, %v; want %+v", got, err, want)
		}
		want.URL = ""
	}
	if info, err := os.Stat(d.HubFile()); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("hub.json: %v, %v", info, err)
	}
	for range 2 { // the second has nothing to do
		if err := d.RemoveHub(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadHub(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after it has served: %v", err)
	}

	// What a killed hub leaves is gone as soon as the next one has the directory.
	if err := errors.Join(d.WriteHub(want), d.Close()); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
	if _, err := ReadHub(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the next start: %v", err)
	}
}

func TestReadHubRefuses(t *testing.T) {
	l := layout1(t)
	for _, content := range []string{
		"", "{", "null", "[]", `"x"`, `{"pid":0,"url":"http://127.0.0.1"}`, `{"pid":7}`, `{"pid":"7","url":"http://127.0.0.1"}`,
		`{"pid":7,"url":"` + strings.Repeat("a", 1<<20) + `"}`,
	} {
		put(t, l.HubFile(), content)
		info, err := ReadHub(l.Path())
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), l.HubFile()) {
			t.Errorf("%.40q: %+v, %v", content, info, err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	put(t, l.HubFile(), `{"pid":7,"url":"http://127.0.0.1:1"}`)
	if err := os.Chmod(l.Path(), 0o777); err != nil {
		t.Fatal(err)
	}
	if info, err := ReadHub(l.Path()); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a directory that everybody may write says %+v, %v", info, err)
	}
}

func FuzzReadHub(f *testing.F) {
	f.Add([]byte(`{"pid":7,"url":"http://127.0.0.1:1","socket":"/x","version":"1","started":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"pid":1e400}`))
	f.Add([]byte(`null`))
	dir := f.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		put(t, Layout(dir).HubFile(), string(content))
		info, err := ReadHub(dir)
		if err != nil && info != (HubInfo{}) || err == nil && (info.PID <= 0 || info.URL+info.Socket == "") {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// FuzzHolder reads lock files with any content.
func FuzzHolder(f *testing.F) {
	for _, s := range []string{"", "pid 7\nsince 2026", "pid -1", "pid 99999999999999999999", "pid \npid 3"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		name := filepath.Join(dir, "lock")
		put(t, name, content)
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if pid := holder(file); pid < 0 || pid > 0 && !strings.Contains(content, fmt.Sprint(pid)) {
			t.Errorf("%q: process %d", content, pid)
		}
	})
}
