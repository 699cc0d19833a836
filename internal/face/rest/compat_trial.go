package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of a batch.
const (
	maxBatch     = 100
	batchAtOnce  = 4
	batchLimit   = 10 * time.Minute
	batchResults = 32 << 20 // bytes of all results
)

type (
	compatStartInput  struct{ Body api.CompatStart }
	compatCallInput   struct{ Body api.CompatToolCall }
	compatCallOutput  struct{ Body api.CompatToolResult }
	compatBatchInput  struct{ Body api.CompatBatch }
	compatBatchOutput struct{ Body api.CompatBatchResult }
)

// compatTrials registers what servers and tools are tried out with.
func (d *Door) compatTrials() {
	add(d, operation{
		id: "compatStdioStatus", method: http.MethodGet, path: "/mcp-test/stdio/status", group: aboutCompat,
		summary: "How every server is that runs on this machine",
	}, func(ctx context.Context, _ *struct{}) (*compatHostOutput, error) {
		return d.hosted(ctx, func(s *hub.Server) bool { return !s.Kind.Remote() })
	})
	add(d, operation{
		id: "compatStdioStart", method: http.MethodPost, path: "/mcp-test/stdio/start", group: aboutCompat,
		summary: "Start a server that is there, or define one and start it",
		about: "With `command` a new server is tried out first. If it works it is written into the configuration, since the hub runs nothing that is not there; " +
			"else nothing is changed.",
		needs: hub.MayManage, hubwide: true, limit: 1,
		example: map[string]any{"server_key": "everything", "command": "npx", "args": []string{"-y", "@modelcontextprotocol/server-everything@2026.8.31"}},
		errors: []int{
			http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusTooManyRequests,
			http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		},
	}, d.compatStart)
	const one = "/mcp-test/stdio/tools/call"
	add(d, operation{
		id: "compatToolTest", method: http.MethodPost, path: one, group: aboutCompat, summary: "Call one server's tool",
		needs: hub.MayCall, limit: 16, errors: unanswered(),
		example: map[string]any{"server_key": "calculator", "tool_name": "calculator", "arguments": map[string]any{"expression": "2 + 3"}},
	}, func(ctx context.Context, in *compatCallInput) (*compatCallOutput, error) {
		r, err := d.try(ctx, &in.Body)
		if err != nil {
			return nil, failed(err)
		}
		return &compatCallOutput{r}, nil
	})
	add(d, operation{
		id: "compatToolBatch", method: http.MethodPost, path: "/mcp-test/stdio/tools/batch", group: aboutCompat, summary: "Call some tools, and say how each call went",
		about: "Four at a time, for 10 minutes at most. That a call fails is no error of the request.",
		needs: hub.MayCall, limit: 16,
		example: map[string]any{"calls": []any{map[string]any{"server_key": "datetime", "tool_name": "get_current_time"}}},
	}, d.batch)
}

