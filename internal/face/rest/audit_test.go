package rest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// as calls a tool with a token.
func (h *house) as(token, body string) *answer {
	h.t.Helper()
	return h.do(ask{method: http.MethodPost, path: "/calls", body: body, token: token})
}

// spoil changes the database as somebody would who can write it.
func (h *house) spoil(statement string) {
	h.t.Helper()
	must(h.t, h.db.Tx(context.Background(), store.Process, func(tx *sql.Tx) error {
		result, err := tx.Exec(statement)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); n == 0 {
			return fmt.Errorf("nothing is spoilt: %v", err)
		}
		return nil
	}))
}

// Each caller sees what it may see of the record: the administrator everything,
// whoever is on this machine no arguments, others only their own.
func TestWhoSeesTheRecord(t *testing.T) {
	h := open(t, "")
	const args = `{"k":"private-value","password":"hidden-value"}`
	h.call(`{"tool":"lab__echo","session":"mine","arguments":`+args+`}`).into(http.StatusOK, nil)
	h.as(h.caller, `{"tool":"lab__fail","arguments":`+args+`}`).into(http.StatusOK, nil)
	h.as(h.admin, `{"tool":"nobody"}`).refused(http.StatusNotFound, message.ToolUnknown)

	var list api.CallList
	h.get("/calls").into(http.StatusOK, &list)
	if len(list.Calls) != 3 || list.Next != "" {
		t.Fatalf("whoever is on this machine sees %+v", list)
	}
	for _, c := range list.Calls {
		if c.Arguments != nil || c.Digest != "" || c.ID == "" || c.Ended == nil || c.Node != h.record.Node() || c.Method != "tools/call" {
			t.Errorf("whoever is on this machine sees %+v", c)
		}
	}
	local, others := list.Calls[2], list.Calls[1]
	if !local.Changing || local.Intent > 1 || local.Session == "" || local.Verdict != "" {
		t.Errorf("the first is %+v", local)
	}
	var one api.CallRecord
	h.get("/calls/"+local.ID).into(http.StatusOK, &one)
	if one.ID != local.ID || one.Seq != local.Seq || one.Arguments != nil {
		t.Errorf("it is %+v, want %+v", one, local)
	}
	a := h.change(http.MethodGet, "/calls/"+local.ID, "").into(http.StatusOK, &one)
	if string(one.Arguments) != `{"k":"private-value","password":"***"}` || one.Digest == "" {
		t.Errorf("an administrator sees %s", a.body)
	}

	h.do(ask{method: http.MethodGet, path: "/calls", token: h.caller}).into(http.StatusOK, &list)
	if len(list.Calls) != 1 || list.Calls[0].ID != others.ID || list.Calls[0].Arguments != nil {
		t.Errorf("another caller sees %+v", list)
	}
	for _, path := range []string{"/calls?subject=local", "/calls?subject=admin&outcome=failed", "/calls?tool=echo"} {
		h.do(ask{method: http.MethodGet, path: path, token: h.caller}).into(http.StatusOK, &list)
		if len(list.Calls) != 0 {
			t.Errorf("%s: another caller sees %+v", path, list)
		}
	}
	h.do(ask{method: http.MethodGet, path: "/calls/" + local.ID, token: h.caller}).refused(http.StatusNotFound, message.CallUnknown)
	h.do(ask{method: http.MethodGet, path: "/calls/" + others.ID, token: h.caller}).into(http.StatusOK, nil)
	h.get("/calls/none").refused(http.StatusNotFound, message.CallUnknown)
}

