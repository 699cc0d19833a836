package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// RecordFilter says which calls of the record are asked for. It is exported for
// the framework only, which finds no others in a struct.
type RecordFilter struct {
	Server  string   `query:"server" doc:"Only calls that were sent to this server"`
	Tool    string   `query:"tool" doc:"Only calls of a tool or prompt that its server gave this name"`
	Session string   `query:"session" doc:"Only calls of this session, by its name in the record, or by the name that whoever asks has given it"`
	Subject string   `query:"subject" doc:"Only calls of this caller"`
	Door    string   `query:"door" doc:"Only calls that came by this way, such as mcp or rest"`
	Method  string   `query:"method" doc:"Only calls of this method of MCP, such as tools/call"`
	Outcome []string `query:"outcome" enum:"ok,tool_error,failed,cancelled,unknown,under_way" doc:"Only calls that ended in one of these ways, separated by commas"`
	Code    string   `query:"code" doc:"Only calls that failed with this code"`
	Verdict string   `query:"verdict" enum:"allow,ask,deny" doc:"Only calls to which the rules said this"`
	Risk    string   `query:"risk" enum:"low,medium,high,critical" doc:"Only calls of this risk"`
	Text    string   `query:"text" maxLength:"200" doc:"Only calls with this text in the name that the caller put or in the tool's, whatever the case of letters"`
	Node    string   `query:"node" doc:"Only calls in this chain of the record"`
	Since   string   `query:"since" doc:"Only calls that ended at this time (RFC 3339) or after it, or not longer ago than this, such as 24h or 7d"`
	Until   string   `query:"until" doc:"Only calls before this time, which is given in the same way"`
}

type (
	callListInput struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many at most"`
		Cursor string `query:"cursor" maxLength:"4000" doc:"Go on here: what next was in the answer before, to the same question"`
		RecordFilter
	}
	callListOutput struct{ Body api.CallList }
	callInputID    struct {
		ID string `path:"id" doc:"Of the call"`
	}
	callOutput struct{ Body api.CallRecord }
)

