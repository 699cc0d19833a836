package builtin

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	nowDescription = `Returns the current date, time, weekday and UTC offset in a time zone. Use it whenever the present moment matters; do not guess it. Without "timezone" the zone is that of the machine the user runs this on.`

	todayDescription = `Returns the current date and weekday in a time zone (the machine's without "timezone"), with the ISO week and the day of the year.`

	formatDescription = `Writes a date and time in another form or another time zone.

"format" is one of the names iso, rfc3339 (the same), date, time, unix, or a pattern of % directives:
%Y %y year, %m month, %d day, %e day without zero, %H hour 00-23, %I hour 01-12, %M minute, %S second, %f microsecond, %p AM or PM, %A %a weekday, %B %b month name, %j day of the year, %u weekday 1-7 from Monday, %w weekday 0-6 from Sunday, %G year and %V week of ISO 8601, %Z zone abbreviation, %z offset +0800, %:z offset +08:00, %s Unix seconds, %F date, %T time, %R hour and minute, %D month/day/year, %n line break, %t tab, %% percent sign.
Names are English.`

	addDescription = `Adds an amount of time to a date and time, or subtracts it if the amount is negative.

Years, months, weeks and days are calendar time: the clock shows the same time on another day. If the month is too short the last day of it is taken: 31 January plus 1 month is 28 or 29 February. Hours, minutes and seconds are elapsed time, also across clock changes.`
)

type (
	zoneArgs struct {
		Timezone string `json:"timezone,omitempty" jsonschema:"IANA time zone, such as Asia/Shanghai, Europe/Berlin or UTC, or an offset such as +08:00; the machine's zone if left out"`
	}
	formatArgs struct {
		Datetime string `json:"datetime" jsonschema:"ISO 8601 such as 2026-03-01T09:30:00+08:00 or 2026-03-01 09:30 or 2026-03-01, Unix seconds as @1767225600, or now"`
		Format   string `json:"format" jsonschema:"iso, rfc3339, date, time, unix, or a pattern such as %Y-%m-%d %H:%M"`
		Timezone string `json:"timezone,omitempty" jsonschema:"zone of the answer, and of a datetime without an offset, as IANA name or offset; left out it is the offset of the datetime if it has one, else the machine's zone"`
	}
	addArgs struct {
		Datetime string `json:"datetime,omitempty" jsonschema:"ISO 8601 such as 2026-03-01T09:30:00+08:00 or 2026-03-01 09:30 or 2026-03-01, Unix seconds as @1767225600, or now; now if left out"`
		Amount   int64  `json:"amount" jsonschema:"a whole number, negative to subtract"`
		Unit     string `json:"unit" jsonschema:"years, months, weeks, days, hours, minutes or seconds"`
		Timezone string `json:"timezone,omitempty" jsonschema:"zone of the answer, and of a datetime without an offset, as IANA name or offset; left out it is the offset of the datetime if it has one, else the machine's zone"`
	}

	// moment is a point in time as it is told.
	moment struct {
		Datetime  string `json:"datetime" jsonschema:"RFC 3339"`
		Weekday   string `json:"weekday"`
		Timezone  string `json:"timezone" jsonschema:"name of the zone, or its abbreviation at that time if the name is not known"`
		UTCOffset string `json:"utc_offset"`
		Unix      int64  `json:"unix" jsonschema:"seconds since 1970-01-01T00:00:00Z"`
		Note      string `json:"note,omitempty" jsonschema:"what was decided where a clock change left a choice"`
	}
	day struct {
		Date      string `json:"date" jsonschema:"YYYY-MM-DD"`
		Weekday   string `json:"weekday"`
		Timezone  string `json:"timezone"`
		ISOWeek   string `json:"iso_week" jsonschema:"such as 2026-W09"`
		DayOfYear int    `json:"day_of_year"`
	}
	formatted struct {
		Text string `json:"text"`
		Note string `json:"note,omitempty" jsonschema:"what was decided where a clock change left a choice"`
	}
)

