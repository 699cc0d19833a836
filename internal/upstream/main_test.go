package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/sandbox"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) {
	if handled, code := sandbox.Launch(os.Args[1:]); handled {
		os.Exit(code)
	}
	// The race detector would keep every child for a second after its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	rig.Main(m)
}

// limit bounds whatever a test waits for; it only matters when something is
// wrong.
const limit = 30 * time.Second

// stdio is the fault-injecting server as a process.
func stdio(t *testing.T, args ...string) hub.Server {
	t.Helper()
	return hub.Server{
		Key: "s", Kind: hub.KindStdio, Command: rig.FaultServer(t), Args: args,
		Env: map[string]string{"GORACE": "atexit_sleep_ms=0"},
	}
}

// remote is the fault-injecting server over HTTP.
func remote(t *testing.T, args ...string) hub.Server {
	t.Helper()
	_, url := rig.StartFaultServer(t, "127.0.0.1:0", args...)
	return at(url)
}

func at(url string) hub.Server { return hub.Server{Key: "s", Kind: hub.KindHTTP, URL: url} }

func options(s hub.Server) upstream.Options {
	return upstream.Options{
		Server: s, ClientInfo: []byte(`{"name":"test","version":"1"}`),
		Handshake: limit, Log: slog.New(slog.DiscardHandler),
	}
}

// dial connects; the connection is closed with the test.
func dial(t *testing.T, opt upstream.Options) *upstream.Conn {
	t.Helper()
	c, err := upstream.Dial(t.Context(), opt)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// caller is the way back to whoever made a call. Its zero value cannot be
// asked.
type caller struct {
	mu    sync.Mutex
	heard []note
	hears chan struct{} // if set, has a token after each notification
}

// note is a message as a caller or a server reads it.
type note struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID     json.RawMessage `json:"requestId"`
		Capabilities  json.RawMessage `json:"capabilities"`
		Notifications struct {
			Resources []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
		Reason        string          `json:"reason"`
		ProgressToken json.RawMessage `json:"progressToken"`
		Progress      int             `json:"progress"`
		Level         string          `json:"level"`
		Data          string          `json:"data"`
		Meta          struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (c *caller) Notify(raw []byte) {
	var n note
	if err := json.Unmarshal(raw, &n); err != nil {
		n.Method = "broken: " + err.Error()
	}
	c.mu.Lock()
	c.heard = append(c.heard, n)
	c.mu.Unlock()
	if c.hears != nil {
		c.hears <- struct{}{}
	}
}

func (c *caller) Ask(_ context.Context, q hub.Question) {
	q.Answer(nil, hub.E(message.NotAskable, nil))
}

// notes returns what came of one method, in order.
func (c *caller) notes(method string) []note {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []note
	for _, n := range c.heard {
		if n.Method == method {
			all = append(all, n)
		}
	}
	return all
}

// request is a caller's tools/call; the id is always the same one, as that of
// many callers is. A token that is not "" is the caller's progress token, as
// JSON.
func request(t *testing.T, tool, arguments, token string) *upstream.Request {
	t.Helper()
	meta := ""
	if token != "" {
		meta = `,"_meta":{"progressToken":` + token + `}`
	}
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, tool, arguments, meta)
	m, err := wire.Scan([]byte(raw), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &upstream.Request{Message: &m, Name: tool}
}

// text is the first text of a result.
func text(r *upstream.Reply) string {
	var body struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(r.Message.Raw, &body); err != nil || len(body.Result.Content) == 0 {
		return "not a text: " + string(r.Message.Raw)
	}
	return body.Result.Content[0].Text
}

// do makes a call that has to succeed, and returns the text of the result.
func do(t *testing.T, c *upstream.Conn, tool, arguments string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	r, err := c.Do(ctx, request(t, tool, arguments, ""), &caller{})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return text(r)
}

// peer is a server of the test's own: what it does is written in the test.
type peer struct {
	t   *testing.T
	in  *bufio.Scanner
	out io.WriteCloser
}

// scripted is a connection to a server in this process which does what script
// says after the handshake, and ends with it.
func scripted(t *testing.T, script func(p *peer)) *upstream.Conn {
	t.Helper()
	return scriptedWith(t, func(*upstream.Options) {}, `{"tools":{}}`, script)
}

// scriptedWith is scripted with other options and capabilities of the server.
func scriptedWith(t *testing.T, with func(*upstream.Options), capabilities string, script func(p *peer)) *upstream.Conn {
	t.Helper()
	opt := options(hub.Server{Key: "s", Kind: hub.KindBuiltin})
	opt.Serve = legacyPeer(t, capabilities, func(json.RawMessage) {}, script)
	with(&opt)
	return dial(t, opt)
}

// legacyPeer is a server of the legacy era that gives what the client declares
// to hello.
func legacyPeer(t *testing.T, capabilities string, hello func(json.RawMessage), script func(p *peer)) upstream.Serve {
	return func(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
		defer w.Close()
		defer r.Close()
		p := &peer{t: t, in: bufio.NewScanner(r), out: w}
		n, _ := p.next()
		hello(n.Params.Capabilities)
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":{"name":"s","version":"1"}}}`, n.ID, capabilities)
		p.next() // notifications/initialized
		script(p)
		return nil
	}
}

// next returns the hub's next message; false at the end.
func (p *peer) next() (note, bool) {
	var n note
	if !p.in.Scan() {
		return n, false
	}
	if err := json.Unmarshal(p.in.Bytes(), &n); err != nil {
		p.t.Errorf("the hub sent %s: %v", p.in.Bytes(), err)
	}
	return n, true
}

func (p *peer) send(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil {
		p.t.Logf("the hub is gone: %v", err)
	}
}
