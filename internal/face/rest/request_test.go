package rest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Keys may hold what separates paths, and any letters.
func TestKeysInPaths(t *testing.T) {
	h := open(t, "")
	for _, test := range []struct{ key, escaped string }{
		{"a/b", "a%2Fb"},
		{"../../etc/passwd", "..%2F..%2Fetc%2Fpasswd"},
		{"...", "%2E%2E%2E"},
		{"a%2Fb", "a%252Fb"},
		{"天气", "%E5%A4%A9%E6%B0%94"},
		{"a b?c#d&e=f;g", "a%20b%3Fc%23d&e=f;g"},
		{strings.Repeat("长", 128), strings.Repeat("%E9%95%BF", 128)},
		{"log", "log"},
	} {
		h.change(http.MethodPost, "/servers", `{"key":`+quote(test.key)+`,"entry":{"command":"x"}}`).into(http.StatusCreated, nil)
		var v api.Server
		h.get("/servers/"+test.escaped).into(http.StatusOK, &v)
		if v.Key != test.key {
			t.Errorf("%s is %q, want %q", test.escaped, v.Key, test.key)
		}
		h.get("/servers/"+test.escaped+"/log").into(http.StatusOK, nil)
		h.get("/servers/"+test.escaped+"/entry").into(http.StatusOK, nil)
		h.change(http.MethodPut, "/servers/"+test.escaped, `{"entry":{"command":"y"}}`).into(http.StatusOK, &v)
		if v.Command != "y" {
			t.Errorf("%s is %+v", test.escaped, v)
		}
		h.change(http.MethodPost, "/servers/"+test.escaped+"/disable", "").into(http.StatusOK, &v)
		if v.State != "disabled" {
			t.Errorf("%s is %s", test.escaped, v.State)
		}
		h.change(http.MethodDelete, "/servers/"+test.escaped, "").into(http.StatusNoContent, nil)
		h.get("/servers/"+test.escaped).refused(http.StatusNotFound, message.ServerUnknown)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	h := open(t, "")
	for _, path := range []string{"/", "/nothing", "/servers/", "/servers/a/b/c", "/openapi.yaml", "/docs", "/schemas/Call.json"} {
		h.get(path).refused(http.StatusNotFound, message.PathUnknown)
	}
	h.change(http.MethodPost, "/servers/calculator/explode", "").refused(http.StatusNotFound, message.PathUnknown)
	h.get("/servers/nobody").refused(http.StatusNotFound, message.ServerUnknown)
	h.get("/tools/nobody").refused(http.StatusNotFound, message.ToolUnknown)
	for _, test := range []struct{ method, path, allow string }{
		{http.MethodDelete, "/servers", "GET, HEAD, POST"},
		{http.MethodPatch, "/servers/calculator", "GET, HEAD, PUT, DELETE"},
		{http.MethodPost, "/servers/calculator/entry", "GET, HEAD"},
		{http.MethodGet, "/import", "POST"},
		{http.MethodHead, "/servers/calculator/start", "POST"},
		{http.MethodOptions, "/status", "GET, HEAD"},
		{http.MethodPost, "/openapi.json", "GET, HEAD"},
	} {
		a := h.do(ask{method: test.method, path: test.path})
		if test.method != http.MethodHead {
			a.refused(http.StatusMethodNotAllowed, message.HTTPMethodRefused)
		}
		if got := a.header.Get("Allow"); a.status != http.StatusMethodNotAllowed || got != test.allow {
			t.Errorf("%s: %d, Allow: %q, want %q", a.asked, a.status, got, test.allow)
		}
	}
	head := h.do(ask{method: http.MethodHead, path: "/status"})
	if head.status != http.StatusOK || len(head.body) > 0 || head.header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %+v", head)
	}
}

