package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// asking returns a link to an API whose tool asks first and then shows what
// was answered.
func asking(t *testing.T, s *session) *link {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c api.Call
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: progress\ndata: {\"progress\":{\"progressToken\":1,\"progress\":1,\"total\":2,\"message\":\"half\\u001b\"}}\n\n")
		fmt.Fprint(w, "event: log\ndata: {\"log\":{\"level\":\"info\",\"logger\":\"l\",\"data\":\"hi\"}}\n\n")
		if limit, err := time.ParseDuration(c.Timeout); err != nil || limit > time.Minute || c.RequestState == "" && limit < time.Minute {
			t.Errorf("in the state %q the hub is given %q", c.RequestState, c.Timeout)
		}
		result := `{"resultType":"input_required","requestState":"s1","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}},"where":{"method":"elicitation/create","params":{"mode":"url","url":"http://x"}}}}`
		if c.RequestState == "s1" {
			result = `{"content":[{"type":"text","text":` + string(quote(string(c.Answers))) + `}]}`
		}
		fmt.Fprintf(w, "event: result\ndata: {\"result\":{\"tool\":\"t\",\"result\":%s}}\n\n", result)
	}))
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	h, err := s.attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func TestTraceAnswersQuestions(t *testing.T) {
	s, _, errs := newTest(t, message.English, "")
	tr := &trace{session: s, link: asking(t, s), ask: newPrompt(strings.NewReader("5\ny\n"), errs)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+s.patience)
	defer cancel()
	result, err := tr.call(ctx, api.Call{Tool: "t", Timeout: "1m"})
	if err != nil {
		t.Fatal(err)
	}
	want := string(quote(`{"who":{"action":"accept","content":{"n":5}},"where":{"action":"decline"}}`))
	if !strings.Contains(string(result.Result), want) {
		t.Errorf("answered %s", result.Result)
	}
	for _, shown := range []string{"… 1/2 half\\u001b\n", "[info l] hi\n", "? Who?"} {
		if !strings.Contains(errs.String(), shown) {
			t.Errorf("%q is missing:\n%s", shown, errs)
		}
	}
	drain(tr.ask)
}

func TestTraceWithoutAPerson(t *testing.T) {
	s, _, _ := newTest(t, message.English, "")
	tr := &trace{session: s, link: asking(t, s)}
	if _, err := tr.call(t.Context(), api.Call{Tool: "t", Timeout: "1m"}); !hub.IsCode(err, message.QuestionDeclined) {
		t.Errorf("got %v", err)
	}
}
