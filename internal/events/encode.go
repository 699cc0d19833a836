package events

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Events of calls come with every call, so that they are written by hand. A test
// holds what comes of it against the shapes of package api.

// The reasons of a gap.
const (
	gapExpired = "expired"
	gapRush    = "rush"
	gapKilled  = "killed"
	gapStore   = "store"
	gapUnknown = "unknown"
)

// describe makes an event of what was published; nil of what is told to nobody.
func describe(published hub.Event) *event {
	e := &event{published: published, size: 300}
	switch p := published.(type) {
	case hub.CallStateChanged:
		s := &p.State
		e.kind, e.server, e.session, e.tenant, e.subject = api.KindCallState, s.Server, s.Session, s.Tenant, s.Subject
		e.result = oneLine(s.Result)
		if s.Code == "" {
			e.said = s.Error
		}
		e.size += 600 + len(s.Arguments) + len(s.Error) + len(s.Message) + len(s.Result)
	case hub.CallEnded:
		c := p.Call
		e.kind, e.server, e.session, e.tenant, e.subject = api.KindCallEnded, c.Server, c.Session, c.Tenant, c.Subject
		e.size += 500 + len(c.Name) + len(c.Reason)
	case hub.ServerChanged:
		e.kind, e.server = api.KindServerChanged, p.Status.Key
		e.size += 1000
	case hub.ToolsDrifted:
		e.kind, e.server = api.KindToolsDrifted, p.Server
		e.size += 64 * len(p.Tools)
	case hub.ApprovalChanged:
		e.kind, e.server, e.subject, e.tenant = api.KindApprovalChanged, p.Server, p.Subject, p.Tenant
		e.size += 300 + len(p.Tool)
	// These are of the hub itself: who is no operator of it is not told.
	case hub.EndpointChanged:
		e.kind, e.subject = api.KindEndpointChanged, "xiaozhi:"+p.Status.Name
	case hub.DeviceChanged:
		e.kind, e.server, e.subject = api.KindDeviceChanged, p.Status.Alias, "device:"+strings.ToLower(p.Status.ID)
	case hub.ToolsChanged:
		e.kind = api.KindToolsChanged
	case hub.ResourcesChanged:
		e.kind = api.KindResourcesChanged
	case hub.PromptsChanged:
		e.kind = api.KindPromptsChanged
	default:
		return nil
	}
	return e
}

// missing is a gap, of as many events; 0 if that is not known.
func missing(reason string, n int64) *event {
	return &event{kind: api.KindGap, gap: api.EventGap{Reason: reason, Missed: n}, size: 400}
}

// data is the event as one line of JSON, an [api.Event] without what only the
// memory keeps. It is made by whoever needs it first, which for most states is
// nobody.
func (e *event) data() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.line == "" {
		e.line, e.published = string(e.encode(make([]byte, 0, 512))), nil
	}
	return e.line
}

// appendData is data for whoever writes it into something larger, and may then
// say by set where it stands.
func (e *event) appendData(b []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.line == "" {
		return e.encode(b)
	}
	return append(b, e.line...)
}

// set takes over the event's data, unless somebody else had need of it meanwhile.
func (e *event) set(data string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.line == "" {
		e.line, e.published = data, nil
	}
}

func (e *event) encode(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"id":`...), e.id, 10)
	b = appendTime(append(b, `,"time":`...), e.at)
	b = append(b, `,"kind":"`...)
	b = append(b, e.kind...)
	b = append(b, '"')
	switch p := e.published.(type) {
	case hub.CallStateChanged:
		b = appendState(append(b, `,"state":`...), &p.State, e.at)
	case hub.CallEnded:
		b = appendCall(append(b, `,"call":`...), p.Call)
	case hub.ServerChanged:
		b = appendShape(append(b, `,"server":`...), serverView(&p.Status))
	case hub.ToolsDrifted:
		view := api.EventDrift{Server: p.Server, Tools: p.Tools}
		if view.Tools == nil {
			view.Tools = []string{}
		}
		b = appendShape(append(b, `,"drift":`...), view)
	case hub.ApprovalChanged:
		b = appendShape(append(b, `,"approval":`...), api.EventApproval{
			ID: p.ID, Status: p.Status, Tenant: p.Tenant, Subject: p.Subject, Server: p.Server, Tool: p.Tool, Risk: p.Risk.String(),
			Expires: shown(p.Expires), By: p.By,
		})
	case hub.EndpointChanged:
		b = appendShape(append(b, `,"endpoint":`...), endpointView(&p))
	case hub.DeviceChanged:
		b = appendShape(append(b, `,"device":`...), deviceView(&p.Status))
	case nil:
		b = appendShape(append(b, `,"gap":`...), e.gap)
	}
	return append(b, '}')
}

