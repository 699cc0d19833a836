package call

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
)

const (
	accepted = `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"decision":"approve"}}}`
	critical = `{"command":"rm -rf / --no-preserve-root"}`
)

// interview is a caller that agrees to all it is asked, and notes it.
type interview struct {
	caller
	mu     sync.Mutex
	asked  []string
	before func(n int) // it answers the question n
}

func (x *interview) Ask(_ context.Context, q hub.Question) {
	x.mu.Lock()
	x.asked = append(x.asked, string(q.Raw))
	n := len(x.asked)
	x.mu.Unlock()
	go func() {
		if x.before != nil {
			x.before(n)
		}
		q.Answer([]byte(accepted), nil)
	}()
}

// rounds are the questions, each as what it says of the agreement and the arguments.
func (x *interview) rounds(t *testing.T, shown ...string) string {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []string
	for _, one := range x.asked {
		_, rest, _ := strings.Cut(one, "agreement ")
		round, _, _ := strings.Cut(rest, ")")
		for i, part := range shown {
			if strings.Contains(one, part) {
				round += fmt.Sprintf(" %c", 'a'+i)
			}
		}
		all = append(all, round)
	}
	return strings.Join(all, ", ")
}

// Where two agreements are needed the person at the client is asked twice, and told
// which one it is.
func TestElicitedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, []hub.Rule{asks("do")})
		o.settings.Approval.Elicit = true
		x := &interview{}
		res, err := o.call(t.Context(), "s__do", critical, saying(`"requestState":"s1"`), func(r *Request) { r.Exchange = x })
		if text, wrong, _ := told(t, res, err); wrong || o.sent() != "do" {
			t.Errorf("got %q, sent %q", text, o.sent())
		}
		if got := x.rounds(t, "rm -rf /", "s1"); got != "1 of 2 a b, 2 of 2 a b" {
			t.Errorf("asked %q: %s", got, x.asked)
		}
		if q := o.status(o.latest().Approval); len(q.Decisions) != 2 {
			t.Errorf("decided %+v", q.Decisions)
		}
	})
}

// The person at the client sees the arguments that somebody else has put in the place
// of the caller's, and what they say about others does not count.
func TestElicitedAboutEdited(t *testing.T) {
	edited := []byte(`{"command":"rm -rf /tmp/only-this"}`)
	change := func(o *office, id string) {
		q := o.status(id)
		j, err := o.Check(context.Background(), q, edited)
		must(o.t, err)
		judged := approval.JudgedOf(&j)
		o.decide(id, approval.Deciding{Kind: approval.Edit, Arguments: edited, ArgumentsHash: ArgumentsHash(edited), Judged: &judged})
	}
	sent := func(o *office, x *interview, want string) {
		if got := x.rounds(o.t, "no-preserve-root", "only-this"); got != want {
			o.t.Errorf("asked %q, want %q", got, want)
		}
		if all := o.params(); len(all) != 1 || !strings.Contains(all[0], "only-this") || strings.Contains(all[0], "no-preserve-root") {
			o.t.Errorf("sent %q", all)
		}
	}
	t.Run("before it is asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{asks("do")})
			res, err := o.call(t.Context(), "s__do", critical, func(r *Request) { r.Timeout = time.Second })
			_, _, id := told(t, res, err)
			change(o, id)
			o.settings.Approval.Elicit = true
			x := &interview{}
			res, err = o.call(t.Context(), "s__do", critical, func(r *Request) { r.Exchange = x })
			if text, wrong, _ := told(t, res, err); wrong {
				t.Errorf("got %q", text)
			}
			sent(o, x, "2 of 2 b")
		})
	})
	t.Run("while it is asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{asks("do")})
			o.settings.Approval.Elicit = true
			x := &interview{}
			x.before = func(n int) {
				if n == 1 {
					change(o, o.pending().ID)
				}
			}
			res, err := o.call(t.Context(), "s__do", critical, func(r *Request) { r.Exchange = x })
			if text, wrong, _ := told(t, res, err); wrong {
				t.Errorf("got %q", text)
			}
			sent(o, x, "1 of 2 a, 2 of 2 b")
		})
	})
}
