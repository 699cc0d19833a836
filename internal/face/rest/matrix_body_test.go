package rest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// spaces never end, and begin no JSON.
type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// No operation takes a body that is larger than it says, or one that a form or a
// text of a web page could be; and none is reached from a page of another origin,
// also with a token.
func TestBodiesOfEveryOperation(t *testing.T) {
	h := open(t, "")
	seen := 0
	operations(h.door, func(path string, op *huma.Operation) {
		if op.Method != http.MethodGet {
			a := h.do(ask{method: op.Method, path: path, token: h.admin, header: map[string]string{"Origin": "https://elsewhere.example"}})
			a.refused(http.StatusForbidden, message.OriginRefused)
			a = h.do(ask{method: op.Method, path: path, token: h.admin, header: map[string]string{"Sec-Fetch-Site": "cross-site"}})
			a.refused(http.StatusForbidden, message.OriginRefused)
		}
		if op.RequestBody == nil {
			return
		}
		seen++
		send := func(kind string, body io.Reader, status int, code message.Code) {
			t.Helper()
			ctx := auth.With(t.Context(), hub.Principal{Subject: "admin", Role: hub.RoleAdmin})
			r := httptest.NewRequestWithContext(ctx, op.Method, api.Base+path, body)
			r.Header.Set("Content-Type", kind)
			w := httptest.NewRecorder()
			h.door.ServeHTTP(w, r)
			var p api.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != status || p.Code != string(code) {
				t.Errorf("%s with %s: %d %s", op.OperationID, kind, w.Code, w.Body)
			}
		}
		if op.MaxBodyBytes <= 0 {
			t.Errorf("%s has no limit", op.OperationID)
		}
		send("application/json", io.LimitReader(spaces{}, op.MaxBodyBytes+1), http.StatusRequestEntityTooLarge, message.BodyTooBig)
		for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"} {
			send(kind, strings.NewReader("{}"), http.StatusUnsupportedMediaType, message.TypeRefused)
		}
	})
	if seen < 15 {
		t.Errorf("there are %d operations with a body", seen)
	}
}
