//go:build linux

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/test/voice"
)

// desk is a line to a hub on which every answer is looked at: there is one for each
// question, with its id, and none for anything else. Of a call the answer has the
// text that was sent. It is a [voice.Line] itself.
type desk struct {
	line voice.Line
	fig  *figures
	name string
	end  context.CancelFunc
	over chan struct{} // closed when nothing more comes

	mu    sync.Mutex
	open  map[string][]*question
	inbox []string
	more  chan struct{} // closed when there is more in it
	last  int
}

// question is a request that is not answered yet.
type question struct {
	nonce string      // that the answer has to have, if it is that of a tool; "" for none
	got   chan string // nil if the answer goes into the inbox
}

func newDesk(line voice.Line, fig *figures, name string) *desk {
	d := &desk{line: line, fig: fig, name: name, over: make(chan struct{}), open: make(map[string][]*question), more: make(chan struct{}), last: 100}
	ctx, end := context.WithCancel(context.Background())
	d.end = end
	go d.read(ctx)
	return d
}

// close ends the reading, and returns when it has ended.
func (d *desk) close() {
	d.end()
	<-d.over
}

func (d *desk) read(ctx context.Context) {
	defer close(d.over)
	for {
		text, err := d.line.Hear(ctx, "")
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			d.fig.fault("%s: the hub sent %.200q: %v", d.name, text, err)
			continue
		}
		if m.Method != "" {
			d.fig.count("endpoints: notifications heard")
			continue
		}
		d.answered(string(m.ID), text)
	}
}

// answered takes an answer.
func (d *desk) answered(id, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := d.open[id]
	if len(waiting) == 0 {
		d.fig.fault("%s: an answer to %s, which nothing open has: %.300q", d.name, id, text)
		return
	}
	i := max(0, slices.IndexFunc(waiting, func(q *question) bool { return q.nonce != "" && strings.Contains(text, q.nonce) }))
	q := waiting[i]
	if d.open[id] = slices.Delete(waiting, i, i+1); len(d.open[id]) == 0 {
		delete(d.open, id)
	}
	if q.got != nil {
		q.got <- text
		return
	}
	d.inbox = append(d.inbox, text)
	close(d.more)
	d.more = make(chan struct{})
}

// Send implements [voice.Line].
func (d *desk) Send(text string) error {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal([]byte(text), &m) == nil && m.ID != nil && m.Method != "" {
		d.expect(string(m.ID), &question{})
	}
	return d.line.Send(text)
}

func (d *desk) expect(id string, q *question) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[id] = append(d.open[id], q)
}

// Hear implements [voice.Line].
func (d *desk) Hear(ctx context.Context, part string) (string, error) {
	for {
		d.mu.Lock()
		for i, text := range d.inbox {
			if strings.Contains(text, part) {
				d.inbox = slices.Delete(d.inbox, i, i+1)
				d.mu.Unlock()
				return text, nil
			}
		}
		more := d.more
		d.mu.Unlock()
		select {
		case <-more:
		case <-d.over:
			return "", errOver
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// errOver is that the connection has ended, so that nothing is answered any more.
var errOver = errors.New("the connection has ended")

// next is an id that was not used on the line, now and then a text.
func (d *desk) next() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last++; d.last%5 == 0 {
		return fmt.Sprintf(`"q-%d"`, d.last)
	}
	return fmt.Sprint(d.last)
}

// ask asks, and returns the answer and when it was asked. An answer that takes longer
// than the limit, and the room that the machine needs, is a fault.
func (d *desk) ask(ctx context.Context, m *machine, text, id, nonce string, limit time.Duration) (string, time.Duration, error) {
	got := make(chan string, 1)
	began := time.Now()
	d.expect(id, &question{nonce: nonce, got: got})
	if err := d.line.Send(text); err != nil {
		return "", 0, errOver
	}
	late := time.NewTimer(limit + soon)
	defer late.Stop()
	select {
	case answer := <-got:
		took := time.Since(began)
		if took <= limit {
			return answer, took, nil
		}
		if room := m.room(began); took > limit+room {
			d.fig.fault("%s: %.120s was answered after %v, and %v is the limit, and %v the machine's", d.name, text, took, limit, room)
		}
		return answer, took, nil
	case <-d.over:
		return "", 0, errOver
	case <-ctx.Done():
		return "", 0, ctx.Err()
	case <-late.C:
		d.fig.fault("%s: %.120s got no answer", d.name, text)
		return "", 0, errOver
	}
}
