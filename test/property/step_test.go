package property_test

import (
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// step carries out one step, as far as there is what it needs.
func (r *run) step(s *step) {
	c, server := r.clients[s.who], r.servers[s.server]
	switch s.do {
	case "settle":
		r.settle()
	case "pass":
		time.Sleep(s.wait)
	case "release":
		server.releaseAll()
	case "crash":
		r.crashes.Add(1)
		for _, p := range server.connected() {
			p.crash()
		}
	case "crashone":
		if all := server.connected(); len(all) > 0 {
			r.crashes.Add(1)
			all[s.n%len(all)].crash()
		}
	case "update", "rogue":
		server.update(server.uris()[s.n%2], s.do == "rogue")
	case "change":
		server.change()
	case "ambient":
		if all := server.connected(); len(all) > 0 {
			all[s.n%len(all)].ambient(string("llser"[s.n%5]))
		}
	case "probe":
		r.probe()
	case "join":
		if c == nil {
			r.join(s.who)
		}
	default:
		if c != nil {
			r.act(c, server, s)
		}
	}
}

// act carries out a step of a caller's.
func (r *run) act(c *client, server *server, s *step) {
	x, overHTTP := c.way.(*exchange)
	uri := server.uris()[s.n%2]
	switch s.do {
	case "call":
		c.call(server, s)
	case "cancel":
		if all := c.pending(); len(all) > 0 {
			c.giveUp(all[s.n%len(all)])
		}
	case "cut":
		if all := c.pending(); overHTTP && len(all) > 0 {
			x.cutOff(all[s.n%len(all)], s.wait)
		}
	case "unstand":
		if overHTTP && !c.modern {
			x.unstand()
		}
	case "stand":
		if overHTTP && !c.modern {
			x.stand(s.n%2 == 0)
		}
	case "leave", "vanish":
		c.leave(s.do == "leave")
		r.clients[s.who] = nil
	case "subscribe":
		c.subscribe(uri)
	case "unsubscribe":
		c.unsubscribe(uri)
	case "level":
		c.setLevel(s.level)
	case "roots":
		if !c.modern {
			c.notify("notifications/roots/list_changed", `"t/mark":{"by":"`+c.name+`"}`)
		}
	}
}

// call makes a call.
func (c *client) call(s *server, st *step) {
	req := &request{method: st.verb, server: s.def.Key, nonce: "+", script: st.script, token: st.token}
	meta := ""
	if c.modern && st.level != "" {
		req.level = st.level
		meta = `"io.modelcontextprotocol/logLevel":"` + st.level + `"`
	}
	params := ""
	switch key := s.def.Key; st.verb {
	case "tools/call":
		req.uri = key + "__run"
		params = `"name":"` + req.uri + `","arguments":{}`
	case "resources/read":
		req.uri = s.uris()[st.n%2]
		params = `"uri":"` + req.uri + `"`
	case "prompts/get":
		req.uri = key + "__say"
		params = `"name":"` + req.uri + `"`
	case "completion/complete":
		params = `"ref":{"type":"ref/prompt","name":"` + key + `__say"},"argument":{"name":"a","value":"b"}`
	}
	for _, op := range st.script {
		if op == "x" {
			c.run.crashes.Add(1)
		}
	}
	c.request(req, params, meta)
}

func (c *client) subscribe(uri string) {
	c.mu.Lock()
	if s := c.subs[uri]; s != nil && !s.off {
		c.mu.Unlock()
		return
	}
	s := &sub{}
	c.subs[uri] = s
	c.mu.Unlock()
	if c.modern {
		req := &request{method: "subscriptions/listen"}
		s.listen = req
		c.request(req, `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["`+uri+`"]}`, "")
		return
	}
	req := c.request(&request{method: "resources/subscribe"}, `"uri":"`+uri+`"`, "")
	c.await(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.on = req.answer != nil && req.answer.Result != nil; !s.on {
		s.off = true
	}
}

func (c *client) unsubscribe(uri string) {
	c.mu.Lock()
	s := c.subs[uri]
	on := s != nil && s.on && !s.off
	c.mu.Unlock()
	if !on {
		return
	}
	if c.modern {
		c.giveUp(s.listen)
	} else {
		req := c.request(&request{method: "resources/unsubscribe"}, `"uri":"`+uri+`"`, "")
		c.await(req)
	}
	synctest.Wait() // what was said before is still to come
	c.mu.Lock()
	defer c.mu.Unlock()
	s.off = true
}

func (c *client) setLevel(level string) {
	if c.modern {
		return
	}
	c.mu.Lock()
	c.levelNext = level
	c.mu.Unlock()
	req := c.request(&request{method: "logging/setLevel", level: level}, `"level":"`+level+`"`, "")
	c.await(req)
}

// settle waits until nothing happens any more but by time. What a caller has
// cancelled by then is not to be heard of again.
func (r *run) settle() {
	synctest.Wait()
	for _, c := range r.clients {
		if c == nil {
			continue
		}
		_, overHTTP := c.way.(*exchange)
		c.mu.Lock()
		for _, req := range c.order {
			req.dead = req.dead || req.cancelled && !overHTTP
		}
		c.mu.Unlock()
	}
}

// probe has each server tell of its resources and of changed tools when nothing
// else happens, and checks who hears of it.
func (r *run) probe() {
	time.Sleep(time.Minute)
	r.settle()
	for i, st := range r.house.fleet.Status() {
		s := r.servers[i]
		if st.State != hub.StateReady {
			continue
		}
		for _, uri := range s.uris() {
			s.update(uri, false)
			at := r.counter.Load()
			synctest.Wait()
			for _, c := range r.clients {
				if c != nil {
					c.heardOf(uri, at)
				}
			}
		}
		if len(s.connected()) == 0 || s.modern {
			continue
		}
		before := make(map[*client]int)
		for _, c := range r.clients {
			if c != nil {
				c.mu.Lock()
				before[c] = c.lists
				c.mu.Unlock()
			}
		}
		s.change()
		time.Sleep(time.Minute)
		synctest.Wait()
		for c, n := range before {
			c.mu.Lock()
			if c.lists == n && !c.modern && c.way.told() {
				c.fail("was not told that the tools of %s have changed", s.def.Key)
			}
			c.mu.Unlock()
		}
	}
}

// heardOf checks that the client was told of a resource, if it is to be.
func (c *client) heardOf(uri string, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.subs[uri]
	told := c.modern || c.way.told()
	if s == nil || !s.on || s.off || !told || s.listen != nil && (s.listen.ended || s.listen.lost) {
		return
	}
	if s.at < at {
		c.fail("is subscribed to %s and was not told of its change %d, but last of %d", uri, at, s.at)
	}
}
