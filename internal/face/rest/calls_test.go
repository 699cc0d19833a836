package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// What a call carries reaches the server as the bytes that came.
func TestArgumentsAreTheBytesThatCame(t *testing.T) {
	h := open(t, "")
	for _, args := range []string{
		`{}`,
		`{"b":1,"a":2,"big":12345678901234567890123,"exp":1.0E+2,"text":"\u00e9\/<>&","blank" : [ 1 , 2 ]}`,
		`{"nested":{"z":null,"y":[{"x":{}}],"中文":"天气"}}`,
	} {
		var result api.CallResult
		h.call(`{"tool":"lab__echo","arguments":`+args+`}`).into(http.StatusOK, &result)
		var content struct{ Content []struct{ Text string } }
		must(t, json.Unmarshal(result.Result, &content))
		if got := content.Content[0].Text; got != args {
			t.Errorf("the server got %s, want %s", got, args)
		}
		if result.Server != "lab" || result.Tool != "echo" || result.IsError || result.Duration <= 0 {
			t.Errorf("the result is %+v", result)
		}
	}
	for _, args := range []string{`{"a":1,"a":2}`, `{"a":{"b":1,"\u0062":2}}`, `[1]`, `"text"`, `5`} {
		h.call(`{"tool":"lab__echo","arguments":`+args+`}`).refused(http.StatusUnprocessableEntity, message.ParamsInvalid)
	}
}

