package risk

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// arg is a word of a command, as the command gets it. Of one that is not fixed
// only a part is known.
type arg struct {
	text  string
	fixed bool
}

// flag reports whether the word is an option.
func (a arg) flag() bool { return len(a.text) > 1 && a.text[0] == '-' }

// ifs stands for a separator of words that comes out of a variable.
const ifs = '\x1f'

// text is what a word comes to, and whether all of it is known.
func (s *shell) text(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", true
	}
	if len(w.Parts) == 1 {
		switch part := w.Parts[0].(type) {
		case *syntax.Lit:
			return unescaped(part.Value, false), true
		case *syntax.SglQuoted:
			if !part.Dollar {
				return part.Value, true
			}
		}
	}
	var b strings.Builder
	fixed := s.parts(&b, w.Parts, false)
	return b.String(), fixed
}

func (s *shell) parts(b *strings.Builder, parts []syntax.WordPart, quoted bool) bool {
	fixed := true
	for _, part := range parts {
		if b.Len() > maxText {
			return false
		}
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(p.Value, quoted))
		case *syntax.SglQuoted:
			if p.Dollar {
				b.WriteString(ansi(p.Value))
			} else {
				b.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			fixed = s.parts(b, p.Parts, true) && fixed
		case *syntax.ParamExp:
			fixed = s.param(b, p, quoted) && fixed
		case *syntax.CmdSubst:
			said, known := "", false
			if len(p.Stmts) == 1 {
				said, known = s.echoed(p.Stmts[0])
			}
			b.WriteString(said)
			fixed = fixed && known
		case *syntax.ArithmExp:
			b.WriteByte('0')
		default:
			fixed = false
		}
	}
	return fixed
}

// param writes what a variable stands for.
func (s *shell) param(b *strings.Builder, p *syntax.ParamExp, quoted bool) bool {
	if p.Param == nil {
		return false
	}
	name := p.Param.Value
	plain := !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
	if p.Length {
		b.WriteByte('0')
		return true
	}
	if name == "IFS" && !quoted {
		b.WriteByte(ifs)
		return true
	}
	if plain {
		if value, ok := s.vars[name]; ok {
			b.WriteString(value)
			return true
		}
	}
	b.WriteByte('$')
	b.WriteString(name)
	switch name {
	case "HOME", "PWD", "USER", "OLDPWD", "UID", "HOSTNAME", "SHELL", "TMPDIR", "?", "$", "#":
		return plain
	}
	return false
}

// unescaped takes the backslashes out of a literal.
func unescaped(text string, quoted bool) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			i++
			c = text[i]
			if c == '\n' {
				continue
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// ansi reads what stands in $'...'.
func ansi(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		base, digits, start := 0, 0, i
		switch c := text[i]; {
		case c == 'x':
			base, digits, start = 16, 2, i+1
		case c == 'u':
			base, digits, start = 16, 4, i+1
		case c == 'U':
			base, digits, start = 16, 8, i+1
		case c >= '0' && c <= '7':
			base, digits = 8, 3
		case c == 'n':
			b.WriteByte('\n')
			continue
		case c == 't':
			b.WriteByte('\t')
			continue
		default:
			b.WriteByte(c)
			continue
		}
		end := start
		for end < len(text) && end-start < digits && isDigit(text[end], base) {
			end++
		}
		if value, err := strconv.ParseUint(text[start:end], base, 32); err == nil {
			b.WriteRune(rune(value)) //nolint:gosec // what is no rune is written as one that says so
		}
		i = max(end-1, i)
	}
	return b.String()
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// quoteAll puts words together so that a shell reads them as they are.
func quoteAll(words []string) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(word, "'", `'\''`))
		b.WriteByte('\'')
	}
	return b.String()
}

// readsFile judges a file that a command reads.
func (s *shell) readsFile(a arg) {
	if strings.HasPrefix(a.text, "/dev/tcp/") || strings.HasPrefix(a.text, "/dev/udp/") {
		s.f.add(hub.RiskCritical, "execute", "the command opens a connection of its own")
		return
	}
	if a.text != "" && !a.flag() {
		judgePath(s.f, a.text, false, nil, true)
	}
}

// writesFile judges a file that a command writes, whatever was in it.
func (s *shell) writesFile(a arg) {
	switch {
	case strings.HasPrefix(a.text, "/dev/tcp/") || strings.HasPrefix(a.text, "/dev/udp/"):
		s.f.add(hub.RiskCritical, "execute", "the command opens a connection of its own")
		return
	case a.fixed && (a.text == "/dev/null" || a.text == "/dev/stdout" || a.text == "/dev/stderr" || a.text == "/dev/tty" || a.text == "-"):
		return
	case a.fixed && (strings.HasPrefix(a.text, "/tmp/") || strings.HasPrefix(a.text, "/var/tmp/")) && !strings.Contains(a.text, ".."):
		s.f.add(hub.RiskMedium, "write", "the command writes the file \"%s\"", shorten(a.text))
		return
	}
	s.f.add(hub.RiskHigh, "write", "the command writes the file \"%s\"", shorten(a.text))
	judgePath(s.f, a.text, true, nil, true)
}

func shorten(text string) string { return text[:min(len(text), 80)] }
