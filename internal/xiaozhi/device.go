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

// DeviceName is how a device is called: by its alias, of those by ids, or else after its
// id. That is "device-" and the digits of a MAC address, or the end of another id and a
// part of its hash. It depends on the two alone, and not on what other devices there are:
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
		return "device-" + plain
	}
	sum := sha256.Sum256([]byte(id))
	if plain == "" {
		plain = "unnamed"
	}
	const end = 12
	return "device-" + plain[max(0, len(plain)-end):] + "-" + hex.EncodeToString(sum[:4])
}
