//go:build linux

package record

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// asking has a person asked about each call of the tool that counts.
func asking() map[string]any {
	return map[string]any{"policy": map[string]any{"rules": []any{map[string]any{"id": "work", "effect": "ask", "tool": "work"}}}}
}

// request is what the API tells of a request for approval.
type request struct {
	ID, Status, Taken, Hash string
	Confirmations           int
	Decisions               []struct{ Kind string }
}

// step is one of the things that are said to a request for approval: by which
// operation, and with which body. HASH stands in it for the hash of what was seen.
type step struct{ how, body string }

// requests are all there are, newest first.
func (l *lab) requests(url string) (all []request, err error) {
	var list struct{ Approvals []request }
	body, err := l.desk(http.MethodGet, url+"/api/v1/approvals", "")
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	return list.Approvals, err
}

// desk asks the API as the administrator, who has not made any of the calls.
func (l *lab) desk(method, url, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+rig.Token(l.t, l.data.Path()))
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// decide waits until a request is pending, and decides it.
func (l *lab) decide(url, how string) {
	l.t.Helper()
	l.decideBy(url, []step{{how, "{}"}})
}

// decideBy waits until a request is pending, and decides it by those of the steps
// that were not taken yet: each but the last one is an agreement.
func (l *lab) decideBy(url string, steps []step) {
	l.t.Helper()
	rig.Await(l.t, "somebody is asked", func() bool {
		all, err := l.requests(url)
		if err != nil {
			return true // the hub has been killed
		}
		if len(all) == 0 || all[0].Status != "pending" {
			return false
		}
		n := all[0].Confirmations
		body := strings.ReplaceAll(steps[n].body, "HASH", all[0].Hash)
		answer, err := l.desk(http.MethodPost, url+"/api/v1/approvals/"+all[0].ID+"/"+steps[n].how, body)
		var refused struct{ Code string } // such as an edit while the server has not told its tools
		return err != nil /* the hub has been killed by it */ || json.Unmarshal(answer, &refused) == nil && refused.Code == "" && n == len(steps)-1
	})
}

// grants is how many there are.
func (l *lab) grants(url string) int {
	l.t.Helper()
	var list struct{ Grants []json.RawMessage }
	body, err := l.desk(http.MethodGet, url+"/api/v1/grants?all=true", "")
	must(l.t, err)
	must(l.t, json.Unmarshal(body, &list))
	return len(list.Grants)
}

// tell makes a call that was made before, and returns what its caller is told: "ok",
// or the code that is meant by an answer that it was not made.
func (l *lab) tell(url string, overMCP bool, arguments map[string]any) string {
	answer, body := l.ask(context.Background(), url, overMCP, "far__work", arguments)
	if answer == told && strings.Contains(body, `"isError":true`) {
		return "refused"
	}
	return answer
}

// TestKilledWithApproval kills the hub at every boundary of a call that somebody has
// to agree to. What was asked is not lost, what was agreed to is made once, and
// nothing is made that nobody has agreed to.
func TestKilledWithApproval(t *testing.T) {
	t.Parallel()
	const (
		nothing = iota // nobody was asked yet
		pending        // somebody is
		agreed         // and has agreed
		taken          // and the call may have been made
	)
	const long = 1500 // ms: the intent is taken over before there is an outcome
	for _, test := range []struct {
		name, point string
		ms          int
		left        int
		done        int // before it goes on
	}{
		{"request written", "write insert approval - 1", 0, nothing, 0},
		{"request committed", "commit insert approval - 1", 0, nothing, 0},
		{"held", "log a call waits for a person", 0, pending, 0},
		{"decision written", "write update approval - 1", 0, pending, 0},
		{"decision committed", "commit update approval - 1", 0, pending, 0},
		{"decision heard", "log somebody has decided about a call", 0, agreed, 0},
		{"claim written", "write update approval - 2", 0, agreed, 0},
		{"claim committed", "commit update approval - 2", 0, agreed, 0},
		{"claimed", "log an agreement is taken for a call", 0, agreed, 0},
		{"intended", "log a call that was agreed to is sent", 0, taken, 0},
		{"sent", "write insert audit_entry intent 1", long, taken, 1},
		{"answered", "write insert audit_entry call 1", 0, taken, 1},
	} {
		for _, overMCP := range []bool{false, true} {
			name := test.name + " over REST"
			if overMCP {
				name = test.name + " over MCP"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, store.Options{}, asking())
				p, at := l.startCrashing(test.point)
				arguments := work("deed", test.ms)
				cut := make(chan string, 1)
				go func() { cut <- l.tell(at, overMCP, arguments) }()
				if test.left != nothing {
					l.decide(at, "approve")
				}
				if got := <-cut; got != toldCut && (got != told || test.done == 0) {
					t.Errorf("the caller was told %s", got)
				}
				<-p.Done()
				open := l.autopsy(true)
				if got := l.done()["deed"]; got != test.done {
					t.Errorf("it was done %d times", got)
				}
				h := l.start()
				l.recovered(open)
				before, err := l.requests(h.URL)
				must(t, err)
				want := map[int]string{nothing: "", pending: "pending", agreed: "approved", taken: "approved"}[test.left]
				if status := state(before); status != want || (test.left == taken) != (len(before) == 1 && before[0].Taken != "") {
					t.Fatalf("the requests are %+v, want one that is %q", before, want)
				}
				again := make(chan string, 1)
				go func() { again <- l.tell(h.URL, overMCP, arguments) }()
				switch test.left {
				case nothing, pending:
					l.decide(h.URL, "approve")
				case taken: // it is another call, to which nobody has agreed
					l.decide(h.URL, "reject")
				}
				got, final := <-again, 1
				if test.left == taken {
					final = test.done
				}
				if (got == told) != (test.left != taken) {
					t.Errorf("then the caller was told %s", got)
				}
				if n := l.done()["deed"]; n != final {
					t.Errorf("it was done %d times, want %d", n, final)
				}
				after, err := l.requests(h.URL)
				must(t, err)
				if one := test.left != taken; one != (len(after) == 1) || test.left == pending && after[0].ID != before[0].ID {
					t.Errorf("the requests are %+v, and were %+v", after, before)
				}
				h.Stop()
				l.verify()
			})
		}
	}
}

