package call

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
)

// reads are the records of resources that were read, the last first.
func (o *office) reads() []hub.CallRecord {
	o.t.Helper()
	page, err := o.audit.Query(context.Background(), audit.Filter{}, "", 50)
	must(o.t, err)
	var all []hub.CallRecord
	for i := range page.Calls {
		if r := page.Calls[i].CallRecord; r.Method == "resources/read" {
			all = append(all, r)
		}
	}
	return all
}

// What a link leads to is read as the caller would read it: by the rules for
// resources, and with a record of its own.
func TestLinksAreJudged(t *testing.T) {
	reading := func(effect string) hub.Rule {
		return hub.Rule{ID: "secret", Effect: effect, Methods: []string{"resources/read"}, Tools: []string{"mem:*"}, Callers: []string{"ann"}}
	}
	for _, tt := range []struct {
		effect string
		code   message.Code
		read   bool
	}{{hub.VerdictAllow, "", true}, {hub.VerdictAsk, message.PolicyDenied, false}, {hub.VerdictDeny, message.PolicyDenied, false}} {
		t.Run(tt.effect, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, []hub.Rule{reading(tt.effect)})
				o.catalog.SetViews(nil, []hub.Profile{{Client: "*", EmbedLinks: true}})
				res, err := o.call(t.Context(), "s__do", `{"n":1}`)
				must(t, err)
				if strings.Contains(got(res), `"text":"read"`) != tt.read || strings.Contains(got(res), `"resource_link"`) == tt.read {
					t.Errorf("got %s", got(res))
				}
				if want := map[bool]string{true: "do mem:l", false: "do"}[tt.read]; o.sent() != want {
					t.Errorf("sent %q", o.sent())
				}
				all := o.reads()
				if len(all) != 1 || all[0].Code != string(tt.code) || all[0].Verdict != tt.effect || all[0].Rule != "secret" || all[0].Subject != "ann" || all[0].Name != "mem:l" {
					t.Errorf("recorded %+v", all)
				}
			})
		})
	}
}

// What the rules do not let be read the hub does not fetch from the web either.
func TestWebLinksAreJudged(t *testing.T) {
	var asked atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); fmt.Fprint(w, "inside") }))
	defer site.Close()
	o := newOfficeBy(t, nil, nil)
	o.web = newWeb(true)
	o.answer = func(n note) string {
		if n.Method == "tools/call" {
			return `{"content":[{"type":"resource_link","name":"l","uri":"` + site.URL + `"}]}`
		}
		return ""
	}
	o.catalog.SetViews(nil, []hub.Profile{{Client: "*", EmbedLinks: true}})
	must(t, o.fleet.Start(t.Context(), "s"))
	for i, effect := range []string{hub.VerdictDeny, hub.VerdictAsk, hub.VerdictAllow} {
		o.setRules(hub.Rule{ID: "web", Effect: effect, Methods: []string{"resources/read"}, Tools: []string{"http*"}})
		res, err := o.call(t.Context(), "s__do", `{"n":1}`)
		must(t, err)
		allowed := effect == hub.VerdictAllow
		if strings.Contains(got(res), "inside") != allowed || (asked.Load() == 1) != allowed {
			t.Errorf("%s: %s", effect, got(res))
		}
		all := o.reads()
		if len(all) != i+1 || all[0].Verdict != effect || all[0].Outcome != map[bool]hub.Outcome{true: hub.OutcomeOK, false: hub.OutcomeFailed}[allowed] {
			t.Errorf("%s: recorded %+v", effect, all)
		}
	}
}

// What the rules do not let be read any more is not fetched from the web either,
// whether they have changed before its server was asked or while it was.
func TestWebLinksAreJudgedAgain(t *testing.T) {
	var asked atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); fmt.Fprint(w, "inside") }))
	defer site.Close()
	reading := func(effect string) hub.Rule {
		return hub.Rule{ID: effect, Effect: effect, Methods: []string{"resources/read"}, Tools: []string{"http*"}}
	}
	for _, tt := range []struct {
		name   string
		before bool
		effect string
		code   message.Code
	}{
		{"denied before", true, hub.VerdictDeny, message.PolicyDenied},
		{"asked before", true, hub.VerdictAsk, message.CallOvertaken},
		{"denied meanwhile", false, hub.VerdictDeny, message.PolicyDenied},
		{"asked meanwhile", false, hub.VerdictAsk, message.CallOvertaken},
		{"allowed by others meanwhile", false, hub.VerdictAllow, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked.Store(0)
			o := newOfficeBy(t, nil, []hub.Rule{reading(hub.VerdictAllow)})
			o.web = newWeb(true)
			o.answer = func(n note) string {
				if n.Method == "tools/call" {
					return `{"content":[{"type":"resource_link","name":"l","uri":"` + site.URL + `"}]}`
				}
				o.setRules(reading(tt.effect))
				return ""
			}
			if tt.before {
				var looked atomic.Int32 // judged, and judged again, and so the link
				o.policy = func() *policy.Policy {
					if looked.Add(1) == 4 {
						o.setRules(reading(tt.effect))
					}
					return o.rules.Load()
				}
			}
			o.catalog.SetViews(nil, []hub.Profile{{Client: "*", EmbedLinks: true}})
			must(t, o.fleet.Start(t.Context(), "s"))
			res, err := o.call(t.Context(), "s__do", `{"n":1}`)
			must(t, err)
			fetched := map[bool]int32{true: 1}[tt.code == ""]
			if strings.Contains(got(res), "inside") != (fetched == 1) || asked.Load() != fetched {
				t.Errorf("asked %d times: %s", asked.Load(), got(res))
			}
			if want := map[bool]string{true: "do", false: "do " + site.URL}[tt.before]; o.sent() != want {
				t.Errorf("sent %q", o.sent())
			}
			if all := o.reads(); len(all) != 1 || all[0].Code != string(tt.code) || all[0].Verdict != tt.effect && tt.code != message.CallOvertaken {
				t.Errorf("recorded %+v", all)
			}
		})
	}
}