// Every member of the query picks out what it says, and what follows a page is
// found by its cursor.
func TestRecordFilters(t *testing.T) {
	h := open(t, "")
	h.call(`{"tool":"lab__echo","session":"mine","arguments":{"n":1}}`).into(http.StatusOK, nil)
	h.as(h.caller, `{"tool":"lab__fail"}`).into(http.StatusOK, nil)
	h.as(h.admin, `{"tool":"nobody"}`).refused(http.StatusNotFound, message.ToolUnknown)
	h.do(ask{method: http.MethodPost, path: "/resources/read", body: `{"uri":"lab://readme"}`}).into(http.StatusOK, nil)
	all := h.recorded(4)
	names := func(query string) string {
		t.Helper()
		var list api.CallList
		h.get("/calls?"+query).into(http.StatusOK, &list)
		var got []string
		for _, c := range list.Calls {
			got = append(got, c.Name)
		}
		return strings.Join(got, " ")
	}
	for query, want := range map[string]string{
		"server=lab&method=tools/call": "lab__fail lab__echo",
		"tool=echo":                    "lab__echo",
		"session=mine":                 "lab__echo",
		"session=" + all[3].Session:    "lab__echo",
		"session=other":                "",
		"subject=admin":                "nobody",
		"door=rest&limit=2":            "lab://readme nobody",
		"door=mcp":                     "",
		"method=resources/read":        "lab://readme",
		"outcome=failed,tool_error":    "nobody lab__fail",
		"outcome=under_way":            "",
		"code=tool_unknown":            "nobody",
		"text=ECHO":                    "lab__echo",
		"since=1h&text=echo":           "lab__echo",
		"since=7d&until=0s&text=echo":  "lab__echo",
		"until=1h":                     "",
		"until=2020-01-01T00:00:00Z":   "",
		"since=" + all[0].Ended.Format(time.RFC3339Nano): "lab://readme",
		"node=none": "",
	} {
		if got := names(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	var page api.CallList
	var got []string
	for cursor := ""; ; {
		path := "/calls?limit=1"
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		h.get(path).into(http.StatusOK, &page)
		for _, c := range page.Calls {
			got = append(got, c.ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(got) != 4 || got[0] != all[0].ID || got[3] != all[3].ID {
		t.Errorf("page by page: %q", got)
	}
	h.get("/calls?cursor=x").refused(http.StatusUnprocessableEntity, message.AuditCursorUnknown)
	for _, query := range []string{"since=yesterday", "until=-1h", "since=1e9d", "outcome=good", "limit=501"} {
		h.get("/calls?"+query).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	a := h.do(ask{method: http.MethodGet, path: "/calls?since=yesterday", header: map[string]string{"Accept-Language": "zh"}})
	if p := a.refused(http.StatusUnprocessableEntity, message.BodyInvalid); !strings.Contains(p.Detail, "多久之前") {
		t.Errorf("in Chinese: %s", p.Detail)
	}
}

// A call under way that may change something is there before it has ended.
func TestCallUnderWay(t *testing.T) {
	h := open(t, "")
	done := make(chan *answer, 1)
	go func() { done <- h.call(`{"tool":"lab__hold"}`) }()
	<-h.began
	var list api.CallList
	h.get("/calls?outcome=under_way").into(http.StatusOK, &list)
	if len(list.Calls) != 1 || list.Calls[0].Outcome != "" || list.Calls[0].Ended != nil || list.Calls[0].Server != "lab" {
		t.Fatalf("under way: %+v", list)
	}
	close(h.release)
	(<-done).into(http.StatusOK, nil)
	var one api.CallRecord
	h.get("/calls/"+list.Calls[0].ID).into(http.StatusOK, &one)
	if one.Outcome != "ok" || one.Intent != list.Calls[0].Seq || one.Seq <= one.Intent {
		t.Errorf("afterwards: %+v", one)
	}
}

// The record is proved by itself and by a head that was kept; what somebody has
// changed is named, in the language of whoever asks.
func TestVerifyTheRecord(t *testing.T) {
	h := open(t, "")
	h.call(`{"tool":"lab__echo","arguments":{"n":1}}`).into(http.StatusOK, nil)
	var report api.AuditReport
	verify := func(body string) api.AuditReport {
		t.Helper()
		h.change(http.MethodPost, "/audit/verify", body).into(http.StatusOK, &report)
		return report
	}
	// A call that takes long has two entries.
	if r := verify(""); !r.OK || len(r.Chains) != 1 || r.Chains[0].Entries < 1 || r.Chains[0].Node != h.record.Node() {
		t.Errorf("at first: %+v", r)
	}
	var at api.AuditHead
	head := h.change(http.MethodGet, "/audit/head", "").into(http.StatusOK, &at)
	h.call(`{"tool":"lab__echo","arguments":{"n":2}}`).into(http.StatusOK, nil)
	if r := verify(string(head.body)); !r.OK || r.Chains[0].Last <= at.Seq {
		t.Errorf("with a head: %+v", r)
	}
	for _, body := range []string{strings.Replace(string(head.body), fmt.Sprintf(`"seq":%d`, at.Seq), fmt.Sprintf(`"seq":%d`, at.Seq+1), 1), `{"node":"a","seq":1,"hash":"","time":"2026-01-01T00:00:00Z","key":"","signature":""}`} {
		h.change(http.MethodPost, "/audit/verify", body).refused(http.StatusUnprocessableEntity, message.AuditHeadInvalid)
	}
	for _, body := range []string{`{}`, `{"node":5}`, strings.Replace(string(head.body), `{`, `{"more":1,`, 1)} {
		h.change(http.MethodPost, "/audit/verify", body).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	h.do(ask{method: http.MethodPost, path: "/audit/verify", token: h.admin, header: map[string]string{"Content-Type": "text/plain"}}).
		refused(http.StatusUnsupportedMediaType, message.TypeRefused)

	h.spoil(fmt.Sprintf(`UPDATE audit_entry SET body = REPLACE(body, '"door"', '"dooor"') WHERE seq = %d`, at.Seq))
	a := h.do(ask{method: http.MethodPost, path: "/audit/verify", token: h.admin, header: map[string]string{"Accept-Language": "zh"}}).into(http.StatusOK, &report)
	if report.OK || len(report.Problems) != 1 || report.Problems[0].Seq != at.Seq || report.Problems[0].Code != string(message.AuditEntryChanged) ||
		!strings.Contains(report.Problems[0].Detail, fmt.Sprintf("第 %d 条记录被改动", at.Seq)) {
		t.Errorf("after a change: %s", a.body)
	}
}

// An export is what the record has, can be verified, and never looks whole if it
// is not.
func TestExportTheRecord(t *testing.T) {
	h := open(t, "")
	h.call(`{"tool":"lab__echo","arguments":{"n":1}}`).into(http.StatusOK, nil)
	h.call(`{"tool":"lab__fail"}`).into(http.StatusOK, nil)
	a := h.change(http.MethodGet, "/audit/export", "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/jsonl" || !strings.Contains(a.header.Get("Content-Disposition"), "toolcrib-calls.jsonl") {
		t.Errorf("%d %v", a.status, a.header)
	}
	if r, err := audit.VerifyExport(bytes.NewReader(a.body), nil); err != nil || len(r.Problems) > 0 || r.Chains[0].Entries < 2 {
		t.Errorf("the export: %+v, %v", r, err)
	}
	a = h.change(http.MethodGet, "/audit/export?format=csv&tool=fail", "")
	lines, err := csv.NewReader(bytes.NewReader(a.body)).ReadAll()
	if err != nil || len(lines) != 2 || lines[0][0] != "began" || !strings.Contains(strings.Join(lines[1], "|"), "|lab__fail|lab|fail|true||tool_error|") {
		t.Errorf("as CSV: %s, %v", a.body, err)
	}
	a = h.change(http.MethodGet, "/audit/export?format=csv&tool=none", "")
	if lines, err := csv.NewReader(bytes.NewReader(a.body)).ReadAll(); err != nil || len(lines) != 1 || a.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("nothing as CSV: %s, %v", a.body, err)
	}
	h.change(http.MethodGet, "/audit/export?format=xml", "").refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodGet, "/audit/export?since=x", "").refused(http.StatusUnprocessableEntity, message.BodyInvalid)

	for i := range 2500 {
		must(t, h.record.Finish(t.Context(), &hub.CallRecord{ID: fmt.Sprint(i), Time: time.Now(), Name: strings.Repeat("x", 100), Outcome: hub.OutcomeOK}))
		if i%500 == 0 {
			_, err := h.record.Head(t.Context()) // so that none is lost for want of room
			must(t, err)
		}
	}
	h.change(http.MethodGet, "/audit/head", "").into(http.StatusOK, nil)
	h.spoil(`UPDATE audit_entry SET at = 'no time' WHERE seq = 2400`)
	for _, format := range []string{"jsonl", "csv"} {
		resp := h.open(t.Context(), ask{method: http.MethodGet, path: "/audit/export?format=" + format, token: h.admin})
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || len(body) == 0 {
			t.Errorf("%s: an export that broke off looks whole: %d bytes, %v", format, len(body), err)
		}
	}
	h.spoil(`UPDATE audit_entry SET at = 'no time' WHERE seq = 1`)
	h.change(http.MethodGet, "/audit/export", "").refused(http.StatusServiceUnavailable, message.AuditUnreadable)
}

func TestAnalysis(t *testing.T) {
	h := open(t, "")
	for range 3 {
		h.call(`{"tool":"lab__echo"}`).into(http.StatusOK, nil)
	}
	h.call(`{"tool":"lab__fail"}`).into(http.StatusOK, nil)
	h.call(`{"tool":"nobody"}`).refused(http.StatusNotFound, message.ToolUnknown)
	var v api.Analysis
	a := h.get("/analysis?by=hour").into(http.StatusOK, &v)
	if v.Total.Calls != 5 || v.Total.Outcomes["ok"] != 3 || v.Until.Sub(v.Since) != 24*time.Hour {
		t.Errorf("in all: %s", a.body)
	}
	if len(v.Tools) != 3 || v.Tools[0].Tool != "echo" || v.Tools[0].Calls != 3 || v.Tools[0].Share != 0.6 || v.Tools[0].Server != "lab" {
		t.Errorf("the tools: %+v", v.Tools)
	}
	if len(v.Slow) != 2 || v.Slow[0].P95 < v.Slow[1].P95 {
		t.Errorf("the slow ones: %+v", v.Slow)
	}
	want := []api.CallFailure{
		{Outcome: "failed", Code: "tool_unknown", Class: "unavailable", Method: "tools/call", Calls: 1},
		{Outcome: "tool_error", Server: "lab", Tool: "fail", Method: "tools/call", Calls: 1},
	}
	if got, _ := json.Marshal(v.Failures); string(got) != string(mustJSON(t, want)) {
		t.Errorf("the failures: %s", got)
	}
	if len(v.Servers) != 2 || v.Servers[0].Server != "lab" || v.Servers[0].Calls != 4 || len(v.Hours) == 0 {
		t.Errorf("the servers and hours: %s", a.body)
	}
	h.get("/analysis?limit=1").into(http.StatusOK, &v)
	if len(v.Tools) != 1 || len(v.Failures) != 1 || v.Hours != nil {
		t.Errorf("with a limit: %+v", v)
	}
	h.get("/analysis?since=48h&until=24h").into(http.StatusOK, &v)
	if v.Total.Calls != 0 || v.Tools == nil || v.Failures == nil {
		t.Errorf("the day before: %+v", v)
	}
	h.get("/analysis?since=x").refused(http.StatusUnprocessableEntity, message.BodyInvalid)
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return b
}
