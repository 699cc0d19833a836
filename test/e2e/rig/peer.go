package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// PeerLimit bounds every wait of a peer. It only matters when something is
// wrong.
const PeerLimit = 30 * time.Second

// Message is a JSON-RPC message in parts, each the bytes that came.
type Message struct {
	Raw    string          `json:"-"`
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Question reports whether the message is a request.
func (m Message) Question() bool { return m.Method != "" && m.ID != nil }

// Peer is an MCP client that is spoken by hand: what it sends are the bytes that
// the test wrote, what it gets are the bytes that came, in the order in which
// they came. It shares no code with the hub. It ends with the test.
type Peer struct {
	tb   testing.TB
	send func(raw []byte) error
	in   chan string // every message that came, of all streams
	ctx  context.Context
	all  sync.WaitGroup // what reads
}

func newPeer(tb testing.TB) *Peer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	p := &Peer{tb: tb, in: make(chan string, 4096), ctx: ctx}
	tb.Cleanup(func() {
		cancel()
		p.all.Wait()
	})
	return p
}

// came takes what came in. More than anybody reads would be a test's mistake.
func (p *Peer) came(raw []byte) {
	select {
	case p.in <- string(raw):
	default:
		p.tb.Errorf("nobody reads what comes: %.200s", raw)
	}
}

// Send sends one message: a request, a notification or an answer.
func (p *Peer) Send(raw string) {
	p.tb.Helper()
	if err := p.send([]byte(raw)); err != nil {
		p.tb.Fatalf("send %.200s: %v", raw, err)
	}
}

// Next returns the next message. The test fails if none comes.
func (p *Peer) Next() Message {
	p.tb.Helper()
	m, ok := p.Within(PeerLimit)
	if !ok {
		p.tb.Fatalf("nothing came for %v", PeerLimit)
	}
	return m
}

// Within returns the next message, if one comes within the time.
func (p *Peer) Within(limit time.Duration) (Message, bool) {
	p.tb.Helper()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case raw := <-p.in:
		m := Message{Raw: raw}
		if err := json.Unmarshal([]byte(raw), &m); err != nil {
			p.tb.Fatalf("%.300q is no message: %v", raw, err)
		}
		return m, true
	case <-t.C:
		return Message{}, false
	}
}

// Ask sends a request and returns the response, with everything that came until
// then. Answer returns the answer to a question that comes meanwhile, "" for
// none.
func (p *Peer) Ask(id, request string, answer func(Message) string) (before []Message, response Message) {
	p.tb.Helper()
	p.Send(request)
	for {
		m := p.Next()
		if m.Method == "" && string(m.ID) == id {
			return before, m
		}
		before = append(before, m)
		if m.Question() && answer != nil {
			if a := answer(m); a != "" {
				p.Send(a)
			}
		}
	}
}

// StdioPeer starts a server and speaks with it on its standard input and output.
func StdioPeer(tb testing.TB, env []string, name string, args ...string) *Peer {
	tb.Helper()
	p := newPeer(tb)
	cmd := exec.CommandContext(p.ctx, name, args...)
	cmd.Env = append(append(os.Environ(), AtOnce), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p.send = func(raw []byte) error {
		_, err := stdin.Write(append(bytes.Clone(raw), '\n'))
		return err
	}
	p.all.Go(func() {
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 {
				p.came(line)
			}
			if err != nil {
				break
			}
		}
		_ = cmd.Wait() // killed with the peer
	})
	return p
}

// events calls take for every event of a stream, until it ends.
func events(stream io.Reader, take func(event string, data []byte)) {
	lines := bufio.NewReader(stream)
	var (
		event string
		data  []byte
	)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if len(data) > 0 {
				take(event, data)
			}
			event, data = "", nil
		case string(name) == "event":
			event = string(value)
		case string(name) == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
}

// ended reports whether an error is the end of the peer itself.
func (p *Peer) ended(err error) bool { return errors.Is(err, context.Canceled) && p.ctx.Err() != nil }
