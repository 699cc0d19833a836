package upstream_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// What a process was given in its environment is not told, also if the process
// itself writes it.
func TestStderrIsRedacted(t *testing.T) {
	_, err := upstream.Dial(t.Context(), upstream.Options{
		Server: hub.Server{
			Key: "s", Kind: hub.KindStdio, Command: "/bin/sh",
			Args: []string{"-c", `echo "refused: key $KEY in mode $MODE" >&2; exit 3`},
			Env:  map[string]string{"KEY": "sk-very-secret", "MODE": "fast"},
		},
		ClientInfo: []byte(`{"name":"test","version":"1"}`),
		Log:        slog.New(slog.DiscardHandler),
	})
	if !hub.IsCode(err, message.ServerExited) {
		t.Fatalf("got %v", err)
	}
	text := hub.AsError(err).Text(message.English).String()
	if strings.Contains(text, "secret") || !strings.Contains(text, "refused: key *** in mode ***") {
		t.Errorf("it says %q", text)
	}
}

// What a remote server sends in the place of an answer may be what it was sent,
// such as by a service that is none for MCP and says everything back: neither a
// person nor the log is told the secrets in it.
func TestEchoIsRedacted(t *testing.T) {
	const secret = "sk-very-secret"
	for name, answer := range map[string]func(request string) string{
		"as it is":       func(request string) string { return request },
		"in a status":    func(request string) string { return "HTTP/1.1 200" + request },
		"in an upgrade":  func(string) string { return "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: " + secret + "\r\n\r\n" },
		"in an endpoint": func(string) string { return eventHead + "event: endpoint\ndata: http://host:" + secret + "/\n\n" },
		"in a type":      func(string) string { return "HTTP/1.1 200 OK\r\nContent-Type: " + secret + "\r\n\r\n" },
		"in a version": func(string) string {
			return eventHead + `data: {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["` + secret + `"]}}}` + "\n\n"
		},
		"in an error": func(string) string {
			return eventHead + `data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"` + secret + `"}}` + "\n\n"
		},
		"in a close text": func(string) string { return "HTTP/1.1 400 " + secret + "\r\nContent-Length: 0\r\n\r\n" },
	} {
		for _, kind := range []hub.Kind{hub.KindHTTP, hub.KindSSE, hub.KindWebSocket} {
			t.Run(name+", "+string(kind), func(t *testing.T) {
				s := serverAt(kind, "http://"+echo(t, answer)+"/?key="+secret)
				opt := options(s)
				opt.Resolve = func(s hub.Server) (hub.Server, []string, *hub.Error) { return s, []string{secret}, nil }
				_, err := upstream.Dial(t.Context(), opt)
				if err == nil {
					t.Fatal("it has come about")
				}
				told := hub.AsError(err).Text(message.English).String() + "\n" + err.Error()
				if strings.Contains(told, secret) {
					t.Errorf("it says %q", told)
				}
			})
		}
	}
}

// eventHead is the head of an event stream.
const eventHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

// echo is a server that answers the head of every request with bytes.
func echo(t *testing.T, answer func(request string) string) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				var head strings.Builder
				for lines := bufio.NewScanner(c); lines.Scan() && lines.Text() != ""; {
					head.WriteString(lines.Text() + "\r\n")
				}
				_, _ = io.WriteString(c, answer(head.String()+"\r\n"))
			})
		}
	})
	return ln.Addr().String()
}
