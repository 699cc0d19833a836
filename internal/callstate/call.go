package callstate

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Beginning is what is known of a call when it begins.
type Beginning struct {
	Session     string // by [Session]
	Subject     string
	Call        string // its id
	Server      string // "" if it is not known yet
	Tool        string // as the caller put it
	Arguments   string // as [hub.CallRecord.Arguments]
	MaxRetries  int
	UserMessage string // what a person is told, in place of all other texts but that of a retry; "" for these
	Messages    hub.CallMessages
	Lang        message.Lang
	Request     Request // by which it can be made again
	Again       *Call   // of a retry by hand, the [Retry.Call]; nil for a new call
}

// Request is what it takes to make a call again, on behalf of the same caller.
type Request struct {
	Principal   hub.Principal
	Viewer      hub.Viewer
	Raw         []byte // the whole JSON-RPC request; it is not changed as long as the call is under way. Nil if it cannot be made again
	Level       string // log level that the caller wants
	Timeout     time.Duration
	UserMessage string
	Lang        message.Lang
}

// Call is a call that is followed. A nil Call is followed by nobody. Safe for
// concurrent use.
type Call struct {
	t *Tracker
	s *session

	// Of the tracker's mu.
	state   hub.CallState // but for the Message of some; see message
	user    string
	texts   hub.CallMessages
	lang    message.Lang
	request Request
	base    int  // retries by hand so far, with those of the hub before them
	over    bool // it has ended
}

// Begin has the session show a call, which is ended by [Call.End].
func (t *Tracker) Begin(b Beginning) *Call {
	switch {
	case t == nil:
		return nil
	case b.Again != nil:
		b.Again.resume(&b)
		return b.Again
	}
	c := &Call{
		t: t, user: b.UserMessage, texts: b.Messages, lang: b.Lang, request: b.Request,
		state: hub.CallState{
			Session: b.Session, Tenant: b.Request.Principal.Tenant, Subject: b.Subject, Status: hub.CallCalling, Call: b.Call, Server: b.Server, Tool: b.Tool,
			Arguments: b.Arguments, Started: time.Now(), MaxRetries: b.MaxRetries,
		},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.s = t.session(b.Session)
	c.s.running = append(c.s.running, c)
	t.show(c.s, c)
	t.tell(c.s)
	return c
}

// message is what a person is told of how the call stands. That it is under way, or
// went well, is put into words only when somebody looks.
func (c *Call) message() string {
	switch c.state.Status {
	case hub.CallCalling:
		return c.told(c.texts.Calling, message.Calling)
	case hub.CallSuccess:
		return c.told(c.texts.Success, message.Succeeded)
	}
	return c.state.Message
}

// told is the text of a state: the caller's own, that of the configuration, or
// the usual one.
func (c *Call) told(configured string, usual func(message.Lang, string) string) string {
	switch {
	case c.user != "":
		return c.user
	case configured != "":
		return configured
	}
	return usual(c.lang, c.state.Tool)
}

// resume takes over what is known of a call that is retried by hand.
func (c *Call) resume(b *Beginning) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if c.over {
		return
	}
	c.state.Call, c.request = b.Call, b.Request
	if b.Server != "" {
		c.state.Server = b.Server
	}
	c.tell()
}

// At says which server the call is sent to.
func (c *Call) At(server string) {
	if c == nil {
		return
	}
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if c.over || c.state.Server == server {
		return
	}
	c.state.Server = server
	c.tell()
}

// Retrying says that the call is tried for the n-th time after the first, as err
// came of the one before.
func (c *Call) Retrying(n int, err error) {
	if c == nil {
		return
	}
	e := hub.AsError(err)
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if c.over {
		return
	}
	st := &c.state
	st.Status, st.Retries = hub.CallRetrying, c.base+n
	st.Message = message.Retrying(c.lang, st.Tool, st.Retries, max(st.MaxRetries, st.Retries))
	if e != nil {
		st.Code, st.Error = string(e.Code), e.In(c.lang)
	}
	c.tell()
}

// End says how the call ended: err is the hub's error and nil if the server
// answered, and result what it answered, as JSON. Of both nothing is kept that
// is changed afterwards. Only the first end counts.
func (c *Call) End(outcome hub.Outcome, err error, result []byte) {
	if c == nil {
		return
	}
	t, s := c.t, c.s
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	if i := slices.Index(s.running, c); i >= 0 {
		s.running = slices.Delete(s.running, i, i+1)
	}
	if !s.gone {
		if s.shown == c {
			c.finish(now, outcome, err, result)
			t.rest(s, now)
		}
		t.tell(s)
	}
	c.request = Request{}
}

// finish fills in how the call ended.
func (c *Call) finish(now time.Time, outcome hub.Outcome, err error, result []byte) {
	t, st := c.t, &c.state
	st.Ended, st.Outcome, st.Status, st.Code, st.Error, st.Message = now, outcome, hub.CallSuccess, "", "", ""
	if t.keep(len(result), MaxResult) {
		st.Result = bytes.Clone(result)
	}
	if outcome == hub.OutcomeOK {
		return
	}
	st.Status = hub.CallFailed
	if e := hub.AsError(err); e != nil {
		st.Code, st.Error = string(e.Code), e.In(c.lang)
		st.Message = c.told(c.texts.Failed, func(lang message.Lang, _ string) string { return e.Sentence(lang, method) })
	} else {
		text, refused := failureOf(result)
		st.Error = text
		st.Message = c.told(c.texts.Failed, func(lang message.Lang, _ string) string {
			if refused != nil {
				return refused.Sentence(lang, method)
			}
			return message.FriendlyText(lang, text, method)
		})
	}
	if c.request.Raw != nil && t.keep(len(c.request.Raw), MaxRequest) {
		again := c.request
		again.Raw = bytes.Clone(again.Raw)
		c.s.again = &again
	}
}

// tell publishes what the session shows, if it shows this call. The caller holds
// the tracker's mu.
func (c *Call) tell() {
	if !c.s.gone && c.s.shown == c {
		c.t.tell(c.s)
	}
}

// method is that of all calls that are followed.
const method = "tools/call"

// failureOf is what a result with isError says. Of a JSON-RPC error it is also the
// hub's error for that, which is of the class that the server's code says.
func failureOf(result []byte) (text string, refused *hub.Error) {
	var r struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(result, &r) != nil {
		return "", nil
	}
	for _, c := range r.Content {
		if c.Text != "" {
			return message.Quote(c.Text), nil
		}
	}
	text = message.Quote(r.Message)
	if r.Content == nil && r.Code != nil {
		refused = hub.E(message.ServerRefused, nil, "method", method, "detail", text, "answer", string(r.Code))
	}
	return text, refused
}