// TestKilledWithDecision kills the hub at the boundaries of decisions that are more
// than one agreement: the arguments are edited, the call is refused, a critical one is
// agreed to a second time, or the agreement is to be remembered. A decision is there
// after the restart as a whole or not at all, and what is made is what was agreed to.
func TestKilledWithDecision(t *testing.T) {
	t.Parallel()
	const (
		pending = iota // nobody has said anything yet
		halfway        // one of two has agreed
		decided
		taken // and the call may have been made
	)
	const long = 1500 // ms: the intent is taken over before there is an outcome
	type boundary struct {
		name, point string
		left        int
		ms          int
		done        int // before it goes on
	}
	heard := boundary{name: "heard", point: "log somebody has decided about a call", left: decided}
	claimed := boundary{name: "claimed", point: "log an agreement is taken for a call", left: decided}
	intended := boundary{name: "intended", point: "log a call that was agreed to is sent", left: taken}
	cases := 0
	for _, test := range []struct {
		name       string
		critical   bool
		steps      []step
		status     string // that it leads to
		makes      string // the text of the call that is made; "" for none
		grants     int    // that are given with it
		boundaries []boundary
	}{
		{
			name: "edit", steps: []step{{"edit", `{"arguments":{"text":"mended","ms":MS}}`}}, status: "edited", makes: "mended",
			boundaries: []boundary{
				{name: "written", point: "write update approval - 1"},
				{name: "committed", point: "commit update approval - 1"},
				heard,
				{name: "claim written", point: "write update approval - 2", left: decided},
				{name: "claim committed", point: "commit update approval - 2", left: decided},
				claimed, intended,
				{name: "sent", point: "write insert audit_entry intent 1", left: taken, ms: long, done: 1},
				{name: "answered", point: "write insert audit_entry call 1", left: taken, done: 1},
			},
		},
		{
			name: "rejection", steps: []step{{"reject", `{"note":"not today"}`}}, status: "rejected",
			boundaries: []boundary{
				{name: "written", point: "write update approval - 1"},
				{name: "committed", point: "commit update approval - 1"},
				heard,
				{name: "answered", point: "write insert audit_entry call 1", left: decided},
			},
		},
		{
			name: "second agreement", critical: true, steps: []step{{"approve", "{}"}, {"approve", `{"confirmation":2,"saw":"HASH"}`}}, status: "approved", makes: "deed",
			boundaries: []boundary{
				{name: "first written", point: "write update approval - 1"},
				{name: "first committed", point: "commit update approval - 1"},
				{name: "written", point: "write update approval - 2", left: halfway},
				{name: "committed", point: "commit update approval - 2", left: halfway},
				heard,
				{name: "claim written", point: "write update approval - 3", left: decided},
				{name: "claim committed", point: "commit update approval - 3", left: decided},
				claimed, intended,
			},
		},
		{
			name: "remembered agreement", steps: []step{{"approve", `{"remember":{"for":"1h","arguments":"any"}}`}}, status: "approved", makes: "deed", grants: 1,
			boundaries: []boundary{
				{name: "written", point: "write update approval - 1"},
				{name: "grant written", point: "write insert approval_grant - 1"},
				{name: "committed", point: "commit insert approval_grant - 1"},
				heard, claimed,
			},
		},
	} {
		for _, at := range test.boundaries {
			cases++
			overMCP := cases%2 == 0 // people decide about the calls of both doors in the same way
			t.Run(test.name+" "+at.name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, store.Options{}, asking())
				p, url := l.startCrashing(at.point)
				arguments := work("deed", at.ms)
				if test.critical {
					arguments["url"] = "http://169.254.169.254/"
				}
				steps := slices.Clone(test.steps)
				steps[0].body = strings.ReplaceAll(steps[0].body, "MS", strconv.Itoa(at.ms))
				made := func(times int) {
					t.Helper()
					want := make(map[string]int)
					if times > 0 {
						want[test.makes] = times
					}
					if got := l.done(); !maps.Equal(got, want) {
						t.Errorf("done was %v, want %v", got, want)
					}
				}
				cut := make(chan string, 1)
				go func() { cut <- l.tell(url, overMCP, arguments) }()
				l.decideBy(url, steps)
				if got := <-cut; got != toldCut && (got != told || at.done == 0) && (got != "refused" || test.makes != "") {
					t.Errorf("the caller was told %s", got)
				}
				<-p.Done()
				open := l.autopsy(true)
				made(at.done)

				h := l.start()
				l.recovered(open)
				before, err := l.requests(h.URL)
				must(t, err)
				status, said, grants := "pending", 0, 0
				switch at.left {
				case halfway:
					said = 1
				case decided, taken:
					status, said, grants = test.status, len(steps), test.grants
				}
				if state(before) != status || len(before[0].Decisions) != said || (before[0].Taken != "") != (at.left == taken) {
					t.Fatalf("the requests are %+v, want one that is %q after %d decisions", before, status, said)
				}
				if got := l.grants(h.URL); got != grants {
					t.Errorf("there are %d grants, want %d", got, grants)
				}
				if test.makes == "" && at.left == pending {
					l.decideBy(h.URL, steps)
				}
				again := make(chan string, 1)
				go func() { again <- l.tell(h.URL, overMCP, arguments) }()
				asked, final, want := 1, 1, told
				switch {
				case test.makes == "", at.left == taken: // it is another call, to which nobody has agreed
					l.decide(h.URL, "reject")
					asked, final, want = 2, at.done, "refused"
				case at.left != decided:
					l.decideBy(h.URL, steps)
				}
				if got := <-again; got != want {
					t.Errorf("then the caller was told %s, want %s", got, want)
				}
				made(final)
				if test.grants > 0 { // and others like it ask nobody
					if got := l.tell(h.URL, overMCP, work("likewise", 0)); got != told || l.done()["likewise"] != 1 {
						t.Errorf("the caller of another one was told %s, and it was done %d times", got, l.done()["likewise"])
					}
				}
				after, err := l.requests(h.URL)
				must(t, err)
				if len(after) != asked || after[len(after)-1].ID != before[0].ID || l.grants(h.URL) != test.grants {
					t.Errorf("the requests are %+v, and were %+v; there are %d grants", after, before, l.grants(h.URL))
				}
				h.Stop()
				l.verify()
				l.readOn()
				for call, text := range l.book.intents {
					sent := l.book.outcomes[call].outcome == string(hub.OutcomeOK) || l.book.outcomes[call].outcome == string(hub.OutcomeUnknown)
					if sent && text != test.makes && text != "likewise" {
						t.Errorf("by the record call %s was sent with %q", call, text)
					}
				}
			})
		}
	}
}

