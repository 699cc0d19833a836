package call

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// A caller whose person can be asked is asked there, if that is configured; who
// decides first wins.
func TestElicited(t *testing.T) {
	for _, tt := range []struct {
		name, reply string
		status      approval.Status
	}{
		{"approves", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"decision":"approve"}}}`, approval.Approved},
		{"rejects", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"decision":"reject","note":"no way"}}}`, approval.Rejected},
		{"declines", `{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`, approval.Rejected},
		{"closes", `{"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}`, approval.Pending},
		{"forges", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"decision":"yes"}}}`, approval.Pending},
		{"fails", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`, approval.Pending},
		{"cannot", ``, approval.Pending},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, []hub.Rule{asks("do")})
				o.settings.Approval.Elicit = true
				asked := ""
				x := &caller{ask: func(_ context.Context, raw []byte) ([]byte, error) {
					if asked = string(raw); tt.reply == "" {
						return nil, hub.E(message.NotAskable, errors.New("it cannot"))
					}
					return []byte(tt.reply), nil
				}}
				res, err := o.call(t.Context(), "s__do", `{"n":1,"to":"a\u202eb`+"\u202e"+`c"}`, func(r *Request) { r.Exchange = x })
				_, wrong, _ := told(t, res, err)
				id := o.latest().Approval
				q := o.status(id)
				if q.Status != tt.status || wrong != (tt.status != approval.Approved) || (o.sent() == "do") == wrong {
					t.Errorf("it is %s, sent %q", q.Status, o.sent())
				}
				if tt.status != approval.Pending && q.Decisions[0].By != "ann at its client" {
					t.Errorf("decided by %+v", q.Decisions)
				}
				for _, code := range []message.Code{message.ApprovalYes, message.ApprovalNo} {
					if !strings.Contains(asked, string(wire.AppendString(nil, hub.E(code, nil).In(message.English)))) {
						t.Errorf("it does not say %s: %s", code, asked)
					}
				}
				if about, _, _ := strings.Cut(message.For(message.English, message.ApprovalQuestion, nil).What, " ("); !strings.Contains(asked, about) {
					t.Errorf("it does not say %q: %s", about, asked)
				}
				if !strings.Contains(asked, `s__do`) || !strings.Contains(asked, `\\u202ec`) || strings.Contains(asked, "\u202e") || !strings.Contains(asked, `"elicitation/create"`) {
					t.Errorf("asked %s", asked)
				}
			})
		})
	}
	t.Run("withdrawn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, []hub.Rule{asks("do")})
			o.settings.Approval.Elicit = true
			x := &slow{}
			ch := o.begin(t.Context(), "s__do", `{}`, func(r *Request) { r.Exchange = x })
			o.decide(o.pending().ID, approval.Deciding{Kind: approval.Approve})
			if a := <-ch; a.err != nil || o.sent() != "do" {
				t.Errorf("got %v", a.err)
			}
			if x.ctx.Err() == nil {
				t.Error("the question is still open")
			}
		})
	})
}

// slow is an exchange with a caller who does not answer.
type slow struct {
	caller
	ctx context.Context
}

func (s *slow) Ask(ctx context.Context, _ hub.Question) { s.ctx = ctx }
