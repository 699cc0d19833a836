package xiaozhi

import (
	"regexp"
	"testing"
)

// A device is called by its id alone, so that two whose ids are alike are told apart
// whoever comes first.
func TestDeviceName(t *testing.T) {
	form := regexp.MustCompile(`^device-[0-9a-z]{1,12}(-[0-9a-f]{16})?$`)
	seen := make(map[string]string)
	for id, want := range map[string]string{
		"aa:bb:cc:dd:ee:01": "device-aabbccddee01", "11:22:33:dd:ee:01": "device-112233ddee01",
		"aabbccddee01": "", "aa-bb-cc-dd-ee-01": "", "web_test_client": "", "web-test-client": "", "::": "", "--": "", "aa:bb:cc:dd:ee:0g": "", "x aa:bb:cc:dd:ee:01": "",
	} {
		name := DeviceName(id, map[string]string{"other": "kitchen"})
		if want != "" && name != want || !form.MatchString(name) {
			t.Errorf("%q is called %q", id, name)
		}
		if other, again := seen[name]; again {
			t.Errorf("%q and %q are both called %q", id, other, name)
		}
		seen[name] = id
	}
	for _, id := range []string{"aa:bb:cc:dd:ee:01", "web_client"} {
		other := regexp.MustCompile(`[a-f]`).ReplaceAllStringFunc(id, func(c string) string { return string(c[0] - 'a' + 'A') })
		if a, b := DeviceName(id, nil), DeviceName(other, nil); a != b {
			t.Errorf("%q and %q are the same, and called %q and %q", id, other, a, b)
		}
		if got := DeviceName(other, map[string]string{id: "kitchen"}); got != "kitchen" {
			t.Errorf("%q is called %q", other, got)
		}
	}
}

// The name of a device that is called after its MAC address leads back to that.
func TestDeviceMAC(t *testing.T) {
	for name, want := range map[string]string{
		"aa:bb:cc:dd:ee:01": "aa:bb:cc:dd:ee:01", "AA:BB:CC:DD:EE:01": "aa:bb:cc:dd:ee:01", "device-aabbccddee01": "aa:bb:cc:dd:ee:01",
		"device-aabbccddee0": "", "device-aabbccddee0g": "", "device-aabbccddee011": "", "aabbccddee01": "", "aa-bb-cc-dd-ee-01": "", "kitchen": "", "": "",
		"device-ccddee01-0123": "", DeviceName("my_web_client", nil): "",
	} {
		if got, ok := DeviceMAC(name); got != want && ok || ok != (want != "") {
			t.Errorf("%q is %q (%v)", name, got, ok)
		}
	}
}