func appendShape(b []byte, shape any) []byte {
	text, err := json.Marshal(shape)
	if err != nil {
		panic(err) // shapes of ours
	}
	return append(b, text...)
}

func serverView(s *hub.Status) api.EventServer {
	v := api.EventServer{
		Key: s.Key, State: string(s.State), Event: s.Event, Since: s.Since, Breaker: string(s.Breaker),
		Instances: s.Instances, Calls: s.Calls, Tools: s.Tools,
	}
	if s.Reason != nil {
		v.Code, v.Reason = string(s.Reason.Code), s.Reason.Text(message.English).String()
	}
	if !s.Retry.IsZero() {
		v.Retry = &s.Retry
	}
	return v
}

func endpointView(p *hub.EndpointChanged) api.EventEndpoint {
	s := &p.Status
	v := api.EventEndpoint{Name: s.Name, Kind: "endpoints", State: string(s.State), Since: s.Since, Retry: s.Retry, CloseCode: s.CloseCode}
	if p.Device {
		v.Kind = "backends"
	}
	if s.Reason != nil {
		v.Code, v.Reason = string(s.Reason.Code), s.Reason.Text(message.English).String()
	}
	for _, w := range s.Warnings {
		text := w.Text(message.English)
		v.Warnings = append(v.Warnings, api.EndpointWarning{Code: string(w.Code), Text: text.What, Remedy: text.Remedy})
	}
	return v
}

func deviceView(s *hub.DeviceStatus) api.EventDevice {
	v := api.EventDevice{ID: s.ID, Alias: s.Alias, Online: s.Online, Since: s.Since, Tools: s.Tools}
	if s.Reason != nil {
		v.Code, v.Reason = string(s.Reason.Code), s.Reason.Text(message.English).String()
	}
	return v
}

func appendCall(b []byte, c *hub.CallRecord) []byte {
	m := members{b: append(b, '{')}
	m.textOr("id", c.ID)
	m.time("time", c.Time)
	m.textOr("method", c.Method)
	m.text("subject", c.Subject)
	m.text("door", string(c.Door))
	m.textOr("session", c.Session)
	m.textOr("client", c.Client)
	m.textOr("group", c.Group)
	m.text("name", c.Name)
	m.textOr("server", c.Server)
	m.textOr("tool", c.Tool)
	m.truth("changing", c.Changing)
	m.textOr("verdict", c.Verdict)
	m.textOr("mode", string(c.Mode))
	m.textOr("risk", c.Risk)
	m.textOr("rule", c.Rule)
	m.textOr("approval", c.Approval)
	m.textOr("grant", c.Grant)
	m.textOr("tenant", c.Tenant)
	m.text("outcome", string(c.Outcome))
	m.textOr("code", c.Code)
	m.textOr("reason", c.Reason)
	if len(c.Attempts) > 0 {
		m.name("attempts")
		for i, a := range c.Attempts {
			m.b = append(m.b, "[,"[min(i, 1)])
			one := members{b: append(m.b, '{')}
			one.text("server", a.Server)
			one.textOr("code", a.Code)
			one.milliseconds("durationMs", a.Duration)
			m.b = append(one.b, '}')
		}
		m.b = append(m.b, ']')
	}
	if c.Cached {
		m.truth("cached", true)
	}
	if c.Queued/time.Microsecond != 0 {
		m.milliseconds("queuedMs", c.Queued)
	}
	if c.Held/time.Microsecond != 0 {
		m.milliseconds("heldMs", c.Held)
	}
	m.milliseconds("durationMs", c.Duration)
	m.number("bytes", c.Bytes)
	m.textOr("trace", c.Trace)
	return append(m.b, '}')
}

