package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// The authorisation matrix: every operation that api/openapi.json tells of, for
// every role, of the hub itself, of a tenant, and of nobody who shows a token.

// described is an operation as the description tells of it.
type described struct {
	method, path string
	id           string
	right        hub.Right
	hubwide      bool
	body         []byte // an example; nil if there is none
	follows      bool   // the answer has no end
}

// theOperations are all of the committed description, in the order of their paths.
func theOperations(t *testing.T) []described {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rig.Root(), "api", "openapi.json"))
	must(t, err)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string           `json:"operationId"`
			Right       string           `json:"x-toolcrib-right"`
			Hubwide     bool             `json:"x-toolcrib-hubwide"`
			Security    []map[string]any `json:"security"`
			Responses   map[string]any   `json:"responses"`
			RequestBody *struct {
				Content map[string]struct {
					Example json.RawMessage `json:"example"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	must(t, json.Unmarshal(text, &doc))
	var all []described
	for path, methods := range doc.Paths {
		for method, op := range methods {
			d := described{method: strings.ToUpper(method), path: path, id: op.OperationID, hubwide: op.Hubwide, follows: path == "/events"}
			found := false
			for right := hub.MayLook; right <= hub.MayManage; right++ {
				if rightName(right) == op.Right {
					d.right, found = right, true
				}
			}
			// Who needs no token is told by an empty requirement besides the right.
			free := slices.ContainsFunc(op.Security, func(s map[string]any) bool { return len(s) == 0 })
			named := slices.ContainsFunc(op.Security, func(s map[string]any) bool { _, ok := s[op.Right]; return ok })
			if !found || !named || free != hub.RoleCaller.May(d.right) || op.Responses["401"] == nil || op.Responses["403"] == nil {
				t.Errorf("%s %s: the right is %q, the security %v", method, path, op.Right, op.Security)
			}
			if op.RequestBody != nil {
				d.body = []byte(op.RequestBody.Content["application/json"].Example)
			}
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b described) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}

// The tenants of the house. What is the rival's has its name in it, which is in
// no answer to anybody else.
const (
	acme  = "acme"
	rival = "zzrival" // also the mark that all of its things have
)

// shared is a house with servers of the hub, of two tenants, and of all.
type shared struct {
	*house
	t      *testing.T
	things map[string]string // of the rival, by what they are
}

const tenants = `{"mcpServers":{
	"hubs":{"command":"./none"},
	"acmes":{"command":"./none","tenants":"acme"},
	"zzrival-srv":{"command":"./zzrival-none","args":["zzrival"],"tenants":"zzrival","pinned":true,"env":{"ZZRIVAL":"1"}},
	"both":{"command":"./none","tenants":["acme","zzrival"],"env":{"BOTH":"1"}},
	"all":{"command":"./none","tenants":"*"}},
	"groups":{"zzrival-group":{"servers":["zzrival-srv"]},"mixed":{"servers":["acmes","zzrival-srv"],"tools":["zzrival-srv__*","acmes__*"],"exclude":["zzrival-srv__zzrival_no"]},
	"acme-group":{"servers":["acmes"]}}}`

func share(t *testing.T) *shared {
	t.Helper()
	h := &shared{open(t, tenants), t, map[string]string{}}
	list := func(key, word string) {
		s, err := h.door.opt.Control.Server(key)
		must(t, err)
		tool := func(name string) []byte {
			return []byte(`{"name":"` + name + `","description":"` + word + ` thing","inputSchema":{"type":"object"}}`)
		}
		h.catalog.Listed(s.Definition, hub.Lists{
			Asked: hub.ListAll, Instructions: "the " + word + " way",
			Tools:     [][]byte{tool(word + "_tool"), tool("common")},
			Resources: [][]byte{[]byte(`{"uri":"common://x","name":"` + word + `"}`), []byte(`{"uri":"` + word + `://x","name":"x"}`)},
			Templates: [][]byte{[]byte(`{"uriTemplate":"` + word + `://{a}","name":"t"}`)},
			Prompts:   [][]byte{[]byte(`{"name":"` + word + `_prompt"}`)},
		})
	}
	for key, word := range map[string]string{"hubs": "hub", "acmes": "acme", "zzrival-srv": rival, "both": "both", "all": "all"} {
		list(key, word)
	}
	h.haveRival()
	return h
}

// who is a principal of the matrix; a role of "" is nobody who shows a token.
func who(role hub.Role, tenant string) auth.Shown {
	if role == "" {
		return auth.Shown{Principal: hub.Local(""), How: auth.HowLocal}
	}
	return auth.Shown{Principal: hub.Principal{Subject: tenant + string(role), Role: role, Tenant: tenant, Token: "tok_" + tenant + string(role)}, How: auth.HowToken}
}

// everybody are all of them.
func everybody() []auth.Shown {
	all := []auth.Shown{who("", "")}
	for _, tenant := range []string{"", acme, rival} {
		for _, role := range hub.Roles {
			all = append(all, who(role, tenant))
		}
	}
	return all
}

// asked is an answer, for comparison.
type asked struct {
	status int
	code   string
	text   string // headers and body
}

// ask makes a request of the door itself: what stands before it is tested where it
// is.
func (h *shared) ask(as auth.Shown, method, path string, body []byte, follows bool) asked {
	h.t.Helper()
	ctx := auth.WithShown(h.t.Context(), as)
	if follows {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
	}
	r := httptest.NewRequestWithContext(ctx, method, api.Base+path, bytes.NewReader(body))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.door.ServeHTTP(w, r)
	var p api.Problem
	_ = json.Unmarshal(w.Body.Bytes(), &p)
	return asked{w.Code, p.Code, fmt.Sprint(w.Header()) + w.Body.String()}
}

// haveRival has the rival do something of everything, so that there is something to
// be seen.
func (h *shared) haveRival() {
	t := h.t
	t.Helper()
	operator := who(hub.RoleOperator, rival)
	ctx := t.Context()
	for _, call := range []string{`{"tool":"` + rival + `_tool","session":"zzrival-session","arguments":{"zzrival":1}}`, `{"tool":"all__common","arguments":{"zzrival":1}}`} {
		if a := h.ask(operator, http.MethodPost, "/calls", []byte(call), false); a.status == http.StatusNotFound || a.status == http.StatusForbidden {
			t.Fatalf("the rival's own call: %+v", a)
		}
	}
	page, err := h.record.Query(ctx, audit.Filter{Subject: operator.Principal.Subject}, "", 10)
	must(t, err)
	if len(page.Calls) != 2 {
		t.Fatalf("there are %d calls of the rival's", len(page.Calls))
	}
	if a := h.ask(operator, http.MethodPut, "/leases/zzrival-holder", []byte(`{"tools":["zzrival-srv","all"]}`), false); a.status != http.StatusOK {
		t.Fatalf("the rival's lease: %+v", a)
	}
	h.ask(operator, http.MethodPost, "/servers/zzrival-srv/stop", nil, false)
	_, err = h.book.AddTenant(ctx, hub.Principal{Subject: "admin", Role: hub.RoleAdmin}, rival, rival)
	must(t, err)
	_, token, err := h.book.Issue(ctx, hub.Principal{Subject: "zzrival-admin", Tenant: rival, Role: hub.RoleAdmin}, auth.Wanted{Subject: "zzrival-token", Role: hub.RoleCaller})
	must(t, err)
	asking := approval.Asking{Arguments: []byte(`{"zzrival":1}`), Shown: `{"zzrival":1}`}
	asking.Tenant, asking.Subject, asking.Door, asking.Method, asking.Name = rival, "zzrival-asker", hub.DoorREST, "tools/call", rival+"_tool"
	asking.Server, asking.Tool, asking.ToolHash, asking.ArgumentsHash, asking.Persons = "zzrival-srv", rival+"_tool", "h", "a", 1
	asking.Session = callstate.Named(operator.Principal, "zzrival-session")
	request, err := h.door.opt.Approvals.Ask(ctx, asking)
	must(t, err)
	grant, err := h.door.opt.Approvals.Grant(ctx, operator.Principal, approval.Grant{
		Tenant: rival, Server: "zzrival-srv", Tool: rival + "_tool", ToolHash: "h", MaxRisk: hub.RiskHigh, Expires: time.Now().Add(time.Hour),
	})
	must(t, err)
	h.things = map[string]string{
		"server": "zzrival-srv", "tool": rival + "_tool", "group": "zzrival-group", "call": page.Calls[0].ID, "holder": "zzrival-holder",
		"session": asking.Session, "token": token.ID, "approval": request.ID, "grant": grant.ID,
	}
}

// outsiders are those of everybody who see nothing of the rival's.
func outsiders() []auth.Shown {
	return slices.DeleteFunc(everybody(), func(s auth.Shown) bool { return s.Principal.Tenant == rival || oversees(&s.Principal) })
}

// refusalOf is how a principal is refused an operation, by what the description
// says; 0 if it is not.
func refusalOf(as auth.Shown, op *described) (status int, code message.Code) {
	p := as.Principal
	switch {
	case p.Role.May(op.right) && (!op.hubwide || p.Hubwide()):
		return 0, ""
	case p.Role.May(op.right):
		return http.StatusForbidden, message.HubwideRequired
	case as.How == auth.HowLocal && op.right == hub.MayManage:
		return http.StatusUnauthorized, message.AdminRequired
	case as.How == auth.HowLocal:
		return http.StatusUnauthorized, message.TokenRequired
	case op.right == hub.MayManage:
		return http.StatusForbidden, message.AdminRequired
	}
	return http.StatusForbidden, message.RoleRefused
}

// nobody is in the place of names and ids in a path.
const nobody = "00000000-0000-7000-8000-000000000000"

// filled is a path with the values for what is to be filled in, in that order; the
// last one is also for all that follow.
func filled(path string, values ...string) string {
	var whole strings.Builder
	for {
		before, after, ok := strings.Cut(path, "{")
		whole.WriteString(before)
		if !ok {
			return whole.String()
		}
		whole.WriteString(values[0])
		values = values[min(1, len(values)-1):]
		_, path, _ = strings.Cut(after, "}")
	}
}

// Whoever has the right that an operation needs is let in, and nobody else; and
// that somebody was refused who shows a token is on record, if it was an act.
func TestAuthorisation(t *testing.T) {
	h := share(t)
	operations := theOperations(t)
	if len(operations) < 60 {
		t.Fatalf("there are %d operations", len(operations))
	}
	requests, refused := 0, make(map[string]int)
	for i := range operations {
		op := &operations[i]
		var body []byte
		if op.body != nil {
			body = []byte("{") // so that nothing is done
		}
		for _, as := range everybody() {
			if as.Principal.Token != "" {
				as.Principal.Token += op.id // or he would be refused more often in a minute than is recorded
			}
			got := h.ask(as, op.method, filled(op.path, nobody), body, op.follows)
			requests++
			status, code := refusalOf(as, op)
			switch {
			case status != 0:
				if got.status != status || got.code != string(code) {
					t.Errorf("%s by %+v: %d %s, want %d %s", op.id, as.Principal, got.status, got.code, status, code)
				}
				if status == http.StatusForbidden && op.right >= hub.MayDecide && op.method != http.MethodGet {
					refused[op.id]++
				}
			case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden:
				t.Errorf("%s by %+v: %d %s", op.id, as.Principal, got.status, got.text)
			}
		}
	}
	t.Log(requests, "requests of", len(operations), "operations")
	told := make(map[string]int)
	for from := ""; ; {
		page, err := h.record.Acts(t.Context(), audit.ActFilter{Outcomes: []hub.Outcome{hub.OutcomeFailed}}, from, audit.MaxLimit)
		must(t, err)
		for _, a := range page.Acts {
			if a.Status == http.StatusForbidden {
				told[a.Operation]++
				if a.Subject == "" || a.Role == "" || a.Token == "" || a.Code == "" || a.Door != hub.DoorREST || a.Ended.IsZero() {
					t.Errorf("on record is %+v", a)
				}
			}
		}
		if from = page.Next; from == "" {
			break
		}
	}
	for id, n := range refused {
		if told[id] != n {
			t.Errorf("%s was refused %d times, and %d times that is on record", id, n, told[id])
		}
	}
}

// theirs is what of the rival's a path may lead to, for each thing that it names;
// none for nothing of a tenant.
func (h *shared) theirs(path string) (all []string) {
	h.t.Helper()
	for prefix, things := range map[string][]string{
		"/servers/": {"server"}, "/mcp/": {"server"}, "/host/servers/": {"server"}, "/host/sessions/": {"session", "approval"}, "/tools/": {"tool"}, "/groups/": {"group"},
		"/calls/": {"call"}, "/leases/": {"holder"}, "/states/": {"session"}, "/tokens/": {"token"}, "/approvals/": {"approval"}, "/grants/": {"grant"},
	} {
		n := strings.Count(path, "{")
		switch {
		case !strings.HasPrefix(path, prefix):
			continue
		case n > len(things):
			h.t.Fatalf("%s names %d things, and it is not said what of the rival's they are", path, n)
		}
		for _, what := range things[:n] {
			all = append(all, h.things[what])
		}
	}
	return all
}

// absent is a name that nobody has, of the form of one that somebody has.
func absent(name string) string {
	other := []byte(name)
	for i := range other {
		switch c := other[i]; {
		case i > len(other)-4 && c >= '0' && c <= '9':
			other[i] = '0' + (c-'0'+5)%10
		case i > len(other)-4 && c >= 'a' && c < 'f':
			other[i]++
		}
	}
	return strings.ReplaceAll(string(other), rival, "zznobod")
}

// What is another tenant's is answered as what is not there, to whoever may ask for
// such things: with the same status and the same text.
func TestOthersThingsAreUnknown(t *testing.T) {
	h := share(t)
	looked := make(map[string]bool)
	operations := theOperations(t)
	for i := range operations {
		op := &operations[i]
		theirs := h.theirs(op.path)
		if len(theirs) == 0 {
			continue
		}
		none := make([]string, len(theirs))
		for i, one := range theirs {
			if none[i] = absent(one); none[i] == one {
				t.Fatalf("%q is its own absence", one)
			}
		}
		for _, as := range outsiders() {
			if status, _ := refusalOf(as, op); status != 0 {
				continue
			}
			looked[op.id] = true
			compare := func(theirs, none []string) {
				t.Helper()
				got := h.ask(as, op.method, filled(op.path, theirs...), op.body, op.follows)
				want := h.ask(as, op.method, filled(op.path, none...), op.body, op.follows)
				for i := range theirs {
					if theirs[i] == none[i] {
						continue
					}
					got.text, want.text = strings.ReplaceAll(got.text, theirs[i], "X"), strings.ReplaceAll(want.text, none[i], "X")
				}
				if op.id == "holdLease" {
					got.text, want.text = "", "" // with the time at which it ends
				}
				if got != want {
					t.Errorf("%s by %+v: %+v, want %+v", op.id, as.Principal, got, want)
				}
				if strings.Contains(got.text, rival) {
					t.Errorf("%s by %+v tells: %s", op.id, as.Principal, got.text)
				}
			}
			compare(theirs, none)
			if n := len(theirs); n > 1 { // what is named first must not be all that hides what is named last
				compare([]string{anySession, theirs[n-1]}, []string{anySession, none[n-1]})
			}
		}
	}
	for _, id := range []string{
		"getServer", "getServerEntry", "getServerLog", "getDrift", "startServer", "stopServer", "enableServer", "acceptTools", "getTool", "getGroup", "getCall",
		"holdLease", "releaseLease", "getState", "retryState", "clearState", "revokeToken", "getApproval", "approve", "reject", "edit", "cancelApproval", "revokeGrant",
		"compatConfirmations", "compatConfirm",
	} {
		if !looked[id] {
			t.Errorf("nobody has asked by %s", id)
		}
	}
	// To name a tenant is for who sees all of them.
	for _, tenant := range []string{rival, "zznobod"} {
		body := []byte(`{"tenant":"` + tenant + `","tool":"zzrival-srv__common","for":"1h","maxRisk":"high"}`)
		for _, path := range []string{"/grants", "/grants/preview"} {
			for as, code := range map[hub.Principal]message.Code{
				who(hub.RoleApprover, "").Principal: message.RoleRefused, who(hub.RoleOperator, acme).Principal: message.HubwideRequired,
			} {
				if a := h.ask(auth.Shown{Principal: as, How: auth.HowToken}, http.MethodPost, path, body, false); a.status != http.StatusForbidden || a.code != string(code) {
					t.Errorf("%s for %s by %+v: %+v", path, tenant, as, a)
				}
			}
		}
	}
	// The rival has all of it still.
	operator := who(hub.RoleOperator, rival)
	for path, status := range map[string]int{
		"/servers/zzrival-srv": http.StatusOK, "/servers/zzrival-srv/entry": http.StatusOK, "/servers/zzrival-srv/log": http.StatusOK, "/groups/zzrival-group": http.StatusOK,
		"/calls/" + h.things["call"]: http.StatusOK, "/approvals/" + h.things["approval"]: http.StatusOK,
	} {
		if a := h.ask(operator, http.MethodGet, path, nil, false); a.status != status {
			t.Errorf("the rival asks for %s: %+v", path, a)
		}
	}
	if a := h.ask(operator, http.MethodDelete, "/leases/zzrival-holder", nil, false); a.status != http.StatusNoContent {
		t.Errorf("the rival ends its lease: %+v", a)
	}
}

// Nothing that is another tenant's is in any answer: in no list, no figure, no
// event and no error.
func TestNothingOfOthersIsTold(t *testing.T) {
	h := share(t)
	operations := theOperations(t)
	own := strings.NewReplacer("/tools/{name}", "/tools/common", "/groups/{name}", "/groups/mixed", "{session}", "rest:local", "{holder}", "h")
	type question struct {
		id, method, path string
		body             string
		right            hub.Right
	}
	var all []question
	for _, op := range operations {
		if op.hubwide && op.right == hub.MayManage || op.method == http.MethodDelete || op.method == http.MethodPut {
			continue
		}
		for _, key := range []string{"acmes", "both", "all"} {
			path := own.Replace(op.path)
			if op.follows {
				path += "?after=1"
			}
			all = append(all, question{op.id, op.method, filled(path, key), string(op.body), op.right})
			if !strings.Contains(path, "{") {
				break
			}
		}
	}
	for _, path := range []string{"/tools?group=mixed", "/resources?group=mixed", "/prompts?group=mixed", "/calls?limit=500", "/index?tool=common", "/audit/acts?limit=500", "/audit/export?format=csv", "/analysis?by=hour"} {
		all = append(all, question{path, http.MethodGet, path, "", hub.MayLook})
	}
	for path, bodies := range map[string][]string{
		"/calls":          {`{"tool":"common"}`, `{"tool":"both__common"}`, `{"tool":"all__common"}`, `{"tool":"commo"}`},
		"/resources/read": {`{"uri":"common://x"}`, `{"uri":"toolcrib://both/common://x"}`},
		"/prompts/get":    {`{"name":"common"}`},
		"/leases/own":     {`{"tools":["common","both","all","hubs","acmes"]}`},
	} {
		for _, body := range bodies {
			method := http.MethodPost
			if strings.HasPrefix(path, "/leases") {
				method = http.MethodPut
			}
			all = append(all, question{path, method, path, body, hub.MayCall})
		}
	}
	tells := func(as auth.Shown, q *question) (asked, bool) {
		var body []byte
		if q.body != "" {
			body = []byte(q.body)
		}
		a := h.ask(as, q.method, q.path, body, strings.HasPrefix(q.path, "/events"))
		return a, strings.Contains(strings.ToLower(a.text), rival)
	}
	answered := make(map[string]bool)
	for i := range all {
		q := &all[i]
		for _, as := range outsiders() {
			if !as.Principal.Role.May(q.right) {
				continue
			}
			a, told := tells(as, q)
			if told {
				t.Errorf("%s %s by %+v tells of the rival: %d %s", q.method, q.path, as.Principal, a.status, a.text)
			}
			answered[q.id] = answered[q.id] || a.status < 300
		}
	}
	for _, id := range []string{"listServers", "getServer", "listTools", "listCalls", "followEvents", "getStats", "getStatus", "listLeases", "listGroups", "analyseCalls", "exportAudit", "listActs", "exportIndex"} {
		if !answered[id] {
			t.Errorf("%s was not answered", id)
		}
	}
	// Whose it is, and who looks after the whole, are told.
	for _, path := range []string{"/servers", "/calls?limit=500", "/events?after=1", "/leases", "/audit/acts?limit=500", "/groups", "/analysis?limit=1000", "/approvals"} {
		for _, as := range []auth.Shown{who(hub.RoleOperator, rival), who(hub.RoleAdmin, "")} {
			if a, told := tells(as, &question{method: http.MethodGet, path: path}); !told {
				t.Errorf("%s does not tell %+v: %s", path, as.Principal, a.text)
			}
		}
	}
}
