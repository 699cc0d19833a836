package device_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/voice"
)

// refused reports whether a device is not let in.
func (h *house) refused(d *voice.Device) bool {
	h.t.Helper()
	d.HTTP = h.client
	s, res, err := d.Dial(h.t.Context(), "ws://"+host+device.PathSocket)
	if err == nil {
		s.Drop()
		synctest.Wait()
		return false
	}
	if res == nil || res.StatusCode != http.StatusUnauthorized {
		h.t.Fatalf("neither let in nor refused: %v", err)
	}
	return true
}

// closedWith is the code with which the hub closes a connection.
func closedWith(t *testing.T, s *voice.DeviceSocket) websocket.StatusCode {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		t.Fatal("the connection stays")
	}
	return websocket.CloseStatus(s.Err())
}

// given is the token that a device is given where it asks for its address; "" for none.
func (h *house) given(id, client string) string {
	h.t.Helper()
	var a struct{ Websocket struct{ Token string } }
	_, _, body := h.request(http.MethodPost, device.PathOTA, "", "Device-Id", id, "Client-Id", client)
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		h.t.Fatal(err)
	}
	return a.Websocket.Token
}

// Tokens that are revoked let nobody in any more, and who came by one is sent away; those
// that are made from then on are good, and so are other devices'.
func TestRevokedTokens(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, hub.Devices{Keep: time.Minute})
		other := "aa:bb:cc:dd:ee:02"
		d, theirs := voice.FW(mac), voice.FW(other)
		theirs.Token = h.door.Token(other, "")
		for _, client := range []string{"", d.Client} {
			d.Token = h.door.Token(mac, client)
			s := h.here(d)
			before := d.Token
			if err := h.door.Revoke(strings.ToUpper(mac)); err != nil {
				t.Fatal(err)
			}
			if code := closedWith(t, s); code != 1008 {
				t.Errorf("the connection was closed with %d", code)
			}
			synctest.Wait()
			if st := h.status(mac); st.Online || st.Reason == nil {
				t.Errorf("it stays %+v", st)
			}
			if !h.refused(d) || h.door.Verify(mac, d.Client, before, time.Now()) {
				t.Error("a token that was revoked is good")
			}
			if d.Token = h.door.Token(mac, client); h.refused(d) {
				t.Error("a token that was made afterwards is refused")
			}
		}
		if h.refused(theirs) {
			t.Error("the token of another device is refused")
		}
	})
}

// A device that needs no token comes again when its tokens are revoked, and is given
// another one.
func TestRevokedTokensOfTheAllowed(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		before := h.given(mac, d.Client)
		s := h.here(d)
		if err := h.door.Revoke(mac); err != nil {
			t.Fatal(err)
		}
		if code := closedWith(t, s); code != 1008 {
			t.Errorf("the connection was closed with %d", code)
		}
		h.here(d)
		if h.door.Verify(mac, d.Client, before, time.Now()) || !h.door.Verify(mac, d.Client, h.given(mac, d.Client), time.Now()) {
			t.Error("its tokens are good from before, or not from afterwards")
		}
	})
}

// A token that the hub has given of its own accord counts only while the device needs
// none: to take it off the list is to take the token away.
func TestTokensOfOTAEndWithTheList(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		d.Token = h.given(mac, d.Client)
		s := h.here(d)
		h.door.Apply(hub.Devices{Keep: time.Minute})
		if code := closedWith(t, s); code != 1008 {
			t.Errorf("the connection was closed with %d", code)
		}
		if !h.refused(d) || h.door.Verify(mac, d.Client, d.Token, time.Now()) {
			t.Error("its token is good")
		}
		if h.given(mac, d.Client) != "" {
			t.Error("it is given another one")
		}
		h.door.Apply(usual())
		if h.refused(d) || !h.door.Verify(mac, d.Client, d.Token, time.Now()) {
			t.Error("its token is not good when it is on the list again")
		}
	})
}

// What was revoked stays so after a restart, and a file that does not say what was is
// taken for none.
func TestEpochsOutlastARestart(t *testing.T) {
	in(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "epochs.json")
		fresh := true
		start := func(t *testing.T) *house {
			t.Helper()
			epochs, err := device.OpenEpochs(path, fresh)
			fresh = false
			if err != nil {
				t.Fatal(err)
			}
			return open(t, hub.Devices{}, func(o *device.Options) { o.Epochs = epochs })
		}
		h := start(t)
		before := h.door.Token(mac, "")
		if err := h.door.Revoke(mac); err != nil {
			t.Fatal(err)
		}
		after := h.door.Token(mac, "")
		h = start(t)
		if h.door.Verify(mac, "", before, time.Now()) || !h.door.Verify(mac, "", after, time.Now()) {
			t.Error("it is forgotten what was revoked")
		}
		for _, text := range []string{"", "{", "null", "[]"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := device.OpenEpochs(path, false); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("a file with %q: %v", text, err)
			}
		}
		// Nor is one that is not there, where there are tokens already.
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := device.OpenEpochs(path, false); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("without the file: %v", err)
		}
		// Where it cannot be kept, nothing is revoked.
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		if err := h.door.Revoke(mac); err == nil || !h.door.Verify(mac, "", after, time.Now()) {
			t.Errorf("revoked without being kept: %v", err)
		}
	})
}
