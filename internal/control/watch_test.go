package control_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

const inForce = "the configuration file was changed and is in force"

// watch has the file watched until the test ends.
func (s *shop) watch(watch func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch(ctx)
	}()
	s.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// told is the first line of the log with the text from now on.
func (s *shop) told(text string) string {
	s.t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case line := <-s.log:
			if strings.Contains(line, text) {
				return line
			}
		case <-late:
			s.t.Fatalf("nobody tells %q", text)
		}
	}
}

// silent fails the test if the log has a line with the text by now.
func (s *shop) silent(text string) {
	s.t.Helper()
	for {
		select {
		case line := <-s.log:
			if strings.Contains(line, text) {
				s.t.Errorf("told %q", line)
			}
		default:
			return
		}
	}
}

func (s *shop) wantKeys(want ...string) {
	s.t.Helper()
	if got := s.keys(); !slices.Equal(got, want) {
		s.t.Errorf("the fleet has %q, want %q", got, want)
	}
}

// one is a file with one server.
func one(key string) string { return `{"mcpServers":{"` + key + `":{"command":"x"}}}` }

// However an editor writes the file, and wherever it is, what it says is in
// force soon.
func TestWatch(t *testing.T) {
	put := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	swap := func(t *testing.T, target, path string) { // as a link in place of another, at once
		t.Helper()
		if err := os.Symlink(target, path+".next"); err != nil {
			t.Skipf("NOT RUN: no symbolic links: %v", err)
		}
		if err := os.Rename(path+".next", path); err != nil {
			t.Fatal(err)
		}
	}
	for name, way := range map[string]struct {
		before, after func(t *testing.T, dir, path string)
	}{
		"written in place": {
			func(t *testing.T, _, path string) { put(t, path, one("a")) },
			func(t *testing.T, _, path string) { put(t, path, one("next")) },
		},
		"renamed over": {
			func(t *testing.T, _, path string) { put(t, path, one("a")) },
			func(t *testing.T, _, path string) {
				put(t, path+"~", one("next"))
				if err := os.Rename(path+"~", path); err != nil {
					t.Fatal(err)
				}
			},
		},
		"set aside and written anew": {
			func(t *testing.T, _, path string) { put(t, path, one("a")) },
			func(t *testing.T, _, path string) {
				if err := os.Rename(path, path+"~"); err != nil {
					t.Fatal(err)
				}
				put(t, path, one("next"))
			},
		},
		"in a folder that takes no file": {
			func(t *testing.T, _, path string) {
				put(t, path, one("a"))
				if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o700) })
			},
			func(t *testing.T, _, path string) { put(t, path, one("next")) },
		},
		"not there before": {
			func(t *testing.T, _, path string) { put(t, path+".other", "") },
			func(t *testing.T, _, path string) { put(t, path, one("next")) },
		},
		"nor its folders": {
			func(*testing.T, string, string) {},
			func(t *testing.T, _, path string) { put(t, path, one("next")) },
		},
		"in a folder that is another one by then": {
			func(t *testing.T, _, path string) { put(t, path, one("a")) },
			func(t *testing.T, _, path string) {
				folder := filepath.Dir(path)
				if err := os.Rename(folder, folder+".old"); err != nil {
					t.Fatal(err)
				}
				put(t, path, one("next"))
			},
		},
		"behind a link": {
			func(t *testing.T, dir, path string) {
				put(t, path+".other", "")
				put(t, filepath.Join(dir, "elsewhere", "real.json"), one("a"))
				swap(t, filepath.Join(dir, "elsewhere", "real.json"), path)
			},
			func(t *testing.T, dir, _ string) { put(t, filepath.Join(dir, "elsewhere", "real.json"), one("next")) },
		},
		"as Kubernetes does": {
			func(t *testing.T, _, path string) {
				folder := filepath.Dir(path)
				put(t, filepath.Join(folder, "..1", "config.json"), one("a"))
				swap(t, "..1", filepath.Join(folder, "..data"))
				swap(t, filepath.Join("..data", "config.json"), path)
			},
			func(t *testing.T, _, path string) {
				folder := filepath.Dir(path)
				put(t, filepath.Join(folder, "..2", "config.json"), one("next"))
				swap(t, "..2", filepath.Join(folder, "..data"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && strings.Contains(name, "folder") {
				t.Skip("NOT RUN: Windows has no modes of folders, and renames none that is watched")
			}
			dir := t.TempDir()
			s := &shop{t: t, path: filepath.Join(dir, "x", "y", "config.json")}
			way.before(t, dir, s.path)
			s.start(dir)
			s.watch(func(ctx context.Context) { _ = s.Watch(ctx) })
			way.after(t, dir, s.path)
			s.told(inForce)
			s.wantKeys("next")
		})
	}
}

