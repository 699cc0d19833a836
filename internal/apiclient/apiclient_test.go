package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// newClient returns a client of a server that answers with h.
func newClient(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(Options{URL: srv.URL + "/ignored?x=y", Token: "tca_secret", Lang: message.Chinese})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// seen is a request as the server saw it.
type seen struct{ Method, Path, Body string }

// Every method goes to its own place, with its values escaped.
func TestRequests(t *testing.T) {
	var got seen
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.URL.RequestURI(), strings.TrimSpace(string(body))}
		if a := r.Header.Get("Authorization"); a != "Bearer tca_secret" {
			t.Errorf("Authorization: %q", a)
		}
		if l := r.Header.Get("Accept-Language"); l != "zh" {
			t.Errorf("Accept-Language: %q", l)
		}
		if r.URL.Path == api.Base+"/config" && r.Method == http.MethodPut && r.Header.Get("If-Match") != `"e"` {
			t.Error("no If-Match")
		}
		fmt.Fprint(w, "{}")
	})
	ctx := t.Context()
	ignore := func(_ any, err error) error { return err }
	entry := json.RawMessage(`{"command":"a<b"}`)
	for _, test := range []struct {
		name string
		do   func() error
		want seen
	}{
		{"status", func() error { return ignore(c.Status(ctx)) }, seen{"GET", "/status", ""}},
		{"shutdown", func() error { return c.Shutdown(ctx) }, seen{"POST", "/shutdown", ""}},
		{"openapi", func() error { return ignore(c.OpenAPI(ctx)) }, seen{"GET", "/openapi.json", ""}},
		{"servers", func() error { return ignore(c.Servers(ctx)) }, seen{"GET", "/servers", ""}},
		{"server", func() error { return ignore(c.Server(ctx, "a/b?c")) }, seen{"GET", "/servers/a%2Fb%3Fc", ""}},
		{"entry", func() error { return ignore(c.ServerEntry(ctx, "k")) }, seen{"GET", "/servers/k/entry", ""}},
		{"add", func() error { return ignore(c.AddServer(ctx, api.ServerAdd{Key: "k", Entry: entry})) }, seen{"POST", "/servers", `{"key":"k","entry":{"command":"a<b"}}`}},
		{"change", func() error { return ignore(c.ChangeServer(ctx, "k", api.ServerChange{Entry: entry})) }, seen{"PUT", "/servers/k", `{"entry":{"command":"a<b"}}`}},
		{"remove", func() error { return c.RemoveServer(ctx, "k") }, seen{"DELETE", "/servers/k", ""}},
		{"act", func() error { return ignore(c.ServerAction(ctx, "k", api.ActionStart)) }, seen{"POST", "/servers/k/start", ""}},
		{"log", func() error { return ignore(c.Log(ctx, "k", 7)) }, seen{"GET", "/servers/k/log?after=7", ""}},
		{"tools", func() error { return ignore(c.Tools(ctx, "a b", "")) }, seen{"GET", "/tools?server=a+b", ""}},
		{"tools of a group", func() error { return ignore(c.Tools(ctx, "", "g")) }, seen{"GET", "/tools?group=g", ""}},
		{"groups", func() error { return ignore(c.Groups(ctx)) }, seen{"GET", "/groups", ""}},
		{"group", func() error { return ignore(c.Group(ctx, "a/b")) }, seen{"GET", "/groups/a%2Fb", ""}},
		{"set group", func() error { return ignore(c.SetGroup(ctx, "g", api.GroupDefinition{Servers: []string{"s"}}, "")) }, seen{"PUT", "/groups/g", `{"servers":["s"]}`}},
		{"remove group", func() error { return c.RemoveGroup(ctx, "g", `"e"`) }, seen{"DELETE", "/groups/g", ""}},
		{"resources", func() error { return ignore(c.Resources(ctx, "k", "g")) }, seen{"GET", "/resources?group=g&server=k", ""}},
		{"read", func() error { return ignore(c.ReadResource(ctx, "a:b")) }, seen{"POST", "/resources/read", `{"uri":"a:b"}`}},
		{"prompts", func() error { return ignore(c.Prompts(ctx, "", "")) }, seen{"GET", "/prompts", ""}},
		{"prompt", func() error { return ignore(c.GetPrompt(ctx, api.PromptGet{Name: "p"})) }, seen{"POST", "/prompts/get", `{"name":"p"}`}},
		{"tool", func() error { return ignore(c.Tool(ctx, "t")) }, seen{"GET", "/tools/t", ""}},
		{"call", func() error {
			return ignore(c.Call(ctx, api.Call{Tool: "t", Arguments: json.RawMessage(`{"n":12345678901234567890}`)}))
		}, seen{"POST", "/calls", `{"tool":"t","arguments":{"n":12345678901234567890}}`}},
		{"calls", func() error {
			return ignore(c.Calls(ctx, CallQuery{Limit: 3, Server: "k", Outcomes: []string{"failed", "unknown"}}))
		}, seen{"GET", "/calls?limit=3&outcome=failed%2Cunknown&server=k", ""}},
		{"a call of the record", func() error { return ignore(c.CallRecord(ctx, "a/b")) }, seen{"GET", "/calls/a%2Fb", ""}},
		{"head", func() error { return ignore(c.AuditHead(ctx)) }, seen{"GET", "/audit/head", ""}},
		{"verify", func() error { return ignore(c.VerifyAudit(ctx, nil)) }, seen{"POST", "/audit/verify", ""}},
		{"verify with a head", func() error { return ignore(c.VerifyAudit(ctx, &api.AuditHead{Node: "n", Seq: 3, Key: []byte("k")})) }, seen{"POST", "/audit/verify", `{"node":"n","seq":3,"hash":"","time":"0001-01-01T00:00:00Z","key":"aw==","signature":null}`}},
		{"analysis", func() error { return ignore(c.Analysis(ctx, AnalysisQuery{Since: "7d", Hourly: true})) }, seen{"GET", "/analysis?by=hour&since=7d", ""}},
		{"config", func() error { return ignore(c.Config(ctx)) }, seen{"GET", "/config", ""}},
		{"set config", func() error { return ignore(c.SetConfig(ctx, api.ConfigUpload{Text: "{}"}, `"e"`, true)) }, seen{"PUT", "/config?dryRun=true", `{"text":"{}"}`}},
		{"check config", func() error { return ignore(c.CheckConfig(ctx, api.ConfigUpload{Text: "{}"})) }, seen{"POST", "/config/check", `{"text":"{}"}`}},
		{"reload", func() error { return ignore(c.ReloadConfig(ctx)) }, seen{"POST", "/config/reload", ""}},
		{"schema", func() error { return ignore(c.ConfigSchema(ctx)) }, seen{"GET", "/config/schema", ""}},
		{"import", func() error { return ignore(c.Import(ctx, api.Import{Text: "{}"}, false)) }, seen{"POST", "/import", `{"text":"{}"}`}},
		{"test", func() error { return ignore(c.Test(ctx, api.Test{Key: "k"})) }, seen{"POST", "/test", `{"key":"k"}`}},
		{"secrets", func() error { return ignore(c.Secrets(ctx)) }, seen{"GET", "/secrets", ""}},
		{"seal", func() error { return c.SetSecret(ctx, "n", "v") }, seen{"PUT", "/secrets/n", `{"value":"v"}`}},
		{"forget", func() error { return c.RemoveSecret(ctx, "n") }, seen{"DELETE", "/secrets/n", ""}},
	} {
		test.want.Path = api.Base + test.want.Path
		if err := test.do(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestAnswersAreDecoded(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"isError":true,"result":{"n":12345678901234567890},"new":1}`)
	})
	got, err := c.Call(t.Context(), api.Call{Tool: "t"})
	if err != nil || !got.IsError || string(got.Result) != `{"n":12345678901234567890}` {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A refusal has the hub's code and texts.
func TestRefusals(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"title":"没有","code":"server_unknown","remedy":"请","status":1}`)
	})
	_, err := c.Server(t.Context(), "k")
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.Problem.Status != 404 || !IsCode(err, message.ServerUnknown) || IsCode(err, message.Internal) {
		t.Fatalf("got %#v", err)
	}
	if got, want := refused.Text(), (message.Text{What: "没有", Remedy: "请"}); got != want || err.Error() != "没有" {
		t.Errorf("got %q", got)
	}
}

