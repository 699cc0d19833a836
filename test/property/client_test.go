package property_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// client is one conversation of a caller's, from its beginning to its end. Of
// everything that it hears it checks whether it may.
type client struct {
	run    *run
	name   string
	modern bool
	rev    string // of a legacy one
	able   string // kinds of questions that it has declared: "s", "e", "u", "r"
	way    way
	ctx    context.Context // ends with the conversation
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu        sync.Mutex
	last      int
	calls     map[string]*request // all that were made, by raw id
	order     []*request
	questions map[string]*asked // open, by raw id
	replied   map[string]*asked // those that it had
	stands    bool              // the stream is there for what is no request's
	missed    bool              // and something may have come on it that it has not got
	sent      map[string]bool   // elicitations of which it knows
	subs      map[string]*sub
	lists     int // times that it was told of changed tools
	level     string
	levelNext string // that it has asked for and was not answered
	levelAt   int64  // what a server said after that is to be of the level
	leaving   bool
	left      bool
}

// way is how a client's messages reach the hub.
type way interface {
	// open opens the conversation.
	open() error
	// send sends a message. A request is given with its call, on whose end a way
	// of one HTTP request for each waits.
	send(raw []byte, req *request)
	// abort gives a request up, as the way has it.
	abort(req *request)
	// told reports whether what belongs to no request reaches the client now.
	told() bool
	// close ends the conversation: politely, or by being gone.
	close(politely bool)
}

// request is one request of a client's.
type request struct {
	id, method, uri string
	server          string // by key, of those that reach one
	nonce           string // "" for those that do not reach a server
	script          []string
	token           bool
	level           string // modern
	began           time.Time

	ended     bool
	endedAt   int64         // in the order of marks
	byServer  bool          // and it was the server's own answer
	done      chan struct{} // closed when it has ended or is lost
	cancelled bool
	dead      bool // nothing may come any more
	lost      bool // nobody will get the response
	k         int  // of the last message that was surely the call's
	aside     int  // and of the last that came on the standing stream
	progress  int
	answer    *frame

	// Of HTTP: the stream of its response.
	event string // the last that came
	cut   context.CancelFunc
	over  chan struct{} // closed when nobody reads it any more
	away  bool          // it was cut off, and is not resumed
	torn  bool          // it was cut off once
}

// asked is a question that the client has.
type asked struct {
	mark mark
	on   *request  // on whose stream it came; nil if it was on one for all
	at   time.Time // when it was answered
	away bool      // and what the hub said then comes when the stream is resumed
}

// sub is a subscription.
type sub struct {
	on     bool // it was confirmed
	off    bool // its end was confirmed
	at     int64
	listen *request // modern
}

func newClient(r *run, name string) *client {
	c := &client{
		run: r, name: name, calls: make(map[string]*request), questions: make(map[string]*asked),
		replied: make(map[string]*asked), sent: make(map[string]bool), subs: make(map[string]*sub),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// request sends a request; params are the members of it but _meta, meta those of
// that.
func (c *client) request(req *request, params, meta string) *request {
	c.mu.Lock()
	c.last++
	req.id, req.done, req.began = strconv.Itoa(c.last), make(chan struct{}), time.Now()
	if req.nonce == "+" {
		req.nonce = c.name + ":" + req.id
	}
	c.calls[req.id] = req
	c.order = append(c.order, req)
	c.mu.Unlock()
	var members []string
	if req.nonce != "" {
		script, _ := json.Marshal(req.script)
		members = append(members, `"t/nonce":"`+req.nonce+`","t/script":`+string(script))
	}
	if req.token {
		members = append(members, `"progressToken":`+req.id)
	}
	if c.modern {
		members = append(members, modernMeta)
	}
	if meta != "" {
		members = append(members, meta)
	}
	if params != "" {
		params += ","
	}
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s"_meta":{%s}}}`, req.id, req.method, params, strings.Join(members, ","))
	c.run.note(c.name, ">", raw)
	c.way.send(raw, req)
	return req
}

func (c *client) notify(method, params string) {
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s","params":{%s}}`, method, params)
	c.run.note(c.name, ">", raw)
	c.way.send(raw, nil)
}

// open opens the conversation.
func (c *client) open() error {
	if err := c.way.open(); err != nil {
		return err
	}
	if c.modern {
		return nil
	}
	req := c.request(&request{method: "initialize"},
		`"protocolVersion":"`+c.rev+`","capabilities":`+c.capabilities()+`,"clientInfo":{"name":"c","version":"1"}`, "")
	c.await(req)
	if req.answer == nil || req.answer.Result == nil || req.answer.Result.ProtocolVersion != c.rev {
		return fmt.Errorf("initialize was answered with %+v", req.answer)
	}
	c.notify("notifications/initialized", "")
	return nil
}

func (c *client) capabilities() string {
	b := `{"experimental":{"` + c.name + `":{}}`
	for _, kind := range []struct{ is, has string }{
		{"s", `"sampling":{}`}, {"r", `"roots":{"listChanged":true}`}, {"eu", `"elicitation":{"form":{},"url":{}}`},
	} {
		if strings.Contains(c.able, kind.is) {
			b += "," + kind.has
		}
	}
	if strings.Contains(c.able, "e") && !strings.Contains(c.able, "u") {
		b += `,"elicitation":{}`
	}
	return b + "}"
}

