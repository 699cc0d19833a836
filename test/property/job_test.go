package property_test

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// begin carries out the script of a call, beside all others.
//
// An operation of a script is one of
//
//	p            progress
//	l LEVEL      a log line
//	q KIND HOW   a question, and its answer is waited for
//	a KIND HOW   a question that is left open
//	w KIND       a question that is withdrawn after a moment
//	c            what a person was sent to a URL for is done, once that is answered
//	d MS         a while
//	h            waits until the program says so
//	u            another resource has changed
//	x            the connection ends
//	stubborn     a cancellation is not heard from here on
//
// and, as the last one, err, url, input or mute if the answer is not a result.
func (p *peer) begin(f *frame) {
	s := p.server
	j := &job{
		id: string(f.ID), nonce: f.Params.Meta.Nonce, token: string(f.Params.Meta.ProgressToken), verb: f.Method,
		script: f.Params.Meta.Script, level: f.Params.Meta.LogLevel, release: make(chan struct{}),
	}
	j.ctx, j.cancel = context.WithCancel(p.ctx)
	s.mu.Lock()
	twice := s.called[j.nonce]
	s.called[j.nonce] = true
	s.mu.Unlock()
	if twice {
		s.run.fail("%s got the call %s twice", p.name, j.nonce)
	}
	if by := caller(j.nonce); p.owner != "" && by != p.owner {
		s.run.fail("%s, which is %q's, got the call %s", p.name, p.owner, j.nonce)
	}
	p.mu.Lock()
	p.jobs[j.id] = j
	p.mu.Unlock()
	p.work.Go(func() { p.work1(j) })
}

// caller is who made the call with the nonce.
func caller(nonce string) string {
	by, _, _ := strings.Cut(nonce, ":")
	return by
}

func (p *peer) work1(j *job) {
	defer j.cancel()
	how, ctx := "", j.ctx
	for _, op := range j.script {
		if ctx.Err() != nil {
			break
		}
		if op == "stubborn" {
			ctx = p.ctx
			continue
		}
		how = op
		p.operate(ctx, j, op)
	}
	p.mu.Lock()
	delete(p.jobs, j.id)
	silent := j.cancelled && ctx != p.ctx
	p.mu.Unlock()
	if p.ctx.Err() != nil || silent || how == "mute" {
		return
	}
	echo := `"_meta":{"t/nonce":"` + j.nonce + `","t/progress":` + strconv.Itoa(j.progress) + `}`
	switch {
	case how == "err":
		p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no","data":{"t/nonce":"%s"}}}`, j.id, j.nonce)
	case how == "url":
		p.mu.Lock()
		p.required[j.nonce+"/0"] = time.Now()
		p.mu.Unlock()
		p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"no","data":{"t/nonce":"%s","elicitations":[{"mode":"url","elicitationId":"%s/0","url":"https://example.com/","message":"?"}]}}}`, j.id, j.nonce, j.nonce)
	case how == "input" && p.server.modern:
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{},"requestState":"x",%s}}`, j.id, echo)
	default:
		body := `"content":[]`
		switch j.verb {
		case "resources/read":
			body = `"contents":[],"ttlMs":0,"cacheScope":"private"`
		case "prompts/get":
			body = `"messages":[]`
		case "completion/complete":
			body = `"completion":{"values":[]}`
		}
		if p.server.modern {
			body = `"resultType":"complete",` + body
		}
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{%s,%s}}`, j.id, body, echo)
	}
}

func (p *peer) operate(ctx context.Context, j *job, op string) {
	word := strings.Fields(op)
	next := func() mark {
		j.k++
		return mark{Nonce: j.nonce, K: j.k, At: p.server.run.counter.Add(1), Since: int64(time.Since(p.server.run.began)), Own: p.owner != ""}
	}
	wait := func(d time.Duration, early <-chan struct{}) {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-early:
		case <-ctx.Done():
		}
	}
	switch word[0] {
	case "p":
		if j.token == "" {
			return
		}
		j.progress++
		p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"t/mark":%s}}`, j.token, j.progress, next().json())
	case "l":
		if p.server.modern && j.level == "" {
			return
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"%s","data":{"t/mark":%s}}}`, word[1], next().json())
	case "q", "a", "w":
		if p.server.modern {
			return
		}
		m := next()
		if m.How = "never"; word[0] != "w" {
			m.How = word[2]
		}
		q, id := p.ask(word[1], m, caller(j.nonce))
		if word[1] == "u" {
			j.elicitation = q
		}
		switch word[0] {
		case "q":
			wait(time.Hour, q.done)
		case "w":
			wait(50*time.Millisecond, nil)
			p.mu.Lock()
			q.withdrawn = true
			p.mu.Unlock()
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
		}
	case "c":
		if q := j.elicitation; q != nil {
			select {
			case <-q.done:
				p.elicited(q.mark.Nonce + "/" + strconv.Itoa(q.mark.K))
			default:
			}
		}
	case "d":
		ms, _ := strconv.Atoi(word[1])
		wait(time.Duration(ms)*time.Millisecond, nil)
	case "h":
		wait(20*time.Second, j.release)
	case "u":
		p.updated(p.server.uris()[0], p.server.run.counter.Add(1))
	case "x":
		p.crash()
	}
}

func (p *peer) elicited(id string) {
	p.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"%s"}}`, id)
}

// releaseAll lets the calls go on that wait for that, and says that what was
// required of persons is done, of which their clients have heard by now.
func (s *server) releaseAll() {
	for _, p := range s.connected() {
		var done []string
		p.mu.Lock()
		for id, at := range p.required {
			if time.Since(at) > 0 {
				delete(p.required, id)
				done = append(done, id)
			}
		}
		for _, j := range p.jobs {
			j.once.Do(func() { close(j.release) })
		}
		p.mu.Unlock()
		for _, id := range done {
			p.elicited(id)
		}
	}
}
