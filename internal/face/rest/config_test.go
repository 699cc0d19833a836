package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

func TestConfig(t *testing.T) {
	const file = `{"mcpServers":{"a":{"command":"a","env":{"K":"hidden-value"}}}} // mine`
	h := open(t, file)
	var text api.ConfigText
	a := h.change(http.MethodGet, "/config", "").into(http.StatusOK, &text)
	if text.Path != h.path || text.ETag == "" || a.header.Get("ETag") != text.ETag || strings.Contains(text.Text, "hidden-value") {
		t.Errorf("the file is %+v", text)
	}
	put := func(body, etag, query string) *answer {
		header := map[string]string{}
		if etag != "" {
			header["If-Match"] = etag
		}
		return h.do(ask{method: http.MethodPut, path: "/config" + query, token: h.admin, body: body, header: header})
	}
	next := `{"text":` + quote(strings.Replace(text.Text, `"command":"a"`, `"command":"b"`, 1)) + `}`
	put(next, "", "").refused(http.StatusPreconditionRequired, message.ETagMissing)
	put(next, `"x"`, "").refused(http.StatusPreconditionFailed, message.ConfigStale)
	var check api.ConfigCheck
	put(next, "", "?dryRun=true").into(http.StatusOK, &check)
	if !check.Valid || !slices.Equal(check.Diff.Changed, []string{"a"}) || h.text() != file {
		t.Errorf("the dry run says %+v; the file is %s", check, h.text())
	}
	h.change(http.MethodPost, "/config/check", next).into(http.StatusOK, &check)
	if !check.Valid || !slices.Equal(check.Diff.Changed, []string{"a"}) {
		t.Errorf("the check says %+v", check)
	}
	h.change(http.MethodPost, "/config/check", `{"text":"{\n  \"mcpServers\": {\"a\": {}}}"}`).into(http.StatusOK, &check)
	if check.Valid || len(check.Problems) != 1 || check.Problems[0].Line != 2 || check.Problems[0].Column == 0 || check.Diff.Added == nil {
		t.Errorf("the check says %+v", check)
	}
	for key, entry := range map[string]string{"a": `{"command":"c"}`, "new": `{"command":"c"}`, "a/b": `{"command":"c"}`} {
		h.change(http.MethodPost, "/servers/"+url.PathEscape(key)+"/check", `{"entry":`+entry+`}`).into(http.StatusOK, &check)
		if got := append(check.Diff.Changed, check.Diff.Added...); !check.Valid || !slices.Equal(got, []string{key}) || h.text() != file {
			t.Errorf("the check of %s says %+v; the file is %s", key, check, h.text())
		}
	}
	var there api.ServerEntry
	h.get("/servers/a/entry").into(http.StatusOK, &there)
	h.change(http.MethodPost, "/servers/a/check", `{"entry":`+string(there.Entry)+`}`).into(http.StatusOK, &check)
	if !check.Valid || !slices.Contains(check.Diff.Unchanged, "a") {
		t.Errorf("the check of what is there says %+v", check)
	}
	h.change(http.MethodPost, "/servers/a/check", `{"entry":{}}`).into(http.StatusOK, &check)
	if check.Valid || len(check.Problems) != 1 {
		t.Errorf("the check says %+v", check)
	}
	p := put(`{"text":"{"}`, text.ETag, "").refused(http.StatusUnprocessableEntity, message.ConfigInvalid)
	if len(p.Problems) != 1 || h.text() != file {
		t.Errorf("the problems are %+v; the file is %s", p.Problems, h.text())
	}
	put(next, text.ETag, "").into(http.StatusOK, &check)
	if want := strings.Replace(file, `"command":"a"`, `"command":"b"`, 1); h.text() != want {
		t.Errorf("the file is %s, want %s", h.text(), want)
	}
	put(next, text.ETag, "").refused(http.StatusPreconditionFailed, message.ConfigStale)
	var status api.Status
	h.get("/status").into(http.StatusOK, &status)
	h.change(http.MethodGet, "/config", "").into(http.StatusOK, &text)
	if status.Config.ETag != text.ETag || !status.Config.Writable || !status.Config.Exists {
		t.Errorf("the status is %+v", status.Config)
	}
}

