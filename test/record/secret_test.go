//go:build linux

package record

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// vault knows secrets by the places at which they are planted.
type vault struct {
	t       *testing.T
	mu      sync.Mutex
	planted map[string]string // place by secret
}

// plant returns a new secret, in letters that no encoding changes.
func (v *vault) plant(place string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	secret := fmt.Sprintf("planted%dq7x", len(v.planted))
	v.planted[secret] = place
	return secret
}

// keep is plant for a secret that is there already.
func (v *vault) keep(secret, place string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.planted[secret] = place
}

// search fails the test if a text has one of the secrets, in clear or in base64.
func (v *vault) search(where, text string) {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	// Most texts have none, which is seen at once.
	some := strings.Contains(text, "planted") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("planted"))[:9])
	for secret, place := range v.planted {
		if !some && strings.HasPrefix(secret, "planted") {
			continue
		}
		at := strings.Index(text, secret)
		if at < 0 {
			at = strings.Index(text, base64.StdEncoding.EncodeToString([]byte(secret))[:12])
		}
		if at >= 0 {
			v.t.Errorf("%s shows the secret of %s: ...%q...", where, place, text[max(0, at-200):min(len(text), at+100)])
		}
	}
}

// arguments has a secret in each way in which arguments hold one.
func (v *vault) arguments(call string) map[string]any {
	of := func(what string) string { return v.plant(what + " in the arguments of " + call) }
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + of("a JWT") + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV"
	return map[string]any{
		"text": "call " + call, "password": of("a password"), "db": map[string]any{"apiKey": of("a nested key"), "host": "example.org"},
		"headers": []any{map[string]any{"name": "Authorization", "value": "Bearer " + of("a header in a list")}},
		"args":    []any{"--token", of("an option"), "--api-key=" + of("an option with a sign")},
		"say":     "use Bearer " + of("a bearer token") + "abcdefgh or " + jwt,
		"key":     "my key is sk-proj-" + of("a key with a prefix") + "AAAAAAAAAAAAAAAAAAAAAAAA, keep it",
		"url":     "https://me:" + of("a URL") + "@example.org/?q=1",
		"env":     "PASSWORD=" + of("an assignment") + " run",
	}
}

// TestSecretsStayOutOfTheRecord has callers and servers tell secrets in every way
// that they have, and looks for them in all that the hub keeps and lets out.
func TestSecretsStayOutOfTheRecord(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { keepSecrets(t, store.Options{}) })
	t.Run("postgres", func(t *testing.T) { keepSecrets(t, storetest.PostgreSQL(t)) })
}

func keepSecrets(t *testing.T, opt store.Options) {
	v := &vault{t: t, planted: make(map[string]string)}
	collected := collect(t)
	leaky := leak(t)
	if opt.URL != "" {
		opt.URL = strings.Replace(opt.URL, "toolcrib@", "toolcrib:"+v.plant("the address of the database")+"@", 1)
	}
	headers := map[string]string{"Authorization": "Bearer " + v.plant("a header of a server"), "X-Api-Key": v.plant("another header of a server")}
	l := newLab(t, opt, map[string]any{
		"telemetry": map[string]any{"traces": map[string]any{"endpoint": collected.url, "headers": map[string]string{"Authorization": "Bearer " + v.plant("a header of the collector")}}},
	},
		rig.HTTP("leaky", leaky+"/mcp?key="+v.plant("the query of a server")).With("headers", headers).With("retries", 1).With("retryDelay", "10ms"),
		rig.Stdio("told", rig.FaultServer(t)).With("env", map[string]string{"API_KEY": v.plant("the environment of a server"), "GORACE": "atexit_sleep_ms=0"}),
	)
	h := l.start()
	v.keep(rig.Token(t, h.DataDir), "the administrator")
	session := l.converse(h, v)
	v.keep(session, "a session, which is all that it takes to speak in it")

	for _, tool := range []string{"leaky__say", "leaky__fail", "leaky__refuse", "leaky__break", "leaky__look", "told__note", "told__rpcerror", "told__env", "nobody__there"} {
		for _, overMCP := range []bool{false, true} {
			answer, body := l.ask(t.Context(), h.URL, overMCP, tool, v.arguments(fmt.Sprintf("%s (%t)", tool, overMCP)))
			if answer == toldCut {
				t.Fatalf("the caller of %s was told nothing: %s", tool, body)
			}
		}
	}
	l.pester(h, v)
	if l.store.URL != "" {
		resume := storetest.Outage(t, "INT")
		l.refused(h, "down", message.StoreUnavailable)
		resume()
		rig.Await(t, "calls are taken again", func() bool { return l.call(h.URL, false, "far__work", work("after", 0)) == told })
	}
	rig.Await(t, "all is recorded", func() bool { return l.metric(h, "toolcrib_record_waiting") == 0 })
	for _, token := range []string{"", rig.Token(t, h.DataDir)} {
		l.walk(h, v, token)
	}
	if l.store.URL == "" {
		v.files(h.DataDir)
		v.backup(l)
	}
	if code := h.Stop(); code != 0 {
		t.Errorf("the hub ended with code %d", code)
	}
	v.search("the log", h.Stderr())
	// What is not in memory any more is what was written.
	h = l.start()
	kept, _ := l.get(h, api.Base+"/events", rig.Token(t, h.DataDir))
	v.search("the events of before", kept)
	if !strings.Contains(kept, "leaky__refuse") || !strings.Contains(kept, `"call.state"`) {
		t.Errorf("the events of before are %s", kept)
	}
	h.Stop()
	v.search("the log", h.Stderr())
	if l.store.URL == "" {
		v.files(h.DataDir)
	} else {
		v.pages(l.store)
	}
	v.export(l)
	v.search("the traces", collected.all())
	if n := len(collected.all()); n < 1000 {
		t.Errorf("the collector got %d bytes", n)
	}
}

