package call

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// The caller is told where an error says nothing of it that the call may have
// been carried out.
func TestDoubtIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doer{deeds: []string{"bad", "bad", "die", "silent"}}
		c := route(t, map[string]*doer{"a": d}, doing("a"))
		for _, tt := range []struct {
			tool string
			want message.Code
			told string
		}{
			{"plain", message.ServerBadReply, "unknown"},
			{"look", message.ServerBadReply, ""},
			{"plain", message.OutcomeUnknown, ""}, // it says so itself
			{"plain", message.Timeout, "unknown"},
		} {
			_, err := c.do(t.Context(), `"a__`+tt.tool+`"`)
			e := hub.AsError(err)
			if e == nil || e.Code != tt.want || e.Args["outcome"] != tt.told {
				t.Errorf("%s: got %v, %v", tt.tool, err, e.Args)
			}
			if doubt := tt.tool == "plain"; (e.Class() == message.ClassOutcome) != doubt || strings.HasSuffix(strings.ToLower(e.In(message.English)), "check before you repeat it.") != doubt {
				t.Errorf("%s: it is of the class %s, and says %q", tt.tool, e.Class(), e.In(message.English))
			}
		}
	})
}

// Whether a call that its caller gives up has had an effect is not known if it was
// sent, unless it changes nothing.
func TestCancelledAfterSending(t *testing.T) {
	for _, tt := range []struct {
		tool  string
		deeds []string
		want  hub.Outcome
	}{
		{"plain", []string{"silent"}, hub.OutcomeUnknown},
		{"steady", []string{"silent"}, hub.OutcomeUnknown},
		{"steady", []string{"die"}, hub.OutcomeUnknown}, // given up in the pause before a retry
		{"look", []string{"silent"}, hub.OutcomeCancelled},
	} {
		t.Run(tt.tool+" "+tt.deeds[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &doer{deeds: tt.deeds}
				c := route(t, map[string]*doer{"a": d}, doing("a"))
				c.states = callstate.New(callstate.Options{})
				time.AfterFunc(time.Second, func() { c.Calls().Cancel(Key{"session", "1"}, nil) })
				_, err := c.do(t.Context(), `"a__`+tt.tool+`"`)
				r := c.last()
				if r.Outcome != tt.want || r.Server != "a" || tt.deeds[0] == "silent" && r.Code != string(message.Cancelled) {
					t.Errorf("recorded as %+v", r)
				}
				if e := hub.AsError(err); (e.Class() == message.ClassOutcome) != (tt.want == hub.OutcomeUnknown) {
					t.Errorf("%v is of the class %s", e, e.Class())
				}
				s, _ := c.states.State(hub.SessionRef("session"))
				if s.Outcome != tt.want || s.Message != hub.AsError(err).Sentence(message.English, "tools/call") {
					t.Errorf("the session shows %+v", s)
				}
			})
		})
	}
}

// Whoever has set the time limit is told of that one, and not of the server's.
func TestWhoseLimit(t *testing.T) {
	for own, want := range map[time.Duration]string{
		1500 * time.Millisecond: `The server "a" did not answer within 1.5s. Try again if it does no harm twice, or give the call more time.`,
		time.Hour:               `The server "a" did not answer within 30s. Try again if it does no harm twice, or raise the server's "timeout" in the configuration.`,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := route(t, map[string]*doer{"a": {deeds: []string{"silent"}}}, doing("a"))
			_, err := c.ask("tools/call", `"name":"a__look"`, func(r *Request) { r.Timeout = own })
			if e := hub.AsError(err); e == nil || e.Code != message.Timeout || e.In(message.English) != want {
				t.Errorf("%v: got %v", own, e.In(message.English))
			}
		})
	}
}
