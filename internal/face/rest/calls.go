package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

type (
	callInput struct {
		Accept string `header:"Accept" hidden:"true"`
		Body   api.Call
	}
	// streamOutput is an answer that is written by hand.
	streamOutput struct{ Body func(huma.Context) }
)

// calls registers calling, and what is known of calls.
func (d *Door) calls() {
	add(d, operation{
		id: "call", method: http.MethodPost, path: "/calls", group: aboutTools, needs: hub.MayCall, summary: "Call a tool",
		about: "With `text/event-stream` in Accept the answer is an event stream: any number of events named `progress` and `log` " +
			"as the call goes on, then one `result` or `problem`. The call is cancelled when the connection ends.\n\n" +
			"A result with `resultType: input_required` asks for something (MCP 2026-07-28, Multi Round-Trip Requests): " +
			"make the same call again with `inputResponses` and the result's `requestState`.",
		limit:   64, // the same as over MCP
		example: map[string]any{"tool": "calculator__calculator", "arguments": map[string]any{"expression": "2 + 3"}},
		errors:  unanswered(),
	}, d.call)
	streamed[api.CallResult, api.CallEvent](d, "call", "The result; or events, whose names say which member their data have")
	d.record()
}

// call carries out one call.
func (d *Door) call(ctx context.Context, in *callInput) (*streamOutput, error) {
	follow := wantsEvents(in.Accept)
	m, err := callMessage(&in.Body, follow)
	if err != nil {
		return nil, failed(err)
	}
	p := principal(ctx)
	req := &call.Request{
		Principal: p, Viewer: viewer(ctx, ""), SessionRef: callstate.Named(p, in.Body.Session), Message: m, Level: in.Body.LogLevel, Lang: lang(ctx), Exchange: silent{},
		MaxRetries: in.Body.MaxRetries, UserMessage: in.Body.UserMessage,
	}
	if req.Timeout, err = callLimits(&in.Body); err != nil {
		return nil, failed(err)
	}
	if !follow {
		result, err := d.do(ctx, req)
		if err != nil {
			return nil, failed(err)
		}
		return &streamOutput{func(c huma.Context) { writeJSON(c, result) }}, nil
	}
	return &streamOutput{func(c huma.Context) {
		stream := newStream(c, d.beat)
		defer stream.close()
		req.Exchange = &follower{stream: stream, level: in.Body.LogLevel}
		result, err := d.do(ctx, req)
		if err != nil {
			stream.send("problem", api.CallEvent{Problem: document(voice{lang: lang(ctx), method: protocol.MethodToolsCall}, Status(hub.AsError(err).Code), err)})
			return
		}
		stream.send("result", api.CallEvent{Result: result})
	}}, nil
}

// The longest texts that a caller may give to be shown.
const (
	maxSession     = 128
	maxUserMessage = 500
)

// callLimits checks what a caller says of a call besides the call itself, and
// returns its time limit; 0 for none.
func callLimits(c *api.Call) (timeout time.Duration, err error) {
	if c.Timeout != "" {
		if timeout, err = time.ParseDuration(c.Timeout); err != nil || timeout <= 0 {
			return 0, unfit(message.Say(`body: "timeout" must be a duration such as "30s"`))
		}
	}
	switch {
	case c.MaxRetries != nil && (*c.MaxRetries < 0 || *c.MaxRetries > 10):
		return 0, unfit(message.Say(`body: "maxRetries" must be from 0 to 10`))
	case utf8.RuneCountInString(c.Session) > maxSession:
		return 0, unfit(message.Say(`body: "session" must have at most %d characters`, maxSession))
	case utf8.RuneCountInString(c.UserMessage) > maxUserMessage:
		return 0, unfit(message.Say(`body: "userMessage" must have at most %d characters`, maxUserMessage))
	}
	return timeout, nil
}

// do makes the call and reads the answer.
func (d *Door) do(ctx context.Context, req *call.Request) (*api.CallResult, error) {
	began := time.Now()
	res, err := d.opt.Call.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	answer, err := answered(req, res)
	if err != nil {
		return nil, err
	}
	result := &api.CallResult{
		Server: res.Server, Result: answer.Result.Of(answer.Raw),
		IsError:  string(answer.Member("isError").Of(answer.Raw)) == "true",
		Duration: milliseconds(time.Since(began)),
	}
	if res.Entry != nil {
		result.Tool = res.Entry.Tool.Name
	}
	if res.Fault != nil {
		result.Code = string(res.Fault.Code)
	}
	return result, nil
}

