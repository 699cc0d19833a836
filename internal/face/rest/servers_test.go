package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// A server from its definition to its end, as a person sees it.
func TestServer(t *testing.T) {
	h := open(t, "")
	entry := `{"command":` + quote(rig.FaultServer(t)) + `,"name":"The faults","env":{"GORACE":"atexit_sleep_ms=0"},"denyTools":["crash"]}`
	var v api.Server
	h.change(http.MethodPost, "/servers", `{"key":"faults","entry":`+entry+`}`).into(http.StatusCreated, &v)
	if v.Key != "faults" || v.Name != "The faults" || v.Kind != "stdio" || v.State != "idle" || !v.Defined || !slices.Equal(v.Env, []string{"GORACE"}) {
		t.Errorf("the server is %+v", v)
	}
	h.change(http.MethodPost, "/servers", `{"key":"faults","entry":`+entry+`}`).refused(http.StatusConflict, message.ServerExists)
	h.change(http.MethodPost, "/servers/faults/start", "").into(http.StatusOK, &v)
	if v.State != "ready" || v.PID == 0 || v.Tools == 0 || v.Hidden != 1 || v.Protocol == "" || v.Info == "" {
		t.Errorf("the server is %+v", v)
	}
	pid := v.PID
	h.change(http.MethodPost, "/servers/faults/restart", "").into(http.StatusOK, &v)
	if v.State != "ready" || v.PID == pid {
		t.Errorf("the server is %+v", v)
	}
	h.change(http.MethodPost, "/servers/faults/refresh", "").into(http.StatusOK, &v)
	var tools api.ToolList
	h.get("/tools?server=faults").into(http.StatusOK, &tools)
	if len(tools.Tools) != v.Tools || !slices.ContainsFunc(tools.Tools, func(t api.Tool) bool { return t.Name == "faults__echo" && t.ReadOnly && t.State == "ready" }) {
		t.Errorf("the tools are %+v", tools)
	}
	var tool api.Tool
	h.get("/tools/faults__echo").into(http.StatusOK, &tool)
	if tool.Server != "faults" || tool.Tool != "echo" || !strings.Contains(string(tool.Definition), `"inputSchema"`) {
		t.Errorf("the tool is %+v", tool)
	}
	h.change(http.MethodPost, "/servers/faults/stop", "").into(http.StatusOK, &v)
	if v.State != "stopped" || v.Code != "server_stopped" || v.PID != 0 || v.Tools != 0 {
		t.Errorf("the server is %+v", v)
	}
	h.change(http.MethodPost, "/servers/faults/refresh", "").refused(http.StatusConflict, message.ServerStopped)
	h.change(http.MethodPost, "/servers/faults/disable", "").into(http.StatusOK, &v)
	if v.State != "disabled" || v.Enabled || v.Reason == "" || v.Remedy == "" {
		t.Errorf("the server is %+v", v)
	}
	for _, action := range []string{"start", "restart", "stop", "refresh"} {
		h.change(http.MethodPost, "/servers/faults/"+action, "").refused(http.StatusConflict, message.ServerDisabled)
	}
	h.change(http.MethodPost, "/servers/faults/enable", "").into(http.StatusOK, &v)
	if !v.Enabled {
		t.Errorf("the server is %+v", v)
	}
	for _, action := range []string{"start", "restart", "stop", "refresh", "enable", "disable"} {
		h.change(http.MethodPost, "/servers/nobody/"+action, "").refused(http.StatusNotFound, message.ServerUnknown)
	}
	if v.Retries != 2 || !v.Validate || v.CallLimits != nil || v.ToolCache != "" || v.Pool != "" {
		t.Errorf("what holds for its calls is %+v", v)
	}
	h.change(http.MethodPut, "/servers/faults", `{"entry":{"command":"x","retries":1,"validate":false,"pool":"p","toolCache":"1m",`+
		`"callLimits":{"concurrency":3,"queue":1,"rate":"10/s","burst":4}}}`).into(http.StatusOK, &v)
	if v.Retries != 1 || v.Validate || v.ToolCache != "1m0s" || v.Pool != "p" || v.CallLimits == nil ||
		*v.CallLimits != (api.CallLimits{Concurrency: 3, Queue: 1, Rate: 10, Burst: 4}) {
		t.Errorf("what holds for its calls is %+v, %+v", v, v.CallLimits)
	}
	h.change(http.MethodDelete, "/servers/faults", "").into(http.StatusNoContent, nil)
	h.change(http.MethodDelete, "/servers/faults", "").refused(http.StatusNotFound, message.ServerUnknown)
	h.change(http.MethodDelete, "/servers/calculator", "").refused(http.StatusConflict, message.ServerBuiltin)
}

