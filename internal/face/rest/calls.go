package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

type (
	callInput struct {
		Accept string `header:"Accept" doc:"text/event-stream to follow progress and log lines"`
		Body   api.Call
	}
	callListInput struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
		Server string `query:"server" doc:"Only calls of this server's tools"`
	}
	callListOutput struct{ Body api.CallList }
)

// calls registers calling, and what is known of calls that ended.
func (d *Door) calls() {
	op := operation("call", http.MethodPost, "/calls", "Call a tool")
	op.MaxBodyBytes = maxCallBody
	op.Responses["200"] = &huma.Response{
		Description: "The result; or an event stream of any number of progress and log, then one result or problem",
		Content: map[string]*huma.MediaType{
			"application/json":  {Schema: schemaOf[api.CallResult](d)},
			"text/event-stream": {Schema: schemaOf[api.CallEvent](d)},
		},
	}
	huma.Register(d.api, op, d.call)
	huma.Register(d.api, operation("listCalls", http.MethodGet, "/calls", "The calls that ended last, newest first"),
		func(_ context.Context, in *callListInput) (*callListOutput, error) {
			out := &callListOutput{api.CallList{Calls: []api.CallRecord{}}}
			for _, r := range d.opt.Journal.Recent(in.Limit, in.Server) {
				out.Body.Calls = append(out.Body.Calls, recordView(r))
			}
			return out, nil
		})
}

// call carries out one call. Its answer is written by hand, since the result
// is passed on as the bytes that came.
func (d *Door) call(_ context.Context, in *callInput) (*bodyOutput, error) {
	m, err := callMessage(&in.Body, wantsEvents(in.Accept))
	if err != nil {
		return nil, failed(err)
	}
	return &bodyOutput{func(c huma.Context) {
		p := auth.From(c.Context())
		p.Door = hub.DoorREST
		req := &call.Request{Principal: p, Message: m, Level: in.Body.LogLevel}
		if !wantsEvents(in.Accept) {
			req.Exchange = silent{}
			result, err := d.do(c.Context(), req)
			if err != nil {
				doc := document(lang(c.Context()), err)
				writeJSON(c, doc.Status, doc)
				return
			}
			writeJSON(c, http.StatusOK, result)
			return
		}
		follow := &follower{events: newEvents(c), level: in.Body.LogLevel}
		req.Exchange = follow
		result, err := d.do(c.Context(), req)
		if err != nil {
			follow.events.send("problem", api.CallEvent{Problem: document(lang(c.Context()), err)})
		} else {
			follow.events.send("result", api.CallEvent{Result: result})
		}
		follow.events.flush()
	}}, nil
}

// do makes the call and reads the answer.
func (d *Door) do(ctx context.Context, req *call.Request) (*api.CallResult, error) {
	began := time.Now()
	res, err := d.opt.Call.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	answer := &res.Message
	if answer.Kind == wire.Failure {
		text, _ := wire.String(answer.Raw, wire.Lookup(answer.Raw, answer.Error, "message"))
		code := wire.Lookup(answer.Raw, answer.Error, "code").Of(answer.Raw)
		return nil, hub.E(message.ServerRefused, nil, "method", protocol.MethodToolsCall,
			"detail", message.Quote(text)+" ("+string(code)+")")
	}
	return &api.CallResult{
		Server: res.Entry.Server.Key, Tool: res.Entry.Tool.Name, Result: answer.Result.Of(answer.Raw),
		IsError:  string(answer.Member("isError").Of(answer.Raw)) == "true",
		Duration: milliseconds(time.Since(began)),
	}, nil
}

// progressToken is what a call that is followed asks progress for.
const progressToken = "1"

// callMessage makes the tools/call request of a call.
func callMessage(c *api.Call, follow bool) (*wire.Message, error) {
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
	m, err := wire.Scan(b, wire.Limits{MaxBytes: maxCallBody + 1<<10, UniqueKeys: true})
	if err != nil {
		return nil, hub.E(message.ParamsInvalid, err, "detail", err.Error())
	}
	return &m, nil
}

// silent is the exchange with a caller who wants nothing but the result.
type silent struct{}

func (silent) Notify([]byte) {}

func (silent) Ask(context.Context, []byte) ([]byte, error) {
	return nil, hub.E(message.NotAskable, nil)
}

// follower is the exchange with a caller who follows the call. The pipeline
// calls it from one goroutine at a time.
type follower struct {
	silent
	events *events
	level  string
}

func (f *follower) Notify(raw []byte) {
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil || !m.Params.Exists() {
		return
	}
	params := json.RawMessage(m.Params.Of(m.Raw))
	switch m.MethodName() {
	case protocol.NotificationProgress:
		f.events.send("progress", api.CallEvent{Progress: params})
	case protocol.NotificationMessage:
		least, wanted := protocol.Level(f.level)
		level, _ := wire.String(m.Raw, m.Member("level"))
		if rank, known := protocol.Level(level); !wanted || known && rank < least {
			return
		}
		f.events.send("log", api.CallEvent{Log: params})
	}
	f.events.flush()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func recordView(r hub.CallRecord) api.CallRecord {
	return api.CallRecord{
		Time: r.Time, Subject: r.Subject, Door: string(r.Door), Name: r.Name, Server: r.Server, Tool: r.Tool,
		Outcome: string(r.Outcome), Code: r.Code, Reason: r.Reason, Duration: milliseconds(r.Duration), Bytes: r.Bytes,
	}
}

// megabytes is a limit as it is shown.
func megabytes(n int) string { return strconv.Itoa(n>>20) + " MiB" }
