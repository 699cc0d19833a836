package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tool is one tool: how it is listed, as the bytes that are sent, and what it
// does. An error result is not an error: that is for JSON-RPC errors.
type tool struct {
	name       string
	definition string
	run        func(ctx context.Context, s *server, c call) (json.RawMessage, *rpcError)
}

// call is one tools/call.
type call struct {
	request
	args arguments
}

// arguments are the members that the tools know, all of them together.
type arguments struct {
	Text string `json:"text"`
	MS   int    `json:"ms"`
	N    int    `json:"n"`
	KiB  int    `json:"kib"`
	Logs bool   `json:"logs"`
	Only bool   `json:"only"`
	How  string `json:"how"`
}

// tools returns the tools in the order in which they are listed. About is what
// echo says about itself, "" for the usual.
func tools(about string) []tool {
	const (
		none     = `{"type":"object","properties":{}}`
		text     = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
		readOnly = `,"annotations":{"readOnlyHint":true}`
	)
	return []tool{
		define("echo", cmp.Or(about, "Returns the text."), text, readOnly, echo),
		define("note", "Returns the text, like echo, but says nothing about side effects: a call that must not be repeated.", text, "", echo),
		define("work", "Writes the text to the -tally file, waits ms milliseconds, then returns the text. It must not be repeated.",
			`{"type":"object","properties":{"text":{"type":"string"},"ms":{"type":"integer","minimum":0}},"required":["text"]}`,
			`,"annotations":{"destructiveHint":true,"idempotentHint":false}`, work),
		define("reach", "Tries what how names (read, write, connect) at the path or address in text: returns what it read, nothing, or a tool error.",
			`{"type":"object","properties":{"text":{"type":"string"},"how":{"enum":["read","write","connect"]}},"required":["text","how"]}`, "", reach),
		define("mirror", "Returns the parameters of the call, byte for byte, in structuredContent.params.",
			`{"type":"object","additionalProperties":true}`, readOnly, mirror),
		define("sleep", "Waits ms milliseconds; a cancelled call is counted and gets no result.",
			`{"type":"object","properties":{"ms":{"type":"integer","minimum":0}},"required":["ms"]}`, readOnly, sleep),
		define("progress", "Tells of progress n times, with logs in as many log lines between them, ms milliseconds apart, then returns.",
			`{"type":"object","properties":{"n":{"type":"integer","minimum":0},"logs":{"type":"boolean"},"ms":{"type":"integer"}},"required":["n"]}`,
			readOnly, progress),
		define("fail", "Returns a tool error.", none, readOnly, fail),
		define("rpcerror", "Returns a JSON-RPC error with data.", none, readOnly, rpcFailure),
		define("big", "Returns kib KiB of text.",
			`{"type":"object","properties":{"kib":{"type":"integer","minimum":0}},"required":["kib"]}`, readOnly, big),
		define("calls_count", "Returns how many calls of each name arrived, this one included.", none, readOnly, callsCount),
		define("cancelled_count", "Returns how many calls were cancelled.", none, readOnly, cancelledCount),
		define("crash", "Ends the process with code 3 and does not answer.", none, `,"annotations":{"destructiveHint":true}`, crash),
		{name: "weird", definition: weirdTool, run: weird},
		define("set_tools", "Adds n tools filler_1 to filler_n to the list, or with only lists nothing else, and says that the list changed.",
			`{"type":"object","properties":{"n":{"type":"integer","minimum":0},"only":{"type":"boolean"}},"required":["n"]}`,
			`,"annotations":{"idempotentHint":true}`, setTools),
		define("env", "Returns the environment of the process as a JSON object.", none, readOnly, env),
		define("headers", "Returns the HTTP headers of this call as a JSON object.", none, readOnly, headers),
		define("fork", "Starts a grandchild that ignores TERM and holds the pipes open for 1000 s; answers its pid.",
			none, `,"annotations":{"destructiveHint":true}`, fork),
	}
}

