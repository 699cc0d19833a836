package property_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// exchange is the way of streamable HTTP, of either era.
type exchange struct {
	c *client

	mu       sync.Mutex
	session  string
	last     string             // event of the standing stream
	standing context.CancelFunc // ends it; nil if there is none
	over     chan struct{}      // closed when it has ended
	busy     int                // HTTP requests under way
	used     time.Time          // when the last of them ended
	may      bool               // the session may have expired, since it was idle
	expired  bool               // it has
}

func (x *exchange) open() error { return nil }

func (x *exchange) header(h http.Header) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.c.modern {
		h.Set("Mcp-Protocol-Version", "2026-07-28")
	} else if x.session != "" {
		h.Set("Mcp-Session-Id", x.session)
		h.Set("Mcp-Protocol-Version", x.c.rev)
	}
}

func (x *exchange) do(ctx context.Context, method string, body []byte, set func(http.Header)) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://hub/mcp", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	x.header(req.Header)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	} else {
		req.Header.Set("Accept", "text/event-stream")
	}
	set(req.Header)
	x.mu.Lock()
	x.may = x.may || x.busy == 0 && time.Since(x.used) > idle
	x.busy++
	x.mu.Unlock()
	res, err := x.c.run.house.client.Do(req)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if res.StatusCode != http.StatusNotFound {
		x.may = false
	}
	x.expired = x.expired || x.may
	return res, nil
}

// done says that an HTTP request has ended.
func (x *exchange) done(res *http.Response) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy--
	if res != nil { // else it may not have reached the hub
		_ = res.Body.Close()
		x.used = time.Now()
	}
}

// gone reports whether the session has ended, as it does when it is idle.
func (x *exchange) gone() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.expired
}

func (x *exchange) send(raw []byte, req *request) {
	if req == nil {
		res, _ := x.do(x.c.ctx, http.MethodPost, raw, func(http.Header) {})
		x.done(res)
		return
	}
	ctx, cut := context.WithCancel(x.c.ctx)
	x.c.mu.Lock()
	req.cut, req.over = cut, make(chan struct{})
	x.c.mu.Unlock()
	x.c.work.Go(func() {
		defer close(req.over)
		defer cut()
		x.exchange(ctx, raw, req)
	})
}

// exchange sends a request and takes what comes of it. If the stream was cut and
// can be resumed, that is for who has cut it.
func (x *exchange) exchange(ctx context.Context, raw []byte, req *request) {
	res, err := x.do(ctx, http.MethodPost, raw, func(h http.Header) {
		if x.c.modern {
			h.Set("Mcp-Method", req.method)
			switch req.method {
			case "tools/call", "prompts/get":
				h.Set("Mcp-Name", req.uri)
			case "resources/read":
				h.Set("Mcp-Name", req.uri)
			}
		}
	})
	defer x.done(res)
	if err != nil {
		x.c.lose(req)
		return
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		x.mu.Lock()
		x.session = id
		x.mu.Unlock()
	}
	if res.Header.Get("Content-Type") == "application/json" {
		body, err := io.ReadAll(res.Body)
		if err != nil {
			x.c.lose(req)
			return
		}
		x.c.take(body, req)
		return
	}
	if !x.follow(newEvents(res), req) && !x.resumable(req) {
		x.c.lose(req)
	}
}

// follow takes what comes on the stream of a request; true if the response was
// among it.
func (x *exchange) follow(in *events, req *request) bool {
	for {
		e, err := in.next()
		if err != nil {
			return false
		}
		if e.id != "" {
			x.c.mu.Lock()
			req.event = e.id
			x.c.mu.Unlock()
		}
		if len(e.data) == 0 {
			continue
		}
		x.c.take(e.data, req)
		x.c.mu.Lock()
		ended := req.ended
		x.c.mu.Unlock()
		if ended {
			return true
		}
	}
}

func (x *exchange) resumable(req *request) bool {
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	return !x.c.modern && req.event != "" && !x.c.left
}