func (d *Door) compatStart(ctx context.Context, in *compatStartInput) (*compatHostDoneOutput, error) {
	b := &in.Body
	limit, err := seconds(b.Timeout)
	if err != nil {
		return nil, failed(err)
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	key := b.ServerKey
	if unsaid(b.Command) {
		var k known
		k, err = d.startable(ctx, key)
		key = k.key
	} else {
		key, err = d.define(ctx, b)
	}
	if err == nil {
		err = d.opt.Control.Start(ctx, key)
	}
	if err != nil {
		return nil, failed(err)
	}
	return d.hostDone(ctx, key, message.Say("The server is running."))
}

// maxSeconds is the longest time limit that these paths take.
const maxSeconds = 3600

// seconds is a time limit as these paths have it; 0 for none.
func seconds(n *float64) (time.Duration, error) {
	switch {
	case n == nil:
		return 0, nil
	case !(*n > 0 && *n <= maxSeconds):
		return 0, unfit(message.Say(`body: "timeout" must be seconds, more than 0 and at most %d`, maxSeconds))
	}
	return max(time.Duration(*n*float64(time.Second)), 1), nil
}

// define writes a server into the configuration once it is known to work. One that
// is there and is run in the same way stays as it is.
func (d *Door) define(ctx context.Context, b *api.CompatStart) (string, error) {
	key := b.ServerKey
	switch {
	case key == "" && unsaid(b.Name):
		return "", unfit(message.Say(`body: "name" or "server_key" is needed`))
	case key == "":
		key = keyOfName(*b.Name)
	}
	if s, err := d.opt.Control.Server(key); err == nil {
		def := &s.Definition
		if def.Command == *b.Command && slices.Equal(def.Args, b.Args) && b.Env == nil {
			return key, nil
		}
		return "", hub.E(message.ServerExists, nil, "server", message.Quote(key))
	}
	e := newEntry(nil)
	if !unsaid(b.Name) {
		e.set(*b.Name, "name")
	}
	e.set(*b.Command, "command")
	if len(b.Args) > 0 {
		e.set(b.Args, "args")
	}
	if len(b.Env) > 0 {
		e.set(b.Env, "env")
	}
	probe, err := d.opt.Control.Test(ctx, key, e.json())
	if err == nil && probe.Failed != "" {
		err = probe.Fault
	}
	if err != nil {
		return "", err
	}
	return d.opt.Control.Add(key, e.json())
}

// try calls one server's tool.
func (d *Door) try(ctx context.Context, c *api.CompatToolCall) (api.CompatToolResult, error) {
	tool := cmp.Or(c.ToolName, c.Name)
	switch {
	case tool == "" || c.ToolName != "" && c.Name != "" && c.ToolName != c.Name:
		return api.CompatToolResult{}, unfit(message.Say(`body: "tool_name" or "name" is needed, and they must not contradict`))
	case utf8.RuneCountInString(c.SessionID) > maxSession:
		return api.CompatToolResult{}, unfit(message.Say(`body: "session_id" must have at most %d characters`, maxSession))
	}
	name, err := d.nameOf(ctx, c.ServerKey, tool)
	if err != nil {
		return api.CompatToolResult{}, err
	}
	result, err := d.carry(ctx, &carried{tool: name, arguments: c.Arguments, session: c.SessionID, timeout: c.Timeout})
	if err != nil {
		return api.CompatToolResult{}, err
	}
	r := api.CompatToolResult{Success: !result.IsError, Result: result.Result, Code: result.Code, Duration: result.Duration}
	if result.IsError {
		r.Error = firstText(lang(ctx), result.Result)
	}
	return r, nil
}

// nameOf is a name that stands for just this server's tool.
func (d *Door) nameOf(ctx context.Context, server, tool string) (string, error) {
	k, err := d.known(ctx, server)
	if err == nil && k.server == nil {
		err = hub.E(message.ServerDisabled, nil, "server", message.Quote(k.key))
	}
	if err != nil {
		return "", err
	}
	view, err := d.compatView(ctx)
	if err != nil {
		return "", err
	}
	means := func(name string) bool {
		e, ok := view.Tool(name)
		return ok && e.Server.Key == k.key && (e.Tool.Name == tool || e.Exposed == tool)
	}
	qualified := k.key + catalog.Separator + tool
	for _, name := range []string{qualified, tool} {
		if means(name) {
			return name, nil
		}
	}
	for _, e := range view.Tools() {
		if e.Server.Key == k.key && e.Tool.Name == tool && means(e.Exposed) {
			return e.Exposed, nil
		}
	}
	if e, ok := view.Tool(qualified); ok && e.Server.Key != k.key {
		return "", hub.E(message.ToolUnknown, nil, "tool", message.Quote(qualified))
	}
	return qualified, nil // it is not known yet, or is not offered, and the call will tell
}

// carried is a call of a tool by these paths.
type carried struct {
	tool      string // by the name by which it is called
	arguments json.RawMessage
	session   string   // as the caller names the conversation; "" for none
	timeout   *float64 // seconds; nil for no limit but the server's
}

// carry makes a call.
func (d *Door) carry(ctx context.Context, c *carried) (*api.CallResult, error) {
	arguments := c.arguments
	if string(arguments) == "null" {
		arguments = nil
	}
	if len(arguments) > 0 && arguments[0] != '{' {
		return nil, unfit(message.Say(`body: "arguments" must be an object`))
	}
	limit, err := seconds(c.timeout)
	if err != nil {
		return nil, err
	}
	m, err := callMessage(&api.Call{Tool: c.tool, Arguments: arguments}, false)
	if err != nil {
		return nil, err
	}
	p := principal(ctx)
	return d.do(ctx, &call.Request{
		Principal: p, SessionRef: callstate.Named(p, c.session), Viewer: viewer(ctx, ""),
		Message: m, Lang: lang(ctx), Exchange: silent{}, Timeout: limit,
	})
}

// firstText is what the result of a tool that failed says first, or that it says
// nothing.
func firstText(l message.Lang, raw []byte) string {
	for item := range wire.Array(raw, wire.Lookup(raw, wire.Value(raw), "content")) {
		if text, ok := wire.String(raw, wire.Lookup(raw, item, "text")); ok && text != "" {
			return text
		}
	}
	return message.Say("The tool says that it failed, and does not say why.").In(l)
}

func (d *Door) batch(ctx context.Context, in *compatBatchInput) (*compatBatchOutput, error) {
	calls := in.Body.Calls
	if len(calls) == 0 || len(calls) > maxBatch {
		return nil, failed(unfit(message.Say(`body: "calls" must have 1 to %d elements`, maxBatch)))
	}
	ctx, cancel := context.WithTimeout(ctx, batchLimit)
	defer cancel()
	began := time.Now()
	out := &compatBatchOutput{api.CompatBatchResult{Total: len(calls), Results: make([]api.CompatBatchItem, len(calls))}}
	next := make(chan int)
	var all sync.WaitGroup
	var room sizes
	for range min(batchAtOnce, len(calls)) {
		all.Go(func() {
			for i := range next {
				out.Body.Results[i] = d.tried(ctx, &calls[i], &room)
			}
		})
	}
	for i := range calls {
		next <- i
	}
	close(next)
	all.Wait()
	for i := range out.Body.Results {
		if out.Body.Results[i].Success {
			out.Body.Passed++
		}
	}
	out.Body.Failed = out.Body.Total - out.Body.Passed
	if out.Body.Failed > 0 {
		out.Body.Error = message.Say("%d of %d calls failed.", out.Body.Failed, out.Body.Total).In(lang(ctx))
	}
	out.Body.Success, out.Body.Duration = out.Body.Failed == 0, milliseconds(time.Since(began))
	return out, nil
}

// sizes counts the bytes of results. Safe for concurrent use.
type sizes struct {
	mu   sync.Mutex
	used int
}

// take reports whether there is room for so many more.
func (s *sizes) take(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > batchResults {
		return false
	}
	s.used += n
	return true
}

// tried is how one call of a batch went.
func (d *Door) tried(ctx context.Context, c *api.CompatToolCall, room *sizes) api.CompatBatchItem {
	item := api.CompatBatchItem{ServerKey: c.ServerKey, ToolName: cmp.Or(c.ToolName, c.Name)}
	began := time.Now()
	r, err := d.try(ctx, c)
	if err != nil {
		e := hub.AsError(err)
		r = api.CompatToolResult{Error: e.In(lang(ctx)), Code: string(e.Code), Duration: milliseconds(time.Since(began))}
	}
	if !room.take(len(r.Result)) {
		r.Result, item.Omitted = nil, true
	}
	item.CompatToolResult = r
	return item
}
