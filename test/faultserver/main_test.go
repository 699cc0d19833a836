package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asServer makes the test binary be the program under test.
const asServer = "FAULTSERVER_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// command returns the server as a process that has not started yet. It is
// killed when the test ends.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], append(args, "-lifetime", "1m")...)
	// The race detector would otherwise wait a second before each exit.
	cmd.Env = append(os.Environ(), asServer+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// child is a server on stdio.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

func startStdio(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: command(t, args...)}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A server that does not say what the test waits for must not hang it.
	stop := time.AfterFunc(20*time.Second, func() { _ = c.cmd.Process.Kill() })
	t.Cleanup(func() {
		stop.Stop()
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	c.in, c.lines = in, bufio.NewReader(out)
	return c
}

func (c *child) send(msg string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, msg+"\n"); err != nil {
		c.t.Fatalf("write %s: %v", msg, err)
	}
}

func (c *child) line() string {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatalf("read a line: %v (so far %.80q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *child) initialize() {
	c.t.Helper()
	c.send(initialize)
	if line := c.line(); !strings.Contains(line, `"protocolVersion":"2025-06-18"`) {
		c.t.Fatalf("initialize answered %s", line)
	}
}

// exitCode closes stdin and waits for the end.
func (c *child) exitCode() int {
	_ = c.in.Close()
	var exit *exec.ExitError
	if err := c.cmd.Wait(); errors.As(err, &exit) {
		return exit.ExitCode()
	} else if err != nil {
		c.t.Fatal(err)
	}
	return 0
}

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	callEcho   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`
	echoed     = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hi"}]}}`
)

// startHTTP starts a server and returns its URL.
// post sends a message and returns the status, the headers and the body.
// open opens an HTTP session and returns its id.
// TestOfficialClient has the official SDK's client judge both eras on both
// transports: connect, list, call with progress and log lines, and a change
// of the list.
func TestOfficialClient(t *testing.T) {
	for _, test := range []struct {
		name, version string
		args          []string
		http          bool
	}{
		{"legacy stdio", newestLegacy, nil, false},
		{"modern stdio", modern, []string{"-fault", "modernonly"}, false},
		{"legacy HTTP", newestLegacy, nil, true},
		{"modern HTTP", modern, []string{"-fault", "modernonly"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			changed := make(chan struct{}, 8)
			progressed := make(chan string, 8)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					progressed <- r.Params.Message
				},
			})
			var transport mcp.Transport = &mcp.CommandTransport{Command: command(t, test.args...)}
			if test.http {
				transport = &mcp.StreamableClientTransport{Endpoint: startHTTP(t, test.args...)}
			}
			session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: test.version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			list, err := session.ListTools(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "weird" }) {
				t.Error("the list lacks the tool weird")
			}
			params := &mcp.CallToolParams{Name: "progress", Arguments: map[string]any{"n": 2, "logs": true}}
			params.SetProgressToken("p")
			result, err := session.CallTool(ctx, params)
			if err != nil {
				t.Fatal(err)
			}
			if text := result.Content[0].(*mcp.TextContent).Text; text != "2 steps" {
				t.Errorf("progress answered %q", text)
			}
			if got := []string{<-progressed, <-progressed}; !slices.Equal(got, []string{"step 1", "step 2"}) {
				t.Errorf("progress notifications %q", got)
			}
			_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "set_tools", Arguments: map[string]any{"n": 3, "only": true}})
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatal("no tools/list_changed")
			}
			if list, err = session.ListTools(ctx, nil); err != nil || len(list.Tools) != 3 {
				t.Errorf("after set_tools: %v, %v", list, err)
			}
		})
	}
}

