package property_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// server is an MCP server that does what its callers' scripts say. Of everything
// that it gets it checks whether it may.
type server struct {
	run    *run
	def    hub.Server
	modern bool
	listed sync.Once

	mu     sync.Mutex
	peers  []*peer // that are connected, in their order
	begun  int     // connections so far
	tools  int     // that were added to its list
	called map[string]bool
}

// peer is one connection to a server, from the server's side.
type peer struct {
	server *server
	name   string
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	work   sync.WaitGroup

	writing sync.Mutex
	w       io.WriteCloser

	mu        sync.Mutex
	ready     bool   // the hub has been told what it has
	owner     string // whose own connection it is; "" for a shared one
	subs      map[string]bool
	listens   map[string]filter // by the raw id of the request
	jobs      map[string]*job   // calls under way, by raw id
	questions map[string]*inquiry
	required  map[string]time.Time // elicitations that errors have named, and when
	asked     int
}

// job is a call under way.
type job struct {
	id, nonce, token, verb string
	script                 []string
	level                  string
	ctx                    context.Context // ends with the call
	cancel                 context.CancelFunc
	release                chan struct{}
	once                   sync.Once
	cancelled              bool
	k, progress            int
	elicitation            *inquiry // the last that sends a person to a URL
}

// inquiry is a question of the server's.
type inquiry struct {
	mark      mark
	expects   string // who answers; "" for anybody
	answers   int
	withdrawn bool
	done      chan struct{}
}

func (s *server) serve(r io.ReadCloser, w io.WriteCloser) {
	p := &peer{
		server: s, w: w, subs: make(map[string]bool), listens: make(map[string]filter), jobs: make(map[string]*job), questions: make(map[string]*inquiry),
		required: make(map[string]time.Time),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	s.mu.Lock()
	s.begun++
	p.name = s.def.Key + "#" + strconv.Itoa(s.begun)
	s.peers = append(s.peers, p)
	s.mu.Unlock()
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break // a line that was begun when the connection ended is none
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		s.run.note(p.name, "<", line)
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			s.run.fail("%s cannot read %s: %v", p.name, line, err)
			continue
		}
		p.take(&f)
	}
	p.cancel()
	s.mu.Lock()
	s.peers = slices.DeleteFunc(s.peers, func(o *peer) bool { return o == p })
	s.mu.Unlock()
	_ = w.Close()
	_ = r.Close()
	p.work.Wait()
}

// crash ends the connection.
func (p *peer) crash() {
	p.server.run.note(p.name, "crash", nil)
	p.cancel()
	_ = p.w.Close()
}

func (p *peer) send(format string, args ...any) {
	raw := fmt.Appendf(nil, format, args...)
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.server.run.note(p.name, ">", raw)
	_, _ = p.w.Write(append(raw, '\n')) // the hub may be gone
}

func (p *peer) take(f *frame) {
	switch {
	case f.Method == "":
		p.answered(f)
	case f.ID == nil:
		p.told(f)
	default:
		p.asks(f)
	}
}

// offers is what the server declares.
const offers = `"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}`

func (p *peer) asks(f *frame) {
	s, result := p.server, "{}"
	switch {
	case f.Method == "initialize" && !s.modern:
		p.mu.Lock()
		for name := range f.Params.Capabilities.Experimental {
			p.owner = name
		}
		p.mu.Unlock()
		result = `{"protocolVersion":"2025-11-25",` + offers + `,"serverInfo":{"name":"s","version":"1"}}`
	case f.Method == "server/discover" && s.modern:
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],` + offers + `,"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`
	case f.Method == "initialize" || f.Method == "server/discover":
		p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, f.ID)
		return
	case f.Method == "tools/list":
		result = s.list()
		p.mu.Lock()
		p.ready = true
		p.mu.Unlock()
	case strings.HasSuffix(f.Method, "/list"):
		result = `{"resources":[` + s.resources() + `],"resourceTemplates":[],"prompts":[{"name":"say"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
	case f.Method == "resources/subscribe" || f.Method == "resources/unsubscribe":
		p.mu.Lock()
		if p.subs[f.Params.URI] = f.Method == "resources/subscribe"; !p.subs[f.Params.URI] {
			delete(p.subs, f.Params.URI)
		}
		p.mu.Unlock()
	case f.Method == "logging/setLevel":
	case f.Method == "subscriptions/listen":
		p.mu.Lock()
		p.listens[string(f.ID)] = f.Params.Notifications
		p.mu.Unlock()
		wants, _ := json.Marshal(f.Params.Notifications)
		p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}}`, f.ID, wants)
		return
	case f.Params.Meta.Nonce != "":
		p.begin(f)
		return
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, f.ID, result)
}

