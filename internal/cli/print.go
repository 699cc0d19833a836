package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// printer writes what a command has to say to standard output.
type printer struct {
	w     io.Writer
	color bool
	width int // columns of the terminal; 0 if it is none
	lang  message.Lang
}

// say is the text in the person's language.
func (p *printer) say(en, zh string) string {
	if p.lang == message.Chinese {
		return zh
	}
	return en
}

// line writes one line, or several if the text has them.
func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
}

// json writes a value of the API as it goes over HTTP, indented.
func (p *printer) json(v any) error {
	e := json.NewEncoder(p.w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// style is how a text looks on a terminal (ECMA-48, SGR).
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

func (p *printer) paint(s style, text string) string {
	if !p.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// row is one row of a table, and the lines that stand below it.
type row struct {
	cells []string
	below []string
}

// table writes rows in columns that are as wide as what is in them. On a
// terminal the last column is cut where the line ends.
func (p *printer) table(head []string, rows []row) {
	widths := make([]int, len(head))
	for i, h := range head {
		widths[i] = width(h)
	}
	for _, r := range rows {
		for i, c := range r.cells {
			widths[i] = max(widths[i], width(c))
		}
	}
	titles := make([]string, len(head))
	for i, h := range head {
		titles[i] = p.paint(dim, h)
	}
	p.cells(titles, widths)
	for _, r := range rows {
		p.cells(r.cells, widths)
		for _, b := range r.below {
			p.line("  %s", b)
		}
	}
}

func (p *printer) cells(cells []string, widths []int) {
	var b strings.Builder
	used := 0
	for i, c := range cells {
		if i == len(cells)-1 {
			if p.width > used {
				c = cut(c, p.width-used)
			}
			b.WriteString(c)
			break
		}
		b.WriteString(c)
		b.WriteString(strings.Repeat(" ", widths[i]-width(c)+2))
		used += widths[i] + 2
	}
	p.line("%s", strings.TrimRight(b.String(), " "))
}

// fields writes names and values below each other, leaving out empty values.
func (p *printer) fields(pairs ...string) {
	wide := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			wide = max(wide, width(pairs[i]))
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			p.line("%s%s  %s", p.paint(dim, pairs[i]), strings.Repeat(" ", wide-width(pairs[i])), pairs[i+1])
		}
	}
}

// state is a server's state with a sign for it.
func (p *printer) state(state string) string {
	switch state {
	case "ready":
		return p.paint(green, "● "+p.say(state, "就绪"))
	case "degraded":
		return p.paint(yellow, "● "+p.say(state, "响应异常"))
	case "failed":
		return p.paint(red, "✗ "+p.say(state, "失败"))
	case "crashed":
		return p.paint(red, "✗ "+p.say(state, "已崩溃"))
	case "starting":
		return p.paint(yellow, "◐ "+p.say(state, "启动中"))
	case "reconnecting":
		return p.paint(yellow, "◐ "+p.say(state, "重连中"))
	case "stopping":
		return p.paint(yellow, "◐ "+p.say(state, "停止中"))
	case "disabled":
		return p.paint(dim, "○ "+p.say(state, "已停用"))
	case "stopped":
		return p.paint(dim, "○ "+p.say(state, "已停止"))
	case "idle":
		return "○ " + p.say(state, "待命")
	}
	return "○ " + oneLine(state)
}

// why is why a server is not ready and what to do about it, a line each.
func (p *printer) why(s api.Server) []string {
	var lines []string
	switch {
	case s.State == string(hub.StateDisabled) || s.State == string(hub.StateStopped):
		return nil // somebody wanted it so
	case s.Reason != "":
		lines = append(lines, p.paint(red, clean(s.Reason)))
	}
	if s.Remedy != "" {
		lines = append(lines, "→ "+clean(s.Remedy))
	}
	if s.Retry != nil {
		lines = append(lines, p.paint(dim, p.say("tried again at ", "下次重试：")+s.Retry.Local().Format(time.TimeOnly)))
	}
	return lines
}

// ago is how long ago a time is, in its two largest units.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return short(time.Since(t))
}

func short(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// size is a number of bytes for people.
func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", (n+1<<9)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// clean makes a text from elsewhere fit for a terminal: control characters,
// which could move the cursor or worse, are shown as escapes. Line ends and
// tabs stay.
func clean(text string) string {
	bad := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
	}
	if !strings.ContainsFunc(text, bad) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if bad(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sentence is the first sentence of a text, on one line, fit for a terminal.
func sentence(text string) string {
	text = oneLine(text)
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at+1]
	}
	if at := strings.Index(text, "。"); at >= 0 {
		text = text[:at+len("。")]
	}
	return text
}

// oneLine is the text on one line, fit for a terminal.
func oneLine(text string) string { return clean(strings.Join(strings.Fields(text), " ")) }
