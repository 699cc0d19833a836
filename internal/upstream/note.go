package upstream

import (
	"strings"
	"unicode"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxNote bounds what is noted of one thing that happened, in bytes.
const maxNote = 4 << 10

// note puts a text into the server's log, line by line.
func (c *Conn) note(source hub.LogSource, text string) { c.noteAt(source, "", text) }

// noteAt is note for lines of a known level. Secrets are taken out before the
// text is cut, since half a secret is not found.
func (c *Conn) noteAt(source hub.LogSource, level hub.LogLevel, text string) {
	if c.opt.Note == nil {
		return
	}
	text = c.secrets.Redact(text)
	text = strings.ToValidUTF8(text[:min(len(text), maxNote)], "")
	for line := range strings.Lines(text) {
		c.opt.Note(source, level, strings.TrimRight(printable(line), " \t"))
	}
}

// junk is given what a server sent in the place of a message.
func (c *Conn) junk(data []byte) { c.note(hub.LogJunk, string(data)) }

// logged notes a log message of the server's: its level, its logger if it
// named one, and a text or the JSON that it sent in the place of one.
func (c *Conn) logged(m *wire.Message) {
	var b strings.Builder
	said, _ := wire.String(m.Raw, m.Member("level"))
	for _, name := range [...]string{"level", "logger"} {
		if s, ok := wire.String(m.Raw, m.Member(name)); ok && s != "" {
			b.WriteString(s + ": ")
		}
	}
	data := m.Member("data")
	text, ok := wire.String(m.Raw, data)
	if !ok {
		text = string(data.Of(m.Raw))
	}
	c.noteAt(hub.LogServer, levelOf(said), b.String()+text)
}

// levelOf is the level of the log for one of MCP's eight, which are those of
// syslog (2025-11-25, "Logging"); "" for any other.
func levelOf(said string) hub.LogLevel {
	switch said {
	case "debug":
		return hub.LevelDebug
	case "info", "notice":
		return hub.LevelInfo
	case "warning":
		return hub.LevelWarning
	case "error", "critical", "alert", "emergency":
		return hub.LevelError
	}
	return ""
}

// printable takes colours and control characters out of a line, which is going
// to be shown in terminals.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, uncoloured(line))
}

// uncoloured takes control sequences out of a line (ECMA-48, section 5.4): ESC
// and a bracket, parameters, and one letter or sign that ends them. Of one that
// is cut off nothing is left.
func uncoloured(line string) string {
	before, after, found := strings.Cut(line, "\x1b[")
	if !found {
		return line
	}
	var b strings.Builder
	for found {
		b.WriteString(before)
		end := strings.IndexFunc(after, func(r rune) bool { return r < ' ' || r > '?' })
		if end < 0 {
			return b.String()
		}
		if after[end] >= '@' && after[end] <= '~' {
			end++
		}
		before, after, found = strings.Cut(after[end:], "\x1b[")
	}
	return b.String() + before
}