// leak is a server that tells whatever it was told, in each way that there is.
func leak(t *testing.T) string {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "leaky", Version: "1"}, nil)
	all := func(r *sdk.CallToolRequest) string {
		head, err := json.Marshal(r.Extra.Header)
		if err != nil {
			t.Error(err)
		}
		return string(r.Params.Arguments) + string(head)
	}
	anything := json.RawMessage(`{"type":"object"}`)
	text := func(s string, failed bool) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}, IsError: failed}
	}
	server.AddTool(&sdk.Tool{Name: "say", InputSchema: anything}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(all(r), false), nil
	})
	server.AddTool(&sdk.Tool{Name: "look", InputSchema: anything, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(all(r), false), nil
	})
	server.AddTool(&sdk.Tool{Name: "fail", InputSchema: anything}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(all(r), true), nil
	})
	server.AddTool(&sdk.Tool{Name: "refuse", InputSchema: anything}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New(all(r))
	})
	server.AddTool(&sdk.Tool{Name: "break", InputSchema: anything, Annotations: &sdk.ToolAnnotations{IdempotentHint: true}}, unreached)
	server.AddResource(&sdk.Resource{Name: "open", URI: "thing://open/1"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "thing://open/1", Text: "x"}}}, nil
	})
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "thing", URITemplate: "thing://{+rest}"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: r.Params.URI}}}, nil
	})
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if bytes.Contains(body, []byte(`"tools/call"`)) && bytes.Contains(body, []byte(`"break"`)) {
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusInternalServerError)
			_ = r.Header.Write(w)
			_, _ = w.Write(append(body, r.URL.String()...))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(remote.Close)
	return remote.URL
}

// unreached is a tool that is never reached.
func unreached(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return nil, errors.New("reached")
}

// collector takes traces.
type collector struct {
	url string
	mu  sync.Mutex
	got bytes.Buffer
}

func (c *collector) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got.String()
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, err := c.got.ReadFrom(body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// converse has a caller of the older era call within a session, and reads
// resources by URIs that hold a secret. It returns the session's id.
func (l *lab) converse(h *rig.Hub, v *vault) (session string) {
	l.t.Helper()
	post := func(body string) *http.Response {
		req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, h.URL+"/mcp", strings.NewReader(body))
		must(l.t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Cookie", "session="+v.plant("a cookie"))
		req.Header.Set("X-Api-Key", v.plant("a header of a request"))
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := l.client.Do(req)
		must(l.t, err)
		text, err := io.ReadAll(resp.Body)
		must(l.t, err)
		must(l.t, resp.Body.Close())
		if resp.StatusCode >= 300 {
			l.t.Errorf("HTTP %d: %s", resp.StatusCode, text)
		}
		return resp
	}
	resp := post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"record","version":"1"}}}`)
	session = resp.Header.Get("Mcp-Session-Id")
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	arguments, err := json.Marshal(v.arguments("a session"))
	must(l.t, err)
	post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"leaky__say","arguments":%s}}`, arguments))
	for i, uri := range []string{"thing://me:%s@host/x", "thing://host/x?token=%s", "thing://host/x#%s"} {
		post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":%q}}`, 10+i, fmt.Sprintf(uri, v.plant("a URI such as "+uri))))
	}
	return session
}