func (s *server) list() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	b.WriteString(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"run","inputSchema":{"type":"object"}}`)
	for i := range s.tools {
		fmt.Fprintf(&b, `,{"name":"more%d","inputSchema":{"type":"object"}}`, i)
	}
	return b.String() + "]}"
}

// uris are those of the server's resources.
func (s *server) uris() []string {
	return []string{"res://" + s.def.Key + "/a", "res://" + s.def.Key + "/b"}
}

func (s *server) resources() string {
	var list []string
	for _, uri := range s.uris() {
		list = append(list, `{"uri":"`+uri+`","name":"x"}`)
	}
	return strings.Join(list, ",")
}

func (p *peer) told(f *frame) {
	switch f.Method {
	case "notifications/cancelled":
		p.mu.Lock()
		j := p.jobs[string(f.Params.RequestID)]
		if j != nil {
			j.cancelled = true
		}
		delete(p.listens, string(f.Params.RequestID))
		p.mu.Unlock()
		if j != nil {
			j.cancel()
		}
	case "notifications/roots/list_changed":
		if p.owner == "" || f.Params.Mark.By != p.owner {
			p.server.run.fail("%s, which is %q's, was told of %q's roots", p.name, p.owner, f.Params.Mark.By)
		}
	case "notifications/progress":
		p.mu.Lock()
		q := p.questions[string(f.Params.ProgressToken)]
		p.mu.Unlock()
		if q == nil || q.answers > 0 || q.mark.Nonce != f.Params.Mark.Nonce || q.mark.K != f.Params.Mark.K {
			p.server.run.fail("%s got progress of no open question of that token: %+v", p.name, f.Params)
		}
	}
}

// answered checks an answer to a question.
func (p *peer) answered(f *frame) {
	r := p.server.run
	p.mu.Lock()
	q := p.questions[string(f.ID)]
	if q == nil {
		p.mu.Unlock()
		r.fail("%s got an answer to nothing: %+v", p.name, f)
		return
	}
	q.answers++
	n := q.answers
	p.mu.Unlock()
	if n > 1 {
		r.fail("%s got %d answers to %+v", p.name, n, q.mark)
		return
	}
	switch {
	case f.Result != nil:
		if m := f.Result.Mark; m.Nonce != q.mark.Nonce || m.K != q.mark.K || q.expects != "" && m.By != q.expects {
			r.fail("%s asked %+v, which is for %q, and got the answer %+v", p.name, q.mark, q.expects, m)
		}
	case f.Error == nil || f.Error.Message == "":
		r.fail("%s got an answer that says nothing to %+v", p.name, q.mark)
	case f.Error.Code == -1 && f.Error.Message != q.mark.Nonce+"/"+strconv.Itoa(q.mark.K):
		r.fail("%s asked %+v and got another one's refusal: %s", p.name, q.mark, f.Error.Message)
	}
	close(q.done)
}

// ask puts a question. kind is one of s, e, u, r: sampling, a form, a URL, roots.
func (p *peer) ask(kind string, m mark, expects string) (*inquiry, string) {
	q := &inquiry{mark: m, expects: expects, done: make(chan struct{})}
	p.mu.Lock()
	p.asked++
	id := strconv.Itoa(p.asked)
	if p.asked%2 == 0 {
		id = `"q` + id + `"`
	}
	p.questions[id] = q
	p.mu.Unlock()
	method, more := "roots/list", ""
	switch kind {
	case "s":
		method, more = "sampling/createMessage", `"messages":[],"maxTokens":1,`
	case "e":
		method, more = "elicitation/create", `"message":"?","requestedSchema":{"type":"object","properties":{}},`
	case "u":
		method, more = "elicitation/create", `"mode":"url","message":"?","url":"https://example.com/","elicitationId":"`+m.Nonce+"/"+strconv.Itoa(m.K)+`",`
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s"_meta":{"progressToken":%s},"t/mark":%s}}`, id, method, more, id, m.json())
	return q, id
}

// hears is which connections are to be told of a resource.
func (s *server) hears(uri string) []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var to []*peer
	for _, p := range s.peers {
		p.mu.Lock()
		on := p.subs[uri]
		for _, f := range p.listens {
			on = on || slices.Contains(f.URIs, uri)
		}
		if on && p.ctx.Err() == nil {
			to = append(to, p)
		}
		p.mu.Unlock()
	}
	return to
}

// update tells of a resource on all connections where that is wanted, and on
// those where it is not if all says so.
func (s *server) update(uri string, all bool) {
	to := s.hears(uri)
	if all {
		to = s.connected()
	}
	at := s.run.counter.Add(1)
	for _, p := range to {
		p.updated(uri, at)
	}
}

func (p *peer) updated(uri string, at int64) {
	tags := []string{""}
	if p.server.modern {
		tags = nil
		p.mu.Lock()
		for id, f := range p.listens {
			if slices.Contains(f.URIs, uri) {
				tags = append(tags, `"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`},`)
			}
		}
		p.mu.Unlock()
	}
	for _, tag := range tags {
		p.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{%s"uri":"%s","t/mark":{"at":%d}}}`, tag, uri, at)
	}
}

func (s *server) connected() []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.peers)
}

// change adds a tool, and tells everybody.
func (s *server) change() {
	s.mu.Lock()
	s.tools++
	s.mu.Unlock()
	for _, p := range s.connected() {
		p.changed()
	}
}

func (p *peer) changed() {
	tags := []string{""}
	if p.server.modern {
		p.mu.Lock()
		tags = slices.Collect(maps.Keys(p.listens))
		p.mu.Unlock()
	}
	for _, id := range tags {
		tag := ""
		if id != "" {
			tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}`
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{%s}}`, tag)
	}
}

// ambient says something outside of calls.
func (p *peer) ambient(what string) {
	at := p.server.run.counter.Add(1)
	p.mu.Lock()
	owner := p.owner
	p.mu.Unlock()
	m := mark{Nonce: "ambient " + owner, K: int(at), At: at}
	switch {
	case what == "l":
		p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"alert","data":{"t/mark":%s}}}`, m.json())
	case !p.server.modern:
		m.How = "now"
		p.ask(what, m, owner)
	}
}
