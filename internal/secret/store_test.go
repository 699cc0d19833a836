package secret

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
)

func TestStore(t *testing.T) {
	dir := t.TempDir()
	key, path := filepath.Join(dir, "age.key"), filepath.Join(dir, "secrets.json")
	open := func() *Store {
		t.Helper()
		s, err := OpenStore(key, path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if _, err := s.Get("a"); !errors.Is(err, ErrNotSet) {
		t.Errorf("Get from nothing: %v", err)
	}
	if err := s.Delete("a"); !errors.Is(err, ErrNotSet) {
		t.Errorf("Delete from nothing: %v", err)
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("List of nothing: %v, %v", list, err)
	}
	for _, name := range []string{key, path} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made before its need", name)
		}
	}
	before := time.Now().Add(-time.Second)
	for _, v := range [][2]string{{"b", "first"}, {"a", "hunter2 密码\n\x01"}, {"b", "second"}, {"full", strings.Repeat("x", maxFile)}} {
		if err := s.Set(v[0], v[1]); err != nil {
			t.Fatal(err)
		}
	}
	s = open() // by another process
	for name, want := range map[string]string{"a": "hunter2 密码\n\x01", "b": "second", "full": strings.Repeat("x", maxFile)} {
		if got, err := s.Get(name); err != nil || got != want {
			t.Errorf("Get(%s) = %.20q, %v", name, got, err)
		}
	}
	list, err := s.List()
	if err != nil || len(list) != 3 || list[0].Name != "a" || list[1].Name != "b" || list[2].Name != "full" {
		t.Fatalf("List: %v, %v", list, err)
	}
	if set := list[0].Set; set.Before(before) || set.After(time.Now()) || set.Location() != time.UTC {
		t.Errorf("set at %v", set)
	}
	for _, name := range []string{key, path} {
		info, err := os.Stat(name)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil || bytes.Contains(raw, []byte("hunter2")) || bytes.Contains(raw, []byte("second")) {
		t.Errorf("the file shows a value: %v", err)
	}
	if err := s.Delete("b"); err != nil {
		t.Error(err)
	}
	if _, err := open().Get("b"); !errors.Is(err, ErrNotSet) {
		t.Errorf("after Delete: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
	// It is a key of age.
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := age.ParseIdentities(bytes.NewReader(text)); err != nil || len(keys) != 1 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

func TestStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenStore(filepath.Join(dir, "k"), filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"": "x", "a b": "x", "é": "x", "a/b": "x", strings.Repeat("a", 129): "x",
		"empty": "", "large": strings.Repeat("hunter2", maxFile),
	} {
		if err := s.Set(name, value); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Set(%.20q): %v", name, err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestStoreDamaged shows for everything that can be wrong with the two files
// that it is told, with the name of the file, and that neither is touched.
func TestStoreDamaged(t *testing.T) {
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(t *testing.T, key, path string)
		want   string // of each: %[1]s the key, %[2]s the store
	}{
		"cut": {func(t *testing.T, _, path string) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, string(raw[:len(raw)/2]))
		}, "%[2]s cannot be used and is left as it is: it is damaged"},
		"empty":   {func(t *testing.T, _, path string) { write(t, path, "") }, "%[2]s cannot be used and is left as it is: it is damaged"},
		"version": {func(t *testing.T, _, path string) { write(t, path, `{"version":2}`) }, "%[2]s cannot be used and is left as it is: its version is 2"},
		"no key": {func(t *testing.T, key, _ string) {
			if err := os.Remove(key); err != nil {
				t.Fatal(err)
			}
		}, "%[1]s, with which the values of %[2]s are sealed, is missing"},
		"wrong key":   {func(t *testing.T, key, _ string) { write(t, key, other.String()) }, "%[1]s does not fit: the values of %[2]s"},
		"damaged key": {func(t *testing.T, key, _ string) { write(t, key, "AGE-SECRET-KEY-hunter2") }, "%[1]s holds no key"},
		"empty key":   {func(t *testing.T, key, _ string) { write(t, key, "") }, "%[1]s holds no key"},
		"open key": {func(t *testing.T, key, _ string) {
			if runtime.GOOS == "windows" {
				t.Skip("modes say nothing")
			}
			if err := os.Chmod(key, 0o640); err != nil {
				t.Fatal(err)
			}
		}, "others may read the key of the sealed values %[1]s"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			key, path := filepath.Join(dir, "key"), filepath.Join(dir, "store")
			s, err := OpenStore(key, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Set("a", "hunter2"); err != nil {
				t.Fatal(err)
			}
			test.change(t, key, path)
			keyBefore, _ := os.ReadFile(key)
			storeBefore, _ := os.ReadFile(path)

			want := fmt.Sprintf(test.want+"%[3]s", key, path, "")
			_, openErr := OpenStore(key, path)
			_, getErr := s.Get("a")
			for what, err := range map[string]error{"OpenStore": openErr, "Get": getErr, "Set": s.Set("b", "x")} {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s: %v\nwant %s", what, err, want)
				}
			}
			keyAfter, _ := os.ReadFile(key)
			storeAfter, _ := os.ReadFile(path)
			if !bytes.Equal(keyBefore, keyAfter) || !bytes.Equal(storeBefore, storeAfter) {
				t.Error("a file was changed")
			}
		})
	}
}

// TestStoreSwapped is a file in which somebody gave a value another name.
func TestStoreSwapped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	s, err := OpenStore(filepath.Join(dir, "key"), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set("production", "hunter2"); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(raw), "production", "harmless", 1))
	if got, err := s.Get("harmless"); got != "" || err == nil || !strings.Contains(err.Error(), "another name") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStoreConcurrent(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenStore(filepath.Join(dir, "key"), filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := fmt.Sprint("v", i)
			if err := s.Set(name, name); err != nil {
				t.Error(err)
			}
			if got, err := s.Get(name); err != nil || got != name {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	group.Wait()
	if list, err := s.List(); err != nil || len(list) != 8 {
		t.Errorf("%v, %v", list, err)
	}
}

func FuzzStoreFile(f *testing.F) {
	f.Add([]byte(`{"version":1,"recipient":"age1","values":{"a":{"set":"2026-01-01T00:00:00Z","data":"eA=="}}}`))
	f.Add([]byte(`{}`))
	dir := f.TempDir()
	path := filepath.Join(dir, "store")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenStore(filepath.Join(dir, "key"), path); err == nil {
			t.Errorf("a store without its key was opened: %q", raw)
		}
	})
}
