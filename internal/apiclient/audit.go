package apiclient

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
)

// CallQuery says which calls of the record are asked for. The zero value stands
// for all; what is set has to hold together. The members are those of the query
// of GET /calls.
type CallQuery struct {
	Server, Tool, Session, Subject, Door, Method, Code, Text, Node, Verdict, Risk string

	Outcomes     []string // any of these
	Since, Until string   // RFC 3339, or how long ago
	Limit        int      // 0 for the usual; not of an export
	Cursor       string   // not of an export
}

func (q *CallQuery) values() url.Values {
	v := given(map[string]string{
		"server": q.Server, "tool": q.Tool, "session": q.Session, "subject": q.Subject, "door": q.Door, "method": q.Method, "code": q.Code,
		"text": q.Text, "node": q.Node, "verdict": q.Verdict, "risk": q.Risk, "outcome": strings.Join(q.Outcomes, ","), "since": q.Since, "until": q.Until, "cursor": q.Cursor,
	})
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// Calls lists calls of the record, newest first.
func (c *Client) Calls(ctx context.Context, q CallQuery) (api.CallList, error) {
	return get[api.CallList](ctx, c, "/calls", q.values())
}

// CallRecord is one call of the record.
func (c *Client) CallRecord(ctx context.Context, id string) (api.CallRecord, error) {
	return get[api.CallRecord](ctx, c, "/calls/"+url.PathEscape(id), nil)
}

// AuditHead is where the record ends now.
func (c *Client) AuditHead(ctx context.Context) (api.AuditHead, error) {
	return get[api.AuditHead](ctx, c, "/audit/head", nil)
}

// VerifyAudit has the hub say whether its record is what was written, and with a
// head that was kept, unless it is nil, whether it is still the one of that time.
func (c *Client) VerifyAudit(ctx context.Context, head *api.AuditHead) (api.AuditReport, error) {
	r := request{method: http.MethodPost, path: "/audit/verify", again: true}
	if head != nil {
		r.body = head
	}
	return change[api.AuditReport](ctx, c, r)
}

// ExportAudit writes the record to w in one of the forms of package api. An error
// of w is returned as it is; what was written until then is not whole.
func (c *Client) ExportAudit(ctx context.Context, w io.Writer, format string, q CallQuery) error {
	query := q.values()
	query.Set("format", format)
	resp, err := c.send(ctx, request{method: http.MethodGet, path: "/audit/export", query: query, header: map[string]string{"Accept": "*/*"}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "application/jsonl" && kind != "text/csv" {
		return c.unusable("an export was expected")
	}
	to := &sink{w: w}
	if _, err := io.Copy(to, resp.Body); err != nil {
		if to.err != nil {
			return to.err
		}
		return c.lost(ctx, err)
	}
	return nil
}

// sink remembers that it could not be written to.
type sink struct {
	w   io.Writer
	err error
}

// Write implements [io.Writer].
func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.err = err
	return n, err
}

// AnalysisQuery says which calls are to be analysed.
type AnalysisQuery struct {
	Since, Until string // RFC 3339, or how long ago; of the last day if both are empty
	Hourly       bool
	Limit        int // 0 for the usual
}

// Analysis is the figures of the calls that ended in a time.
func (c *Client) Analysis(ctx context.Context, q AnalysisQuery) (api.Analysis, error) {
	v := given(map[string]string{"since": q.Since, "until": q.Until})
	if q.Hourly {
		v.Set("by", "hour")
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[api.Analysis](ctx, c, "/analysis", v)
}
