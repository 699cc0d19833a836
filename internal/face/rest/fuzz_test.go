package rest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// Whatever the body, an operation answers: with success, or with a problem that
// is not the hub's own.
func FuzzBodies(f *testing.F) {
	f.Setenv("PATH", "") // no command that comes up is there
	h := open(f, `{"mcpServers":{"x":{"url":"http://127.0.0.1:1/mcp"}}}`)
	type target struct{ method, path string }
	var targets []target
	operations(h.door, func(path string, op *huma.Operation) {
		if op.RequestBody != nil {
			targets = append(targets, target{op.Method, path})
		}
	})
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.method+a.path, b.method+b.path) })
	for i := range targets {
		for _, body := range []string{
			"", "{", "[]", "null", `{"key":"y","entry":{"url":"http://127.0.0.1:1"}}`, `{"entry":{"enabled":false}}`, `{"entry":null}`,
			`{"text":"{\"mcpServers\":{\"z\":{\"url\":\"${unchanged}\"}}}"}`, `{"text":"","name":"n","keys":["a"],"replace":true}`, `{"value":"v"}`,
			`{"tool":"calculator__calculator","arguments":{"expression":"1"}}`, `{"tool":"lab__echo","arguments":{"a":[1,{"b":2}]},"inputResponses":{},"requestState":"s"}`,
			`{"tool":"","arguments":0,"logLevel":"debug","interactive":true}`, `{"key":"calculator"}`,
			`{"servers":["lab"],"tools":["*"],"exclude":[""],"rename":{"a":"b"}}`, `{"uri":"lab://readme"}`, `{"uri":"toolcrib://lab/lab://readme"}`,
			`{"name":"lab__greet","arguments":{"whom":"you"}}`, `{"name":"greet","arguments":[]}`,
		} {
			f.Add(uint8(i), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		to := targets[int(which)%len(targets)]
		ctx, cancel := context.WithTimeout(auth.With(t.Context(), hub.Principal{Subject: "admin", Role: hub.RoleAdmin}), 5*time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, to.method, api.Base+to.path, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-Match", h.door.opt.Control.ETag())
		w := httptest.NewRecorder()
		h.door.ServeHTTP(w, r)
		kind := w.Header().Get("Content-Type")
		if w.Code == http.StatusInternalServerError || w.Code >= 400 && kind != problemType {
			t.Errorf("%s %s with %q: %d %s %s", to.method, to.path, body, w.Code, kind, w.Body)
		}
	})
}

// A body that is taken is one that encoding/json takes, too.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{`{"tool":"a"}`, `{"tool":"a","arguments":{"x":1e999}}`, `{"Tool":"a","tool":"b"}`, `{"tool":"\ud800"}`, `{"tool":null}`, ` { } `} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var c api.Call
		if err := decode(body, &c); err != nil {
			if err.Error() == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		if !bytes.Contains(body, c.Arguments) || !bytes.Contains(body, c.Answers) {
			t.Errorf("%q became %+v", body, c)
		}
	})
}
