//go:build linux

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

// What the hub is told about endpoints; it dials faster here than anywhere else.
const (
	peerDeadline = time.Second
	peerPing     = time.Second
	peerDelay    = 100 * time.Millisecond
	peerMaxDelay = 800 * time.Millisecond
	peerDials    = 3 // at once, of the hub

	pingLimit = 100 * time.Millisecond
)

// answerLimit is how long a ping may take of the hub that is tested. With the race
// detector it is another program, which is not fast.
func answerLimit() time.Duration {
	if rig.RaceEnabled {
		return 10 * pingLimit
	}
	return pingLimit
}

// dialect is who a peer is.
type dialect string

const (
	cloud dialect = "cloud"
	eps   dialect = "eps"
	xs    dialect = "xs"
	goh   dialect = "goh"
)

// peer is an address at which the hub is an MCP server, and everybody behind it.
type peer struct {
	name   string
	kind   dialect
	home   *home
	door   voice.Endpoint
	chance *rand.Rand // of run

	mu       sync.Mutex
	entering *rand.Rand // of requests
	cord     *cord      // of the last request
	dialled  time.Time  // the last request
	now      truth
	pause    pause
	refused  int // of the requests that follow: to be answered with statuses
}

// pause knows when the hub may dial at the earliest.
type pause struct {
	next     time.Duration
	since    time.Time // the connection was made
	earliest time.Time // zero if it may at once
	asked    bool      // somebody asked the hub to
}

// ended notes that the other side ended the connection at a time, or did not let it
// come about: the hub waits for a moment, each time twice as long, with a fifth left to
// chance.
func (p *pause) ended(at time.Time, least time.Duration) {
	if !p.since.IsZero() && time.Since(p.since) > 59*time.Second {
		p.next = 0
	}
	wait := max(p.next, peerDelay)
	p.next = min(2*wait, peerMaxDelay)
	p.earliest = at.Add(max(wait*8/10, least))
	p.since = time.Time{}
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := p.home
	p.mu.Lock()
	if early := time.Until(p.pause.earliest); early > 0 && !p.pause.asked && !h.calm.Load() {
		h.fig.fault("%s was dialled %v before the time", p.name, early)
	}
	p.pause.asked, p.pause.earliest = false, time.Time{}
	p.cord, p.dialled = cordOf(r), time.Now()
	p.now = truth{}
	slow := time.Duration(p.entering.IntN(100)) * time.Millisecond
	status := 0
	if p.refused > 0 && !h.calm.Load() {
		p.refused--
		status = []int{http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusTooManyRequests}[p.entering.IntN(3)]
	}
	p.mu.Unlock()
	h.fig.count("endpoints: dials")
	if n := h.dialling.Add(1); n > peerDials {
		h.fig.fault("%d endpoints are dialled at once", n)
	}
	time.Sleep(slow)
	h.dialling.Add(-1)
	if status != 0 {
		h.fig.count(fmt.Sprintf("endpoints: refused with HTTP %d", status))
		p.mu.Lock()
		p.now = standing(false)
		p.pause.ended(time.Now(), 0)
		p.mu.Unlock()
		w.WriteHeader(status)
		return
	}
	p.door.ServeHTTP(w, r)
}

// run converses with the hub on one connection after the other until ctx ends.
func (p *peer) run(ctx context.Context) {
	for {
		s, err := p.door.Next(ctx)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.now = standing(true)
		p.pause.since = time.Now()
		c := p.cord
		p.mu.Unlock()
		p.connection(ctx, s, c)
	}
}

