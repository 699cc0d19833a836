package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// The hub is told how long a call may take. It ends the call itself, and says how
// things stand; only a hub that does not is given up.
func TestCallTimeout(t *testing.T) {
	for _, trace := range []bool{false, true} {
		silent := false
		var got []api.Call
		left := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var c api.Call
			if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
				t.Error(err)
			}
			got = append(got, c)
			if silent {
				<-r.Context().Done()
				close(left)
				return
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusGatewayTimeout)
			_ = json.NewEncoder(w).Encode(api.Problem{
				Code: "timeout", Title: "The server did not answer.", Remedy: "It may have taken effect: check before you repeat it.",
				Class: "outcome", Outcome: "unknown",
			})
		}))
		defer srv.Close()
		s, _, errs := newTest(t, message.English, "")
		s.URL = srv.URL
		s.tell((&call{Name: "t", Timeout: 2 * time.Second, Trace: trace}).Run(t.Context(), s))
		if said := errs.String(); !strings.Contains(said, "did not answer.") || !strings.Contains(said, "check before you repeat it") {
			t.Errorf("told %s", said)
		}
		if got[0].Timeout != "2s" {
			t.Errorf("the hub is told %q", got[0].Timeout)
		}
		silent, s.patience = true, 10*time.Millisecond
		if err := (&call{Name: "t", Timeout: time.Millisecond, Trace: trace}).Run(t.Context(), s); !hub.IsCode(err, message.CallTimeout) || hub.AsError(err).Args["limit"] != "1ms" {
			t.Errorf("got %v", err)
		}
		<-left // the hub learns that nobody waits any more
		if got[1].Timeout != "1ms" {
			t.Errorf("the hub is told %q", got[1].Timeout)
		}
	}
}
