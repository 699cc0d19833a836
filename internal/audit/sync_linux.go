package audit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dataSync makes what a file holds outlast a loss of power, but not when it was
// written, which costs more.
func dataSync(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for failed = unix.Fdatasync(int(fd)); errors.Is(failed, unix.EINTR); { //nolint:gosec // a descriptor is an int
			failed = unix.Fdatasync(int(fd)) //nolint:gosec // as above
		}
	})
	return errors.Join(err, failed)
}
