package rig

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
)

// StartFaultServer starts test/faultserver over HTTP on the address (port 0
// for any) and returns the URL of its endpoint.
func StartFaultServer(tb testing.TB, address string, args ...string) (*Process, string) {
	tb.Helper()
	p := Spawn(tb, nil, FaultServer(tb), append([]string{"-http", address}, args...)...)
	line, ok := p.Line()
	if !ok {
		p.Stop()
		tb.Fatalf("faultserver did not start: %s", p.Stderr())
	}
	return p, strings.TrimSpace(line)
}

// StartConformanceServer starts the Go SDK's everything-server and returns the
// URL of its endpoint.
func StartConformanceServer(tb testing.TB, stateless bool) string {
	tb.Helper()
	address := net.JoinHostPort("127.0.0.1", FreePort(tb))
	flag := "-stateless=false"
	if stateless {
		flag = "-stateless=true"
	}
	Spawn(tb, nil, ConformanceServer(tb), "-http", address, flag)
	url := "http://" + address + "/mcp"
	Await(tb, url+" answers", func() bool {
		req, err := http.NewRequestWithContext(context.WithoutCancel(tb.Context()), http.MethodOptions, url, http.NoBody)
		if err != nil {
			tb.Fatal(err)
		}
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return true
	})
	return url
}

// AwaitListening waits until somebody takes connections at the address.
func AwaitListening(tb testing.TB, address string) {
	tb.Helper()
	Await(tb, "somebody listens at "+address, func() bool {
		conn, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}
