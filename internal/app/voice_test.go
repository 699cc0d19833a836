package app

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

// What was revoked is there for as long as the key that tokens are made with is: without
// it the hub does not start, and says what to do.
func TestDeviceKeys(t *testing.T) {
	dir := t.TempDir()
	path, revoked := filepath.Join(dir, "device.key"), filepath.Join(dir, "device-epochs.json")
	made, _, err := deviceKeys(path, revoked)
	if err != nil {
		t.Fatal(err)
	}
	again, epochs, err := deviceKeys(path, revoked)
	if err != nil || string(made) != string(again) || epochs == nil {
		t.Errorf("another key, or none: %v", err)
	}
	text, err := os.ReadFile(revoked)
	if err != nil || strings.TrimSpace(string(text)) != "{}" {
		t.Errorf("what was revoked is %q: %v", text, err)
	}
	if err := os.Remove(revoked); err != nil {
		t.Fatal(err)
	}
	_, _, err = deviceKeys(path, revoked)
	if err == nil || !strings.Contains(err.Error(), revoked) || !strings.Contains(err.Error(), "device.key") {
		t.Errorf("the key without the other: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if other, _, err := deviceKeys(path, revoked); err != nil || string(other) == string(made) {
		t.Errorf("they are not made anew: %v", err)
	}
}
