package device

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
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Serve is the MCP server of a device, by its key, on the ends of a stream, until the
// stream ends, ctx ends or the device has gone. A device that is not here, or whose
// tools are not known yet, is a [message.DeviceOffline] at once; so is the error when
// it goes. Requests that the device has not answered by then get no answer.
//
// Arguments go to the device as they are, and results come as they are but for what
// clients could not read; see shape.
func (d *Door) Serve(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
	d.mu.Lock()
	dev := d.keyed(key)
	var l *link
	if dev != nil && dev.link != nil && dev.link.ready {
		l = dev.link
	}
	d.mu.Unlock()
	if l == nil {
		return hub.E(message.DeviceOffline, nil, "device", key)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &server{link: l, ctx: ctx, out: w, calls: make(map[string]context.CancelFunc)}
	defer s.work.Wait()
	defer cancel()
	s.work.Go(s.announce)
	stop := context.AfterFunc(l.ctx, func() { _ = r.Close() })
	defer stop()
	err := s.read(r)
	if l.ctx.Err() != nil {
		return hub.E(message.DeviceOffline, context.Cause(l.ctx), "device", key)
	}
	return err
}

// server is the MCP server of a link, on a stream.
type server struct {
	link *link
	ctx  context.Context
	work sync.WaitGroup

	writing sync.Mutex
	out     io.Writer

	mu    sync.Mutex
	calls map[string]context.CancelFunc // under way, by their ids
}

// read takes the hub's messages until there are no more.
func (s *server) read(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 4<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
				return nil
			}
			return fmt.Errorf("read from the hub: %w", err)
		}
		m, err := wire.Scan(line, wire.Limits{})
		if err != nil {
			return fmt.Errorf("read from the hub: %w", err)
		}
		s.take(&m)
	}
}

// take takes one message.
func (s *server) take(m *wire.Message) {
	if m.Kind == wire.Notification && m.MethodName() == protocol.NotificationCancelled {
		s.cancel(string(m.Member("requestId").Of(m.Raw)))
		return
	}
	if m.Kind != wire.Request {
		return
	}
	switch m.MethodName() {
	case protocol.MethodInitialize:
		info := `{"name":` + string(wire.AppendString(nil, s.link.dev.id)) + `,"version":""}`
		s.reply(m, []byte(`{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}},"serverInfo":`+info+`}`))
	case protocol.MethodPing:
		s.reply(m, []byte(`{}`))
	case protocol.MethodToolsList:
		s.reply(m, append(append([]byte(`{"tools":[`), bytes.Join(s.link.offer().tools, []byte(","))...), "]}"...))
	case protocol.MethodToolsCall:
		s.call(m)
	default:
		s.send(m, `"error":`, appendFault(nil, []byte("-32601"), "a device has tools only"))
	}
}

// offer is what the device has.
func (l *link) offer() offer {
	l.door.mu.Lock()
	defer l.door.mu.Unlock()
	return l.dev.offer
}

// call has the device run a tool, and answers when it has.
func (s *server) call(m *wire.Message) {
	id := string(m.ID.Of(m.Raw))
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.calls[id] = cancel
	s.mu.Unlock()
	s.link.dev.calls.Add(1)
	s.work.Go(func() {
		defer s.cancel(id)
		arguments := m.Member("arguments").Of(m.Raw)
		if len(arguments) == 0 || arguments[0] != '{' {
			arguments = []byte("{}")
		}
		f, err := s.link.ask(ctx, protocol.MethodToolsCall, fmt.Appendf(nil, `{"name":%s,"arguments":%s}`, m.Member("name").Of(m.Raw), arguments))
		switch {
		case err != nil: // it was cancelled, or the device has gone: nobody waits
		case f.fault != nil:
			s.send(m, `"error":`, f.fault)
		default:
			s.reply(m, shape(f.result, &s.link.picture))
		}
	})
}

// cancel ends the wait for a call. What the device answers then comes too late.
func (s *server) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.calls[id]; end != nil {
		end()
		delete(s.calls, id)
	}
}

// announce tells the hub when the tools are others than before.
func (s *server) announce() {
	for {
		select {
		case <-s.link.news:
			s.write([]byte(`{"jsonrpc":"2.0","method":"` + protocol.NotificationToolsList + `"}`))
		case <-s.ctx.Done():
			return
		case <-s.link.ctx.Done():
			return
		}
	}
}

func (s *server) reply(m *wire.Message, result []byte) { s.send(m, `"result":`, result) }

// send answers a request.
func (s *server) send(m *wire.Message, member string, value []byte) {
	id := m.ID.Of(m.Raw)
	out := make([]byte, 0, len(value)+len(id)+48)
	out = append(append(append(out, `{"jsonrpc":"2.0","id":`...), id...), ',')
	s.write(append(append(append(out, member...), value...), '}'))
}

// write writes a message. That the hub does not read any more shows elsewhere.
func (s *server) write(raw []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(wire.OneLine(raw), '\n'))
}
