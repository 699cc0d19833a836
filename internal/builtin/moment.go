package builtin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// wallClock is how a date and time is written without saying where.
const wallClock = "2006-01-02T15:04:05.999999999"

// Years that can be told in the four digits of RFC 3339.
const (
	firstYear = 1
	lastYear  = 9999

	maxUnix = (lastYear + 1) * 366 * 86400 // seconds; more are in none of these years
)

// parse reads a date and time. The result is in the named zone; without a name
// in the offset that the text has, else in the clock's zone. The note says
// what was decided if a clock change left a choice.
func (c clock) parse(text, zone string) (t time.Time, note string, err error) {
	loc, err := findZone(zone, c.zone)
	if err != nil {
		return time.Time{}, "", err
	}
	text = strings.TrimSpace(text)
	if text == "" || strings.EqualFold(text, "now") {
		return c.now().Truncate(time.Second).In(loc), "", nil
	}
	if seconds, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseInt(seconds, 10, 64)
		switch {
		case err != nil:
			return time.Time{}, "", notATime(text, nil)
		case n < -maxUnix || n > maxUnix:
			return time.Time{}, "", errYear
		}
		t = time.Unix(n, 0).In(loc)
		return t, "", checkYear(t)
	}
	iso := strings.ToUpper(text)
	if len(iso) > 10 {
		iso = strings.Replace(iso, " ", "T", 1)
	}
	var first error // of the layouts with all parts, which says most
	for _, layout := range []string{"2006-1-2T15:04:05", "2006-1-2T15:04", "2006-1-2"} {
		for _, offset := range []string{"", "Z07:00", "Z0700", "Z07"} {
			if layout == "2006-1-2" && offset != "" {
				continue
			}
			// Were the location the machine's, an offset equal to its own
			// would turn into its zone.
			t, err := time.ParseInLocation(layout+offset, iso, time.UTC)
			switch {
			case err != nil:
				first = outOfRange(first, err)
			case offset == "":
				t, note = resolve(t, loc, nil)
				return t, note, checkYear(t)
			default:
				if zone == "" {
					loc = fixed(t)
				}
				t = t.In(loc)
				return t, "", checkYear(t)
			}
		}
	}
	return time.Time{}, "", notATime(text, first)
}

// outOfRange is the first of two errors that says that a part of a well-formed
// time is too large.
func outOfRange(first, next error) error {
	if p, ok := errors.AsType[*time.ParseError](next); ok && first == nil && strings.Contains(p.Message, "out of range") {
		return errors.New(strings.TrimPrefix(p.Message, ": "))
	}
	return first
}

func notATime(text string, reason error) error {
	if reason != nil {
		return fmt.Errorf("%q is not a date and time: %w", shorten(text), reason)
	}
	return fmt.Errorf("%q is not a date and time; write it as 2026-03-01T09:30:00+08:00, 2026-03-01 09:30, 2026-03-01, @1767225600 (Unix seconds) or now", shorten(text))
}

// fixed is the offset of t as a location of its own, named by the offset.
func fixed(t time.Time) *time.Location {
	_, offset := t.Zone()
	if offset == 0 {
		return time.UTC
	}
	return time.FixedZone(t.Format("-07:00"), offset)
}

// resolve returns the time at which clocks in loc show the date and time of
// wall, whose own zone does not count. Clock changes leave a choice, which the
// note tells:
//
//   - Clocks set forward never show some times. Such a time is moved by as much
//     as the clocks are: it is as long after the change as the text is.
//   - Clocks set back show some times twice. It is the one with the offset
//     prefer, of which there is no note, if prefer is not nil; else the first.
func resolve(wall time.Time, loc *time.Location, prefer *int) (t time.Time, note string) {
	wall = time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), time.UTC)
	// Offsets are less than a day, so these are the ones before and after any
	// change that is near.
	before, after := offsetAt(wall.Add(-24*time.Hour), loc), offsetAt(wall.Add(24*time.Hour), loc)
	early := wall.Add(-time.Duration(before) * time.Second).In(loc)
	late := wall.Add(-time.Duration(after) * time.Second).In(loc)
	isEarly, isLate := offsetAt(early, loc) == before, offsetAt(late, loc) == after
	switch {
	case !isEarly && !isLate:
		return early, fmt.Sprintf("%s does not exist in %s, where clocks are set forward then; %s was taken.",
			wall.Format(wallClock), zoneLabel(early), early.Format(time.RFC3339Nano))
	case !isLate:
		return early, ""
	case !isEarly || before == after:
		return late, ""
	case prefer != nil && *prefer == before:
		return early, ""
	case prefer != nil && *prefer == after:
		return late, ""
	}
	return early, fmt.Sprintf("%s comes twice in %s, where clocks are set back then; the first, %s, was taken.",
		wall.Format(wallClock), zoneLabel(early), early.Format(time.RFC3339Nano))
}

// offsetAt is how many seconds clocks in loc are ahead of UTC at t.
func offsetAt(t time.Time, loc *time.Location) int {
	_, offset := t.In(loc).Zone()
	return offset
}

// addTime adds an amount of a unit. Units of a day and more keep what the
// clock shows, and the day of the month unless the month is too short.
func addTime(t time.Time, amount int64, unit string) (sum time.Time, note string, err error) {
	var months, days, seconds int64 // of one unit
	switch strings.TrimSuffix(strings.ToLower(strings.TrimSpace(unit)), "s") {
	case "year":
		months = 12
	case "month":
		months = 1
	case "week":
		days = 7
	case "day":
		days = 1
	case "hour":
		seconds = 3600
	case "minute":
		seconds = 60
	case "second":
		seconds = 1
	default:
		return time.Time{}, "", fmt.Errorf("the unit %q is not known; it is years, months, weeks, days, hours, minutes or seconds", shorten(unit))
	}
	// No amount that goes further than this leads into the calendar.
	limit := maxUnix / max(months*28*86400, days*86400, seconds)
	if amount > limit || amount < -limit {
		return time.Time{}, "", errYear
	}

	if seconds > 0 {
		sum = time.Unix(t.Unix()+amount*seconds, int64(t.Nanosecond())).In(t.Location())
		return sum, "", checkYear(sum)
	}
	first := time.Date(t.Year(), t.Month()+time.Month(amount*months), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	date := first.AddDate(0, 0, min(t.Day(), last)-1+int(amount*days))
	wall := time.Date(date.Year(), date.Month(), date.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	_, offset := t.Zone()
	sum, note = resolve(wall, t.Location(), &offset)
	return sum, note, checkYear(sum)
}

var errYear = fmt.Errorf("the date is not in the years %d to %d", firstYear, lastYear)

func checkYear(t time.Time) error {
	if y := t.Year(); y < firstYear || y > lastYear {
		return errYear
	}
	return nil
}

// shorten makes what a caller gave fit to stand in an error.
func shorten(s string) string {
	const limit = 100
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
