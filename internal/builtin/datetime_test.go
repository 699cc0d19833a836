package builtin

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stopped are options whose clock stands still, and whose machine is in
// Shanghai.
func stopped(t *testing.T) Options {
	t.Helper()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 2, 3, 4, 567_000_000, time.UTC)
	return Options{Now: func() time.Time { return now }, Zone: shanghai}
}

func TestDatetimeTools(t *testing.T) {
	s := connect(t, "datetime", stopped(t))
	type args = map[string]any
	tests := []struct {
		name, tool string
		args       args
		text       string
		structured args
	}{
		{
			"time on the machine", "get_current_time", nil,
			"2026-11-21T10:03:04+08:00 (Saturday, Asia/Shanghai)",
			args{"datetime": "2026-11-21T10:03:04+08:00", "weekday": "Saturday", "timezone": "Asia/Shanghai", "utc_offset": "+08:00", "unix": 1795226584.0},
		},
		{
			"time elsewhere", "get_current_time",
			args{"timezone": "america/new_york"},
			"2026-11-20T21:03:04-05:00 (Friday, America/New_York)",
			args{"datetime": "2026-11-20T21:03:04-05:00", "weekday": "Friday", "timezone": "America/New_York", "utc_offset": "-05:00", "unix": 1795226584.0},
		},
		{
			"time in UTC", "get_current_time",
			args{"timezone": "UTC"},
			"2026-11-21T02:03:04Z (Saturday, UTC)",
			args{"datetime": "2026-11-21T02:03:04Z", "weekday": "Saturday", "timezone": "UTC", "utc_offset": "+00:00", "unix": 1795226584.0},
		},
		{
			"time at an offset", "get_current_time",
			args{"timezone": "UTC+5:30"},
			"2026-11-21T07:33:04+05:30 (Saturday, +05:30)",
			args{"datetime": "2026-11-21T07:33:04+05:30", "weekday": "Saturday", "timezone": "+05:30", "utc_offset": "+05:30", "unix": 1795226584.0},
		},
		{
			"date on the machine", "get_current_date", nil,
			"2026-11-21 (Saturday, Asia/Shanghai)",
			args{"date": "2026-11-21", "weekday": "Saturday", "timezone": "Asia/Shanghai", "iso_week": "2026-W47", "day_of_year": 325.0},
		},
		{
			"date elsewhere", "get_current_date",
			args{"timezone": "America/Los_Angeles"},
			"2026-11-20 (Friday, America/Los_Angeles)",
			args{"date": "2026-11-20", "weekday": "Friday", "timezone": "America/Los_Angeles", "iso_week": "2026-W47", "day_of_year": 324.0},
		},
		{
			"format", "format_datetime",
			args{"datetime": "2026-03-01 09:30", "format": "%d/%m/%Y %H:%M %Z"},
			"01/03/2026 09:30 CST",
			args{"text": "01/03/2026 09:30 CST"},
		},
		{
			"format now", "format_datetime",
			args{"datetime": "now", "format": "iso", "timezone": "Europe/Berlin"},
			"2026-11-21T03:03:04+01:00",
			args{"text": "2026-11-21T03:03:04+01:00"},
		},
		{
			"format with a choice", "format_datetime",
			args{"datetime": "2026-03-29T02:30:00", "format": "time", "timezone": "Europe/Berlin"},
			"03:30:00 2026-03-29T02:30:00 does not exist in Europe/Berlin, where clocks are set forward then; 2026-03-29T03:30:00+02:00 was taken.",
			args{
				"text": "03:30:00",
				"note": "2026-03-29T02:30:00 does not exist in Europe/Berlin, where clocks are set forward then; 2026-03-29T03:30:00+02:00 was taken.",
			},
		},
		{
			"add to now", "add_time",
			args{"amount": -90, "unit": "minutes"},
			"2026-11-21T08:33:04+08:00 (Saturday, Asia/Shanghai)",
			args{"datetime": "2026-11-21T08:33:04+08:00", "weekday": "Saturday", "timezone": "Asia/Shanghai", "utc_offset": "+08:00", "unix": 1795221184.0},
		},
		{
			"add a month", "add_time",
			args{"datetime": "2027-01-31", "amount": 1, "unit": "months", "timezone": "UTC"},
			"2027-02-28T00:00:00Z (Sunday, UTC)",
			args{"datetime": "2027-02-28T00:00:00Z", "weekday": "Sunday", "timezone": "UTC", "utc_offset": "+00:00", "unix": 1803772800.0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, structured, isError := call(t, s, tt.tool, tt.args)
			if isError || text != tt.text {
				t.Errorf("text %q (error %t), want %q", text, isError, tt.text)
			}
			if diff := cmp.Diff(tt.structured, structured); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}

	errors := []struct {
		tool string
		args args
		want string
	}{
		{"get_current_time", args{"timezone": "Mars/Olympus"}, `the time zone "Mars/Olympus" is not known; give an IANA name`},
		{"get_current_date", args{"timezone": "Asia/Beijing"}, `did you mean Asia/Shanghai?`},
		{"get_current_time", args{"timezone": 8}, "timezone"},
		{"format_datetime", args{"datetime": "tomorrow", "format": "iso"}, `"tomorrow" is not a date and time; write it as`},
		{"format_datetime", args{"datetime": "2026-02-30", "format": "iso"}, `"2026-02-30" is not a date and time: day out of range`},
		{"format_datetime", args{"datetime": "now", "format": "YYYY-MM-DD"}, "has no % directive"},
		{"format_datetime", args{"datetime": "now", "format": "iso", "timezone": "nowhere at all"}, "not known"},
		{"format_datetime", args{"datetime": "now"}, "format"},
		{"add_time", args{"amount": 1, "unit": "fortnights"}, `the unit "fortnights" is not known; it is years, months`},
		{"add_time", args{"amount": 1.5, "unit": "hours"}, "amount"},
		{"add_time", args{"amount": 8000, "unit": "years"}, "not in the years 1 to 9999"},
		{"add_time", args{"datetime": "never", "amount": 1, "unit": "days"}, "not a date and time"},
	}
	for _, tt := range errors {
		text, structured, isError := call(t, s, tt.tool, tt.args)
		if !isError || !strings.Contains(text, tt.want) || structured != nil {
			t.Errorf("%s %v: %q, %v, error %t; want an error with %q", tt.tool, tt.args, text, structured, isError, tt.want)
		}
	}
}

// TestMachineZone checks what the zero Options stand for.
func TestMachineZone(t *testing.T) {
	s := connect(t, "datetime", Options{})
	before := time.Now().Truncate(time.Second)
	_, structured, isError := call(t, s, "get_current_time", nil)
	if isError {
		t.Fatal(structured)
	}
	got, err := time.Parse(time.RFC3339, structured["datetime"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if got.Before(before) || got.After(time.Now()) {
		t.Errorf("the time is %v, want one from %v on", got, before)
	}
	if want := got.In(time.Local).Format("-07:00"); structured["utc_offset"] != want {
		t.Errorf("the offset is %v, want %s", structured["utc_offset"], want)
	}
	if structured["timezone"] == "Local" || structured["timezone"] == "" {
		t.Errorf("the zone is %q, which says nothing", structured["timezone"])
	}
}

func TestParse(t *testing.T) {
	opt := stopped(t)
	c := clock{now: opt.Now, zone: opt.Zone}
	tests := []struct{ text, zone, want, note string }{
		{"", "", "2026-11-21T10:03:04+08:00", ""},
		{" NOW ", "UTC", "2026-11-21T02:03:04Z", ""},
		{"2026-03-01T09:30:15Z", "", "2026-03-01T09:30:15Z", ""},
		{"2026-03-01t09:30:15z", "Asia/Tokyo", "2026-03-01T18:30:15+09:00", ""},
		{"2026-03-01T09:30:15.25-07:00", "", "2026-03-01T09:30:15.25-07:00", ""},
		{"2026-03-01T09:30:15+0530", "", "2026-03-01T09:30:15+05:30", ""},
		{"2026-03-01T09:30+08", "", "2026-03-01T09:30:00+08:00", ""},
		{"2026-03-01 09:30", "", "2026-03-01T09:30:00+08:00", ""},
		{"2026-03-01 09:30:15", "Europe/Berlin", "2026-03-01T09:30:15+01:00", ""},
		{"2026-3-1", "", "2026-03-01T00:00:00+08:00", ""},
		{"@0", "", "1970-01-01T08:00:00+08:00", ""},
		{"@-1", "UTC", "1969-12-31T23:59:59Z", ""},
		{"9999-12-31", "UTC", "9999-12-31T00:00:00Z", ""},
		{"2024-02-29", "UTC", "2024-02-29T00:00:00Z", ""},
		// Set forward, set back, and a day that Samoa left out.
		{"2026-03-08 02:30", "America/New_York", "2026-03-08T03:30:00-04:00", "2026-03-08T02:30:00 does not exist in America/New_York"},
		{"2026-11-01 01:30", "America/New_York", "2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00 comes twice in America/New_York, where clocks are set back then; the first, 2026-11-01T01:30:00-04:00, was taken."},
		{"2026-11-01T01:30:00-05:00", "America/New_York", "2026-11-01T01:30:00-05:00", ""},
		{"2026-11-01 00:59:59", "America/New_York", "2026-11-01T00:59:59-04:00", ""},
		{"2026-11-01 02:00", "America/New_York", "2026-11-01T02:00:00-05:00", ""},
		{"2026-04-05 01:45", "Australia/Lord_Howe", "2026-04-05T01:45:00+11:00", "comes twice"},
		{"2011-12-30 12:00", "Pacific/Apia", "2011-12-31T12:00:00+14:00", "does not exist"},
	}
	for _, tt := range tests {
		got, note, err := c.parse(tt.text, tt.zone)
		if err != nil {
			t.Errorf("%q in %q: %v", tt.text, tt.zone, err)
			continue
		}
		if s := got.Format(time.RFC3339Nano); s != tt.want {
			t.Errorf("%q in %q is %s, want %s", tt.text, tt.zone, s, tt.want)
		}
		if (note == "") != (tt.note == "") || !strings.Contains(note, tt.note) {
			t.Errorf("%q in %q: note %q, want %q", tt.text, tt.zone, note, tt.note)
		}
	}
	for text, want := range map[string]string{
		"yesterday":                 "write it as",
		"2026-13-01":                "month out of range",
		"2026-02-29 10:00":          "day out of range",
		"2026-02-28 24:00":          "hour out of range",
		"2026-02-28 10:60":          "minute out of range",
		"2026-02-28T10:00:00+99:00": "out of range",
		"@1e9":                      "write it as",
		"@99999999999999":           "not in the years",
		"@9223372036854775807":      "not in the years",
		"0000-01-01":                "not in the years",
		"10000-01-01":               "write it as",
		strings.Repeat("9", 10_000): "…",
	} {
		if got, _, err := c.parse(text, ""); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.40q: %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestAddTime(t *testing.T) {
	tests := []struct {
		zone, from string
		amount     int64
		unit       string
		want       string
		note       string
	}{
		{"UTC", "2026-01-31T00:00:00Z", 1, "months", "2026-02-28T00:00:00Z", ""},
		{"UTC", "2028-01-31T00:00:00Z", 1, "month", "2028-02-29T00:00:00Z", ""},
		{"UTC", "2026-03-31T00:00:00Z", -1, "months", "2026-02-28T00:00:00Z", ""},
		{"UTC", "2026-10-31T00:00:00Z", 13, "months", "2027-11-30T00:00:00Z", ""},
		{"UTC", "2026-01-15T00:00:00Z", -1, "months", "2025-12-15T00:00:00Z", ""},
		{"UTC", "2028-02-29T12:00:00Z", 1, "years", "2029-02-28T12:00:00Z", ""},
		{"UTC", "2028-02-29T12:00:00Z", 4, "years", "2032-02-29T12:00:00Z", ""},
		{"UTC", "2026-12-31T12:00:00Z", 1, "Weeks", "2027-01-07T12:00:00Z", ""},
		{"UTC", "2026-03-01T12:00:00Z", -1, " day ", "2026-02-28T12:00:00Z", ""},
		{"UTC", "2026-03-01T00:00:00.5Z", -1, "seconds", "2026-02-28T23:59:59.5Z", ""},
		{"UTC", "2026-03-01T00:00:00Z", 0, "years", "2026-03-01T00:00:00Z", ""},
		{"UTC", "0001-01-01T00:00:00Z", 87649415, "hours", "9999-12-31T23:00:00Z", ""},

		// Calendar time keeps the clock, elapsed time does not.
		{"America/New_York", "2026-03-07T12:00:00-05:00", 1, "days", "2026-03-08T12:00:00-04:00", ""},
		{"America/New_York", "2026-03-07T12:00:00-05:00", 24, "hours", "2026-03-08T13:00:00-04:00", ""},
		{"America/New_York", "2026-03-07T02:30:00-05:00", 1, "days", "2026-03-08T03:30:00-04:00", "does not exist"},
		// From before the change to the hour that comes twice: the one with the
		// offset that there was.
		{"America/New_York", "2026-10-31T01:30:00-04:00", 1, "days", "2026-11-01T01:30:00-04:00", ""},
		{"America/New_York", "2026-11-02T01:30:00-05:00", -1, "days", "2026-11-01T01:30:00-05:00", ""},
		{"America/New_York", "2026-11-01T01:30:00-05:00", 0, "days", "2026-11-01T01:30:00-05:00", ""},
		{"America/New_York", "2026-11-01T01:30:00-04:00", 60, "minutes", "2026-11-01T01:30:00-05:00", ""},
	}
	for _, tt := range tests {
		loc, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.Parse(time.RFC3339, tt.from)
		if err != nil {
			t.Fatal(err)
		}
		got, note, err := addTime(from.In(loc), tt.amount, tt.unit)
		if err != nil {
			t.Errorf("%s %+d %s: %v", tt.from, tt.amount, tt.unit, err)
			continue
		}
		if s := got.Format(time.RFC3339Nano); s != tt.want {
			t.Errorf("%s %+d %s is %s, want %s", tt.from, tt.amount, tt.unit, s, tt.want)
		}
		if (note == "") != (tt.note == "") || !strings.Contains(note, tt.note) {
			t.Errorf("%s %+d %s: note %q, want %q", tt.from, tt.amount, tt.unit, note, tt.note)
		}
	}
	const most = 1<<63 - 1
	for _, unit := range []string{"years", "months", "weeks", "days", "hours", "minutes", "seconds"} {
		for _, amount := range []int64{most, -most - 1, most / 1000, 400_000_000_000} {
			if got, _, err := addTime(time.Unix(0, 0).UTC(), amount, unit); err == nil {
				t.Errorf("%d %s is %v, want an error", amount, unit, got)
			}
		}
	}
}

func TestFormatTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2027, 1, 3, 4, 5, 6, 78_000, berlin) // a Sunday, in the last ISO week of 2026
	tests := map[string]string{
		"iso": "2027-01-03T04:05:06.000078+01:00", "RFC3339": "2027-01-03T04:05:06.000078+01:00",
		"date": "2027-01-03", "time": "04:05:06", "unix": "1798945506",
		"%Y %y %m %d %e": "2027 27 01 03  3", "%H %I %M %S %f %p": "04 04 05 06 000078 AM",
		"%A %a %B %b %h": "Sunday Sun January Jan Jan", "%j %u %w %G-W%V": "003 7 0 2026-W53",
		"%Z %z %:z %s": "CET +0100 +01:00 1798945506", "%F %T %R %D": "2027-01-03 04:05:06 04:05 01/03/27",
		"a%nb%tc%%d": "a\nb\tc%d", "%-d.%-m.%Y %-H:%M %-j %-e": "3.1.2027 4:05 3 3", "%%Y": "%Y", "今天是%Y年%-m月%-d日": "今天是2027年1月3日",
	}
	for format, want := range tests {
		if got, err := formatTime(at, format); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", format, got, err, want)
		}
	}
	noon := time.Date(2027, 1, 3, 12, 0, 0, 0, time.UTC)
	if got, err := formatTime(noon, "%I%p %-S"); got != "12PM 0" || err != nil {
		t.Errorf("noon: %q, %v", got, err)
	}
	for format, want := range map[string]string{
		"":                              "has no % directive",
		"2006-01-02":                    "has no % directive",
		"%":                             "ends with a lone %",
		"%d %-":                         "ends with a lone %",
		"%Q":                            "has %Q, which is not known",
		"%年":                            "has %年, which is not known",
		"%:":                            "has %:, which is not known",
		strings.Repeat("%Y", maxFormat): "longer than 500 characters",
	} {
		if got, err := formatTime(at, format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %q, %v; want an error with %q", format, got, err, want)
		}
	}
}

func TestFindZone(t *testing.T) {
	local := time.FixedZone("home", 3600)
	for name, want := range map[string]string{
		"": "home", " ": "home", "LOCAL": "home", "Asia/Shanghai": "Asia/Shanghai", "asia/shanghai": "Asia/Shanghai",
		"utc": "UTC", "Z": "UTC", "Etc/GMT+8": "Etc/GMT+8", "Asia/Kathmandu": "Asia/Kathmandu",
		"+08:00": "+08:00", "UTC+8": "+08:00", "gmt-3": "-03:00", "-0330": "-03:30", "+5:45": "+05:45", "UTC+0": "UTC", "UTC +8": "+08:00",
	} {
		loc, err := findZone(name, local)
		if err != nil || loc.String() != want {
			t.Errorf("%q: %v, %v; want %s", name, loc, err, want)
		}
	}
	for name, want := range map[string]string{
		"Beijing": "did you mean Asia/Shanghai?", "Asia/Beijing": "did you mean Asia/Shanghai?", "北京": "did you mean Asia/Shanghai?", "Tokyo": "did you mean Asia/Tokyo?",
		"New York": "did you mean America/New_York", "Asia/Shangai": "did you mean Asia/Shanghai", "Europe/Berlim": "did you mean Europe/Berlin",
		"CST": "did you mean America/Chicago or Asia/Shanghai?", "Nowhere": "give an IANA name",
		"+25:00": "give an IANA name", "+8:5": "give an IANA name", "+08:60": "give an IANA name", "UTC+": "not known", "++8": "not known",
		"../../etc/passwd": "not known", "/etc/localtime": "not known", strings.Repeat("a", 10_000): "…",
	} {
		loc, err := findZone(name, local)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.40q: %v, %v; want an error with %q", name, loc, err, want)
		}
	}
}

// TestZoneNames loads every zone that is offered, so that the list and the
// embedded database belong together.
func TestZoneNames(t *testing.T) {
	t.Setenv("ZONEINFO", "")
	n := 0
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSpace(name)
		if _, err := time.LoadLocation(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		n++
	}
	if n < 500 {
		t.Errorf("%d zones", n)
	}
	for _, name := range []string{"beijing", "香港", "taiwan", "osaka", "korea", "india", "pst", "mdt", "cdt", "boston", "cst", "ist", "uk", "cest", "msk", "aest"} {
		zones := commonZones(name)
		if len(zones) == 0 {
			t.Errorf("%s has no zones", name)
		}
		for _, zone := range zones {
			if !strings.Contains("\n"+zoneNames, "\n"+zone+"\n") {
				t.Errorf("%s: %s is not a zone", name, zone)
			}
		}
	}
}
