package httpd

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Listen opens the address, a host and a port. Other addresses than those of
// the loopback are allowed only if open, which is to say that the server
// demands a token of everybody: who reaches the listener may else call every
// tool (design D8). The error is a [*hub.Error].
func Listen(ctx context.Context, address string, open bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, hub.E(message.ListenInvalid, err, "address", address).With("detail", message.Say("host:port is expected"))
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return nil, hub.E(message.ListenInvalid, err, "address", address).With("detail", message.Say("the port has to be a number from 0 to 65535"))
	}
	if !isLoopback(host) && !open {
		return nil, hub.E(message.ListenRefused, nil, "address", address)
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1" // not whatever a resolver says
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, hub.E(message.ListenTaken, err, "address", address)
	}
	if err != nil {
		return nil, hub.E(message.ListenInvalid, err, "address", address).With("detail", message.Cause(err))
	}
	return ln, nil
}

// ListenSocket opens a Unix socket that only the user of this process can
// reach. A socket that is there already is taken for one that a killed hub has
// left and is removed: the caller holds what keeps two hubs from having the
// same path, the lock of the data directory. Anything else in its place is
// left alone. Closing the listener removes the socket. The error is a
// [*hub.Error].
func ListenSocket(ctx context.Context, path string) (net.Listener, error) {
	ln, err := listenSocket(ctx, path)
	if err != nil {
		return nil, hub.E(message.SocketUnusable, err, "path", path).With("detail", message.Cause(err))
	}
	return ln, nil
}

func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, errors.New("what is there is no socket")
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	ln, err := (&net.ListenConfig{Control: bornPrivate}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// isOpen reports whether others than this machine can reach the listener.
func isOpen(ln net.Listener) bool {
	tcp, ok := ln.Addr().(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}