// appendState writes a state without what the server said: its result, and the
// error if it is the server's.
func appendState(b []byte, s *hub.CallState, now time.Time) []byte {
	m := members{b: append(b, '{')}
	m.text("session", s.Session)
	m.textOr("tenant", s.Tenant)
	m.text("subject", s.Subject)
	m.text("status", string(s.Status))
	m.textOr("call", s.Call)
	m.textOr("server", s.Server)
	m.textOr("currentTool", s.Tool)
	if args := arguments(s); args != nil {
		m.name("arguments")
		m.b = append(m.b, args...)
	}
	m.timeOr("startTime", s.Started)
	m.timeOr("endTime", s.Ended)
	m.number("retryCount", s.Retries)
	m.number("maxRetries", s.MaxRetries)
	m.textOr("outcome", string(s.Outcome))
	m.textOr("code", s.Code)
	if s.Code != "" {
		m.textOr("errorMessage", s.Error)
	}
	m.textOr("userFriendlyMessage", s.Message)
	m.number("others", s.Others)
	m.timeOr("resets", s.Resets)
	m.truth("isExecuting", callstate.Executing(s))
	m.truth("isCompleted", callstate.Completed(s))
	m.truth("canRetry", callstate.CanRetry(s))
	if !s.Started.IsZero() {
		m.milliseconds("durationMs", callstate.Duration(s, now))
	}
	return append(m.b, '}')
}

// StateView is a state as the HTTP API has it, at the time now.
func StateView(s *hub.CallState, now time.Time) api.CallState {
	v := api.CallState{
		Session: s.Session, Tenant: s.Tenant, Subject: s.Subject, Status: string(s.Status), Call: s.Call, Server: s.Server, Tool: s.Tool,
		Arguments: arguments(s), Started: moment(s.Started), Ended: moment(s.Ended),
		Retries: s.Retries, MaxRetries: s.MaxRetries, Outcome: string(s.Outcome), Code: s.Code, Error: s.Error, Message: s.Message,
		Result: oneLine(s.Result), Others: s.Others, Resets: moment(s.Resets),
		Executing: callstate.Executing(s), Completed: callstate.Completed(s), CanRetry: callstate.CanRetry(s),
	}
	if !s.Started.IsZero() {
		took := float64(callstate.Duration(s, now).Microseconds()) / 1000
		v.Duration = &took
	}
	return v
}

// moment is a time as it is shown, nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = shown(t)
	return &t
}

func shown(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// arguments are those of a state as JSON; nil for what is none, such as a part.
func arguments(s *hub.CallState) []byte {
	if s.Arguments == "" || !utf8.ValidString(s.Arguments) || wire.Valid([]byte(s.Arguments), wire.Limits{}) != nil {
		return nil
	}
	return oneLine([]byte(s.Arguments))
}

// oneLine is JSON without line breaks, as an event stream needs it; nil for none.
func oneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	line := bytes.Clone(raw)
	for i, c := range line {
		if c == '\n' || c == '\r' { // neither stands in a string
			line[i] = ' '
		}
	}
	return line
}

// members writes the members of an object. Those whose name ends in Or are left
// out if they are empty.
type members struct {
	b     []byte
	begun bool
}

func (m *members) name(name string) {
	if m.begun {
		m.b = append(m.b, ',')
	}
	m.begun = true
	m.b = append(m.b, '"')
	m.b = append(m.b, name...)
	m.b = append(m.b, '"', ':')
}

func (m *members) text(name, value string) {
	m.name(name)
	m.b = wire.AppendString(m.b, value)
}

func (m *members) textOr(name, value string) {
	if value != "" {
		m.text(name, value)
	}
}

func (m *members) number(name string, value int) {
	m.name(name)
	m.b = strconv.AppendInt(m.b, int64(value), 10)
}

func (m *members) truth(name string, value bool) {
	m.name(name)
	m.b = strconv.AppendBool(m.b, value)
}

func (m *members) milliseconds(name string, d time.Duration) {
	m.name(name)
	m.b = strconv.AppendFloat(m.b, float64(d.Microseconds())/1000, 'f', -1, 64)
}

func (m *members) time(name string, t time.Time) {
	m.name(name)
	m.b = appendTime(m.b, t)
}

func (m *members) timeOr(name string, t time.Time) {
	if !t.IsZero() {
		m.time(name, t)
	}
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = shown(t).AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}