// glanced is a shop in a bubble, with this file, which is looked at every few
// seconds.
func glanced(t *testing.T, text string) *shop {
	t.Helper()
	s := open(t, text)
	s.watch(s.WatchByGlances)
	s.later()
	s.silent(inForce)
	return s
}

// later is when the file has been looked at once more.
func (s *shop) later() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

// A file that cannot be used changes nothing, which is told once for each text.
func TestWatchBadFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := glanced(t, one("a"))
		for _, bad := range []string{"{\n \"mcpServers\": 1}", "{\n\n", ""} {
			s.write(bad)
			s.later()
			if line := s.told("not in force"); !strings.HasPrefix(line, "ERROR") || !strings.Contains(line, "config.json:") {
				t.Errorf("told %q", line)
			}
			if src := s.Source(); !hub.IsCode(src.Fault, message.ConfigInvalid) {
				t.Errorf("the fault is %v", src.Fault)
			}
			s.later()
			if err := os.Chtimes(s.path, time.Time{}, time.Now()); err != nil {
				t.Fatal(err)
			}
			s.later()
			s.silent("")
		}
		s.wantKeys("a")
		if n := s.written.Load(); n != 0 {
			t.Errorf("%d times what cannot be used was put in force", n)
		}
		s.write(one("other"))
		s.later()
		if n := s.written.Load(); n != 1 {
			t.Errorf("%d times what was written was put in force", n)
		}
		if line := s.told(inForce); !strings.Contains(line, "added=1 changed=0 removed=1") {
			t.Errorf("told %q", line)
		}
		if src := s.Source(); src.Fault != nil {
			t.Errorf("the fault is still %v", src.Fault)
		}
		s.wantKeys("other")
	})
}

// A text that is written slowly is read once more before it is called bad.
func TestWatchHalfWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := glanced(t, one("a"))
		half := func(text string) {
			time.Sleep(4900 * time.Millisecond) // a moment before the next look
			s.write(text[:len(text)/2])
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			s.silent("not in force") // though it has been read
		}
		half(one("stays"))
		time.Sleep(600 * time.Millisecond)
		synctest.Wait()
		s.told("not in force")
		s.wantKeys("a")

		time.Sleep(4 * time.Second) // to the look after that
		half(one("complete"))
		s.write(one("complete"))
		s.later()
		s.silent("not in force")
		s.wantKeys("complete")
	})
}

// What the hub has written itself, and what is the same as before, is nothing
// new.
func TestWatchNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := glanced(t, one("a"))
		s.add("b", `{"command":"b"}`)
		s.later()
		text := s.text()
		if err := os.Remove(s.path); err != nil {
			t.Fatal(err)
		}
		s.write(text) // another file with the same text
		s.later()
		s.silent(inForce)
		s.wantKeys("a", "b")
	})
}