// take takes a message that has come. on is the request on whose own stream it
// came, nil if it came on one for all.
func (c *client) take(raw []byte, on *request) {
	c.run.note(c.name, "<", raw)
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		c.run.fail("%s cannot read %s: %v", c.name, raw, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return // it does not listen any more
	}
	switch {
	case f.Method == "":
		c.response(&f, on)
	case f.ID != nil:
		c.question(&f, on)
	default:
		c.notification(&f, on)
	}
}

func (c *client) fail(format string, args ...any) {
	c.run.fail(c.name+" "+format, args...)
}

// question takes a question, and answers it as it says itself.
func (c *client) question(f *frame, on *request) {
	id, m := string(f.ID), f.Params.Mark
	kind := map[string]string{"sampling/createMessage": "s", "roots/list": "r", "elicitation/create": "e"}[f.Method]
	if f.Params.Mode == "url" {
		kind = "u"
	}
	if kind == "" || !strings.Contains(c.able, kind) {
		c.fail("was asked %s, and has declared %q", f.Method, c.able)
	}
	if c.questions[id] != nil {
		c.fail("was asked twice under the id %s", id)
	}
	if whose, ok := strings.CutPrefix(m.Nonce, "ambient "); ok {
		if whose != "" && whose != c.name {
			c.fail("was asked in the place of %q", whose)
		}
	} else if c.of(m, on, "a question") == nil {
		return
	}
	if f.Params.ElicitationID != "" {
		c.sent[f.Params.ElicitationID] = true
	}
	a := &asked{mark: m, on: on}
	c.questions[id] = a
	c.work.Go(func() { c.answer(f, id, a) })
}

// away says that the stream of a request, or the one for all if that is nil, is
// gone until it is resumed. mu is held.
func (c *client) away(of *request) {
	if of == nil {
		c.stands = false
	} else {
		of.away, of.torn = true, true
	}
	for _, a := range c.replied {
		a.away = a.away || a.on == of && a.at.Equal(time.Now())
	}
}

func (c *client) answer(f *frame, id string, a *asked) {
	body := `"result":{"t/mark":` + mark{Nonce: a.mark.Nonce, K: a.mark.K, By: c.name}.json() + `}`
	times := 1
	switch a.mark.How {
	case "never":
		return
	case "slow":
		c.pause(time.Duration(1+a.mark.K%7) * time.Second)
	case "twice":
		times = 2
	case "error":
		body = fmt.Sprintf(`"error":{"code":-1,"message":"%s/%d"}`, a.mark.Nonce, a.mark.K)
	case "progress":
		for i := range 3 {
			raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"t/mark":%s}}`,
				f.Params.Meta.ProgressToken, i+1, a.mark.json())
			if !c.reply(raw, id, a) {
				return
			}
		}
	}
	for range times {
		if !c.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, id, body), id, a) {
			return
		}
	}
	_, overHTTP := c.way.(*exchange)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions[id] == a {
		delete(c.questions, id)
		c.replied[id] = a
		a.at, a.away = time.Now(), overHTTP && (a.on == nil && !c.stands || a.on != nil && a.on.away)
	}
}

// reply sends what belongs to a question, unless nobody wants it any more.
func (c *client) reply(raw []byte, id string, a *asked) bool {
	c.mu.Lock()
	open := c.questions[id] == a && !c.left
	c.mu.Unlock()
	if open {
		c.run.note(c.name, ">", raw)
		c.way.send(bytes.Clone(raw), nil)
	}
	return open
}

// pause waits, or until the conversation ends.
func (c *client) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// await waits for the end of a request that reaches no server, or is short.
func (c *client) await(req *request) {
	t := time.NewTimer(5 * time.Minute)
	defer t.Stop()
	select {
	case <-req.done:
	case <-t.C:
		c.fail("got no answer to %s %s", req.method, req.id)
		c.lose(req)
	}
}

// pending are the calls under way, in their order.
func (c *client) pending() []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*request
	for _, req := range c.order {
		if !req.ended && !req.lost && !req.cancelled && req.nonce != "" {
			all = append(all, req)
		}
	}
	return all
}

// lose says that nobody will get the response to a request.
func (c *client) lose(req *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !req.ended && !req.lost {
		req.lost = true
		close(req.done)
	}
}

// giveUp cancels a call.
func (c *client) giveUp(req *request) {
	c.mu.Lock()
	req.cancelled = true
	c.mu.Unlock()
	c.way.abort(req)
}

func (c *client) isLeaving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaving
}

// leave ends the conversation.
func (c *client) leave(politely bool) {
	c.mu.Lock()
	if c.left {
		c.mu.Unlock()
		return
	}
	c.leaving = true
	for _, req := range c.order {
		req.cancelled = true
	}
	c.mu.Unlock()
	c.run.note(c.name, "leaves", nil)
	c.way.close(politely)
	c.mu.Lock()
	c.left = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
	for _, req := range c.order {
		c.lose(req)
	}
}
