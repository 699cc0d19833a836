package voice

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// EPS is a fake of the self-hosted endpoint server: it carries what several callers
// send on one socket of a hub's, with their ids made its own. Put an [Endpoint] before
// it, and give it the sockets that come there by Join.
type EPS struct {
	mu      sync.Mutex
	tool    *Socket // nil: the tools are not connected
	callers map[string]*EPSCaller
}

// Join takes a hub's socket. As the real one does it closes the one before, whose
// cleanup then takes the new one out as well: nobody reaches it until it connects
// anew.
func (e *EPS) Join(s *Socket) {
	e.mu.Lock()
	old := e.tool
	e.tool = s
	e.mu.Unlock()
	if old != nil {
		old.Close(1000, "新连接替换")
		e.mu.Lock()
		e.tool = nil
		e.mu.Unlock()
	}
	go e.carry(s)
}

// carry brings what the hub says to the caller whose it is. What has no id of a
// caller's is dropped, and so is what answers the id 0.
func (e *EPS) carry(s *Socket) {
	for {
		text, err := s.Hear(context.Background(), "")
		if err != nil {
			return
		}
		var m map[string]json.RawMessage
		var id string
		if json.Unmarshal([]byte(text), &m) != nil || json.Unmarshal(m["id"], &id) != nil {
			continue
		}
		who, rest, _ := strings.Cut(id, "_")
		kind, own, _ := strings.Cut(rest, "_")
		e.mu.Lock()
		c := e.callers[who]
		e.mu.Unlock()
		if c == nil {
			continue
		}
		if kind == "s" {
			own = quote(own)
		}
		c.hear(strings.Replace(text, `"id":`+string(m["id"]), `"id":`+own, 1))
	}
}

// Caller returns a caller's side; who is its id there.
func (e *EPS) Caller(who string) *EPSCaller {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.callers == nil {
		e.callers = make(map[string]*EPSCaller)
	}
	c := &EPSCaller{eps: e, who: who, in: &Socket{more: make(chan struct{})}}
	e.callers[who] = c
	return c
}

// EPSCaller is one caller's side of an [EPS]; it is a [Line].
type EPSCaller struct {
	eps *EPS
	who string
	in  *Socket // of which only what was heard counts
}

func (c *EPSCaller) hear(text string) {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.heard = append(c.in.heard, text)
	close(c.in.more)
	c.in.more = make(chan struct{})
}

// Hear implements [Line].
func (c *EPSCaller) Hear(ctx context.Context, part string) (string, error) {
	return c.in.Hear(ctx, part)
}

// Send implements [Line]. What is no JSON goes on as it is.
func (c *EPSCaller) Send(text string) error {
	c.eps.mu.Lock()
	tool := c.eps.tool
	c.eps.mu.Unlock()
	var m map[string]json.RawMessage
	isJSON := json.Unmarshal([]byte(text), &m) == nil
	id := string(m["id"])
	if tool == nil {
		c.hear(fmt.Sprintf(`{"jsonrpc":"2.0","result":null,"error":{"code":-32001,"message":"工具端未连接"},"id":%s}`, id))
		return nil
	}
	if isJSON && id != "" && id != "0" {
		own := quote(c.who + "_n_" + id)
		if text, err := strconv.Unquote(id); err == nil {
			own = quote(c.who + "_s_" + text)
		}
		text = strings.Replace(text, `"id":`+id, `"id":`+own, 1)
	}
	return tool.Send(text)
}