// connection is one, from its beginning to its end.
func (p *peer) connection(ctx context.Context, s *voice.Socket, c *cord) {
	h := p.home
	ctx, end := context.WithCancel(ctx)
	defer end()
	var desks []*desk
	if p.kind == eps {
		var server voice.EPS // each time another one: it does not notice that the hub has gone
		server.Join(s)
		for _, who := range []string{"aa11", "bb22"} {
			desks = append(desks, newDesk(server.Caller(who), h.fig, p.name+" "+who))
		}
	} else {
		desks = append(desks, newDesk(s, h.fig, p.name))
	}
	var work sync.WaitGroup
	work.Go(func() {
		select {
		case <-s.Over():
			end()
		case <-ctx.Done():
		}
	})
	for _, d := range desks {
		chance := rand.New(rand.NewPCG(p.chance.Uint64(), 0))
		work.Go(func() { p.converse(ctx, d, s, chance) })
	}
	life := time.NewTimer(time.Duration(1000+p.chance.IntN(12_000)) * time.Millisecond)
	select {
	case <-life.C:
	case <-ctx.Done():
	}
	for h.calm.Load() && ctx.Err() == nil {
		select {
		case <-h.over:
			end()
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	p.part(ctx, s, c)
	end()
	s.Drop()
	_ = c.Close()
	<-s.Over()
	for _, d := range desks {
		d.close()
	}
	work.Wait()
	p.mu.Lock()
	if p.now.known {
		p.now = standing(false)
	}
	p.mu.Unlock()
}

// part ends the connection in one of all ways that there are.
func (p *peer) part(ctx context.Context, s *voice.Socket, c *cord) {
	h := p.home
	if ctx.Err() != nil {
		h.fig.count("endpoints: closed by the hub")
		p.mu.Lock()
		p.now = truth{}
		if closed := closeOf(s.Err()); closed != "" {
			h.fig.count("endpoints: closed by the hub with " + closed)
		}
		p.mu.Unlock()
		return
	}
	close := func(least time.Duration, code int, reason string) {
		p.mu.Lock()
		p.now = truth{}
		p.mu.Unlock()
		at := time.Now()
		if shown := strings.TrimSpace(fmt.Sprintf("%d %s", code, reason)); code/1000 != 3 {
			h.fig.count("endpoints: closed with " + shown)
		} else {
			h.fig.count("endpoints: closed with 3000 to 3999")
		}
		s.Close(code, reason)
		<-s.Over()
		p.mu.Lock()
		heard := closeOf(s.Err()) == strconv.Itoa(code) // else the hub has closed it at the same time
		early := p.cord != c
		if !early {
			p.now = standing(false)
		}
		if heard {
			p.pause.ended(at, least)
		}
		before := p.pause.earliest.Sub(p.dialled)
		if early { // it has been dialled anew already
			p.pause.earliest = time.Time{}
		}
		p.mu.Unlock()
		if !heard {
			h.fig.count("endpoints: closed by both sides at once")
			return
		}
		if early && before > 0 {
			h.fig.fault("%s was closed with %d %s, and dialled %v before the time", p.name, code, reason, before)
		}
		if least > 10*time.Second && !early { // longer than this is to last
			p.askFor(context.WithoutCancel(ctx)) // which ends with the connection
		}
	}
	switch p.chance.IntN(12) {
	case 0:
		close(0, 1000, "")
	case 1:
		close(30*time.Second, 1000, "新连接替换")
	case 2:
		close(0, 1001, "going away")
	case 3:
		close(240*time.Second, 1008, "invalid token")
	case 4:
		close(0, 1009, "too big")
	case 5:
		close(0, 1011, "internal error")
	case 6:
		close(5*time.Second, 4004, "Internal server error")
	case 7:
		close(0, 3000+p.chance.IntN(1000), "of its own")
	case 8:
		h.fig.count("endpoints: left half-open")
		p.mu.Lock()
		p.now = truth{}
		p.pause.ended(time.Now(), 0)
		p.mu.Unlock()
		c.freeze()
		select { // the hub asks once a second, and waits for as long
		case <-time.After(4 * time.Second):
		case <-h.over:
		}
		p.mu.Lock()
		if p.now.known = p.cord == c; p.now.known { // it has not been dialled anew
			p.now = standing(false)
		}
		p.mu.Unlock()
	default:
		h.fig.count("endpoints: cut (1006)")
		p.mu.Lock()
		p.now = truth{}
		p.pause.ended(time.Now(), 0)
		p.refused = p.chance.IntN(4)
		p.mu.Unlock()
		_ = c.Close()
		p.mu.Lock()
		if p.cord == c {
			p.now = standing(false)
		}
		p.mu.Unlock()
	}
}

// askFor has the hub asked, after a while, to dial an endpoint that it would leave
// alone for minutes; it has to say so of it before.
func (p *peer) askFor(ctx context.Context) {
	h := p.home
	select {
	case <-time.After(time.Duration(500+p.chance.IntN(2000)) * time.Millisecond):
	case <-h.over:
		return
	}
	one, err := h.api.DialledOne(ctx, apiclient.Endpoints, p.name)
	if err != nil || one.State != "auth_failed" && one.State != "replaced" {
		h.fig.fault("%s was refused, or replaced, and is %q: %v", p.name, one.State, err)
	}
	p.mu.Lock()
	p.pause.asked = true
	p.mu.Unlock()
	if _, err := h.api.Reconnect(ctx, apiclient.Endpoints, p.name); err != nil {
		h.fig.fault("dial %s: %v", p.name, err)
	}
}

// converse is what one caller of the peer's says until ctx ends.
func (p *peer) converse(ctx context.Context, d *desk, s *voice.Socket, chance *rand.Rand) {
	h := p.home
	tools, err := p.greet(ctx, d)
	if err != nil {
		if ctx.Err() == nil && !strings.Contains(err.Error(), errOver.Error()) && !strings.Contains(err.Error(), "未连接") {
			h.fig.fault("%s: %v", d.name, err)
		}
		return
	}
	if len(tools) == 0 {
		return // it was connected before there was anything to offer
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	for id := 0; ctx.Err() == nil; id++ {
		if h.calm.Load() {
			pass(ctx, 100*time.Millisecond)
			continue
		}
		switch what := chance.IntN(100); {
		case what < 50:
			tool, ms := tools[chance.IntN(len(tools))], chance.IntN(60)
			if chance.IntN(25) == 0 {
				ms = 1500 // longer than the deadline
			}
			calls.Go(func() { p.call(ctx, d, tool, ms) })
		case what < 75:
			own := d.next()
			if answer, took, err := d.ask(ctx, h.machine, `{"id":`+own+`,"jsonrpc":"2.0","method":"ping"}`, own, "", answerLimit()); err == nil {
				h.fig.took("endpoints: ping", took)
				if !strings.Contains(answer, `"result":{}`) && !unconnected(answer) {
					h.fig.fault("%s: a ping was answered with %s", d.name, answer)
				}
			}
		case what < 80:
			own := d.next()
			hello := strings.Replace(voice.CloudHello, `"id":0`, `"id":`+own, 1)
			if _, took, err := d.ask(ctx, h.machine, hello, own, "", answerLimit()); err == nil {
				h.fig.took("endpoints: initialize", took)
			}
		case what < 84:
			own := d.next()
			_, _, _ = d.ask(ctx, h.machine, `{"id":`+own+`,"jsonrpc":"2.0","method":"tools/list"}`, own, "", peerDeadline)
		case what < 92:
			_ = d.line.Send(badFrames[chance.IntN(len(badFrames))])
			h.fig.count("endpoints: bad frames sent")
		case what < 94 && p.kind != eps:
			_ = s.SendBinary([]byte("no message"))
			h.fig.count("endpoints: bad frames sent")
		case what < 97:
			own := d.next()
			text := `{"jsonrpc":"2.0","id":` + own + `,"method":"tools/call","params":[1]}`
			if answer, _, err := d.ask(ctx, h.machine, text, own, "", peerDeadline); err == nil && !strings.Contains(answer, `"error"`) {
				h.fig.fault("%s: parameters that are none were answered with %s", d.name, answer)
			}
		}
		pass(ctx, time.Duration(20+chance.IntN(200))*time.Millisecond)
	}
}

// badFrames are answered with nothing.
var badFrames = []string{
	``, `{`, `null`, `[]`, `"text"`, `{"jsonrpc":"2.0"`, `{"jsonrpc":"2.0","id":77777,"result":{}}`, "\x00\x01\x02",
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody's"}}`,
	`{"type":"hello","version":1}`, strings.Repeat(`[`, 5000),
}

// unconnected reports whether a self-hosted endpoint server has answered in place of
// the hub.
func unconnected(answer string) bool { return strings.Contains(answer, "未连接") }

// greet opens a conversation as the dialect does, and returns the tools that are called.
func (p *peer) greet(ctx context.Context, d *desk) (all []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	began := time.Now()
	var tools []voice.Tool
	switch p.kind {
	case cloud:
		_, tools, err = voice.Cloud(ctx, d)
	case xs:
		tools, err = voice.XS(ctx, d)
	default:
		tools, err = voice.GOH(ctx, d, 1)
	}
	if err != nil {
		return nil, err
	}
	p.home.fig.took("endpoints: greeting with the list", time.Since(began))
	for _, t := range tools {
		if strings.HasSuffix(t.Name, "work") || strings.HasSuffix(t.Name, deviceTool) {
			all = append(all, t.Name)
		}
	}
	if len(all) == 0 && p.home.ready.Load() {
		return nil, fmt.Errorf("it is offered %d tools, and none that is known", len(tools))
	}
	return all, nil
}

// call makes one call, and the same once more if it is answered that it goes on.
func (p *peer) call(ctx context.Context, d *desk, tool string, ms int) {
	h := p.home
	nonce := h.nonce()
	onDevice := strings.HasSuffix(tool, deviceTool)
	ticketed := false
	for {
		id := d.next()
		text := fmt.Sprintf(`{"id":%s,"jsonrpc":"2.0","method":"tools/call","params":{"name":%q,"arguments":{"text":%q,"ms":%d},"serialNumber":null}}`, id, tool, nonce, ms)
		answer, took, err := d.ask(ctx, h.machine, text, id, nonce, peerDeadline+300*time.Millisecond)
		if err != nil {
			h.fig.count("endpoints: calls lost with the connection")
			h.told(nonce, onDevice, "lost")
			return
		}
		h.fig.took("endpoints: call", took)
		said, _, fault := voice.XSRead(answer)
		switch {
		case fault == nil && strings.Contains(said, nonce):
			h.fig.count("endpoints: calls ok")
			if ticketed {
				h.fig.count("endpoints: late results picked up")
			}
			h.told(nonce, onDevice, "ok")
			return
		case strings.Contains(answer, "hub_task_result"):
			if ticketed = true; ms < 1000 && !onDevice {
				h.fig.count("endpoints: short calls that were late")
			}
			h.fig.count("endpoints: calls answered late")
			pass(ctx, 300*time.Millisecond)
		case unconnected(answer):
			h.fig.count("endpoints: calls lost with the connection")
			h.told(nonce, onDevice, "lost")
			return
		default:
			if h.fig.count("endpoints: calls failed"); !onDevice {
				h.fig.fault("%s: %s was answered with %.300s", d.name, tool, answer)
			} else if strings.Contains(answer, `"text":"n`) {
				h.fig.fault("%s: %s of %s got somebody else's answer: %.300s", d.name, tool, nonce, answer)
			}
			h.told(nonce, onDevice, "failed")
			return
		}
	}
}

// pass waits, for no longer than ctx.
func pass(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
