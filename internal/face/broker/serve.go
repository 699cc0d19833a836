package broker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Serve is the MCP server that a tool at its endpoint is, by its key, on the ends of a
// stream, until the stream ends, ctx ends or the tool has gone: the hub is one caller
// more. A tool that is not here is a [message.DeviceOffline] at once; so is the error
// when it goes.
func (b *Broker) Serve(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
	b.mu.Lock()
	a := b.keyed(key)
	b.mu.Unlock()
	offline := hub.E(message.DeviceOffline, nil, "device", key)
	if a == nil {
		return offline
	}
	a.mu.Lock()
	t := a.tool
	a.mu.Unlock()
	if t == nil {
		return offline
	}
	ctx, cancel := context.WithCancel(ctx)
	out := outbox{wake: make(chan struct{}, 1)}
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	c := &caller{id: newID(), only: t, send: func(raw []byte) bool {
		ok := out.put(line(raw))
		if !ok {
			cancel() // who does not read cannot be served
		}
		return ok
	}}
	a.mu.Lock()
	a.callers[c.id] = c // whatever others there are
	a.mu.Unlock()
	defer a.leave(c)
	work.Go(func() {
		for raw := range out.all(ctx) {
			if _, err := w.Write(raw); err != nil {
				return // that nobody reads any more shows in r
			}
		}
	})
	defer context.AfterFunc(t.socket.ctx, func() { _ = r.Close() })()
	defer context.AfterFunc(ctx, func() { _ = r.Close() })()
	lines := bufio.NewReaderSize(r, 4<<10)
	for {
		raw, err := lines.ReadBytes('\n')
		switch {
		case t.socket.ctx.Err() != nil:
			return offline
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
			return nil
		case err != nil:
			return fmt.Errorf("read from the hub: %w", err)
		}
		a.fromCaller(c, bytes.TrimSpace(raw))
	}
}
