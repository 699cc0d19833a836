//go:build !windows

package auth_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/message"
)

func TestExposed(t *testing.T) {
	for mode, exposed := range map[fs.FileMode]bool{
		0o600: false, 0o400: false, 0o700: false,
		0o640: true, 0o604: true, 0o620: true, 0o602: true, 0o644: true, 0o610: true, 0o601: true,
	} {
		t.Run(fmt.Sprintf("%04o", mode), func(t *testing.T) {
			dir := t.TempDir()
			path := callerPath(dir)
			write(t, path, ownToken, mode)
			for _, call := range []func() error{
				func() error { _, err := open(dir); return err },
				func() error { _, err := auth.ReadToken(path); return err },
			} {
				err := call()
				if !exposed {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				wantCode(t, err, message.TokenExposed, path)
				if want := fmt.Sprintf("mode %04o", mode); !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q in it", err, want)
				}
			}
		})
	}
}

// Somebody else's token must not become ours, nor be ours written to a place
// of his choice, nor a start wait for him.
func TestWhatIsNoFile(t *testing.T) {
	for name, plant := range map[string]func(path, elsewhere string) error{
		"link":          func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
		"dangling link": func(path, elsewhere string) error { return os.Symlink(elsewhere+".missing", path) },
		"directory":     func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"pipe":          func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "token")
			write(t, elsewhere, ownToken, 0o600)
			if err := plant(adminPath(dir), elsewhere); err != nil {
				t.Fatal(err)
			}
			_, err := open(dir)
			wantCode(t, err, message.TokenUnusable, adminPath(dir))
			if _, err := os.Lstat(elsewhere + ".missing"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a token was written where a link leads: %v", err)
			}
			_, err = auth.ReadToken(adminPath(dir))
			wantCode(t, err, message.TokenUnusable, adminPath(dir))
		})
	}
}
