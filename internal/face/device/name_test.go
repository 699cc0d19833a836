package device_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/xiaozhi"
	"github.com/toolcrib/toolcrib/test/voice"
)

// A device is meant by any of its names, also before it has been here; what somebody has
// called so goes before what another device calls itself, and a name that stands for
// nothing is not known.
func TestIdentify(t *testing.T) {
	in(t, func(t *testing.T) {
		const (
			web, other, spelled = "my_web_client", "aa:bb:cc:dd:ee:02", "AA:BB:CC:DD:EE:03"
			posing              = "device-aabbccddee02"
		)
		path := filepath.Join(t.TempDir(), "epochs.json")
		start := func(fresh bool) *house {
			t.Helper()
			epochs, err := device.OpenEpochs(path, fresh)
			if err != nil {
				t.Fatal(err)
			}
			return open(t, hub.Devices{Allow: []string{"listed", spelled, "kitchen", posing}, Aliases: map[string]string{mac: "kitchen"}, Keep: time.Minute}, func(o *device.Options) { o.Epochs = epochs })
		}
		h := start(true)
		expect := func(when string, want map[string]string) {
			t.Helper()
			for name, id := range want {
				if got, known := h.door.Identify(name); known != (id != "") || known && got != id {
					t.Errorf("%s, %q is %q (%v), want %q", when, name, got, known, id)
				}
			}
		}
		expect("at first", map[string]string{
			"kitchen": mac, mac: mac, strings.ToUpper(mac): mac, alias: mac, "device-aabbccddee02": other, other: other,
			"listed": "listed", xiaozhi.DeviceName("listed", nil): "listed",
			web: "", xiaozhi.DeviceName(web, nil): "", "kitchn": "", "device-aabbccddee0": "", "": "", "a|b": "", "*": "",
		})
		for _, id := range []string{"kitchen", posing, spelled} { // which call themselves as others are called
			h.dial(voice.FW(id))
		}
		synctest.Wait()
		h.door.Token(web, "")
		h = start(false)
		expect("when they have been given tokens", map[string]string{web: web, "MY_web_client": "MY_web_client", xiaozhi.DeviceName(web, nil): web, "kitchen": mac, "device-aabbccddee02": other, "kitchn": ""})
		for _, id := range []string{"kitchen", posing, spelled} {
			h.dial(voice.FW(id))
		}
		synctest.Wait()
		expect("when they are here", map[string]string{
			"kitchen": mac, "device-aabbccddee02": other, strings.ToLower(spelled): spelled, "device-aabbccddee03": spelled,
			xiaozhi.DeviceName("kitchen", nil): "kitchen", xiaozhi.DeviceName(posing, nil): posing,
		})
		if lines, _, ok := h.door.Log("kitchen", 0); ok {
			t.Errorf("the log of another device is %v", lines)
		}
		// What is revoked by the one name is so by the other.
		before := h.door.Token(other, "")
		id, _ := h.door.Identify("device-aabbccddee02")
		if err := h.door.Revoke(id); err != nil {
			t.Fatal(err)
		}
		if h.door.Verify(other, "", before, time.Now()) {
			t.Error("the token is good")
		}
	})
}

// Of two devices that would be called alike the second one has nothing listed, and the
// first keeps what it has.
func TestNameIsTaken(t *testing.T) {
	in(t, func(t *testing.T) {
		other := "aa:bb:cc:dd:ee:02"
		conf := hub.Devices{Allow: []string{mac, other}, Aliases: map[string]string{mac: "kitchen", other: "kitchen"}, Keep: time.Hour}
		h := open(t, conf)
		h.here(voice.FW(other))
		h.dial(voice.FW(mac))
		synctest.Wait()
		h.door.Apply(conf)
		synctest.Wait()
		if st := h.status(mac); st.Reason == nil || st.Reason.Code != message.DeviceAliasTaken {
			t.Errorf("the second is %+v", st)
		}
		if def, ok := h.fleet.Server("kitchen"); !ok || def.Name != other || h.status(other).Reason != nil {
			t.Errorf("it is the server of %q, %+v", def.Name, h.status(other))
		}
		conf.Aliases = map[string]string{mac: "kitchen", other: "hall"}
		h.door.Apply(conf)
		time.Sleep(time.Second)
		synctest.Wait()
		if def, ok := h.fleet.Server("kitchen"); !ok || def.Name != mac || h.status(mac).Reason != nil || len(h.tools("hall")) != 4 {
			t.Errorf("it is the server of %q, %+v", def.Name, h.status(mac))
		}
	})
}
