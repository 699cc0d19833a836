package xiaozhi

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var macID = regexp.MustCompile(`^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`)

// ownName begins the name of a device that has no alias.
const ownName = "device-"

// DeviceMAC is the MAC address of a device, in lower case, that is named by it or by what
// [DeviceName] makes of it; false for any other name.
func DeviceMAC(name string) (mac string, ok bool) {
	name = strings.ToLower(name)
	if macID.MatchString(name) {
		return name, true
	}
	digits, ok := strings.CutPrefix(name, ownName)
	if !ok || len(digits) != 12 {
		return "", false
	}
	for at := 0; at < len(digits); at += 2 {
		mac += ":" + digits[at:at+2]
	}
	mac = mac[1:]
	return mac, macID.MatchString(mac)
}

// DeviceName is how a device is called: by its alias, of those by ids, or else after its
// id. That is "device-" and the digits of a MAC address, or the end of another id and 64
// bits of its hash. It depends on the two alone, and not on what other devices there are:
// rules and groups mean the same device after a restart. Ids have no upper and lower case.
func DeviceName(id string, aliases map[string]string) string {
	for _, known := range slices.Sorted(maps.Keys(aliases)) {
		if strings.EqualFold(known, id) {
			return aliases[known]
		}
	}
	id = strings.ToLower(id)
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, id)
	if macID.MatchString(id) {
		return ownName + plain
	}
	sum := sha256.Sum256([]byte(id))
	if plain == "" {
		plain = "unnamed"
	}
	const end = 12
	return ownName + plain[max(0, len(plain)-end):] + "-" + hex.EncodeToString(sum[:8])
}
