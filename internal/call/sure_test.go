package call

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What let a call pass has to let it pass when it is sent: while it waits for its
// turn the rules, its tool and the grant that covers it may become others.
func TestSureBeforeSending(t *testing.T) {
	bob := hub.Principal{Subject: "bob", Role: hub.RoleAdmin}
	other := hub.Rule{ID: "other", Effect: hub.VerdictDeny, Tools: []string{"else"}}
	describe := func(o *office) {
		s, _ := o.fleet.Server("s")
		share, _ := o.catalog.Snapshot().Share("s")
		do := bytes.Replace(share.Tools[0].Tool.Raw, []byte(`"name":"do"`), []byte(`"name":"do","description":"other"`), 1)
		o.catalog.Listed(s, hub.Lists{Asked: hub.ListTools, Tools: [][]byte{do, share.Tools[1].Tool.Raw}})
	}
	for _, tt := range []struct {
		name    string
		rules   []hub.Rule
		granted time.Duration // 0 for no grant
		agreed  bool
		then    func(o *office, grant string)
		want    message.Code // "" if it is sent
	}{
		{"nothing changes", nil, 0, false, func(*office, string) {}, ""},
		{"denied by now", nil, 0, false, func(o *office, _ string) { o.setRules(denies("do")) }, message.PolicyDenied},
		{"asked by now", nil, 0, false, func(o *office, _ string) { o.setRules(asks("do")) }, message.CallOvertaken},
		{"allowed by other rules", nil, 0, false, func(o *office, _ string) { o.setRules(other) }, ""},
		{"described otherwise, and allowed", nil, 0, false, func(o *office, _ string) { describe(o) }, ""},
		{"granted", []hub.Rule{asks("do")}, time.Hour, false, func(*office, string) {}, ""},
		{"granted, and asked by other rules", []hub.Rule{asks("do")}, time.Hour, false, func(o *office, _ string) { o.setRules(asks("do"), other) }, ""},
		{"grant revoked", []hub.Rule{asks("do")}, time.Hour, false, func(o *office, id string) { _, err := o.desk.Revoke(o.t.Context(), bob, id); must(o.t, err) }, message.CallOvertaken},
		{"grant expired", []hub.Rule{asks("do")}, time.Second, false, func(*office, string) {}, message.CallOvertaken},
		{"granted, and described otherwise", []hub.Rule{asks("do")}, time.Hour, false, func(o *office, _ string) { describe(o) }, message.CallOvertaken},
		{"agreed to", []hub.Rule{asks("do")}, 0, true, func(*office, string) {}, ""},
		{"agreed to, and asked by other rules", []hub.Rule{asks("do")}, 0, true, func(o *office, _ string) { o.setRules(asks("do"), other) }, message.CallOvertaken},
		{"agreed to, and denied", []hub.Rule{asks("do")}, 0, true, func(o *office, _ string) { o.setRules(denies("do")) }, message.PolicyDenied},
		{"agreed to, and described otherwise", []hub.Rule{asks("do")}, 0, true, func(o *office, _ string) { describe(o) }, message.CallOvertaken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := builtin("s")
				s.Gate = hub.Gate{Concurrency: 1, Queue: 5}
				o := newOffice(t, tt.rules, s)
				o.slow = 5 * time.Second
				before := o.begin(t.Context(), "s__see", `{}`, func(r *Request) { r.Session = "another" })
				grant, id := "", ""
				if tt.granted > 0 {
					share, _ := o.catalog.Snapshot().Share("s")
					g, err := o.desk.Grant(t.Context(), bob, approval.Grant{
						Subject: "ann", Server: "s", Tool: "do", ToolHash: toolHash(share.Tools[0]), MaxRisk: hub.RiskHigh, Expires: time.Now().Add(tt.granted),
					})
					must(t, err)
					grant = g.ID
				}
				ch := o.begin(t.Context(), "s__do", `{"n":1}`)
				if tt.agreed {
					id = o.pending().ID
					o.decide(id, approval.Deciding{Kind: approval.Approve})
				}
				time.Sleep(2 * time.Second) // it waits for its turn
				tt.then(o, grant)
				<-before
				a := <-ch
				text, wrong, _ := told(t, a.res, a.err)
				sent, r := o.sent(), o.latest()
				if want := map[bool]string{true: "see do", false: "see"}[tt.want == ""]; sent != want || wrong == (tt.want == "") || r.Code != string(tt.want) {
					t.Errorf("sent %q, got %q, recorded %+v", sent, text, r)
				}
				if id != "" && (o.status(id).Taken == "") != (tt.want != "") {
					t.Errorf("the agreement is taken by %q", o.status(id).Taken)
				}
			})
		})
	}
}