// A file that is removed ends no server; who asks for it to be read again, or
// writes another, has its way.
func TestWatchRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := glanced(t, one("a"))
		text := s.text()
		gone := func() {
			if err := os.Remove(s.path); err != nil {
				t.Fatal(err)
			}
			s.later()
			if line := s.told("not in force"); !strings.Contains(line, "removed") {
				t.Errorf("told %q", line)
			}
			s.later()
			s.silent("not in force")
			wantCode(t, s.Source().Fault, message.ConfigUnreadable)
			s.wantKeys("a")
		}
		gone()
		_, err := s.Add("b", []byte(`{"command":"b"}`))
		wantCode(t, err, message.ConfigUnreadable)
		s.wantText("")
		s.wantKeys("a")

		s.write(text)
		s.later()
		s.told(inForce)
		if fault := s.Source().Fault; fault != nil {
			t.Errorf("the fault is still %v", fault)
		}

		gone()
		if _, err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		s.wantKeys()
		s.later()
		s.silent("not in force")
		s.add("b", `{"command":"b"}`)
		s.wantKeys("b")
	})
}

// Of two hundred servers only the one that changed hears of it.
func TestWatchTouchesOnlyWhatChanged(t *testing.T) {
	const all, running = 200, 6
	entry := faultServer(t, `"env":{"K":"1"}`)
	file := func(changed int) string {
		var entries []string
		for i := range all {
			one := entry
			if i == changed {
				one = strings.Replace(entry, `"1"`, `"2"`, 1)
			}
			entries = append(entries, fmt.Sprintf(`"s%d":%s`, i, one))
		}
		return `{"mcpServers":{` + strings.Join(entries, ",\n") + `}}`
	}
	s := open(t, file(-1))
	before := make(map[string]hub.Status)
	for i := range running {
		key := fmt.Sprintf("s%d", i)
		if err := s.Start(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		v, err := s.Server(key)
		if err != nil {
			t.Fatal(err)
		}
		before[key] = v.Status
	}
	events := s.bus.Subscribe(10_000)
	defer events.Close()
	s.watch(func(ctx context.Context) { _ = s.Watch(ctx) })
	s.write(file(2))
	if line := s.told(inForce); !strings.Contains(line, "added=0 changed=1 removed=0") {
		t.Errorf("told %q", line)
	}
	if err := s.Start(t.Context(), "s2"); err != nil {
		t.Fatal(err)
	}
	heard := 0
	for done := false; !done; {
		select {
		case e := <-events.C():
			if changed, ok := e.(hub.ServerChanged); ok {
				heard++
				if changed.Status.Key != "s2" {
					t.Errorf("%s is %s", changed.Status.Key, changed.Status.State)
				}
			}
		default:
			done = true
		}
	}
	if heard == 0 {
		t.Error("the one that changed has heard nothing")
	}
	for key, was := range before {
		v, err := s.Server(key)
		if err != nil {
			t.Fatal(err)
		}
		if changed := v.Status.PID != was.PID; changed != (key == "s2") {
			t.Errorf("%s had the process %d and has %d", key, was.PID, v.Status.PID)
		}
	}
}

// What is foretold of a change is what the fleet does.
func TestRestartedIsWhatRestarts(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":`+faultServer(t, `"env":{"K":"v"}`)+`}}`)
	a, err := s.Server("a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[hub.Server]().NumField() {
		name := reflect.TypeFor[hub.Server]().Field(i).Name
		if name == "Key" || name == "Order" || name == "Enabled" {
			continue
		}
		was, is := a.Definition, a.Definition
		alter(reflect.ValueOf(&is).Elem().Field(i))
		s.fleet.Apply([]hub.Server{was}, nil)
		if err := s.fleet.Start(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		s.fleet.Apply([]hub.Server{is}, nil)
		restarts := s.fleet.Status()[0].State != hub.StateReady
		c := config.Diff(&config.Config{Servers: []hub.Server{was}}, &config.Config{Servers: []hub.Server{is}})
		if foretold := len(c.Restarted) > 0; len(c.Changed) != 1 || foretold != restarts {
			t.Errorf("%s: foretold %v, and it restarts: %v", name, foretold, restarts)
		}
	}
}

// alter makes another value of one.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "-other")
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		alter(v.Field(0))
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.Zero(v.Type().Elem()))
		v.Set(m)
	default:
		v.SetInt(v.Int() + 1)
	}
}
