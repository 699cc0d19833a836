package call

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// office is a pipeline whose calls people are asked about.
type office struct {
	*crib
	desk     *approval.Desk
	db       *store.DB
	audit    *audit.Log
	rules    atomic.Pointer[policy.Policy]
	settings Settings
	answer   func(n note) string // of the servers, "" for an error; nil for the usual one

	mu   sync.Mutex
	done []string      // what the server was called for
	raw  []string      // with which requests
	slow time.Duration // how long each takes
	bare int           // how often it was called without an intent on record
}

// asks is a rule that has people asked about a tool, and denies one that forbids it.
func asks(tool string) hub.Rule {
	return hub.Rule{ID: "r-" + tool, Effect: hub.VerdictAsk, Tools: []string{tool}, Because: "it bites"}
}

func denies(tool string) hub.Rule {
	return hub.Rule{ID: "d-" + tool, Effect: hub.VerdictDeny, Tools: []string{tool}}
}

// officeTools are those that the office's servers have.
const officeTools = `{"name":"do","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"to":{"type":"string"}}}},` +
	`{"name":"see","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`

// newOffice makes one with the rules in force at every door, over the servers, which
// have the same tools and note what they are called with.
func newOffice(t *testing.T, rules []hub.Rule, servers ...hub.Server) *office {
	t.Helper()
	o := newOfficeBy(t, nil, rules, servers...)
	synctest.Wait()
	return o
}

// newOfficeBy is newOffice with credentials for remote servers. It waits for none.
func newOfficeBy(t *testing.T, by transport.Authorizer, rules []hub.Rule, servers ...hub.Server) *office {
	t.Helper()
	o := &office{}
	d := has{tools: officeTools, resources: `{"uri":"mem:a","name":"a"}`, prompts: `{"name":"hi"}`, answer: func(p *peer, n note) string {
		raw := string(p.in.Bytes())
		time.Sleep(o.slow)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.raw = append(o.raw, raw)
		o.done = append(o.done, n.Params.Name+n.Params.URI)
		if page, err := o.audit.Query(context.Background(), audit.Filter{Outcomes: []hub.Outcome{audit.UnderWay}}, "", 10); err != nil || len(page.Calls) != 1 {
			o.bare++
		}
		if o.answer != nil {
			return o.answer(n)
		}
		return echo(p, n)
	}}
	scripts := make(map[string]func(*peer))
	if len(servers) == 0 {
		servers = []hub.Server{builtin("s")}
	}
	for _, s := range servers {
		scripts[s.Key] = d.serve
	}
	o.crib = newCribBy(t, by, scripts, servers...)
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "hub.db"), Log: log})
	must(t, err)
	o.db = db
	keys, err := audit.LoadKeys(filepath.Join(dir, "audit.key"))
	must(t, err)
	o.audit, err = audit.Open(t.Context(), audit.Options{DB: db, Dir: filepath.Join(dir, "journal"), Keys: keys, Log: log, Settings: audit.Settings{KeepArguments: true}})
	must(t, err)
	sealed, err := secret.OpenStore(filepath.Join(dir, "key"), filepath.Join(dir, "sealed"))
	must(t, err)
	o.desk, err = approval.Open(t.Context(), approval.Options{DB: db, Node: keys.Node(), Seal: sealed, Log: log})
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var parts sync.WaitGroup
	parts.Go(func() { _ = o.audit.Run(ctx) })
	parts.Go(func() { _ = o.desk.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		parts.Wait()
		must(t, db.Close())
	})
	o.setRules(rules...)
	old := o.Pipeline
	o.Pipeline = New(Options{
		Catalog: old.catalog, Fleet: old.fleet, Bus: old.bus, Log: log, Audit: o.audit, Policy: o.rules.Load, Approvals: o.desk,
		Settings: func() Settings { return o.settings },
	})
	return o
}

func (o *office) setRules(rules ...hub.Rule) {
	modes := map[hub.Door]hub.PolicyMode{hub.DoorMCP: hub.PolicyEnforce, hub.DoorREST: hub.PolicyEnforce, hub.DoorStdio: hub.PolicyObserve}
	compiled, faults := policy.Compile(hub.Policy{Given: true, Modes: modes, Rules: rules})
	if len(faults) > 0 {
		panic(fmt.Sprint(faults))
	}
	o.rules.Store(compiled)
}

// sent is what the servers were called with.
func (o *office) sent() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.done, " ")
}

// latest is the record of the call that ended last.
func (o *office) latest() hub.CallRecord {
	o.t.Helper()
	r := o.last()
	for len(o.ended.C()) > 0 {
		r = o.last()
	}
	return r
}

// call calls a tool with arguments as JSON.
func (o *office) call(ctx context.Context, tool, arguments string, change ...func(*Request)) (*Result, error) {
	o.t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`), wire.Limits{UniqueKeys: true})
	must(o.t, err)
	req := &Request{Principal: hub.Principal{Subject: "ann", Door: hub.DoorMCP, Role: hub.RoleCaller}, Session: "session", Message: &m, Exchange: &caller{}}
	for _, f := range change {
		f(req)
	}
	return o.Do(ctx, req)
}

// answer is a call on its way.
type outcome struct {
	res *Result
	err error
}

// begin calls a tool aside, and returns once it waits for something.
func (o *office) begin(ctx context.Context, tool, arguments string, change ...func(*Request)) <-chan outcome {
	o.t.Helper()
	ch := make(chan outcome, 1)
	go func() {
		res, err := o.call(ctx, tool, arguments, change...)
		ch <- outcome{res, err}
	}()
	time.Sleep(time.Millisecond)
	return ch
}

// told is the text of a result, whether it says isError, and what it says of a ticket.
func told(t *testing.T, r *Result, err error) (text string, wrong bool, ticket string) {
	t.Helper()
	must(t, err)
	m := &r.Message
	for one := range wire.Array(m.Raw, m.Member("content")) {
		text, _ = wire.String(m.Raw, wire.Lookup(m.Raw, one, "text"))
	}
	at := wire.Lookup(m.Raw, m.Member("_meta"), metaApproval)
	ticket, _ = wire.String(m.Raw, wire.Lookup(m.Raw, at, "ticket"))
	return text, string(m.Member("isError").Of(m.Raw)) == "true", ticket
}

// pending is the one request that is pending.
func (o *office) pending() approval.Request {
	o.t.Helper()
	list, err := o.desk.List(context.Background(), approval.Query{Status: []approval.Status{approval.Pending}})
	must(o.t, err)
	if len(list) != 1 {
		o.t.Fatalf("%d requests are pending", len(list))
	}
	return list[0]
}

func (o *office) decide(id string, with approval.Deciding) approval.Request {
	o.t.Helper()
	with.By = hub.Principal{Subject: "bob", Door: hub.DoorREST, Role: hub.RoleApprover, Token: "t1"}
	q, err := o.desk.Decide(context.Background(), id, with)
	must(o.t, err)
	return q
}

func (o *office) status(id string) approval.Request {
	o.t.Helper()
	q, err := o.desk.Get(context.Background(), id)
	must(o.t, err)
	return q
}