// A server that does not come up says why, to who starts it and to who looks.
func TestServerThatDoesNotStart(t *testing.T) {
	h := open(t, `{"mcpServers":{
		"gone":{"command":"toolcrib-no-such-program"},
		"unset":{"command":"x","env":{"K":"${env:TOOLCRIB_TEST_NOT_SET}"}},
		"crash":{"command":`+quote(rig.FaultServer(t))+`,"args":["-fault","crashstart"],"autoRestart":false,"env":{"GORACE":"atexit_sleep_ms=0"}}
	}}`)
	for _, test := range []struct {
		key   string
		code  message.Code
		state string
		now   message.Code // why it is not running from then on
	}{
		{"gone", message.CommandNotFound, "failed", message.CommandNotFound},
		{"unset", message.PlaceholderUnresolved, "failed", message.PlaceholderUnresolved},
		{"crash", message.ServerExited, "crashed", message.ServerNotRestarted},
	} {
		for _, action := range []string{"start", "restart"} {
			p := h.change(http.MethodPost, "/servers/"+test.key+"/"+action, "").refused(http.StatusBadGateway, test.code)
			var v api.Server
			h.get("/servers/"+test.key).into(http.StatusOK, &v)
			same := v.Reason == p.Title && v.Remedy == p.Remedy
			if test.now != test.code { // the one who has started it need not be told to do that
				same = strings.Contains(v.Reason, p.Title) && strings.Contains(v.Remedy, "server start "+test.key)
			}
			if v.State != test.state || v.Code != string(test.now) || v.Retry != nil || !same {
				t.Errorf("the server is %+v, the problem %+v", v, p)
			}
		}
	}
}

func TestEntries(t *testing.T) {
	h := open(t, `{"mcpServers":{"a":{"url":"https://a.example","headers":{"X":"hidden-value"},"odd":1}}}`)
	var e api.ServerEntry
	a := h.get("/servers/a/entry").into(http.StatusOK, &e)
	if string(e.Entry) != `{"url":"https://a.example","headers":{"X":"${unchanged}"},"odd":1}` || e.ETag == "" || e.ETag != a.header.Get("ETag") {
		t.Errorf("the entry is %+v", e)
	}
	h.change(http.MethodPut, "/servers/a", `{"entry":`+string(e.Entry)+`}`).into(http.StatusOK, nil)
	if want := `{"mcpServers":{"a":{"url":"https://a.example","headers":{"X":"hidden-value"},"odd":1}}}`; h.text() != want {
		t.Errorf("the file is %s", h.text())
	}
	h.write(`{`)
	h.get("/servers/a/entry").refused(http.StatusConflict, message.ConfigBroken)
	h.change(http.MethodPut, "/servers/a", `{"entry":{"command":"x"}}`).refused(http.StatusConflict, message.ConfigBroken)
	var s api.Status
	h.get("/status").into(http.StatusOK, &s)
	if s.Config.Writable || len(s.Config.Problems) != 1 || s.Servers != 5 {
		t.Errorf("the status is %+v", s)
	}
}

// The log comes as a list, and as a stream that goes on as the server does.
func TestLog(t *testing.T) {
	h := open(t, "", func(d *Door) { d.beat = 50 * time.Millisecond })
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	var log api.Log
	h.get("/servers/lab/log").into(http.StatusOK, &log)
	if len(log.Lines) < 2 || log.Lines[0].Seq != 1 || log.Lines[0].Source != "hub" || log.Lines[0].Text != "starting" || log.Lines[0].Time.IsZero() {
		t.Fatalf("the log is %+v", log)
	}
	last := log.Lines[len(log.Lines)-1]
	h.get("/servers/lab/log?after=1").into(http.StatusOK, &log)
	if log.Lines[0].Seq != 2 {
		t.Errorf("after the first line comes %+v", log.Lines[0])
	}
	stream := read(t, h.open(t.Context(), ask{method: http.MethodGet, path: "/servers/lab/log?follow=true&after=1"}))
	line := func() (l api.LogLine, ok bool) {
		t.Helper()
		for {
			e, ok := stream.next()
			if !ok || e.name == "line" {
				if ok {
					must(t, json.Unmarshal([]byte(e.data), &l))
				}
				return l, ok
			}
		}
	}
	for seq := uint64(2); seq <= last.Seq; seq++ {
		if l, ok := line(); !ok || l.Seq != seq {
			t.Fatalf("line %+v, want number %d", l, seq)
		}
	}
	h.change(http.MethodPost, "/servers/lab/stop", "").into(http.StatusOK, nil)
	for seq, text := last.Seq+1, ""; !strings.HasPrefix(text, "stopped"); seq++ {
		l, ok := line()
		if !ok || l.Seq != seq {
			t.Fatalf("line %+v, want number %d", l, seq)
		}
		text = l.Text
	}
	h.door.Close()
	if l, ok := line(); ok {
		t.Errorf("the stream goes on with %+v", l)
	}
}

