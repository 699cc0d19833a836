package app

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/face/broker"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// At the listener of devices nobody is waited for who does not send the body that he has
// announced, at a door that reads it or not.
func TestDeviceBodiesInTime(t *testing.T) {
	for _, path := range []string{device.PathOTA, device.PathVision, device.PathSocket, broker.PathTool} {
		synctest.Test(t, func(t *testing.T) {
			log := slog.New(slog.DiscardHandler)
			a := &App{log: log, devices: device.New(device.Options{Log: log})}
			a.broker = broker.New(broker.Options{Log: log, Verify: a.devices.Verify})
			ln, server := rig.NewListener(net.Pipe), a.deviceServer()
			done := make(chan struct{})
			go func() { defer close(done); _ = server.Serve(ln) }()
			defer func() { _ = server.Close(); <-done }()
			conn, err := ln.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() {
				_, _ = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: h\r\nDevice-Id: a\r\nContent-Length: 100\r\n\r\n")
			}()
			began := time.Now()
			_ = conn.SetReadDeadline(began.Add(time.Hour))
			in := bufio.NewReader(conn)
			res, err := http.ReadResponse(in, nil)
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				_, err = in.ReadByte()
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s: over after %v (%v)", path, took, err)
			}
		})
	}
}