func define(name, about, schema, rest string,
	run func(context.Context, *server, call) (json.RawMessage, *rpcError),
) tool {
	return tool{
		name:       name,
		definition: fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s%s}`, name, about, schema, rest),
		run:        run,
	}
}

func fillerTool(name string) string {
	return fmt.Sprintf(`{"name":%q,"description":"Does nothing.","inputSchema":{"type":"object"}}`, name)
}

// list answers tools/list.
func (s *server) list(ctx context.Context, r request) (json.RawMessage, *rpcError) {
	f := s.opt.faults
	if f.has("notool") {
		return nil, &rpcError{Code: codeInternal, Message: "the list of tools is not available"}
	}
	if f.has("noping") && s.wasListed() {
		<-ctx.Done()
		return nil, nil
	}
	if f.has("slowlist") {
		wait(ctx, s.opt.delay)
	}
	var (
		entries []string
		next    string
		p       struct {
			Cursor string `json:"cursor"`
		}
	)
	_ = json.Unmarshal(r.Params, &p)
	s.mu.Lock()
	fillers, only := s.fillers, s.onlyFillers
	s.mu.Unlock()
	if !only {
		for _, t := range s.tools {
			entries = append(entries, t.definition)
		}
	}
	for i := range fillers {
		entries = append(entries, fillerTool("filler_"+strconv.Itoa(i+1)))
	}
	switch {
	case f.has("endlesspages"):
		next = "again"
	case f.has("endlessnew"):
		page, _ := strconv.Atoi(p.Cursor)
		if page > 0 {
			entries = []string{fillerTool("page_" + p.Cursor)}
		}
		next = strconv.Itoa(page + 1)
	}
	var b bytes.Buffer
	b.WriteString(`{"tools":[` + strings.Join(entries, ",") + `]`)
	if next != "" {
		fmt.Fprintf(&b, `,"nextCursor":%q`, next)
	}
	if r.modern {
		b.WriteString(`,"ttlMs":0,"cacheScope":"private"`)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// call answers tools/call. Unknown names whose tool may once have been listed
// as a filler are answered too.
func (s *server) call(ctx context.Context, r request) (json.RawMessage, *rpcError) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return nil, &rpcError{Code: codeBadParams, Message: "tools/call: " + err.Error()}
	}
	c := call{request: r}
	if len(p.Arguments) > 0 && p.Name != "mirror" {
		if err := json.Unmarshal(p.Arguments, &c.args); err != nil {
			return nil, &rpcError{Code: codeBadParams, Message: "arguments: " + err.Error()}
		}
	}
	if strings.HasPrefix(p.Name, "filler_") || strings.HasPrefix(p.Name, "page_") {
		return textResult(p.Name), nil
	}
	i := slices.IndexFunc(s.tools, func(t tool) bool { return t.name == p.Name })
	if i < 0 {
		return nil, &rpcError{Code: codeBadParams, Message: "Unknown tool: " + p.Name}
	}
	result, err := s.tools[i].run(ctx, s, c)
	if ctx.Err() != nil {
		s.tally(func(c *stats) { c.Cancelled++ })
	}
	return result, err
}

// textResult returns a tool result with one text.
func textResult(text string) json.RawMessage {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, encode(text))
}

// structuredResult returns a tool result with a JSON value, also as text.
func structuredResult(value json.RawMessage) json.RawMessage {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, encode(string(value)), value)
}

// filler returns n bytes of printable text that differ along the way, so that
// a piece lost or doubled shows.
func filler(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + (i/7+i%7)%26)
	}
	return string(b)
}

func echo(_ context.Context, _ *server, c call) (json.RawMessage, *rpcError) {
	return textResult(c.args.Text), nil
}

func mirror(_ context.Context, _ *server, c call) (json.RawMessage, *rpcError) {
	return fmt.Appendf(nil, `{"content":[],"structuredContent":{"params":%s}}`, c.Params), nil
}

func sleep(ctx context.Context, _ *server, c call) (json.RawMessage, *rpcError) {
	wait(ctx, time.Duration(c.args.MS)*time.Millisecond)
	return textResult("slept"), nil
}

func progress(ctx context.Context, _ *server, c call) (json.RawMessage, *rpcError) {
	token := c.meta("progressToken")
	for i := 1; i <= c.args.N && ctx.Err() == nil; i++ {
		if token != nil {
			c.notify(notification("notifications/progress", map[string]any{
				"progressToken": token, "progress": i, "total": c.args.N, "message": fmt.Sprintf("step %d", i),
			}))
		}
		if c.args.Logs && c.wantsInfo() {
			c.notify(notification("notifications/message", map[string]any{
				"level": "info", "logger": "faultserver", "data": fmt.Sprintf("line %d", i),
			}))
		}
		if c.args.MS > 0 {
			wait(ctx, time.Duration(c.args.MS)*time.Millisecond)
		}
	}
	return textResult(fmt.Sprintf("%d steps", c.args.N)), nil
}

// wantsInfo reports whether the caller gets log lines of level info: before
// 2026-07-28 unless logging/setLevel asked for less, since then only if the
// request asks for them.
func (c call) wantsInfo() bool {
	level := "info"
	if c.modern {
		level = ""
		_ = json.Unmarshal(c.meta(metaLogLevel), &level)
	} else {
		c.session.mu.Lock()
		defer c.session.mu.Unlock()
		if c.session.level != "" {
			level = c.session.level
		}
	}
	return level == "debug" || level == "info"
}

func fail(context.Context, *server, call) (json.RawMessage, *rpcError) {
	return json.RawMessage(`{"content":[{"type":"text","text":"it did not work"}],"isError":true}`), nil
}

func rpcFailure(context.Context, *server, call) (json.RawMessage, *rpcError) {
	return nil, &rpcError{
		Code: 1234, Message: "refused on request",
		Data: json.RawMessage(`{"reason":"asked for","big":9007199254740993,"nested":{"list":[0,false,null,"",{}]}}`),
	}
}

func big(_ context.Context, _ *server, c call) (json.RawMessage, *rpcError) {
	return textResult(filler(c.args.KiB << 10)), nil
}

func callsCount(_ context.Context, s *server, _ call) (json.RawMessage, *rpcError) {
	return structuredResult(encode(s.snapshot().Calls)), nil
}

func cancelledCount(_ context.Context, s *server, _ call) (json.RawMessage, *rpcError) {
	return structuredResult(encode(map[string]int{"cancelled": s.snapshot().Cancelled})), nil
}

func crash(context.Context, *server, call) (json.RawMessage, *rpcError) {
	os.Exit(exitCrash)
	return nil, nil
}

func weird(context.Context, *server, call) (json.RawMessage, *rpcError) {
	return json.RawMessage(weirdResult), nil
}

func setTools(_ context.Context, s *server, c call) (json.RawMessage, *rpcError) {
	s.setTools(c.args.N, c.args.Only)
	return textResult(fmt.Sprintf("%d fillers", c.args.N)), nil
}

func env(context.Context, *server, call) (json.RawMessage, *rpcError) {
	vars := map[string]string{}
	for _, kv := range os.Environ() {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	return structuredResult(encode(vars)), nil
}

func headers(_ context.Context, _ *server, c call) (json.RawMessage, *rpcError) {
	flat := map[string]string{}
	for k, v := range c.header {
		flat[k] = strings.Join(v, ", ")
	}
	return structuredResult(encode(flat)), nil
}

func fork(context.Context, *server, call) (json.RawMessage, *rpcError) {
	cmd, err := grandchild()
	if err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	if err := cmd.Start(); err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	pid := cmd.Process.Pid
	// The child is reaped if it ends first, so that a test that looks for the
	// pid does not find a zombie of ours.
	go func() { _ = cmd.Wait() }()
	return structuredResult(encode(map[string]int{"pid": pid})), nil
}