// What is no hub is told apart from a hub that refuses.
func TestUnusableAnswers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"another page":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", 404) },
		"other JSON":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") },
		"a foreign JSON": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); fmt.Fprint(w, "{}") },
		"a redirect":     func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	} {
		if _, err := newClient(t, h).Status(t.Context()); !hub.IsCode(err, message.HubAnswerUnusable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	cutOff := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "{")
	})
	if _, err := cutOff.Status(t.Context()); !hub.IsCode(err, message.HubUnreachable) {
		t.Errorf("cut off: got %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	c, err := New(Options{Socket: filepath.Join(t.TempDir(), "none")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); !hub.IsCode(err, message.HubUnreachable) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := c.Status(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"pid":7}`)
	}))
	srv.Listener.Close()
	srv.Listener = ln
	srv.Start()
	defer srv.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // not for a socket
	c, err := New(Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if st, err := c.Status(t.Context()); err != nil || st.PID != 7 || c.Where() != path {
		t.Errorf("got %+v, %v, %s", st, err, c.Where())
	}
}

// A wrong URL is refused without showing it, as it may hold credentials.
func TestURLs(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:8080", "ftp://h", "http://", "http://user:tca_x@h", "http://h:tca_x"} {
		_, err := New(Options{URL: bad})
		if !hub.IsCode(err, message.HubURLInvalid) || strings.Contains(fmt.Sprint(err), "tca_x") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
