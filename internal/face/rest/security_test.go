package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/message"
)

// operations calls f with every operation, at a path that can be asked.
func operations(d *Door, f func(path string, op *huma.Operation)) {
	for path, item := range d.api.OpenAPI().Paths {
		path = strings.NewReplacer("{key}", "calculator", "{name}", "x", "{holder}", "x", "{session}", "x", "{id}", "x").Replace(path)
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op != nil {
				f(path, op)
			}
		}
	}
}

// Only an administrator of the hub itself stops it.
func TestShutdown(t *testing.T) {
	h := open(t, "")
	h.do(ask{method: http.MethodPost, path: "/shutdown"}).refused(http.StatusUnauthorized, message.AdminRequired)
	h.do(ask{method: http.MethodPost, path: "/shutdown", token: h.caller}).refused(http.StatusForbidden, message.AdminRequired)
	select {
	case <-h.shut:
		t.Error("somebody has stopped the hub")
	default:
	}
	h.change(http.MethodPost, "/shutdown", "").into(http.StatusAccepted, nil)
	<-h.shut
}

// A web page of another origin, a form, and a name that resolves to this
// machine do not reach the API, also with a token.
func TestWebPages(t *testing.T) {
	h := open(t, "")
	call := ask{method: http.MethodPost, path: "/calls", body: `{"tool":"calculator__calculator","arguments":{"expression":"1+1"}}`}
	h.do(call).into(http.StatusOK, nil)
	for _, test := range []struct {
		name   string
		header map[string]string
		status int
		code   message.Code
	}{
		{"another origin", map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden, message.OriginRefused},
		{"another port of this machine", map[string]string{"Origin": "http://127.0.0.1:1"}, http.StatusForbidden, message.OriginRefused},
		{"no origin, by its browser", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden, message.OriginRefused},
		{"a name that resolves to this machine", map[string]string{"Host": "evil.example"}, http.StatusForbidden, message.HostRefused},
		{"a form", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType, message.TypeRefused},
		{"a text", map[string]string{"Content-Type": "text/plain"}, http.StatusUnsupportedMediaType, message.TypeRefused},
		{"no type", map[string]string{"Content-Type": ""}, http.StatusUnsupportedMediaType, message.TypeRefused},
		{"another JSON", map[string]string{"Content-Type": "application/vnd.x+json"}, http.StatusUnsupportedMediaType, message.TypeRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := call
			a.header, a.token = test.header, h.admin
			h.do(a).refused(test.status, test.code)
		})
	}
	call.header = map[string]string{"Content-Type": "application/json; charset=UTF-8; x=+"}
	h.do(call).into(http.StatusOK, nil)
	call.header, call.token = nil, "tca_wrong"
	h.do(call).refused(http.StatusUnauthorized, message.TokenRefused)
	get := ask{method: http.MethodGet, path: "/config", header: map[string]string{"Host": "evil.example"}}
	h.do(get).refused(http.StatusForbidden, message.HostRefused)
}

// planted are secrets in all places where people have them.
const planted = `{
  // the key is PLANTED-comment-1234
  "mcpServers": {
    "a": {
      "command": "node", "args": ["server.js", "--api-key", "PLANTED-arg-1234", "--token=PLANTED-arg-5678", "https://u:PLANTED-arg-9999@x.example/?k=PLANTED-arg-0000"],
      "env": {"A": "PLANTED-env-1234", "API_KEY": "PLANTED-env-5678"}
    },
    "b": {
      "url": "https://b.example/PLANTED1path2key3abcdefgh/mcp?key=PLANTED-query-1234#PLANTED-fragment",
      "headers": {"X-Key": "PLANTED-header-1234"}, "apiKey": "PLANTED-apikey-1234"
    },
    "c": {"command": "npx -y thing --api-key PLANTED-command-1234"}
  }
}`

