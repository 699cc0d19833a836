package httpd_test

import (
	"net"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/httpd"
)

// A connection more than there may be is closed at once, and there is room again when
// one has ended.
func TestCrowd(t *testing.T) {
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := httpd.Crowd(plain, 2)
	defer ln.Close()
	taken := make(chan net.Conn)
	go func() {
		defer close(taken)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			taken <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial()
	one := <-taken
	dial()
	defer (<-taken).Close()
	over := dial()
	_ = over.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := over.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("one too many is kept: %v", err)
	}
	_ = one.Close()
	_ = one.Close() // which makes no more room
	dial()
	(<-taken).Close()
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
