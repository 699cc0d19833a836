//go:build !windows

package httpd_test

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Whatever the process allows others, a socket is for its owner.
func TestSocketMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := socketPath(t)
	ln := listenSocket(t, path)
	defer ln.Close()
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A link in the socket's place is not followed, neither to remove nor to bind.
func TestSocketLink(t *testing.T) {
	victim, path := socketPath(t), socketPath(t)
	theirs, err := net.Listen("unix", victim)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	for _, target := range []string{victim, victim + ".missing"} {
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		if _, err := httpd.ListenSocket(t.Context(), path); !hub.IsCode(err, message.SocketUnusable) {
			t.Errorf("a link to %s: %v", target, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(victim); err != nil {
		t.Errorf("the other socket: %v", err)
	}
}
