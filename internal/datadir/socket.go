package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// maxSocket is how long the path of a socket may be, in bytes: macOS has room
// for 104 with the final zero byte, Linux and Windows for 108 (unix(7)).
const maxSocket = 103

const socketName = "hub.sock"

// Socket returns the path for the hub's local socket. It is hub.sock in the
// data directory, unless that path is too long for a socket: then it is in a
// directory of its own, in $XDG_RUNTIME_DIR or the system's directory for
// temporary files, whose name follows from the data directory's path. That
// directory is made here, for the user only; one that is there and belongs to
// somebody else, lets others in or is a symbolic link is refused.
func (d *Dir) Socket() (string, error) {
	path := d.join(socketName)
	if len(path) <= maxSocket {
		return path, nil
	}
	base := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(base) {
		base = os.TempDir()
	}
	hash := sha256.Sum256([]byte(d.Path()))
	dir := filepath.Join(base, "toolcrib-"+hex.EncodeToString(hash[:8]))
	if path = filepath.Join(dir, socketName); len(path) > maxSocket {
		return "", fmt.Errorf("the path of the local socket is too long, also as %s; choose a shorter data directory", path)
	}
	if err := makePrivate(dir); err != nil {
		return "", fmt.Errorf("making the directory of the local socket: %w", err)
	}
	return path, nil
}