// record registers what the record tells of calls.
func (d *Door) record() {
	who := " An operator sees all calls of its tenant, and one of the hub itself those of all tenants; whoever needs no token those of the hub itself, " +
		"without arguments, and others the calls of their own. By a token with a scope those of the servers within it are seen."
	add(d, operation{
		id: "listCalls", method: http.MethodGet, path: "/calls", group: aboutTools, summary: "The calls in the record, newest first",
		about:  "By the time at which they ended, and those under way by that at which they began: of those, such are there that may change something." + who,
		errors: []int{http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, d.listCalls)
	add(d, operation{
		id: "getCall", method: http.MethodGet, path: "/calls/{id}", group: aboutTools, summary: "One call of the record",
		about:  strings.TrimSpace(who),
		errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, d.getCall)
}

func (d *Door) listCalls(ctx context.Context, in *callListInput) (*callListOutput, error) {
	f, err := in.filter(ctx, time.Now())
	if err != nil {
		return nil, failed(err)
	}
	page, err := d.opt.Audit.Query(ctx, f, in.Cursor, in.Limit)
	if err != nil {
		return nil, failed(err)
	}
	out := &callListOutput{api.CallList{Calls: []api.CallRecord{}, Next: page.Next}}
	for i := range page.Calls {
		out.Body.Calls = append(out.Body.Calls, recordView(ctx, &page.Calls[i]))
	}
	return out, nil
}

func (d *Door) getCall(ctx context.Context, in *callInputID) (*callOutput, error) {
	f := whose(ctx)
	f.Call = in.ID
	page, err := d.opt.Audit.Query(ctx, f, "", 1)
	if err != nil {
		return nil, failed(err)
	}
	if len(page.Calls) == 0 {
		return nil, failed(hub.E(message.CallUnknown, nil, "call", message.Quote(in.ID)))
	}
	return &callOutput{recordView(ctx, &page.Calls[0])}, nil
}

// visible is whose calls of the tenant whoever asks may see; "" for all. Whoever needs no token
// is on the hub's own machine, on which everybody sees what there is.
func visible(ctx context.Context) string {
	who := auth.Of(ctx)
	if who.Principal.Role.May(hub.MayOperate) || who.How == auth.HowLocal {
		return ""
	}
	return who.Principal.Subject
}

// whose is which calls whoever asks may see: those of the tenant or his own, and of
// the servers within the scope of what he shows.
func whose(ctx context.Context) audit.Filter {
	return audit.Filter{Tenant: records(ctx), Subject: visible(ctx), Servers: inScope(ctx)}
}

// sessionRef is the form of a session's name in the record.
var sessionRef = regexp.MustCompile(`^[0-9a-f]{16}$`)

// filter is what the query asks the record for. What whoever asks may not see is
// as if it were not there.
func (q *RecordFilter) filter(ctx context.Context, now time.Time) (audit.Filter, error) {
	f := whose(ctx)
	f.Session, f.Door, f.Server, f.Tool, f.Method = q.Session, hub.Door(q.Door), q.Server, q.Tool, q.Method
	f.Code, f.Text, f.Node, f.Verdict, f.Risk = q.Code, q.Text, q.Node, q.Verdict, q.Risk
	if q.Session != "" && !sessionRef.MatchString(q.Session) {
		f.Session = callstate.Named(principal(ctx), q.Session)
	}
	switch {
	case f.Subject == "":
		f.Subject = q.Subject
	case q.Subject != "" && q.Subject != f.Subject:
		f.Outcomes = []hub.Outcome{"none"} // which no call has
		return f, nil
	}
	for _, o := range q.Outcome {
		if o == "under_way" {
			o = string(audit.UnderWay)
		}
		f.Outcomes = append(f.Outcomes, hub.Outcome(o))
	}
	var err error
	if f.Since, err = moment("since", q.Since, now); err == nil {
		f.Until, err = moment("until", q.Until, now)
	}
	return f, err
}

// longestAgo is how long ago a time may be, in days.
const longestAgo = 36500

// moment reads a time of the query: RFC 3339, or how long before now it was, as Go
// writes it or in days. Zero stands for none.
func moment(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && 0 <= n && n <= longestAgo {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, unfit(message.Say("query.%s: it must be a time such as %s, or how long ago, such as 24h or 7d", name, "2026-01-31T08:00:00Z"))
}

// recordView is a call as whoever asks may see it.
func recordView(ctx context.Context, c *audit.Call) api.CallRecord {
	v := api.CallRecord{
		ID: c.ID, Time: c.Time, Method: c.Method, Subject: c.Subject, Door: string(c.Door), Session: c.Session, Client: c.Client, Group: c.Group,
		Name: c.Name, Server: c.Server, Tool: c.Tool, Changing: c.Changing, Verdict: c.Verdict,
		Mode: string(c.Mode), Risk: c.Risk, Rule: c.Rule, Policy: c.Policy, Approval: c.Approval, Grant: c.Grant, Tenant: c.Tenant,
		Outcome: string(c.Outcome), Code: c.Code, Reason: c.Reason, Cached: c.Cached,
		Queued: milliseconds(c.Queued), Held: milliseconds(c.Held), Duration: milliseconds(c.Duration), Bytes: c.Bytes, Trace: c.Trace,
		Node: c.Node, Seq: c.Seq, Intent: c.Intent,
	}
	if !c.Ended.IsZero() {
		v.Ended = &c.Ended
	}
	scope := hub.Scope(principal(ctx).Scope)
	for _, a := range c.Attempts {
		if !scope.Server(a.Server) {
			continue // of a pool
		}
		v.Attempts = append(v.Attempts, api.EventAttempt{Server: a.Server, Code: a.Code, Duration: milliseconds(a.Duration)})
	}
	if principal(ctx).Role.May(hub.MayOperate) {
		v.Digest = c.Digest
		if json.Valid([]byte(c.Arguments)) {
			v.Arguments = json.RawMessage(c.Arguments)
		}
	}
	return v
}
