package control_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Names are looked up at each change, so that all holders have only so many.
func TestLeasedNamesTogether(t *testing.T) {
	s := open(t, "")
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("nothing", i)
	}
	for i := range 20 {
		s.lease(fmt.Sprint(i), time.Hour, many...)
	}
	_, err := s.Lease(hub.Viewer{}, "other", []string{"a"}, 0)
	wantCode(t, err, message.BodyInvalid)
	wantCode(t, s.Release("", "other"), message.LeaseUnknown)
	s.lease("0", 0, many...) // in place of as many
	s.lease("0", 0, many[1:]...)
	s.lease("other", 0, "a")
	if err := s.Release("", "1"); err != nil {
		t.Fatal(err)
	}
	s.lease("2", 0, many...)
	s.lease("third", 0, many...)
}

// The key of a server means the server, also if another has a tool of that name.
func TestLeaseOfKeyAndTool(t *testing.T) {
	s := open(t, `{"mcpServers":{"first":`+faultServer(t, `"priority":99`)+`,"bare":`+faultServer(t, `"bareNames":true`)+
		`,"echo":`+faultServer(t)+`,"note":`+faultServer(t)+`}}`)
	s.lists("first", "echo", "", "note", "")
	s.lists("bare", "note", "")
	g := s.lease("h", 0, "echo", "note")
	if len(g.Unknown) > 0 {
		t.Errorf("the grant is %+v", g)
	}
	s.wantLeases("bare h note", "echo h") // "note" is what the tool of "bare" is called
}
