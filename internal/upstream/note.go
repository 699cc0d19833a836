package upstream

import (
	"strings"
	"unicode"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxNote bounds what is noted of one thing that happened, in bytes.
const maxNote = 4 << 10

// note puts a text into the server's log, line by line. Secrets are taken out
// before it is cut, since half a secret is not found.
func (c *Conn) note(source hub.LogSource, text string) {
	if c.opt.Note == nil {
		return
	}
	text = c.secrets.Redact(text)
	text = strings.ToValidUTF8(text[:min(len(text), maxNote)], "")
	for line := range strings.Lines(text) {
		c.opt.Note(source, strings.TrimRight(printable(line), " \t"))
	}
}

// junk is given what a server sent in the place of a message.
func (c *Conn) junk(data []byte) { c.note(hub.LogJunk, string(data)) }

// logged notes a log message of the server's: its level, its logger if it
// named one, and a text or the JSON that it sent in the place of one.
func (c *Conn) logged(m *wire.Message) {
	var b strings.Builder
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
	c.note(hub.LogServer, b.String()+text)
}

// printable takes control characters out of a line, which is going to be shown
// in terminals.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, line)
}
