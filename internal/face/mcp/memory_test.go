package mcp_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
)

// taken is how many bytes the program holds.
func taken() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// What a session costs that is idle, without and with an open stream. The
// client's end costs next to nothing here: it has neither buffers nor
// goroutines.
func TestMemory(t *testing.T) {
	h := open(t)
	const sessions = 500
	h.enter(t, "2025-11-25") // what is made once
	before := taken()
	ids := make([]string, sessions)
	for i := range ids {
		p := &poster{tb: t, h: h, path: "/mcp"}
		res, err := h.client.Post(h.URL+"/mcp", "application/json", strings.NewReader(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		p.body(res)
		ids[i] = res.Header.Get("Mcp-Session-Id")
	}
	idle := (taken() - before) / sessions

	before = taken()
	conns := make([]net.Conn, sessions)
	for i, id := range ids {
		conn, err := net.Dial("tcp", h.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", id); err != nil {
			t.Fatal(err)
		}
		var status [len("HTTP/1.1 200")]byte
		if _, err := io.ReadFull(conn, status[:]); err != nil || string(status[:]) != "HTTP/1.1 200" {
			t.Fatalf("%s, %v", status, err)
		}
		conns[i] = conn
	}
	streaming := idle + (taken()-before)/sessions
	t.Logf("an idle session takes %d bytes, one with a stream %d", idle, streaming)
	if idle > 6<<10 || streaming > 40<<10 {
		t.Errorf("an idle session takes %d bytes, one with a stream %d", idle, streaming)
	}
	runtime.KeepAlive(conns)
}
