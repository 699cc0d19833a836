//go:build unix

package transport

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// instant writes to a pipe what fits in without a wait.
type instant struct {
	conn syscall.RawConn
	try  func(fd uintptr) bool // made once: a new one for each write costs an allocation

	// The write that try is to make, and its outcome.
	buf  []byte
	sent int
	err  error
}

// newInstant returns nil for a writer that cannot be written to without
// waiting, such as a standard output that is in blocking mode.
func newInstant(w io.Writer) *instant {
	file, ok := w.(*os.File)
	if !ok || file.SetWriteDeadline(time.Time{}) != nil {
		return nil
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	i := &instant{conn: conn}
	i.try = func(fd uintptr) bool {
		for {
			i.sent, i.err = syscall.Write(int(fd), i.buf)
			if !errors.Is(i.err, syscall.EINTR) {
				return true // also when the pipe is full: do not wait
			}
		}
	}
	return i
}

// write returns how many bytes of b went out; fewer than all is no error.
func (i *instant) write(b []byte) (int, error) {
	i.buf, i.sent, i.err = b, 0, nil
	if err := i.conn.Write(i.try); err != nil {
		return 0, err
	}
	if errors.Is(i.err, syscall.EAGAIN) {
		return 0, nil
	}
	return max(0, i.sent), os.NewSyscallError("write", i.err)
}
