package broker_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/face/broker"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/voice"
)

// A token that is revoked lets in neither side any more, and sends both away; those of
// another device stay.
func TestRevokedTokensOfAPair(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		before, other := h.token(), "aa:bb:cc:dd:ee:02"
		tool, c := h.tool(says("")), h.caller()
		theirs := h.dial(broker.PathCall, "token="+other+"."+h.devices.Token(other, ""))
		if err := h.devices.Revoke(mac); err != nil {
			t.Fatal(err)
		}
		h.broker.Recheck()
		for name, s := range map[string]*voice.Socket{
			"the tool": tool, "the caller": c, "a tool afterwards": h.dial(broker.PathTool, before), "a caller afterwards": h.dial(broker.PathCall, before),
		} {
			synctest.Wait()
			select {
			case <-s.Over():
				if got := websocket.CloseStatus(s.Err()); got != websocket.StatusPolicyViolation {
					t.Errorf("%s: %v", name, s.Err())
				}
			default:
				t.Errorf("%s is there", name)
			}
		}
		c = h.caller()
		h.tool(says("anew"))
		send(t, c, callOf("1", "add", `{}`))
		if got := hear(t, c, `"id":1,`); !strings.Contains(got, "anew") {
			t.Errorf("%s", got)
		}
		select {
		case <-theirs.Over():
			t.Errorf("another device's is sent away: %v", theirs.Err())
		default:
		}
	})
}

// Nor does a pair outlast that its device is on the list of those that need no token, if
// its token was given for that.
func TestPairOfTheAllowed(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t)
		allowed := hub.Devices{Allow: []string{mac}, Keep: time.Minute}
		h.devices.Apply(allowed)
		h.broker.Apply(allowed)
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://192.0.2.7"+device.PathOTA+"?device-id="+mac, http.NoBody)
		h.devices.Handler().ServeHTTP(w, r)
		var a struct{ Websocket struct{ Token string } }
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		own := h.token()
		time.Sleep(device.TokenLife - time.Minute)
		given, made := h.dial(broker.PathCall, "token="+mac+"."+a.Websocket.Token), h.dial(broker.PathCall, own)
		time.Sleep(time.Hour) // that a token has ended meanwhile is no reason to be sent away
		h.broker.Apply(allowed)
		synctest.Wait()
		select {
		case <-given.Over():
			t.Errorf("sent away: %v", given.Err())
		default:
		}
		h.devices.Apply(hub.Devices{})
		h.broker.Apply(hub.Devices{})
		synctest.Wait()
		select {
		case <-given.Over():
		default:
			t.Error("it stays")
		}
		select {
		case <-made.Over():
			t.Errorf("who has a token that was made for it is sent away: %v", made.Err())
		default:
		}
	})
}
