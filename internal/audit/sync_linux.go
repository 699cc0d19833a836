package audit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dataSync makes what a file holds outlast a loss of power, but not when it was
// written, which costs more.
func dataSync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
