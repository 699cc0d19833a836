package secret

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestSeal(t *testing.T) {
	dir := t.TempDir()
	store := func(name string) *Store {
		s, err := OpenStore(filepath.Join(dir, name+".key"), filepath.Join(dir, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b, c := store("a"), store("b"), store("c")
	if _, err := a.Unseal([]byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.key")); err == nil {
		t.Error("Unseal has made a key")
	}
	plain := []byte("hunter2 密码")
	own, err := a.Seal(plain)
	if err != nil || bytes.Contains(own, plain) {
		t.Fatalf("%q, %v", own, err)
	}
	if got, err := store("a").Unseal(own); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%q, %v", got, err)
	}
	// The key is the one of the values that are sealed later.
	if err := a.Set("x", "y"); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Unseal(own); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%q, %v", got, err)
	}
	of, err := b.Recipient()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Unseal(own); !errors.Is(err, ErrForeign) {
		t.Errorf("another's: %v", err)
	}
	both, err := a.SealFor(plain, of, of)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{a, b} {
		if got, err := s.Unseal(both); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := c.Recipient(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Unseal(both); !errors.Is(err, ErrForeign) {
		t.Errorf("a third one: %v", err)
	}
	both[len(both)-1]++
	if got, err := b.Unseal(both); err == nil {
		t.Errorf("damaged: %q", got)
	}
	if _, err := a.SealFor(plain, "age1hunter2"); err == nil || bytes.Contains([]byte(err.Error()), []byte("hunter2")) {
		t.Errorf("for nobody: %v", err)
	}
}