// The stream of a server that is removed ends, also if that has nothing to say
// any more.
func TestLogOfAServerThatIsRemoved(t *testing.T) {
	h := open(t, `{"mcpServers":{"a":{"command":"x"}}}`)
	h.change(http.MethodPost, "/servers/a/stop", "").into(http.StatusOK, nil)
	stream := read(t, h.open(t.Context(), ask{method: http.MethodGet, path: "/servers/a/log?follow=true"}))
	h.change(http.MethodDelete, "/servers/a", "").into(http.StatusNoContent, nil)
	for _, ok := stream.next(); ok; _, ok = stream.next() {
	}
}

// A HEAD of a stream is no stream.
func TestHeadOfAStream(t *testing.T) {
	h := open(t, "")
	if a := h.do(ask{method: http.MethodHead, path: "/servers/lab/log?follow=true"}); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
}

func TestTests(t *testing.T) {
	h := open(t, "")
	var r api.TestResult
	h.change(http.MethodPost, "/test", `{"key":"calculator"}`).into(http.StatusOK, &r)
	if !r.OK || len(r.Tools) == 0 || len(r.Steps) != 5 || !r.Steps[4].OK || r.Duration <= 0 {
		t.Errorf("the test is %+v", r)
	}
	a := h.do(ask{
		method: http.MethodPost, path: "/test", token: h.admin, body: `{"entry":{"command":"toolcrib-no-such-program"}}`,
		header: map[string]string{"Accept-Language": "zh"},
	}).into(http.StatusOK, &r)
	last := r.Steps[len(r.Steps)-1]
	if r.OK || last.OK || last.Step != "command" || last.Code != "command_not_found" || !strings.Contains(last.Detail, "找不到命令") || last.Remedy == "" {
		t.Errorf("the test is %s", a.body)
	}
	h.change(http.MethodPost, "/test", `{"entry":{}}`).into(http.StatusOK, &r)
	if r.OK || len(r.Steps) != 1 || r.Steps[0].Step != "config" {
		t.Errorf("the test is %+v", r)
	}
	h.change(http.MethodPost, "/test", `{"key":"datetime","entry":null}`).into(http.StatusOK, &r)
	if !r.OK {
		t.Errorf("the test is %+v", r)
	}
	h.change(http.MethodPost, "/test", `{}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodPost, "/test", `{"key":"nobody"}`).refused(http.StatusNotFound, message.ServerUnknown)
}

// Only so many tests run at a time; a client that goes ends its test.
func TestTestsAtOnce(t *testing.T) {
	asked := make(chan struct{}, 16)
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(hang.Close)
	h := open(t, "")
	ctx, leave := context.WithCancel(t.Context())
	body := `{"entry":{"url":"` + hang.URL + `","type":"sse"}}` // whose first request has no body
	done := make(chan struct{}, 4)
	for range 4 {
		go func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, h.url+api.Base+"/test", strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+h.admin)
			if resp, err := h.client.Do(req); err == nil {
				resp.Body.Close()
			}
			done <- struct{}{}
		}()
	}
	for range 4 {
		<-asked
	}
	h.change(http.MethodPost, "/test", `{"key":"calculator"}`).refused(http.StatusTooManyRequests, message.TestsBusy)
	leave()
	for range 4 {
		<-done
	}
	for deadline := time.Now().Add(limit); ; {
		a := h.change(http.MethodPost, "/test", `{"key":"calculator"}`)
		if a.status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the places are not free: %s", a.body)
		}
	}
}
