package xiaozhi

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// until is the token of an endpoint that ends at a time, as a JWT says that.
func until(at time.Time) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, at.Unix()))
	return "eyJhbGciOiJIUzI1NiJ9." + claims + ".c2lnbmF0dXJl"
}

// Who does not ask is told as well that a token ends: once fourteen days before, and
// once when it has, in the log and as an event.
func TestReq21TokenEnds(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		events := h.bus.Subscribe(1000)
		defer events.Close()
		// told are the warnings of events since the last time.
		told := func() string {
			var all []string
			for len(events.C()) > 0 {
				if e, ok := (<-events.C()).(hub.EndpointChanged); ok && e.Status.Name == "a" {
					for _, w := range e.Status.Warnings {
						all = append(all, string(w.Code))
					}
				}
			}
			return strings.Join(all, " ")
		}
		lines := func(code message.Code) int {
			w := hub.E(code, nil, "endpoint", "a", "at", "2000-01-21")
			return strings.Count(h.journal("a"), w.Text(message.English).What)
		}
		end := time.Date(2000, 1, 21, 12, 0, 0, 0, time.UTC)
		ending := func(at time.Time) []hub.Endpoint {
			calm := func(e *hub.Endpoint) { e.Ping = time.Hour }
			return []hub.Endpoint{having("a", calm, func(e *hub.Endpoint) { e.URL = "ws://peer/mcp/?token=" + until(at) }), having("b", calm)}
		}
		h.set.Apply(ending(end))
		for range 2 {
			h.next()
		}
		pass := func(to time.Time) {
			time.Sleep(time.Until(to))
			synctest.Wait()
		}
		pass(end.Add(-14*24*time.Hour - time.Second))
		if got := told(); got != "" || lines(message.EndpointTokenEnds) != 0 {
			t.Errorf("told too early: %s\n%s", got, h.journal("a"))
		}
		pass(end.Add(-14*24*time.Hour + time.Second))
		if got := told(); got != "endpoint_token_ends" || lines(message.EndpointTokenEnds) != 1 {
			t.Errorf("told %q\n%s", got, h.journal("a"))
		}
		pass(end.Add(-time.Second))
		if got := told(); got != "" || lines(message.EndpointTokenEnds) != 1 {
			t.Errorf("told again: %q\n%s", got, h.journal("a"))
		}
		pass(end.Add(time.Second))
		if got := told(); got != "endpoint_token_ended" || lines(message.EndpointTokenEnded) != 1 || strings.Count(h.logged(), "the token of an endpoint") != 2 {
			t.Errorf("told %q\n%s", got, h.journal("a"))
		}
		// One that ends soon is told of as soon as it is there.
		end = time.Now().Add(24 * time.Hour)
		h.set.Apply(ending(end))
		h.next()
		synctest.Wait()
		if got := told(); !strings.HasSuffix(got, "endpoint_token_ends") || strings.Count(h.journal("a"), end.Format(time.DateOnly)) != 1 {
			t.Errorf("told %q\n%s", got, h.journal("a"))
		}
	})
}