// Each way in which a call can fail has its status and its code.
func TestFailedCalls(t *testing.T) {
	h := open(t, `{"mcpServers":{
		"lab": {"timeout": 300},
		"gone": {"command": "toolcrib-no-such-program"},
		"off": {"command": "x", "enabled": false},
		"unset": {"command": "x", "env": {"K": "${env:TOOLCRIB_TEST_NOT_SET}"}}
	}}`)
	h.call(`{"tool":"nobody"}`).refused(http.StatusNotFound, message.ToolUnknown)
	h.call(`{"tool":""}`).refused(http.StatusNotFound, message.ToolUnknown)
	p := h.call(`{"tool":"gone__x"}`).refused(http.StatusServiceUnavailable, message.ServerDown)
	if !strings.Contains(p.Detail, "toolcrib-no-such-program") {
		t.Errorf("the reason is missing: %s", p.Detail)
	}
	h.call(`{"tool":"unset__x"}`).refused(http.StatusServiceUnavailable, message.ServerDown)
	h.call(`{"tool":"off__x"}`).refused(http.StatusConflict, message.ServerDisabled)
	p = h.call(`{"tool":"lab__refuse"}`).refused(http.StatusBadGateway, message.ServerRefused)
	if !strings.Contains(p.Detail, "not today (1234)") {
		t.Errorf("what the server said is missing: %s", p.Detail)
	}
	h.call(`{"tool":"lab__hold"}`).refused(http.StatusGatewayTimeout, message.Timeout)
	if err := <-h.ended; err == nil {
		t.Error("the server was not told that the time is over")
	}
	h.call(`{"tool":"lab__echo","logLevel":"loud"}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	var result api.CallResult
	h.call(`{"tool":"lab__fail"}`).into(http.StatusOK, &result)
	if !result.IsError || !strings.Contains(string(result.Result), "it did not work") {
		t.Errorf("the result is %+v", result)
	}
	h.call(`{"tool":"lab__ask","interactive":true}`).into(http.StatusOK, &result) // a legacy server's question finds nobody
	h.change(http.MethodPost, "/servers/lab/stop", "").into(http.StatusOK, nil)
	h.call(`{"tool":"lab__echo"}`).refused(http.StatusConflict, message.ServerStopped)
}

// A server that asks back in the modern way is answered by the same call, made
// again.
func TestQuestions(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "asker", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{
				RequestState:  "state/1 \"x\"",
				InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}},
			}, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Params.RequestState + ": " + answer.Content["name"].(string)}}}, nil
	})
	remote := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(remote.Close)
	h := open(t, `{"mcpServers":{"asker":{"url":"`+remote.URL+`"}}}`)
	var first api.CallResult
	h.call(`{"tool":"asker__greet","arguments":{},"interactive":true}`).into(http.StatusOK, &first)
	var question struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]struct{ Method string }
	}
	must(t, json.Unmarshal(first.Result, &question))
	if question.ResultType != "input_required" || question.InputRequests["name"].Method != "elicitation/create" {
		t.Fatalf("the first answer is %s", first.Result)
	}
	var last api.CallResult
	h.call(`{"tool":"asker__greet","arguments":{},"interactive":true,"requestState":`+quote(question.RequestState)+
		`,"inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}}}}`).into(http.StatusOK, &last)
	if !strings.Contains(string(last.Result), `state/1 \"x\": Ada`) {
		t.Errorf("the last answer is %s", last.Result)
	}
}

// What comes of a call that is followed comes in its order, and as it happens.
func TestFollowedCall(t *testing.T) {
	h := open(t, `{"mcpServers":{"faults":{"command":`+quote(rig.FaultServer(t))+`,"env":{"GORACE":"atexit_sleep_ms=0"}}}}`)
	stream := h.follow(t.Context(), `{"tool":"faults__progress","arguments":{"n":3,"logs":true}}`)
	var got []string
	for e, ok := stream.next(); ok; e, ok = stream.next() {
		var v api.CallEvent
		must(t, json.Unmarshal([]byte(e.data), &v))
		switch {
		case v.Progress != nil:
			var p struct{ Message string }
			must(t, json.Unmarshal(v.Progress, &p))
			got = append(got, e.name+" "+p.Message)
		case v.Log != nil:
			var p struct{ Data string }
			must(t, json.Unmarshal(v.Log, &p))
			got = append(got, e.name+" "+p.Data)
		case v.Result != nil:
			got = append(got, e.name+" "+v.Result.Tool)
		default:
			got = append(got, e.name)
		}
	}
	want := "progress step 1, log line 1, progress step 2, log line 2, progress step 3, log line 3, result progress"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	stream = h.follow(t.Context(), `{"tool":"faults__progress","arguments":{"n":2,"logs":true},"logLevel":"error"}`)
	for e, ok := stream.next(); ok; e, ok = stream.next() {
		if e.name == "log" {
			t.Errorf("a line below the level came: %s", e.data)
		}
	}
	stream = h.follow(t.Context(), `{"tool":"nobody"}`)
	e, _ := stream.next()
	var v api.CallEvent
	must(t, json.Unmarshal([]byte(e.data), &v))
	if e.name != "problem" || v.Problem == nil || v.Problem.Code != string(message.ToolUnknown) || v.Problem.Status != http.StatusNotFound {
		t.Errorf("got %+v", e)
	}
}

// follow begins a call whose events are read.
func (h *house) follow(ctx context.Context, body string) *reader {
	h.t.Helper()
	return read(h.t, h.open(ctx, ask{method: http.MethodPost, path: "/calls", body: body, header: map[string]string{"Accept": "text/event-stream"}}))
}

// A stream on which nothing happens shows that it is alive; when the client
// goes, the call is cancelled.
func TestFollowedCallThatIsSilent(t *testing.T) {
	h := open(t, "", func(d *Door) { d.beat = 20 * time.Millisecond })
	ctx, leave := context.WithCancel(t.Context())
	stream := h.follow(ctx, `{"tool":"lab__hold"}`)
	<-h.began
	for range 3 {
		if e, ok := stream.next(); !ok || e != (event{}) {
			t.Fatalf("got %+v, want a comment", e)
		}
	}
	leave()
	select {
	case err := <-h.ended:
		if err == nil {
			t.Error("the call was answered")
		}
	case <-time.After(limit):
		t.Fatal("the call goes on though its caller has gone")
	}
	ended := h.recorded(1)
	if ended[0].Outcome != string(hub.OutcomeUnknown) || ended[0].Code != string(message.Cancelled) { // it was sent
		t.Errorf("the call is recorded as %+v", ended[0])
	}
}

// recorded waits until so many calls are in the record, newest first.
func (h *house) recorded(n int) []api.CallRecord {
	h.t.Helper()
	var list api.CallList
	for deadline := time.Now().Add(limit); len(list.Calls) < n; {
		if time.Now().After(deadline) {
			h.t.Fatalf("%d calls are recorded, want %d", len(list.Calls), n)
		}
		h.get("/calls").into(http.StatusOK, &list)
	}
	return list.Calls
}

// That a call may have taken effect is told by the answer, by the session's state
// and by the analysis.
func TestUnknownOutcome(t *testing.T) {
	h := open(t, "")
	check := func(p api.Problem) {
		t.Helper()
		if p.Outcome != "unknown" || p.Class != "outcome" || !strings.Contains(p.Remedy, "check before you repeat it") ||
			p.UserMessage != message.ClassOutcome.Sentence(message.English, "") {
			t.Errorf("the problem is %+v", p)
		}
	}
	check(h.call(`{"tool":"lab__hold","timeout":"50ms"}`).refused(http.StatusGatewayTimeout, message.Timeout))
	if s := h.state("rest:local", ""); s.Outcome != "unknown" || s.Code != "timeout" || s.Message != message.ClassOutcome.Sentence(message.English, "") {
		t.Errorf("the session shows %+v", s)
	}
	stream := h.follow(t.Context(), `{"tool":"lab__hold","timeout":"50ms"}`)
	for e, ok := stream.next(); ok; e, ok = stream.next() {
		var v api.CallEvent
		if e.name == "problem" {
			must(t, json.Unmarshal([]byte(e.data), &v))
			check(*v.Problem)
		}
	}
	if p := h.call(`{"tool":"nobody"}`).refused(http.StatusNotFound, message.ToolUnknown); p.Outcome != "" || p.Class != "unavailable" {
		t.Errorf("the problem is %+v", p)
	}
	var v api.Analysis
	h.get("/analysis").into(http.StatusOK, &v)
	if len(v.Failures) != 2 || v.Failures[0].Code != "timeout" || v.Failures[0].Class != "outcome" {
		t.Errorf("the failures: %+v", v.Failures)
	}
}

// A call of what a stopped server has is found among that server's.
func TestCallsOfAStoppedServer(t *testing.T) {
	h := open(t, "")
	h.change(http.MethodPost, "/servers/lab/stop", "").into(http.StatusOK, nil)
	h.call(`{"tool":"lab__echo"}`).refused(http.StatusConflict, message.ServerStopped)
	var list api.CallList
	if h.get("/calls?server=lab").into(http.StatusOK, &list); len(list.Calls) != 1 || list.Calls[0].Code != "server_stopped" {
		t.Errorf("the lab's are %+v", list)
	}
	var v api.Analysis
	if h.get("/analysis").into(http.StatusOK, &v); len(v.Slow) != 0 || len(v.Failures) != 1 || v.Failures[0].Server != "lab" {
		t.Errorf("the analysis is %+v", v)
	}
}

// When the hub stops, a call that does not end is ended, and its caller told.
func TestCallWhenTheHubStops(t *testing.T) {
	h := open(t, "")
	stream := h.follow(t.Context(), `{"tool":"lab__hold"}`)
	done := make(chan *answer, 1)
	go func() { done <- h.call(`{"tool":"lab__hold"}`) }()
	<-h.began
	<-h.began
	h.calls.CancelAll(hub.E(message.ShuttingDown, nil))
	if e, ok := stream.next(); !ok || e.name != "problem" || !strings.Contains(e.data, string(message.ShuttingDown)) {
		t.Errorf("got %+v", e)
	}
	(<-done).refused(http.StatusServiceUnavailable, message.ShuttingDown)
}

func TestRecentCalls(t *testing.T) {
	h := open(t, "")
	h.call(`{"tool":"lab__echo","arguments":{"k":"private-value"}}`).into(http.StatusOK, nil)
	h.do(ask{method: http.MethodPost, path: "/calls", body: `{"tool":"nobody"}`, token: h.caller}).refused(http.StatusNotFound, message.ToolUnknown)
	all := h.recorded(2)
	if all[0].Subject != "caller" || all[0].Outcome != "failed" || all[0].Code != "tool_unknown" || all[0].Door != "rest" || all[0].Reason == "" {
		t.Errorf("the last call is %+v", all[0])
	}
	if all[1].Subject != "local" || all[1].Outcome != "ok" || all[1].Server != "lab" || all[1].Bytes == 0 || all[1].Time.IsZero() {
		t.Errorf("the first call is %+v", all[1])
	}
	var list api.CallList
	h.get("/calls?limit=1").into(http.StatusOK, &list)
	if len(list.Calls) != 1 || list.Calls[0].Name != "nobody" {
		t.Errorf("the last one is %+v", list)
	}
	a := h.get("/calls?server=lab").into(http.StatusOK, &list)
	if len(list.Calls) != 1 || strings.Contains(string(a.body), "private-value") {
		t.Errorf("the lab's are %s", a.body)
	}
}
