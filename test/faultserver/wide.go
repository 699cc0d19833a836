package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// wide is the state of what -wide adds: a server which offers everything that
// there is in MCP, and answers as in odd.go whatever it is asked.
type wide struct {
	mu      sync.Mutex
	heard   map[string]json.RawMessage // the last parameters of each method
	asked   int
	answers map[string]chan message // of questions under way, by their raw ids
}

// wideCapabilities stands in place of what is said without -wide.
const wideCapabilities = `{"tools":{"listChanged":true},"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}`

// capabilities are what the server declares, as JSON.
func (s *server) capabilities() string {
	if s.opt.wide {
		return wideCapabilities
	}
	return `{"tools":{"listChanged":true},"logging":{}}`
}

// wideTools are listed behind the others.
func wideTools() []tool {
	const text = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	return []tool{
		define("heard", "Returns the parameters of the last message with the method, byte for byte, in structuredContent.params.", text, "", heard),
		define("ask", "Asks the client (sampling, form, url, roots) and returns its answer, byte for byte, in structuredContent.answer.", text, "", ask),
		define("tell", "Sends a notification (log, progress, updated, complete), then answers.", text, "", tell),
		define("refuse", "Returns an odd error (url, text, number, missing).", text, "", refuseOddly),
	}
}

// take remembers a message, and hands an answer to who asked.
func (w *wide) take(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Method != "" {
		w.heard[m.Method] = m.Params
		return
	}
	if answer := w.answers[string(m.ID)]; answer != nil {
		delete(w.answers, string(m.ID))
		answer <- m // which has room for the one answer
	}
}

// serve answers the verbs that only a wide server has.
func (s *server) serveWide(r request) (result string, ok bool) {
	hint := ""
	if r.modern {
		hint = `"ttlMs":0,"cacheScope":"private",`
	}
	switch r.Method {
	case "resources/list":
		if strings.Contains(string(r.Params), `"cursor"`) {
			return "{" + hint + oddResources2[1:], true
		}
		return "{" + hint + oddResources1[1:], true
	case "resources/templates/list":
		return "{" + hint + oddTemplates[1:], true
	case "prompts/list":
		return "{" + hint + oddPrompts[1:], true
	case "resources/read":
		return "{" + hint + oddRead, true
	case "prompts/get":
		return "{" + oddPrompt, true
	case "completion/complete":
		return "{" + oddCompletion, true
	case "resources/subscribe", "resources/unsubscribe":
		return "{}", !r.modern
	}
	return "", false
}

func heard(_ context.Context, s *server, c call) (json.RawMessage, *rpcError) {
	s.wide.mu.Lock()
	defer s.wide.mu.Unlock()
	params := s.wide.heard[c.args.Text]
	if params == nil {
		params = json.RawMessage("null")
	}
	return fmt.Appendf(nil, `{"content":[],"structuredContent":{"params":%s}}`, params), nil
}

// ask puts a question to the client. In revision 2026-07-28 it stands in the
// result, and the answer in the parameters of the same call when it comes again.
func ask(ctx context.Context, s *server, c call) (json.RawMessage, *rpcError) {
	method, params, ok := oddQuestions(c.args.Text)
	if !ok {
		return nil, &rpcError{Code: codeBadParams, Message: "ask: nothing is called " + c.args.Text}
	}
	answered := func(answer json.RawMessage) json.RawMessage {
		return fmt.Appendf(nil, `{"content":[],"structuredContent":{"answer":%s}}`, answer)
	}
	if c.modern {
		var p struct {
			Responses map[string]json.RawMessage `json:"inputResponses"`
		}
		if err := json.Unmarshal(c.Params, &p); err != nil {
			return nil, &rpcError{Code: codeBadParams, Message: "ask: " + err.Error()}
		}
		if answer := p.Responses["odd \u00e4"]; answer != nil {
			return answered(answer), nil
		}
		return fmt.Appendf(nil, `{ "inputRequests":{"odd \u00e4":{"method":%q,"params":%s,"x":[ ]}},"resultType":"input_required","requestState":"st\u00e4te \/ =="}`, method, params), nil
	}
	s.wide.mu.Lock()
	s.wide.asked++
	id := strconv.Quote("q " + strconv.Itoa(s.wide.asked))
	answer := make(chan message, 1)
	s.wide.answers[id] = answer
	s.wide.mu.Unlock()
	c.notify(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	select {
	case m := <-answer:
		if m.Result == nil {
			return answered(m.Error), nil
		}
		return answered(m.Result), nil
	case <-ctx.Done():
		s.wide.mu.Lock()
		delete(s.wide.answers, id)
		s.wide.mu.Unlock()
		return nil, nil
	}
}

func tell(_ context.Context, s *server, c call) (json.RawMessage, *rpcError) {
	send := func(method, params string) {
		c.notify(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
	}
	switch c.args.Text {
	case "log":
		send("notifications/message", oddLog)
	case "progress":
		send("notifications/progress", fmt.Sprintf(oddProgress, c.meta("progressToken")))
	case "complete":
		send("notifications/elicitation/complete", oddComplete)
	case "updated":
		s.tellAll("notifications/resources/updated", oddUpdated)
	default:
		return nil, &rpcError{Code: codeBadParams, Message: "tell: nothing is called " + c.args.Text}
	}
	return textResult("told"), nil
}

func refuseOddly(_ context.Context, _ *server, c call) (json.RawMessage, *rpcError) {
	raw, ok := oddErrors(c.args.Text)
	if !ok {
		return nil, &rpcError{Code: codeBadParams, Message: "refuse: nothing is called " + c.args.Text}
	}
	return nil, &rpcError{raw: json.RawMessage(raw)}
}
