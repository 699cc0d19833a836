package fleet

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// levelOf reads how grave a line of a log is from what the line says of itself.
// A line that says nothing is information; so is most of what servers write to
// standard error. Text on standard output that is no message is always a fault.
func levelOf(source hub.LogSource, text string) hub.LogLevel {
	text = strings.TrimSpace(text)
	level := hub.LevelWarning
	switch {
	case source == hub.LogJunk:
	case source == hub.LogHub:
		level = cmp.Or(hubLevel(text), headLevel(text))
	case strings.HasPrefix(text, "{"):
		level = jsonLevel(text)
	default:
		level = headLevel(text)
	}
	return cmp.Or(level, hub.LevelInfo)
}

// hubLevel is for the lines of the hub about the state of a server; "" for others.
func hubLevel(text string) hub.LogLevel {
	for _, begin := range [...]string{"given up", string(hub.StateCrashed), string(hub.StateFailed)} {
		if strings.HasPrefix(text, begin) {
			return hub.LevelError
		}
	}
	for _, begin := range [...]string{"away", string(hub.StateDegraded), string(hub.StateReconnecting)} {
		if strings.HasPrefix(text, begin) {
			return hub.LevelWarning
		}
	}
	return ""
}

// levelKeys returns the names that a level has where members have names, in JSON
// and in logfmt.
func levelKeys() [8]string {
	return [...]string{"level", "severity", "lvl", "levelname", "log.level", "loglevel", "@level", "@l"}
}

// jsonLevel looks for a member that is a level. The text is searched and not
// parsed, since it may be cut: a quote within a string has a backslash before
// it, so that no string looks like the name of a member.
func jsonLevel(text string) hub.LogLevel {
	for _, key := range levelKeys() {
		_, value, ok := strings.Cut(text, `"`+key+`"`)
		if !ok {
			continue
		}
		if value, ok = strings.CutPrefix(strings.TrimLeft(value, " "), ":"); !ok {
			continue
		}
		if level := valueLevel(strings.TrimLeft(value, " ")); level != "" {
			return level
		}
	}
	return ""
}

// fieldLevel looks for a level in a line of key=value pairs.
func fieldLevel(text string) hub.LogLevel {
	text = " " + text
	for _, key := range levelKeys() {
		if _, value, ok := strings.Cut(text, " "+key+"="); ok {
			return valueLevel(value)
		}
	}
	return ""
}

// valueLevel reads the level that a text begins with: a word, in quotes or not,
// or one of the numbers of pino and bunyan.
func valueLevel(text string) hub.LogLevel {
	text = strings.TrimPrefix(text, `"`)
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	if n, err := strconv.Atoi(text[:min(end, 3)]); err == nil {
		switch {
		case n < 10 || n > 60:
			return ""
		case n < 30:
			return hub.LevelDebug
		case n < 40:
			return hub.LevelInfo
		case n < 50:
			return hub.LevelWarning
		}
		return hub.LevelError
	}
	word, _ := letters(text)
	return wordLevel(word)
}