// A parameter that nobody reads, or reads otherwise than it was meant, is
// refused: what was to be a dry run must not be a real one.
func TestQueries(t *testing.T) {
	h := open(t, "")
	for _, path := range []string{
		"/servers?x=1", "/status?key=calculator", "/calls?limit=0", "/calls?limit=501", "/calls?limit=ten", "/calls?Limit=5", "/calls?limit=5&limit=6",
		"/servers/calculator/log?after=-1", "/servers/calculator/log?follow", "/servers/calculator/log?follow=maybe", "/tools?server", "/tools?server=%zz", "/tools?a;b",
	} {
		h.get(path).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	for _, query := range []string{"dryRun", "dryRun=", "dryrun=true", "dryRun=yes", "dryRun=false&dryRun=true", "dryRun=true;", "dry%52un"} {
		h.change(http.MethodPost, "/import?"+query, `{"text":"{\"mcpServers\":{\"a\":{\"command\":\"a\"}}}"}`).
			refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	h.get("/servers/a").refused(http.StatusNotFound, message.ServerUnknown)
}

// Bodies are read strictly, and refused without their values.
func TestBodies(t *testing.T) {
	h := open(t, "")
	for _, test := range []struct {
		body   string
		status int
		want   string
	}{
		{"", http.StatusBadRequest, "required"},
		{" ", http.StatusUnprocessableEntity, "malformed"},
		{"{", http.StatusUnprocessableEntity, "malformed JSON"},
		{`{"key":"a","entry":{"command":"x"}} {}`, http.StatusUnprocessableEntity, "malformed JSON"},
		{"[]", http.StatusUnprocessableEntity, "no object"},
		{"null", http.StatusUnprocessableEntity, "no object"},
		{"{\"key\":\"\xff\"}", http.StatusUnprocessableEntity, "UTF-8"},
		{`{"key":"a"}`, http.StatusUnprocessableEntity, `body: the member \"entry\" is missing`},
		{`{"key":"a","entry":{"command":"x"},"more":"value-4711"}`, http.StatusUnprocessableEntity, `body: there is no member \"more\"`},
		{`{"Key":"a","entry":{"command":"x"}}`, http.StatusUnprocessableEntity, `there is no member \"Key\"`},
		{`{"key":"a","KEY":"b","entry":{"command":"x"}}`, http.StatusUnprocessableEntity, `there is no member \"KEY\"`},
		{`{"key":"a","\u212aey":"b","entry":{"command":"x"}}`, http.StatusUnprocessableEntity, "there is no member"},
		{`{"key":"a","\u006bey":"b","entry":{"command":"x"}}`, http.StatusUnprocessableEntity, `the member \"key\" is there twice`},
		{`{"key":null,"entry":{"command":"x"}}`, http.StatusUnprocessableEntity, `the member \"key\" is null`},
		{`{"key":4711,"entry":{"command":"x"}}`, http.StatusUnprocessableEntity, `the member \"key\" is of another type`},
		{`{"key":"a","entry":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, http.StatusUnprocessableEntity, "too deeply"},
		{`{"key":"a","entry":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, http.StatusUnprocessableEntity, "nested more than"},
	} {
		a := h.do(ask{method: http.MethodPost, path: "/servers", token: h.admin, body: test.body, header: map[string]string{"Content-Type": "application/json"}})
		if a.status != test.status || !strings.Contains(a.refusedText(), test.want) || strings.Contains(string(a.body), "4711") {
			t.Errorf("%.60q: %d %s, want %d with %q", test.body, a.status, a.body, test.status, test.want)
		}
	}
	p := h.change(http.MethodPost, "/servers", "{\"key\":\"a\",\"entry\":{\n  \"command\": \"x\",\n  \"command\": \"y\"}}").
		refused(http.StatusUnprocessableEntity, message.ConfigInvalid)
	if len(p.Problems) != 1 || p.Problems[0].Line == 0 || p.Problems[0].Column == 0 || !strings.Contains(p.Problems[0].Detail, `"command" twice`) {
		t.Errorf("the problems are %+v", p.Problems)
	}
	h.get("/servers/a").refused(http.StatusNotFound, message.ServerUnknown)
}

// refusedText is the JSON of the answer if that is a problem.
func (a *answer) refusedText() string {
	if a.header.Get("Content-Type") != problemType {
		return ""
	}
	return string(a.body)
}

// Each operation takes bodies up to its limit, and says which that is.
func TestLimitsOfBodies(t *testing.T) {
	h := open(t, "")
	operations(h.door, func(path string, op *huma.Operation) {
		if op.RequestBody == nil {
			return
		}
		limit := int(op.MaxBodyBytes - 1)
		if limit < 1<<20 || limit > 20<<20 && op.OperationID != "call" {
			t.Errorf("%s takes %d bytes", op.OperationID, limit)
		}
		blank := strings.Repeat(" ", limit)
		p := h.change(op.Method, path, blank+"{").refused(http.StatusRequestEntityTooLarge, message.BodyTooBig)
		if want := fmt.Sprintf("%d MiB", limit>>20); !strings.Contains(p.Remedy, want) {
			t.Errorf("%s: the remedy is %q, want %s in it", op.OperationID, p.Remedy, want)
		}
		if limit == 1<<20 { // reading the others takes too long
			h.change(op.Method, path, blank[1:]+"{").refused(http.StatusUnprocessableEntity, message.BodyInvalid)
		}
	})
}

// send writes a request as bytes and returns the answer.
func (h *house) send(head string, body string) *http.Response {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	must(h.t, err)
	h.t.Cleanup(func() { conn.Close() })
	must(h.t, conn.SetDeadline(time.Now().Add(limit)))
	_, err = io.WriteString(conn, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n"+body)
	must(h.t, err)
	must(h.t, conn.(*net.TCPConn).CloseWrite())
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(h.t, err)
	h.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// A body that ends too early is the client's fault.
func TestBodyEndsTooEarly(t *testing.T) {
	h := open(t, "")
	resp := h.send("POST /api/v1/calls HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 100\n", `{"tool":`)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	(&answer{t, "half a body", resp.StatusCode, resp.Header, body}).refused(http.StatusBadRequest, message.BodyInvalid)
}

// A body that does not come is given up; its time limit does not end the call
// that it asks for.
func TestSlowBodiesAndLongCalls(t *testing.T) {
	h := open(t, "", func(d *Door) { d.bodyLimit = 100 * time.Millisecond })
	pipe, feed := io.Pipe()
	defer feed.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+api.Base+"/calls", pipe)
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	go func() { _, _ = io.WriteString(feed, `{"tool":`) }()
	resp, err := h.client.Do(req)
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	resp.Body.Close()
	(&answer{t, "a slow body", resp.StatusCode, resp.Header, body}).refused(http.StatusRequestTimeout, message.BodyLate)

	done := make(chan *answer, 1)
	go func() { done <- h.call(`{"tool":"lab__hold"}`) }()
	<-h.began
	ctx, cancel := context.WithTimeout(t.Context(), 3*h.door.bodyLimit) // well past the body's time
	defer cancel()
	select {
	case err := <-h.ended:
		t.Errorf("the call was ended: %v", err)
	case <-ctx.Done():
	}
	close(h.release)
	(<-done).into(http.StatusOK, nil)
}

// Texts are in the language that was asked for, and say so.
func TestLanguages(t *testing.T) {
	h := open(t, "")
	for _, test := range []struct{ accept, want, text string }{
		{"zh-CN,en;q=0.5", "zh", "没有名为"},
		{"zh", "zh", "没有名为"},
		{"en;q=0.5, zh;q=0.9", "zh", "没有名为"},
		{"zh;q=0.5, en;q=0.9", "en", "There is no"},
		{"en-GB", "en", "There is no"},
		{"fr", "en", "There is no"},
		{"", "en", "There is no"},
	} {
		for path, code := range map[string]message.Code{
			"/servers/nobody": message.ServerUnknown, "/tools/nobody": message.ToolUnknown, "/nothing": message.PathUnknown,
		} {
			a := h.do(ask{method: http.MethodGet, path: path, header: map[string]string{"Accept-Language": test.accept}})
			if got := a.header.Get("Content-Language"); got != test.want {
				t.Errorf("%q: %s is in %q", test.accept, path, got)
			}
			friendly := message.Friendly(message.Lang(test.want), code, "")
			if !strings.Contains(string(a.body), `"class":"unavailable"`) || !strings.Contains(string(a.body), friendly) {
				t.Errorf("%q: %s has no class, or not the sentence %q", test.accept, a.body, friendly)
			}
			if path != "/nothing" && !strings.Contains(string(a.body), test.text) {
				t.Errorf("%q: %s", test.accept, a.body)
			}
		}
	}
	zh := map[string]string{"Accept-Language": "zh"}
	for _, a := range []*answer{
		h.do(ask{method: http.MethodPost, path: "/shutdown", header: zh}),
		h.do(ask{method: http.MethodPost, path: "/calls", body: "{", header: zh}),
		h.do(ask{method: http.MethodGet, path: "/calls?limit=0", header: zh}),
		h.do(ask{method: http.MethodPut, path: "/status", header: zh}),
		h.do(ask{method: http.MethodGet, path: "/calls?limit=1&limit=2", header: zh}),
		h.do(ask{method: http.MethodGet, path: "/calls?nothing=1", header: zh}),
		h.do(ask{method: http.MethodPost, path: "/config/check", body: `{"text": 7, "nothing": 1}`, header: zh}),
		h.do(ask{method: http.MethodGet, path: "/status", header: map[string]string{"Accept-Language": "zh", "Host": "evil.example"}}),
	} {
		if !strings.Contains(string(a.body), "。") || strings.Contains(string(a.body), " must ") || strings.Contains(string(a.body), "unknown") || a.header.Get("Content-Language") != "zh" {
			t.Errorf("%s: %s", a.asked, a.body)
		}
	}
}