// pester makes requests that are refused, with secrets in them.
func (l *lab) pester(h *rig.Hub, v *vault) {
	l.t.Helper()
	for path, header := range map[string]http.Header{
		"/api/v1/status": {"Authorization": {"Bearer " + v.plant("a wrong token")}},
		"/api/v1/status?access_token=" + v.plant("a query"): {},
		"/api/v1/events":                 {"Last-Event-Id": {v.plant("an id")}},
		"/mcp?key=" + v.plant("a query"): {"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+v.plant("a password")))}},
		"/api/v1/tools/unknown":          {"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Baggage": {"token=" + v.plant("baggage")}},
	} {
		req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, h.URL+path, http.NoBody)
		must(l.t, err)
		req.Header = header
		resp, err := l.client.Do(req)
		must(l.t, err)
		_ = resp.Body.Close()
	}
	resp, err := l.client.Post(h.URL+"/api/v1/calls", "application/json", strings.NewReader(`{"tool":5,"arguments":{"password":"`+v.plant("a body that is refused")+`"}}`))
	must(l.t, err)
	_ = resp.Body.Close()
}

// walk looks at every GET of the API's description, and at the metrics.
func (l *lab) walk(h *rig.Hub, v *vault, token string) {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(rig.Root(), "api", "openapi.json"))
	must(l.t, err)
	var doc struct{ Paths map[string]map[string]any }
	must(l.t, json.Unmarshal(text, &doc))
	client := h.APIAs(token)
	states, err := client.States(l.t.Context())
	must(l.t, err)
	if len(states.States) == 0 {
		l.t.Error("no session shows a call")
	}
	paths := []string{"/metrics", "/readyz", "/healthz", "/"}
	for path, methods := range doc.Paths {
		if methods["get"] == nil {
			continue
		}
		named := []string{""}
		switch {
		case strings.Contains(path, "{session}"):
			named = nil
			for _, s := range states.States {
				named = append(named, s.Session)
			}
		case strings.Contains(path, "{key}"):
			named = []string{"leaky", "told", "far", "near"}
		case strings.Contains(path, "{name}"):
			named = []string{"leaky__say"}
		case strings.Contains(path, "{id}"):
			named = nil
			calls, err := client.Calls(l.t.Context(), apiclient.CallQuery{Limit: 100})
			must(l.t, err)
			for _, c := range calls.Calls {
				named = append(named, c.ID)
			}
		}
		for _, name := range named {
			whole := path
			if before, rest, ok := strings.Cut(path, "{"); ok {
				_, after, _ := strings.Cut(rest, "}")
				whole = before + url.PathEscape(name) + after
			}
			paths = append(paths, api.Base+whole)
		}
	}
	slices.Sort(paths)
	looked := 0
	for _, path := range paths {
		body, status := l.get(h, path, token)
		if status == http.StatusOK {
			looked++
		}
		if strings.Contains(path, "/states") || strings.Contains(path, "/events") {
			body = withoutResults(body)
		}
		who := "an administrator"
		if token == "" {
			who = "anybody"
		}
		v.search("GET "+path+" by "+who, body)
		if strings.HasSuffix(path, "/events") && status == http.StatusOK && !strings.Contains(body, "call.ended") {
			l.t.Errorf("the events have no call: %s", body)
		}
	}
	if looked < 12 {
		l.t.Errorf("only %d of %q could be looked at", looked, paths)
	}
}

