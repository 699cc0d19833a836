package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Limits of a call that asks back.
const (
	maxRounds  = 32          // of questions
	stateDelay = time.Second // before a call is made again that only asks for that
)

// trace follows a call: what comes of it while it runs goes to standard
// error, and the server's questions to the person.
type trace struct {
	session *session
	link    *link
	ask     *prompt // nil if nobody can be asked
}

// call makes the call, as often as the server has questions (2026-07-28,
// "Multi Round-Trip Requests").
func (t *trace) call(ctx context.Context, req api.Call) (api.CallResult, error) {
	req.LogLevel = "debug"
	req.Interactive = t.ask != nil
	for range maxRounds {
		result, err := t.once(ctx, req)
		if err != nil {
			return result, err
		}
		q := asks(result.Result)
		if q == nil {
			return result, nil
		}
		if t.ask == nil {
			return result, hub.E(message.QuestionDeclined, nil)
		}
		if req.Answers, err = t.answers(ctx, q.Requests); err != nil {
			return result, err
		}
		req.RequestState = q.State
		if at, ok := ctx.Deadline(); ok && req.Timeout != "" {
			left := max(time.Until(at)-t.session.patience, time.Millisecond)
			req.Timeout = left.Round(time.Millisecond).String() // the hub ends it before this side does
		}
	}
	return api.CallResult{}, hub.E(message.QuestionDeclined, nil)
}

func (t *trace) once(ctx context.Context, req api.Call) (api.CallResult, error) {
	for event, err := range t.link.FollowCall(ctx, req) {
		switch {
		case err != nil:
			return api.CallResult{}, err
		case event.Result != nil:
			return *event.Result, nil
		case event.Progress != nil:
			t.progress(event.Progress)
		case event.Log != nil:
			t.log(event.Log)
		}
	}
	return api.CallResult{}, hub.E(message.Internal, nil) // the loop above ends by a result or an error
}

func (t *trace) progress(params json.RawMessage) {
	var p struct {
		Progress json.Number `json:"progress"`
		Total    json.Number `json:"total"`
		Message  string      `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	text := p.Progress.String()
	if p.Total != "" {
		text += "/" + p.Total.String()
	}
	fmt.Fprintf(t.session.env.Stderr, "… %s %s\n", text, oneLine(p.Message))
}

func (t *trace) log(params json.RawMessage) {
	var p struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	who := oneLine(p.Level)
	if p.Logger != "" {
		who += " " + oneLine(p.Logger)
	}
	fmt.Fprintf(t.session.env.Stderr, "[%s] %s\n", who, oneLine(typedAs(p.Data)))
}

// questions are what a result asks instead of being one.
type questions struct {
	Requests json.RawMessage `json:"inputRequests"`
	State    string          `json:"requestState"`
}

// asks returns the questions of a result, nil if it is the final one.
func asks(result json.RawMessage) *questions {
	var r struct {
		Type string `json:"resultType"`
		questions
	}
	if json.Unmarshal(result, &r) != nil || r.Type != "input_required" {
		return nil
	}
	return &r.questions
}

// answers puts each question to the person and returns the answers by the
// same names. Without a question the call is only to be made again, after a
// while.
func (t *trace) answers(ctx context.Context, requests json.RawMessage) (json.RawMessage, error) {
	all := members(requests)
	if len(all) == 0 {
		timer := time.NewTimer(stateDelay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	b := []byte("{")
	for i, m := range all {
		answer, err := t.answer(ctx, m.raw)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(m.name)...)
		b = append(b, ':')
		b = append(b, answer...)
	}
	return append(b, '}'), nil
}

func (t *trace) answer(ctx context.Context, request json.RawMessage) (json.RawMessage, error) {
	var q struct {
		Method string `json:"method"`
		Params struct {
			Mode    string `json:"mode"`
			Message string `json:"message"`
			Schema  schema `json:"requestedSchema"`
		} `json:"params"`
	}
	switch err := json.Unmarshal(request, &q); {
	case err != nil || q.Method != "elicitation/create":
		return nil, hub.E(message.QuestionDeclined, err) // only what was offered may be asked
	case q.Params.Mode != "" && q.Params.Mode != "form":
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	f := &form{prompt: t.ask, say: t.session.out.say, schema: &q.Params.Schema}
	return f.fill(ctx, q.Params.Message)
}
