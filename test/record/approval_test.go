//go:build linux

package record

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// asking has a person asked about each call of the tool that counts.
func asking() map[string]any {
	return map[string]any{"policy": map[string]any{"rules": []any{map[string]any{"id": "work", "effect": "ask", "tool": "work"}}}}
}

// request is what the API tells of a request for approval.
type request struct{ ID, Status, Taken string }

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
	gone := false
	rig.Await(l.t, "somebody is asked", func() bool {
		all, err := l.requests(url)
		if gone = err != nil; gone {
			return true // the hub has been killed
		}
		if len(all) == 0 || all[0].Status != "pending" {
			return false
		}
		_, _ = l.desk(http.MethodPost, url+"/api/v1/approvals/"+all[0].ID+"/"+how, "{}") // the hub may be killed by it
		return true
	})
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