// get reads an answer; of a stream, what comes at once.
func (l *lab) get(h *rig.Hub, path, token string) (string, int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	stream := strings.HasSuffix(path, "/events")
	if stream {
		path += "?after=1"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+path, http.NoBody)
	must(l.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := l.client.Do(req)
	must(l.t, err)
	defer resp.Body.Close()
	if stream {
		time.AfterFunc(time.Second, cancel)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil && !stream {
		l.t.Fatal(err)
	}
	return string(body), resp.StatusCode
}

// withoutResults takes what servers said out of what shows the states of calls, to
// whoever has made them: it is what was asked for.
func withoutResults(body string) string {
	var out strings.Builder
	for line := range strings.Lines(body) {
		data, event := strings.CutPrefix(line, "data: ")
		var v any
		if json.Unmarshal([]byte(data), &v) != nil {
			out.WriteString(line)
			continue
		}
		if event {
			out.WriteString("data: ")
		}
		raw, _ := json.Marshal(without(v))
		out.Write(append(raw, '\n'))
	}
	return out.String()
}

func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "result")
		if v["code"] == nil {
			delete(v, "errorMessage") // the server's own
		}
		for name := range v {
			v[name] = without(v[name])
		}
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	}
	return v
}

// files looks at every file of the data directory, but for those of the tokens.
func (v *vault) files(dir string) {
	v.t.Helper()
	looked := make(map[string]bool)
	must(v.t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, ".token") {
			return err
		}
		raw, err := os.ReadFile(path)
		v.search(path, string(raw))
		looked[filepath.Base(path)] = true
		return err
	}))
	if !looked["toolcrib.db"] {
		v.t.Errorf("the database was not looked at: %v", looked)
	}
}

// pages looks at every file of the server of a database.
func (v *vault) pages(opt store.Options) {
	v.t.Helper()
	u, err := url.Parse(opt.URL)
	must(v.t, err)
	size := 0
	must(v.t, filepath.WalkDir(u.Query().Get("host"), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		size += len(raw)
		v.search(path, string(raw))
		return err
	}))
	if size < 1<<20 {
		v.t.Errorf("the files of the database have only %d bytes", size)
	}
}

// backup looks at what a backup has, but for the files that hold the secrets: the
// configuration and the tokens.
func (v *vault) backup(l *lab) {
	v.t.Helper()
	file := filepath.Join(v.t.TempDir(), "backup.tar.gz")
	cmd := exec.CommandContext(v.t.Context(), rig.HubBinary(v.t), "backup", file, "--data-dir", l.data.Path(), "--config", l.config)
	if out, err := cmd.CombinedOutput(); err != nil {
		v.t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.Open(file)
	must(v.t, err)
	defer raw.Close()
	z, err := gzip.NewReader(raw)
	must(v.t, err)
	rows := 0
	for files := tar.NewReader(z); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(v.t, err)
		text, err := io.ReadAll(files)
		must(v.t, err)
		if strings.HasSuffix(head.Name, ".token") || strings.Contains(head.Name, "toolcrib.json") {
			continue
		}
		if strings.HasSuffix(head.Name, "rows.jsonl") {
			rows = bytes.Count(text, []byte("\n"))
		}
		v.search("the backup's "+head.Name, string(text))
	}
	if rows < 20 {
		v.t.Errorf("the backup has %d rows", rows)
	}
}

// export looks at what is exported of the record, and sees to it that it is worth
// looking at.
func (v *vault) export(l *lab) {
	v.t.Helper()
	db, err := store.Open(v.t.Context(), l.store)
	must(v.t, err)
	keys, err := audit.LoadKeys(l.data.AuditKey())
	must(v.t, err)
	log, err := audit.Open(v.t.Context(), audit.Options{DB: db, Dir: v.t.TempDir(), Keys: keys, Log: slog.New(slog.DiscardHandler)})
	must(v.t, err)
	for _, format := range []audit.Format{audit.JSONL, audit.CSV} {
		var out bytes.Buffer
		must(v.t, log.Export(v.t.Context(), &out, format, audit.Filter{}))
		v.search("the export as "+string(format), out.String())
		for _, want := range []string{"call leaky__refuse (true)", "call told__note (false)", "***"} {
			if !strings.Contains(out.String(), want) {
				v.t.Errorf("the export as %s has nothing of %q: %s", format, want, out.String())
			}
		}
	}
	must(v.t, db.Close())
}