// answered is the answer to a request as the caller is to get it, or why the
// server refused.
func answered(req *call.Request, res *call.Result) (*wire.Message, error) {
	answer := &res.Message
	if answer.Kind == wire.Failure {
		text, _ := wire.String(answer.Raw, wire.Lookup(answer.Raw, answer.Error, "message"))
		code := wire.Lookup(answer.Raw, answer.Error, "code").Of(answer.Raw)
		return nil, hub.E(message.ServerRefused, nil, "method", req.Message.MethodName(),
			"detail", message.Quote(text)+" ("+message.Quote(string(code))+")", "answer", message.Quote(string(code)))
	}
	if len(res.Edits) == 0 {
		return answer, nil
	}
	edited, err := wire.Scan(wire.Splice(answer.Raw, res.Edits...), wire.Limits{MaxBytes: roomy})
	if err != nil {
		return nil, hub.E(message.Internal, err)
	}
	return &edited, nil
}

// roomy is the greatest length of what somebody else has written with a little of
// ours around or in it.
const roomy = 2 * wire.DefaultMaxBytes

// wantsEvents reports whether a client takes an event stream.
func wantsEvents(accept string) bool { return strings.Contains(accept, "text/event-stream") }

// progressToken is what a call that is followed asks progress for.
const progressToken = "1"

// callMessage makes the tools/call request of a call, in which what the caller
// has given as JSON stays the bytes that came.
func callMessage(c *api.Call, follow bool) (*wire.Message, error) {
	if _, known := protocol.Level(c.LogLevel); !known && c.LogLevel != "" {
		return nil, unfit(message.Say(`body: "logLevel" is none of MCP's levels`))
	}
	b := []byte(`{"jsonrpc":"2.0","id":1,"method":"` + protocol.MethodToolsCall + `","params":{"name":`)
	b = wire.AppendString(b, c.Tool)
	for _, member := range [...]struct {
		name string
		raw  json.RawMessage
	}{{"arguments", c.Arguments}, {"inputResponses", c.Answers}} {
		if len(member.raw) > 0 {
			b = append(b, `,"`+member.name+`":`...)
			b = append(b, member.raw...)
		}
	}
	if c.RequestState != "" {
		b = append(b, `,"requestState":`...)
		b = wire.AppendString(b, c.RequestState)
	}
	b = append(b, `,"_meta":{`...)
	if follow {
		b = append(b, `"`+protocol.MetaProgressToken+`":`+progressToken+`,`...)
	}
	b = append(b, `"`+protocol.MetaCapabilities+`":`...)
	if c.Interactive {
		b = append(b, `{"elicitation":{"form":{}}}`...)
	} else {
		b = append(b, `{}`...)
	}
	b = append(b, `}}}`...)
	return request(b)
}

// request reads a request that was made of what a caller has given.
func request(b []byte) (*wire.Message, error) {
	m, err := wire.Scan(b, wire.Limits{MaxBytes: roomy, UniqueKeys: true})
	if err != nil {
		return nil, hub.E(message.ParamsInvalid, err).With("detail", message.Cause(err))
	}
	return &m, nil
}

// silent is the exchange with a caller who wants nothing but the result.
type silent struct{}

func (silent) Notify([]byte) {}

func (silent) Ask(_ context.Context, q hub.Question) {
	q.Answer(nil, hub.E(message.NotAskable, nil))
}

// follower is the exchange with a caller who follows the call.
type follower struct {
	silent
	stream *stream
	level  string // of log lines that are wanted; "" for all that come
}

func (f *follower) Notify(raw []byte) {
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil || !m.Params.Exists() {
		return
	}
	params := json.RawMessage(m.Params.Of(m.Raw))
	switch m.MethodName() {
	case protocol.NotificationProgress:
		f.stream.send("progress", api.CallEvent{Progress: params})
	case protocol.NotificationMessage:
		least, wanted := protocol.Level(f.level)
		level, _ := wire.String(m.Raw, m.Member("level"))
		if rank, known := protocol.Level(level); !wanted || known && rank >= least {
			f.stream.send("log", api.CallEvent{Log: params})
		}
	}
}

// writeJSON writes a whole answer.
func writeJSON(c huma.Context, body any) {
	c.SetHeader("Content-Type", "application/json")
	c.SetStatus(http.StatusOK)
	_ = encode(c.BodyWriter(), body) // the client may be gone
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