// No answer has a value that may be a secret, whoever asks; and nobody but an
// administrator is told whether a guess at one is right.
func TestNoSecretInAnyAnswer(t *testing.T) {
	h := open(t, planted)
	quiet := func(a *answer) *answer {
		t.Helper()
		if strings.Contains(string(a.body), "PLANTED") {
			t.Errorf("%s tells a secret: %s", a.asked, a.body)
		}
		return a
	}
	h.change(http.MethodPut, "/secrets/mine", `{"value":"PLANTED-sealed-1234"}`).into(http.StatusNoContent, nil)
	h.change(http.MethodPost, "/servers", `{"key":"d","entry":{"url":"https://d.example","apiKey":"PLANTED-sealed-5678"}}`).into(http.StatusCreated, nil)
	if !strings.Contains(h.text(), "PLANTED-env") || strings.Contains(h.text(), "PLANTED-sealed") {
		t.Fatalf("the file is %s", h.text())
	}
	for _, path := range []string{
		"/status", "/servers", "/servers/a", "/servers/b", "/servers/c", "/servers/d", "/servers/a/entry", "/servers/b/entry", "/servers/c/entry",
		"/servers/d/entry", "/servers/a/log", "/servers/a/drift", "/tools", "/index", "/index/export", "/leases", "/stats", "/calls", "/openapi.json", "/config/schema",
	} {
		if a := quiet(h.get(path)); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	quiet(h.change(http.MethodGet, "/secrets", "")).into(http.StatusOK, nil)
	quiet(h.change(http.MethodGet, "/config", "")).into(http.StatusOK, nil)
	for _, a := range []*answer{
		h.change(http.MethodPut, "/servers/a", `{"entry":{"command":"x","url":"PLANTED","env":{"A":"PLANTED"}}}`),
		h.change(http.MethodPut, "/servers/a", `{"entry":{"command":"x","env":{"A":{"PLANTED":1}}}}`),
		h.change(http.MethodPut, "/servers/a", `{"entry":PLANTED}`),
		h.change(http.MethodPost, "/servers", `{"key":12345678,"entry":"PLANTED"}`),
		h.change(http.MethodPost, "/config/check", `{"text":"{\"mcpServers\": {\"a\": {\"url\": \"PLANTED\"}}}"}`),
		h.change(http.MethodPost, "/config/check", `{"text":"{PLANTED"}`),
		h.change(http.MethodPost, "/import", `{"text":"{\"mcpServers\": {\"a\": {\"env\": {\"K\": [\"PLANTED\"]}}}}"}`),
		h.change(http.MethodPost, "/test", `{"entry":{"url":"https://user:PLANTED@x.example"}}`),
		h.change(http.MethodPut, "/secrets/x", `{"value":{"PLANTED":1}}`),
		h.change(http.MethodPut, "/secrets/x", `{"value":"`+strings.Repeat("PLANTED", 10<<10)+`"}`),
		h.call(`{"tool":"a__b","arguments":{"k":"PLANTED"}}`),
		h.call(`{"tool":["PLANTED"]}`),
		h.call(`{"tool":"x","logLevel":"PLANTED"}`),
		h.change(http.MethodPost, "/index/import", `{"text":"PLANTED"}`),
		h.change(http.MethodPost, "/index/import", `{"text":"{\"version\":\"PLANTED\",\"servers\":[{\"PLANTED\":1}]}"}`),
		h.change(http.MethodPost, "/servers/a/accept", `{"tools":"PLANTED"}`),
		h.change(http.MethodPut, "/leases/x", `{"tools":["a"],"ttl":"PLANTED"}`),
		h.get("/calls?limit=PLANTED"),
		h.change(http.MethodPut, "/config?dryRun=PLANTED", `{"text":"{}"}`),
	} {
		quiet(a)
	}
	h.do(ask{method: http.MethodPost, path: "/config/check", body: `{"text":"{}"}`}).refused(http.StatusUnauthorized, message.AdminRequired)
	h.do(ask{method: http.MethodPut, path: "/config?dryRun=true", body: `{"text":"{}"}`}).refused(http.StatusUnauthorized, message.AdminRequired)
}
