//go:build !windows

package auth

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What another user owns he can read and change, whatever its mode.
func TestSomebodyElsesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owner := os.Geteuid()
	if owner == 0 {
		owner = 23456
		if err := os.Chown(path, owner, -1); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[int]string{0: "", owner: "", owner + 1: fmt.Sprintf("owner %d", owner)} {
		if got := exposureTo(user, info); got != want {
			t.Errorf("to user %d: %q, want %q", user, got, want)
		}
	}
}