// letters splits a text behind the ASCII letters that it begins with.
func letters(text string) (word, rest string) {
	end := 0
	for end < len(text) && (text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	return text[:end], text[end:]
}

// wordLevel is the level that a word stands for in one of the usual logging
// libraries; "" for any other word.
func wordLevel(word string) hub.LogLevel {
	switch strings.ToLower(word) {
	case "trace", "trc", "trce", "debug", "dbg", "dbug", "verbose", "silly":
		return hub.LevelDebug
	case "info", "inf", "information", "notice":
		return hub.LevelInfo
	case "warn", "wrn", "warning":
		return hub.LevelWarning
	case "error", "err", "eror", "fail", "severe", "fatal", "ftl", "critical", "crit", "alert", "emerg", "emergency", "panic", "pnc":
		return hub.LevelError
	}
	return ""
}

// What is looked at of a line before its message begins.
const (
	headBytes = 256
	headWords = 10
)

// headLevel looks for a level among what stands before the message of a line,
// such as time, process and logger. The message itself is not searched: it may
// speak of errors and be none.
func headLevel(text string) hub.LogLevel {
	if strings.HasPrefix(text, "Traceback (") || strings.HasPrefix(text, "thread '") && strings.Contains(text, "' panicked at ") {
		return hub.LevelError // Python, Rust
	}
	words := strings.Fields(text[:min(len(text), headBytes)])
	words = words[:min(len(words), headWords)]
	if len(words) == 0 {
		return ""
	}
	if strings.Contains(words[0], "=") {
		return fieldLevel(text)
	}
	if len(words) > 1 && strings.Contains(words[1], ":") {
		if level := glogLevel(words[0]); level != "" {
			return level
		}
	}
	first := true
	for i, word := range words {
		if level := markLevel(word, first); level != "" {
			return level
		}
		named := word == "npm" || i+1 < len(words) && isSeparator(words[i+1])
		if !named && !isPreamble(word) {
			return ""
		}
		first = word == "npm"
	}
	return ""
}

// glogLevel reads the first word of a line of glog, klog or abseil: a letter,
// the month and the day.
func glogLevel(word string) hub.LogLevel {
	if len(word) != 5 && len(word) != 9 { // the latter with the year
		return ""
	}
	if strings.Trim(word[1:], "0123456789") != "" {
		return ""
	}
	return letterLevel(word[0])
}

func letterLevel(letter byte) hub.LogLevel {
	switch letter {
	case 'D', 'V':
		return hub.LevelDebug
	case 'I':
		return hub.LevelInfo
	case 'W':
		return hub.LevelWarning
	case 'E', 'F', 'C':
		return hub.LevelError
	}
	return ""
}

// markLevel reads a word that stands for a level by its form: in brackets or
// before a colon however it is written, else in capitals. The first word of a
// line may be plain as well, if it is no good news.
func markLevel(word string, first bool) hub.LogLevel {
	bare := strings.TrimLeft(word, "[(<|")
	bracket := len(bare) < len(word)
	name, rest := letters(bare)
	if bracket && len(name) == 1 && (rest == "" || rest[0] == ']') {
		return letterLevel(name[0]) // as of Jupyter
	}
	level := wordLevel(name)
	ends := rest == "" || strings.IndexByte(":[])>|!,;+-/", rest[0]) >= 0
	switch {
	case level != "" && ends && (bracket || name == strings.ToUpper(name) || strings.HasPrefix(rest, ":")):
		return level
	case level != "" && first && strings.Trim(rest, "!:") == "" && (level == hub.LevelError || level == hub.LevelWarning):
		return level
	}
	// The name of an error or warning that nobody caught, as Python and Node.js
	// write it.
	if class, colon := strings.CutSuffix(word, ":"); colon || first {
		switch {
		case strings.HasSuffix(class, "Error"), colon && strings.HasSuffix(class, "Exception"):
			return hub.LevelError
		case strings.HasSuffix(class, "Warning"):
			return hub.LevelWarning
		}
	}
	return ""
}

// isSeparator reports whether a word only divides what is before it from what
// is behind it.
func isSeparator(word string) bool { return !strings.ContainsFunc(word, isLetterOrDigit) }

// isPreamble reports whether a word may stand before the message of a line: it
// has a digit, as times and numbers of processes have, or a form that words of
// a sentence do not have.
func isPreamble(word string) bool {
	return isSeparator(word) || strings.ContainsAny(word, "0123456789=[]():/|") || strings.Contains(strings.TrimRight(word, "."), ".") ||
		isCalendar(word)
}

// isCalendar reports whether a word is part of a date that is written out.
func isCalendar(word string) bool {
	switch strings.TrimRight(word, ",") {
	case "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "AM", "PM", "UTC", "GMT",
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec":
		return true
	}
	return false
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
