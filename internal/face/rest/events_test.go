package rest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// happened follows the events; it returns when the stream is open.
func (h *house) happened(query, token, lastID string) *reader {
	h.t.Helper()
	a := ask{method: http.MethodGet, path: "/events" + query, token: token, header: map[string]string{}}
	if lastID != "" {
		a.header["Last-Event-ID"] = lastID
	}
	return read(h.t, h.open(h.t.Context(), a))
}

// event returns the next event that is none of a heartbeat's kind.
func (r *reader) event() (event, api.Event) {
	r.t.Helper()
	for {
		e, ok := r.next()
		if !ok {
			r.t.Fatal("the stream has ended")
		}
		if e.name == "" {
			continue
		}
		var v api.Event
		must(r.t, json.Unmarshal([]byte(e.data), &v))
		if v.Kind != e.name || strconv.FormatInt(v.ID, 10) != e.id {
			r.t.Fatalf("the event is %+v", e)
		}
		return e, v
	}
}

func TestEvents(t *testing.T) {
	h := open(t, "")
	all := h.happened("", h.admin, "")
	calls := h.happened("?kinds=call.ended,call.state", "", "")
	h.call(`{"tool":"lab__echo","arguments":{"a":1},"session":"mine"}`).into(http.StatusOK, nil)
	h.do(ask{method: http.MethodPost, path: "/calls", token: h.caller, body: `{"tool":"lab__fail","session":"mine"}`}).into(http.StatusOK, nil)
	h.call(`{"tool":"lab__refuse"}`).refused(http.StatusBadGateway, message.ServerRefused)

	var seen []api.Event
	kinds := map[string]int{}
	for kinds[api.KindCallEnded] < 3 || kinds[api.KindCallState] < 6 {
		_, e := all.event()
		if n := len(seen); n > 0 && e.ID <= seen[n-1].ID {
			t.Errorf("the id %d comes after %d", e.ID, seen[n-1].ID)
		}
		seen = append(seen, e)
		kinds[e.Kind]++
	}
	if kinds[api.KindServerChanged] == 0 || kinds[api.KindToolsChanged] == 0 {
		t.Errorf("of the server's start there is nothing: %v", kinds)
	}

	// Whoever has no token sees no calls of the one who has.
	var first api.Event
	for ended := 0; ended < 2; {
		_, e := calls.event()
		if first.ID == 0 {
			first = e
		}
		switch {
		case e.Call != nil:
			if ended++; e.Call.Subject != "local" || e.Call.Door != "rest" {
				t.Errorf("got %+v", e.Call)
			}
		case e.State == nil || e.State.Subject != "local":
			t.Errorf("got %+v", e)
		}
	}

	// One session of a name, of two subjects.
	mine := h.happened("?session=mine&kinds=call.ended&after=1", "", "")
	if _, e := mine.event(); e.Kind != api.KindGap || e.Gap.Reason != "expired" {
		t.Errorf("after what is older than the hub: %+v", e)
	}
	if _, e := mine.event(); e.Call.Tool != "echo" || e.Call.Session == "" || e.Call.Session == "mine" {
		t.Errorf("got %+v", e.Call)
	}
	// An id in the header goes before the one in the URL, as a browser sends both.
	again := h.happened("?kinds=call.ended,call.state&after=1", "", strconv.FormatInt(first.ID, 10))
	if _, e := again.event(); e.ID <= first.ID || e.Kind == api.KindGap {
		t.Errorf("after %d: %+v", first.ID, e)
	}
	other := h.happened("?session=mine&kinds=call.ended&after="+strconv.FormatInt(first.ID, 10), h.caller, "")
	if _, e := other.event(); e.Call.Tool != "fail" || e.Call.Subject != "caller" {
		t.Errorf("got %+v", e.Call)
	}
	h.door.Close()
	for {
		if _, ok := again.next(); !ok {
			break
		}
	}
}

func TestEventsRefused(t *testing.T) {
	h := open(t, "")
	for _, query := range []string{"?after=x", "?after=-1", "?after=12345678901234567890", "?kinds=nothing", "?other=1", "?kinds="} {
		h.get("/events"+query).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	h.do(ask{method: http.MethodGet, path: "/events", header: map[string]string{"Last-Event-ID": "x"}}).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
}

// However many listen, and though some take nothing: calls are answered, and
// whoever reads gets every event, once and in order.
func TestManyListen(t *testing.T) {
	h := open(t, "")
	const listeners, idle, calls = 1000, 10, 40
	ask := ask{method: http.MethodGet, path: "/events?kinds=call.ended"}
	for range idle {
		read(t, h.open(t.Context(), ask))
	}
	var all sync.WaitGroup
	for range listeners {
		stream := read(t, h.open(t.Context(), ask))
		all.Go(func() {
			last, n := int64(0), 0
			for lines := bufio.NewScanner(stream.body); n < calls; {
				if !lines.Scan() {
					t.Errorf("the stream ended after %d calls: %v", n, lines.Err())
					return
				}
				name, value, _ := strings.Cut(lines.Text(), ": ")
				switch name {
				case "id":
					id, err := strconv.ParseInt(value, 10, 64)
					if err != nil || id <= last {
						t.Errorf("the id %s comes after %d", value, last)
					}
					last = id
				case "event":
					if n++; value != api.KindCallEnded {
						t.Errorf("got a %s", value)
					}
				case "data":
					if want := callstate.Named(hub.Local(""), fmt.Sprint("call ", n-1)); !strings.Contains(value, want) {
						t.Errorf("%s is not in %s", want, value)
					}
				}
			}
		})
	}
	for i := range calls {
		h.call(fmt.Sprintf(`{"tool":"lab__echo","arguments":{},"session":"call %d"}`, i)).into(http.StatusOK, nil)
	}
	all.Wait()
}
