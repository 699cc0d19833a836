//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	_ upstreamLink = (*httpLink)(nil)
	_ upstreamLink = (*stdioLink)(nil)
)

// httpLink is a session on a streamable HTTP server, by the standard client.
type httpLink struct {
	client  *http.Client
	url     string
	session string
}

// newUpstreamClient returns the client that all links of a hub share. It keeps enough idle connections that no call
// of the scenarios has to dial, and does not offer compression.
func newUpstreamClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true, IdleConnTimeout: time.Minute},
	}
}

func openHTTPLink(ctx context.Context, client *http.Client, url string) (*httpLink, error) {
	link := &httpLink{client: client, url: url}
	var reply bytes.Buffer
	response, err := link.post(ctx, []byte(replyHead+`0,"method":"initialize","params":`+initializeParams+`}`))
	if err != nil {
		return nil, err
	}
	link.session = response.Header.Get("Mcp-Session-Id")
	if err := readReply(response, &reply); err != nil {
		return nil, err
	}
	response, err = link.post(ctx, []byte(initializedNote))
	if err != nil {
		return nil, err
	}
	return link, response.Body.Close()
}

func (l *httpLink) roundTrip(ctx context.Context, _ int64, message []byte, reply *bytes.Buffer) error {
	response, err := l.post(ctx, message)
	if err != nil {
		return err
	}
	return readReply(response, reply)
}

// post returns a response with a good status, whose body the caller closes.
func (l *httpLink) post(ctx context.Context, message []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	header := request.Header
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("Mcp-Protocol-Version", protocolRevision)
	if l.session != "" {
		header.Set("Mcp-Session-Id", l.session)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, errors.Join(fmt.Errorf("the server answered %s", response.Status), response.Body.Close())
	}
	return response, nil
}

// readReply copies the JSON of the reply, which comes plain or as the data of an event, and closes the body.
func readReply(response *http.Response, reply *bytes.Buffer) (err error) {
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.ContentLength > 0 {
		reply.Grow(int(response.ContentLength) + bytes.MinRead)
	}
	if _, err := reply.ReadFrom(response.Body); err != nil {
		return err
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		start, end := lastEvent(reply.Bytes())
		if start == end {
			return errors.New("an event stream without a reply")
		}
		reply.Truncate(end)
		reply.Next(start)
	}
	return nil
}

// lastEvent finds the data of the last event, which in a stream that answers a request is the reply: stream[start:end],
// empty if there is none. Only data of a single line is understood; the servers measured here write no other.
func lastEvent(stream []byte) (start, end int) {
	field := []byte("data:")
	for line := 0; line < len(stream); {
		next := bytes.IndexByte(stream[line:], '\n')
		if next < 0 {
			break // An event that was cut short.
		}
		next += line
		if bytes.HasPrefix(stream[line:next], field) {
			start, end = line+len(field), next
			if stream[start] == ' ' {
				start++
			}
			if stream[end-1] == '\r' {
				end--
			}
		}
		line = next + 1
	}
	return start, max(start, end)
}

// stdioLink is a session on a child process; calls in flight share its pipes.
type stdioLink struct {
	dead chan struct{} // closed when the child's output ended

	sending sync.Mutex
	input   io.WriteCloser

	mu      sync.Mutex
	waiting map[int64]chan []byte
}

// startStdioLink starts the child and opens the session. The child is killed when ctx ends, and ends by itself when
// its input is closed, which also happens if this process is killed.
func startStdioLink(ctx context.Context, entry hubServer) (*stdioLink, error) {
	command := exec.CommandContext(ctx, entry.Command, entry.Args...)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	link := &stdioLink{dead: make(chan struct{}), input: input, waiting: map[int64]chan []byte{}}
	go func() {
		defer close(link.dead)
		link.receive(output)
		_ = command.Wait() // Callers learn from dead; how the child ended is for its own log.
	}()
	var reply bytes.Buffer
	if err := link.roundTrip(ctx, 0, []byte(replyHead+`0,"method":"initialize","params":`+initializeParams+`}`), &reply); err != nil {
		return nil, err
	}
	return link, link.send([]byte(initializedNote))
}

func (l *stdioLink) receive(output io.Reader) {
	lines := bufio.NewReaderSize(output, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		line = bytes.TrimRight(line, "\r\n")
		if waiter := l.waiter(line); waiter != nil {
			waiter <- line
		}
	}
}

// waiter takes the call that a reply is for out of those that wait.
func (l *stdioLink) waiter(reply []byte) chan []byte {
	rest, _ := bytes.CutPrefix(reply, []byte(replyHead))
	digits, _, _ := bytes.Cut(rest, []byte{','})
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	waiter := l.waiting[id]
	delete(l.waiting, id)
	return waiter
}

func (l *stdioLink) send(message []byte) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	_, err := l.input.Write(append(message, '\n'))
	return err
}

func (l *stdioLink) roundTrip(ctx context.Context, id int64, message []byte, reply *bytes.Buffer) error {
	waiter := make(chan []byte, 1)
	l.mu.Lock()
	l.waiting[id] = waiter
	l.mu.Unlock()
	if err := l.send(message); err != nil {
		return err
	}
	select {
	case line := <-waiter:
		reply.Write(line)
		return nil
	case <-l.dead:
		return errors.New("the server ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}