// clock answers the calls of the datetime server.
type clock struct {
	now  func() time.Time
	zone *time.Location // where a call names none
}

func (b *Builtins) addDatetime(s *mcp.Server, _ map[string]string) {
	c := clock{now: b.opt.Now, zone: b.opt.Zone}
	tool := func(name, title, description string) *mcp.Tool {
		return &mcp.Tool{Name: name, Title: title, Description: description, Annotations: readOnly()}
	}
	mcp.AddTool(s, tool("get_current_time", "Current time", nowDescription), c.currentTime)
	mcp.AddTool(s, tool("get_current_date", "Current date", todayDescription), c.currentDate)
	mcp.AddTool(s, tool("format_datetime", "Format a date", formatDescription), c.format)
	mcp.AddTool(s, tool("add_time", "Add time to a date", addDescription), c.add)
}

func (c clock) currentTime(_ context.Context, _ *mcp.CallToolRequest, args zoneArgs) (*mcp.CallToolResult, moment, error) {
	t, err := c.current(args.Timezone)
	if err != nil {
		return nil, moment{}, err
	}
	m := momentOf(t, "")
	return text(m.String()), m, nil
}

func (c clock) currentDate(_ context.Context, _ *mcp.CallToolRequest, args zoneArgs) (*mcp.CallToolResult, day, error) {
	t, err := c.current(args.Timezone)
	if err != nil {
		return nil, day{}, err
	}
	year, week := t.ISOWeek()
	d := day{
		Date:      t.Format(time.DateOnly),
		Weekday:   t.Weekday().String(),
		Timezone:  zoneLabel(t),
		ISOWeek:   fmt.Sprintf("%04d-W%02d", year, week),
		DayOfYear: t.YearDay(),
	}
	return text(fmt.Sprintf("%s (%s, %s)", d.Date, d.Weekday, d.Timezone)), d, nil
}

func (c clock) format(_ context.Context, _ *mcp.CallToolRequest, args formatArgs) (*mcp.CallToolResult, formatted, error) {
	t, note, err := c.parse(args.Datetime, args.Timezone)
	if err != nil {
		return nil, formatted{}, err
	}
	s, err := formatTime(t, args.Format)
	if err != nil {
		return nil, formatted{}, err
	}
	return text(withNote(s, note)), formatted{Text: s, Note: note}, nil
}

func (c clock) add(_ context.Context, _ *mcp.CallToolRequest, args addArgs) (*mcp.CallToolResult, moment, error) {
	t, note, err := c.parse(args.Datetime, args.Timezone)
	if err != nil {
		return nil, moment{}, err
	}
	sum, sumNote, err := addTime(t, args.Amount, args.Unit)
	if err != nil {
		return nil, moment{}, err
	}
	m := momentOf(sum, withNote(note, sumNote))
	return text(m.String()), m, nil
}

// current is the present second in a zone.
func (c clock) current(zone string) (time.Time, error) {
	loc, err := findZone(zone, c.zone)
	if err != nil {
		return time.Time{}, err
	}
	return c.now().Truncate(time.Second).In(loc), nil
}

func momentOf(t time.Time, note string) moment {
	return moment{
		Datetime:  t.Format(time.RFC3339Nano),
		Weekday:   t.Weekday().String(),
		Timezone:  zoneLabel(t),
		UTCOffset: t.Format("-07:00"),
		Unix:      t.Unix(),
		Note:      note,
	}
}

// String is the moment as a model is told.
func (m moment) String() string {
	return withNote(fmt.Sprintf("%s (%s, %s)", m.Datetime, m.Weekday, m.Timezone), m.Note)
}

// withNote joins two sentences of which each may be empty.
func withNote(s, note string) string {
	if s == "" || note == "" {
		return s + note
	}
	return s + " " + note
}
