package builtin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const maxFormat = 500 // characters

// formatTime writes t in a named form or by a pattern of % directives, which
// are those of strftime(3) in the C locale, with %f of Python, and %:z and the
// flag - (no leading zeros) of GNU.
func formatTime(t time.Time, format string) (string, error) {
	switch strings.ToLower(strings.TrimSpace(format)) {
	case "iso", "rfc3339":
		return t.Format(time.RFC3339Nano), nil
	case "date":
		return t.Format(time.DateOnly), nil
	case "time":
		return t.Format(time.TimeOnly), nil
	case "unix":
		return strconv.FormatInt(t.Unix(), 10), nil
	}
	if len([]rune(format)) > maxFormat {
		return "", fmt.Errorf("the format is longer than %d characters", maxFormat)
	}
	if !strings.Contains(format, "%") {
		return "", fmt.Errorf("the format %q has no %% directive, and is none of iso, rfc3339, date, time and unix; a pattern is written as %%Y-%%m-%%d %%H:%%M", shorten(format))
	}
	var b strings.Builder
	for rest := format; rest != ""; {
		plain, directive, found := strings.Cut(rest, "%")
		b.WriteString(plain)
		if !found {
			break
		}
		var err error
		if rest, err = writeDirective(&b, t, directive); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// writeDirective writes what the directive stands for with which s begins
// (without its percent sign), and returns the rest of s.
func writeDirective(b *strings.Builder, t time.Time, s string) (rest string, err error) {
	if rest, ok := strings.CutPrefix(s, ":z"); ok {
		b.WriteString(t.Format("-07:00"))
		return rest, nil
	}
	s, bare := strings.CutPrefix(s, "-")
	if s == "" {
		return "", errors.New("the format ends with a lone %; write %% for a percent sign")
	}
	c, rest := s[0], s[1:]
	text, ok := directive(t, c)
	if !ok {
		r := []rune(s)[0]
		return "", fmt.Errorf("the format has %%%c, which is not known; %%%% is a percent sign", r)
	}
	if bare {
		if short := strings.TrimLeft(text, "0 "); short != "" {
			text = short
		} else {
			text = "0"
		}
	}
	b.WriteString(text)
	return rest, nil
}

// directive is what one character after % stands for.
func directive(t time.Time, c byte) (text string, ok bool) {
	isoYear, isoWeek := t.ISOWeek()
	switch c {
	case 'Y':
		return fmt.Sprintf("%04d", t.Year()), true
	case 'y':
		return t.Format("06"), true
	case 'm':
		return t.Format("01"), true
	case 'd':
		return t.Format("02"), true
	case 'e':
		return t.Format("_2"), true
	case 'H':
		return t.Format("15"), true
	case 'I':
		return t.Format("03"), true
	case 'M':
		return t.Format("04"), true
	case 'S':
		return t.Format("05"), true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 'p':
		return t.Format("PM"), true
	case 'A':
		return t.Format("Monday"), true
	case 'a':
		return t.Format("Mon"), true
	case 'B':
		return t.Format("January"), true
	case 'b', 'h':
		return t.Format("Jan"), true
	case 'j':
		return t.Format("002"), true
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1), true
	case 'w':
		return strconv.Itoa(int(t.Weekday())), true
	case 'G':
		return fmt.Sprintf("%04d", isoYear), true
	case 'V':
		return fmt.Sprintf("%02d", isoWeek), true
	case 'Z':
		return t.Format("MST"), true
	case 'z':
		return t.Format("-0700"), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'F':
		return t.Format(time.DateOnly), true
	case 'T':
		return t.Format(time.TimeOnly), true
	case 'R':
		return t.Format("15:04"), true
	case 'D':
		return t.Format("01/02/06"), true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	}
	return "", false
}