// cutOff cuts the stream of a request, and goes on with it after a while if that
// can be done.
func (x *exchange) cutOff(req *request, after time.Duration) {
	x.c.mu.Lock()
	cut, over := req.cut, req.over
	x.c.away(req)
	x.c.mu.Unlock()
	x.c.run.note(x.c.name, "cuts off the stream of "+req.id, nil)
	cut()
	<-over
	if !x.resumable(req) {
		x.c.lose(req)
		return
	}
	ctx, again := context.WithCancel(x.c.ctx)
	over = make(chan struct{})
	x.c.mu.Lock()
	req.cut, req.over = again, over
	x.c.mu.Unlock()
	x.c.work.Go(func() {
		defer close(over)
		defer again()
		if !x.c.pause(after) {
			return
		}
		x.c.mu.Lock()
		from, ended := req.event, req.ended
		x.c.mu.Unlock()
		if ended {
			return
		}
		res, err := x.do(ctx, http.MethodGet, nil, func(h http.Header) { h.Set("Last-Event-Id", from) })
		defer x.done(res)
		if err != nil {
			if ctx.Err() == nil { // else it was cut off again
				x.c.lose(req)
			}
			return
		}
		x.c.mu.Lock()
		req.away = false
		x.c.mu.Unlock()
		x.c.run.note(x.c.name, "resumes behind "+from+": "+res.Status, nil)
		if res.StatusCode != http.StatusOK {
			if !x.c.isLeaving() && !x.gone() {
				x.c.fail("cannot resume the stream of %s behind %s: %s", req.nonce, from, res.Status)
			}
			x.c.lose(req)
			return
		}
		if !x.follow(newEvents(res), req) && ctx.Err() == nil && !x.c.isLeaving() {
			x.c.fail("got no response to %s on the stream that was resumed", req.nonce)
		}
	})
}

// stand opens the standing stream, behind what came before on it or anew.
func (x *exchange) stand(resume bool) {
	x.unstand()
	ctx, cancel := context.WithCancel(x.c.ctx)
	x.mu.Lock()
	from := x.last
	x.mu.Unlock()
	x.c.mu.Lock()
	x.c.missed = x.c.missed || !resume || from == ""
	x.c.mu.Unlock()
	res, err := x.do(ctx, http.MethodGet, nil, func(h http.Header) {
		if resume && from != "" {
			h.Set("Last-Event-Id", from)
		}
	})
	if err != nil || res.StatusCode != http.StatusOK {
		cancel()
		x.done(res)
		if err == nil && !x.gone() {
			x.c.fail("cannot open its standing stream behind %q: %s", from, res.Status)
		}
		return
	}
	over := make(chan struct{})
	x.c.mu.Lock()
	x.c.stands = true
	x.c.mu.Unlock()
	x.mu.Lock()
	x.standing, x.over = cancel, over
	x.mu.Unlock()
	x.c.work.Go(func() {
		defer close(over)
		defer cancel()
		defer x.done(res)
		for in := newEvents(res); ; {
			e, err := in.next()
			if err != nil {
				return
			}
			if e.id != "" {
				x.mu.Lock()
				x.last = e.id
				x.mu.Unlock()
			}
			if len(e.data) > 0 {
				x.c.take(e.data, nil)
			}
		}
	})
}

// unstand ends the standing stream.
func (x *exchange) unstand() {
	x.mu.Lock()
	cancel, over := x.standing, x.over
	x.standing = nil
	x.mu.Unlock()
	if cancel != nil {
		x.c.mu.Lock()
		x.c.away(nil)
		x.c.mu.Unlock()
		cancel()
		<-over
	}
}

func (x *exchange) abort(req *request) {
	if !x.c.modern {
		x.c.notify("notifications/cancelled", `"requestId":`+req.id)
		return
	}
	x.c.mu.Lock()
	cut := req.cut
	x.c.mu.Unlock()
	cut()
}

func (x *exchange) told() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.standing != nil
}

func (x *exchange) close(politely bool) {
	if x.c.modern || !politely {
		return
	}
	res, err := x.do(x.c.ctx, http.MethodDelete, nil, func(http.Header) {})
	x.done(res)
	if err == nil && res.StatusCode != http.StatusNoContent && !x.gone() {
		x.c.fail("cannot end its session: %s", res.Status)
	}
}