// state is the status of the one request, "" if there is none.
func state(all []request) string {
	if len(all) != 1 {
		return ""
	}
	return all[0].Status
}

// TestApprovedAtAnotherHub: two hubs on one PostgreSQL. What is decided on one releases
// the call that is held on the other, and a ticket of one is good at the other.
func TestApprovedAtAnotherHub(t *testing.T) {
	l := newLab(t, storetest.PostgreSQL(t), asking())
	other := &lab{t: t, data: datadir.Layout(t.TempDir()), config: l.config, tally: l.tally, store: l.store, client: l.client, told: make(map[string]string)}
	here, there := l.start(), other.start()
	for _, overMCP := range []bool{false, true} {
		text := "held over REST"
		if overMCP {
			text = "held over MCP"
		}
		answer := make(chan string, 1)
		go func() { answer <- l.tell(here.URL, overMCP, work(text, 0)) }()
		other.decide(there.URL, "approve")
		if got := <-answer; got != told || l.done()[text] != 1 {
			t.Errorf("%s: the caller was told %s, and it was done %d times", text, got, l.done()[text])
		}
	}
	// The hub that was asked goes, and the other one has what its caller comes back for.
	gone := make(chan string, 1)
	go func() { gone <- l.tell(here.URL, false, work("picked up", 0)) }()
	rig.Await(t, "somebody is asked", func() bool {
		all, err := other.requests(there.URL)
		return err == nil && len(all) > 0 && all[0].Status == "pending"
	})
	here.Stop()
	if got := <-gone; got != "refused" {
		t.Errorf("the caller whose hub went was told %s", got)
	}
	other.decide(there.URL, "approve")
	if got := other.tell(there.URL, true, work("picked up", 0)); got != told || l.done()["picked up"] != 1 {
		t.Errorf("the caller was told %s, and it was done %d times", got, l.done()["picked up"])
	}
	there.Stop()
	l.verify()
}