// TestStdioFaults compares what a call of echo puts on standard output.
func TestStdioFaults(t *testing.T) {
	for _, test := range []struct {
		fault string
		want  []string
		exit  int
	}{
		{"", []string{echoed}, 0},
		{"wrongid", []string{strings.Replace(echoed, "7", "987654321", 1)}, 0},
		{"strid", []string{strings.Replace(echoed, "7", `"7"`, 1)}, 0},
		{"dupreply", []string{echoed, echoed}, 0},
		{"crashafter", []string{echoed}, exitCrash},
	} {
		t.Run(test.fault, func(t *testing.T) {
			c := startStdio(t, "-fault", test.fault)
			c.initialize()
			c.send(callEcho)
			for _, want := range test.want {
				if got := c.line(); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			if code := c.exitCode(); code != test.exit {
				t.Errorf("exit code %d, want %d", code, test.exit)
			}
		})
	}
}

func TestBanner(t *testing.T) {
	c := startStdio(t, "-fault", "banner")
	c.send(initialize)
	var junk int
	for {
		line := c.line()
		if strings.HasPrefix(line, "{") {
			break
		}
		if json.Valid([]byte(line)) {
			t.Errorf("junk is JSON: %s", line)
		}
		junk++
	}
	if junk < 2 {
		t.Errorf("%d lines of junk before the first message", junk)
	}
}

func TestHalfLine(t *testing.T) {
	c := startStdio(t, "-fault", "halfline", "-on", "tools/call:note")
	c.initialize()
	c.send(callEcho)
	if got := c.line(); got != echoed {
		t.Errorf("a call that -on does not name answered %s", got)
	}
	c.send(strings.Replace(callEcho, "echo", "note", 1))
	half := make([]byte, len(echoed)/2)
	if _, err := io.ReadFull(c.lines, half); err != nil || !strings.HasPrefix(echoed, string(half)) {
		t.Errorf("got %q, %v", half, err)
	}
	c.send(callEcho)
	_ = c.in.Close()
	if rest, _ := io.ReadAll(c.lines); len(rest) > 0 {
		t.Errorf("after the half line came %q", rest)
	}
}

func TestHugeLine(t *testing.T) {
	c := startStdio(t, "-fault", "hugeline", "-size", "3000000")
	c.initialize()
	c.send(callEcho)
	if n := len(c.line()); n < 3000000 {
		t.Errorf("a line of %d bytes", n)
	}
}

func TestCancelledCallIsCountedAndNotAnswered(t *testing.T) {
	c := startStdio(t)
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"sleep","arguments":{"ms":600000}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`)
	for id := 1; ; id++ {
		c.send(strings.Replace(strings.Replace(callEcho, "7", "8", 1), "echo", "cancelled_count", 1))
		line := c.line()
		if strings.Contains(line, `"id":"s"`) {
			t.Fatalf("the cancelled call was answered: %s", line)
		}
		if strings.Contains(line, `"structuredContent":{"cancelled":1}`) {
			break
		}
	}
}

func TestNoStop(t *testing.T) {
	c := startStdio(t, "-fault", "nostop")
	c.initialize()
	_ = c.in.Close()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("ended: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	_ = c.cmd.Process.Kill()
	<-ended
}

func TestProcessFaults(t *testing.T) {
	c := startStdio(t, "-fault", "crashstart")
	if code := c.exitCode(); code != exitFault {
		t.Errorf("crashstart: exit code %d", code)
	}
	c = startStdio(t, "-fault", "silentunknown")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`)
	if code := c.exitCode(); code != exitFault {
		t.Errorf("silentunknown: exit code %d", code)
	}
	c = startStdio(t)
	c.initialize()
	c.send(strings.Replace(callEcho, "echo", "crash", 1))
	if code := c.exitCode(); code != exitCrash {
		t.Errorf("crash: exit code %d", code)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-fault", "nonsense"},
		{"-fault", "hang"}, // only over HTTP
		{"-fault", "banner", "-http", "127.0.0.1:0"},
		{"stray"},
	} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) found nothing wrong", args)
		}
	}
	var s server
	s.opt.httpAddr = "0.0.0.0:0"
	if err := s.serveHTTP(t.Context(), io.Discard); err == nil {
		t.Error("a public address was accepted")
	}
}

// TestSlowFaults shows that hang and slowloris give nothing whole until the
// client gives up.
// TestTools shows what the official client cannot see: bytes, and processes.
func TestTools(t *testing.T) {
	c := startStdio(t)
	c.initialize()

	params := `{"name":"mirror","arguments":{"n":9007199254740993, "\u0061":[],"f":1.0},"_meta":{"x":0}}`
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`)
	if line := c.line(); !strings.Contains(line, `"structuredContent":{"params":`+params+`}`) {
		t.Errorf("mirror answered %s", line)
	}
	c.send(strings.Replace(callEcho, "echo", "weird", 1))
	if want, got := `{"jsonrpc":"2.0","id":7,"result":`+weirdResult+`}`, c.line(); got != want {
		t.Errorf("weird answered %s", got)
	}
	c.send(strings.Replace(callEcho, "echo", "env", 1))
	if line := c.line(); !strings.Contains(line, `"`+asServer+`":"1"`) {
		t.Errorf("env answered %s", line)
	}

	c.send(strings.Replace(callEcho, "echo", "fork", 1))
	var answer struct {
		Result struct {
			StructuredContent struct{ PID int }
		}
	}
	if err := json.Unmarshal([]byte(c.line()), &answer); err != nil {
		t.Fatal(err)
	}
	grandchild, err := os.FindProcess(answer.Result.StructuredContent.PID)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.in.Close()
	if _, err := c.cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.lines.ReadByte()
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Errorf("the pipe ended with the server (%v): the grandchild does not hold it", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := grandchild.Kill(); err != nil {
		t.Errorf("kill the grandchild: %v", err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("after the grandchild's end: %v", err)
	}
}

func TestListFaults(t *testing.T) {
	for _, test := range []struct{ fault, first, second string }{
		{"endlesspages", `"nextCursor":"again"`, `"nextCursor":"again"`},
		{"endlessnew", `"nextCursor":"1"`, `[{"name":"page_1","description":"Does nothing.","inputSchema":{"type":"object"}}],"nextCursor":"2"`},
		{"notool", `"code":-32603`, `"code":-32603`},
	} {
		t.Run(test.fault, func(t *testing.T) {
			c := startStdio(t, "-fault", test.fault)
			c.initialize()
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if line := c.line(); !strings.Contains(line, test.first) {
				t.Errorf("first page: %s", line)
			}
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"1"}}`)
			if line := c.line(); !strings.Contains(line, test.second) {
				t.Errorf("second page: %s", line)
			}
		})
	}
}

// TestUnusualJSON shows that the odd constants are JSON and fit on a line.
func TestUnusualJSON(t *testing.T) {
	for _, s := range []string{weirdTool, weirdResult} {
		if !json.Valid([]byte(s)) || strings.ContainsAny(s, "\r\n") {
			t.Errorf("not one line of JSON: %s", s)
		}
	}
	for _, tool := range tools("") {
		if !json.Valid([]byte(tool.definition)) {
			t.Errorf("%s: not JSON: %s", tool.name, tool.definition)
		}
	}
}
