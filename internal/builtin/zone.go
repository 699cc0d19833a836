package builtin

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for machines without the zone files

	"github.com/toolcrib/toolcrib/internal/message"
)

// zoneNames has the names of the IANA time zone database, one a line: those of
// the copy that comes with Go.
//
//go:embed zones.txt
var zoneNames string

const maxOffset = 14 * 3600 // seconds; the farthest that clocks are from UTC

// findZone returns the zone with an IANA name in any case, or an offset such
// as +08:00, UTC+8 or GMT-3. An empty name or "local" is local.
func findZone(name string, local *time.Location) (*time.Location, error) {
	name = strings.TrimSpace(name)
	if name == "" || strings.EqualFold(name, "local") {
		return local, nil
	}
	if strings.EqualFold(name, "Z") {
		return time.UTC, nil
	}
	if offset, ok := parseOffset(name); ok {
		return fixed(time.Unix(0, 0).In(time.FixedZone("", offset))), nil
	}
	for known := range strings.Lines(zoneNames) {
		if known = strings.TrimSpace(known); strings.EqualFold(known, name) {
			loc, err := time.LoadLocation(known)
			if err != nil {
				return nil, fmt.Errorf("loading the time zone %s: %w", known, err)
			}
			return loc, nil
		}
	}
	if near := nearZones(name); len(near) > 0 {
		return nil, fmt.Errorf("the time zone %q is not known; did you mean %s?", shorten(name), strings.Join(near, " or "))
	}
	return nil, fmt.Errorf("the time zone %q is not known; give an IANA name, such as Asia/Shanghai, or an offset, such as +08:00", shorten(name))
}

// parseOffset reads [UTC|GMT](+|-)H[H][[:]MM] as seconds.
func parseOffset(s string) (seconds int, ok bool) {
	s = strings.ToUpper(s)
	if len(s) > 3 && (s[:3] == "UTC" || s[:3] == "GMT") {
		s = strings.TrimSpace(s[3:])
	}
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	sign, s := s[0], s[1:]
	hours, minutes, colon := strings.Cut(s, ":")
	if !colon && len(s) > 2 {
		hours, minutes = s[:len(s)-2], s[len(s)-2:]
	}
	if len(hours) < 1 || len(hours) > 2 || minutes != "" && len(minutes) != 2 || colon && minutes == "" {
		return 0, false
	}
	h, err := strconv.ParseUint(hours, 10, 8)
	if err != nil {
		return 0, false
	}
	m, err := strconv.ParseUint("0"+minutes, 10, 8)
	if err != nil || m > 59 {
		return 0, false
	}
	seconds = int(h*3600 + m*60)
	if sign == '-' {
		seconds = -seconds
	}
	return seconds, seconds >= -maxOffset && seconds <= maxOffset
}

// zoneLabel is the name of the zone that t is in. The machine's zone may not
// know its own; then it is the abbreviation that is used at t.
func zoneLabel(t time.Time) string {
	if name := t.Location().String(); name != "Local" {
		return name
	}
	name, _ := t.Zone()
	return name
}

// nearZones returns up to three zones that name may mean, the likeliest first.
func nearZones(name string) []string {
	const maxName = 64
	if len(name) > maxName {
		return nil
	}
	name = strings.ToLower(name)
	if zones := commonZones(name[strings.LastIndexByte(name, '/')+1:]); zones != nil {
		return zones
	}
	wanted := strings.NewReplacer(" ", "_", "-", "_").Replace(name)
	city := wanted[strings.LastIndexByte(wanted, '/')+1:]
	type candidate struct {
		zone  string
		score int // less is nearer
	}
	var found []candidate
	for zone := range strings.Lines(zoneNames) {
		zone = strings.TrimSpace(zone)
		known := strings.ToLower(zone)
		knownCity := known[strings.LastIndexByte(known, '/')+1:]
		score := min(message.Distance(wanted, known), message.Distance(city, knownCity)+1)
		if city == knownCity {
			score = 0
		}
		// Within a short name few changes make any other.
		if score <= 2 && score*4 <= max(len(city), 4) {
			found = append(found, candidate{zone, score})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.score, b.score) })
	var zones []string
	for _, c := range found[:min(len(found), 3)] {
		zones = append(zones, c.zone)
	}
	return zones
}

// commonZones are the zones of what people say instead of an IANA name:
// abbreviations, which are often those of several zones, and large cities that
// the database files under another.
func commonZones(name string) []string {
	switch name {
	case "beijing", "peking", "shenzhen", "guangzhou", "hangzhou", "chengdu", "china", "北京", "上海", "中国", "北京时间":
		return []string{"Asia/Shanghai"}
	case "香港":
		return []string{"Asia/Hong_Kong"}
	case "台北", "taiwan":
		return []string{"Asia/Taipei"}
	case "东京", "jst", "osaka", "kyoto":
		return []string{"Asia/Tokyo"}
	case "首尔", "kst", "korea":
		return []string{"Asia/Seoul"}
	case "mumbai", "delhi", "new delhi", "bangalore", "bengaluru", "india":
		return []string{"Asia/Kolkata"}
	case "pst", "pdt", "pacific", "san francisco", "seattle", "california":
		return []string{"America/Los_Angeles"}
	case "mdt", "mountain":
		return []string{"America/Denver"}
	case "cdt", "central":
		return []string{"America/Chicago"}
	case "edt", "eastern", "washington", "boston", "miami", "纽约":
		return []string{"America/New_York"}
	case "cst":
		return []string{"America/Chicago", "Asia/Shanghai"}
	case "ist":
		return []string{"Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"}
	case "bst", "uk", "england", "伦敦":
		return []string{"Europe/London"}
	case "cest", "germany", "munich", "frankfurt", "hamburg":
		return []string{"Europe/Berlin"}
	case "msk":
		return []string{"Europe/Moscow"}
	case "aest", "aedt", "canberra":
		return []string{"Australia/Sydney"}
	}
	return nil
}
