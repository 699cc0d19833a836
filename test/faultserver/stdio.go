package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// lastAnswers is how long calls that still run at the end of stdin have to
// answer after they were cancelled.
const lastAnswers = 500 * time.Millisecond

// serveStdio answers the lines of in on out until in ends or ctx does; with
// the nostop fault it never returns.
func (s *server) serveStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	if s.opt.faults.has("nostop") {
		defer func() { select {} }()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &lineWriter{out: out, banner: s.opt.faults.has("banner")}
	w.junk("Starting the server on stdio ...", "", "\x1b[32m[info]\x1b[0m listening")
	if !s.opt.faults.has("modernonly") { // there, who wants to know subscribes
		defer s.listen(&listener{send: w.write})()
	}

	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- readLines(ctx, in, lines)
	}()
	var calls sync.WaitGroup
	session := newSession("")
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				cancel()
				waitAtMost(&calls, lastAnswers)
				return <-failed
			}
			s.line(ctx, session, w, &calls, line)
		}
	}
}

// readLines sends each line of in that is not blank.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case lines <- line:
			case <-ctx.Done():
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read stdin: %w", err)
		}
	}
}

// line handles one line. Notifications are handled before it returns, requests
// in a goroutine of their own.
func (s *server) line(ctx context.Context, c *session, w *lineWriter, calls *sync.WaitGroup, line []byte) {
	m, err := parseMessage(line)
	if err != nil {
		w.write(reply{err: &rpcError{Code: codeParse, Message: err.Error()}}.encode())
		return
	}
	s.saw(m)
	r := request{message: m, session: c, modern: s.opt.faults.has("modernonly"), notify: w.write}
	if !m.isRequest() {
		s.handle(ctx, r)
		return
	}
	if !r.modern && !c.isReady() && (m.Method == "tools/list" || m.Method == "tools/call") {
		w.write(reply{id: m.ID, err: &rpcError{Code: codeInvalid, Message: "initialize first"}}.encode())
		return
	}
	ctx, end := c.begin(ctx, m.ID)
	answer := func() {
		defer end()
		r.end = new(string)
		replies := s.handle(ctx, r)
		for _, r := range replies {
			if s.opt.faults.hits("halfline", m) {
				w.half(r.encode())
			}
			w.write(r.encode())
		}
		if len(replies) > 0 {
			s.after(m)
		}
		if *r.end == riskLeave {
			os.Exit(exitCrash)
		}
	}
	if m.Method == "initialize" && !s.opt.faults.has("neverinit") {
		answer() // a call in the next line must find the session initialised
		return
	}
	calls.Go(answer)
}

func waitAtMost(wg *sync.WaitGroup, d time.Duration) {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// lineWriter writes messages as lines, one at a time. Write errors are not
// reported: the reader is gone, and the end of stdin will say so.
type lineWriter struct {
	mu     sync.Mutex
	out    io.Writer
	banner bool
}

func (w *lineWriter) write(msg []byte) {
	w.junk("[debug] about to answer")
	w.mu.Lock()
	defer w.mu.Unlock()
	// One write for the message and its line end, so that a crash does not
	// come between them; a copy, since others may send the same bytes.
	_, _ = w.out.Write(append(slices.Clip(msg), '\n'))
}

// junk writes lines that are not messages if the banner fault is chosen.
func (w *lineWriter) junk(lines ...string) {
	if !w.banner {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range lines {
		fmt.Fprintln(w.out, line)
	}
}

// half writes the first half of msg and then keeps the writer for ever.
func (w *lineWriter) half(msg []byte) {
	w.mu.Lock()
	_, _ = w.out.Write(msg[:len(msg)/2])
	select {}
}