func TestReload(t *testing.T) {
	h := open(t, `{"mcpServers":{"a":{"command":"a"}}}`)
	h.write(`{"mcpServers":{"b":{"command":"b","odd":1}}}`)
	var check api.ConfigCheck
	h.change(http.MethodPost, "/config/reload", "").into(http.StatusOK, &check)
	if !check.Valid || !slices.Equal(check.Diff.Added, []string{"b"}) || !slices.Equal(check.Diff.Removed, []string{"a"}) || len(check.Warnings) != 1 {
		t.Errorf("the reload says %+v", check)
	}
	h.write(`{"mcpServers":`)
	h.change(http.MethodPost, "/config/reload", "").refused(http.StatusUnprocessableEntity, message.ConfigInvalid)
	h.get("/servers/b").into(http.StatusOK, nil)
	h.change(http.MethodGet, "/config", "").refused(http.StatusConflict, message.ConfigBroken)
}

func TestImport(t *testing.T) {
	h := open(t, `{"mcpServers":{"a":{"command":"mine"}}}`)
	body := `{"name":"claude.json","text":` + quote(`{"mcpServers":{"a":{"command":"theirs"},"b":{"command":"b","env":{"TOKEN":"import-secret"}}}}`) + `}`
	var r api.ImportResult
	h.change(http.MethodPost, "/import?dryRun=true", body).into(http.StatusOK, &r)
	if !slices.Equal(r.New, []string{"b"}) || !slices.Equal(r.Clashing, []string{"a"}) || r.Same == nil || len(r.Written) > 0 || r.Form == "" {
		t.Errorf("the dry run says %+v", r)
	}
	h.get("/servers/b").refused(http.StatusNotFound, message.ServerUnknown)
	h.change(http.MethodPost, "/import", body).into(http.StatusOK, &r)
	if !slices.Equal(r.Written, []string{"b"}) || strings.Contains(h.text(), "import-secret") {
		t.Errorf("the import says %+v; the file is %s", r, h.text())
	}
	h.change(http.MethodPost, "/import", strings.Replace(body, "{", `{"keys":["x"],`, 1)).refused(http.StatusUnprocessableEntity, message.ImportKeyUnknown)
	h.change(http.MethodPost, "/import", strings.Replace(body, "{", `{"keys":"x",`, 1)).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
}

func TestSecrets(t *testing.T) {
	h := open(t, `{"mcpServers":{"a":{"command":"a","env":{"K":"${secret:mine}"}}}}`)
	h.change(http.MethodPut, "/secrets/mine", `{"value":"nobody-sees"}`).into(http.StatusNoContent, nil)
	var list api.SecretList
	h.change(http.MethodGet, "/secrets", "").into(http.StatusOK, &list)
	if len(list.Secrets) != 1 || list.Secrets[0].Name != "mine" || !slices.Equal(list.Secrets[0].Used, []string{"a"}) || list.Secrets[0].Set.IsZero() {
		t.Errorf("the list is %+v", list)
	}
	h.change(http.MethodPut, "/secrets/mine", `{"value":""}`).refused(http.StatusUnprocessableEntity, message.SecretRefused)
	for _, name := range []string{"a%20b", "a%2Fb", "%E4%B8%AD", strings.Repeat("x", 129)} {
		h.change(http.MethodPut, "/secrets/"+name, `{"value":"x"}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	h.change(http.MethodDelete, "/secrets/mine", "").into(http.StatusNoContent, nil)
	h.change(http.MethodDelete, "/secrets/mine", "").refused(http.StatusNotFound, message.SecretUnknown)
	h.change(http.MethodGet, "/secrets", "").into(http.StatusOK, &list)
	if len(list.Secrets) != 0 {
		t.Errorf("the list is %+v", list)
	}
}

func TestStatus(t *testing.T) {
	h := open(t, "")
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	var s api.Status
	h.get("/status").into(http.StatusOK, &s)
	if s.Version != "test" || s.PID == 0 || s.Listen != h.url || s.Servers != 4 || s.Ready != 1 || s.Tools == 0 || len(s.Phases) != 1 || s.Config.Exists || s.Config.Path != h.path {
		t.Errorf("the status is %+v", s)
	}
	var all api.ServerList
	h.get("/servers").into(http.StatusOK, &all)
	if len(all.Servers) != 4 || all.Servers[0].Key != "calculator" || all.Servers[3].State != "ready" {
		t.Errorf("the servers are %+v", all)
	}
}
