package risk

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// What of arguments is read at most. What is more makes a call unclear.
const (
	maxArguments = 4 << 20 // bytes in all
	maxDepth     = 64
	maxMembers   = 5000
	maxText      = 64 << 10 // bytes of a command line, a statement or a program
	maxValue     = 4096     // bytes of what may be a path or a URL
)

// How many things at once, and how much money, are a matter of their own.
const (
	many   = 20
	masses = 100
	dear   = 1000
)

// assay is the judging of one call's arguments.
type assay struct {
	findings
	p       *Profile
	raw     []byte
	members int

	methods int      // bits: which of the profile's enums there are
	method  hub.Risk // the gravest of their values
	strange bool     // one of their values is no verb that is known

	commands, statements int // that were read
	command, statement   hub.Risk
	opaque               bool // there is something that is carried out, and was not read
}

// arguments judges all of them.
func (a *assay) arguments(raw []byte) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	if len(raw) > maxArguments {
		a.hide(hub.RiskHigh, "", "the arguments are too large to be judged")
		return
	}
	if wire.Valid(raw, wire.Limits{MaxDepth: maxDepth}) != nil {
		a.hide(hub.RiskHigh, "", "the arguments cannot be read")
		return
	}
	a.raw = raw
	span := whole(raw)
	switch raw[span.Start] {
	case '{':
		a.object(span, true)
	case 'n': // null
	default:
		a.hide(hub.RiskHigh, "", "the arguments cannot be read")
	}
}

// object judges the members of an object.
func (a *assay) object(span wire.Span, outermost bool) {
	var command, args wire.Span
	both := false
	for m := range wire.Object(a.raw, span) {
		if a.members++; a.members > maxMembers {
			a.hide(hub.RiskHigh, "", "the arguments are too large to be judged")
			return
		}
		k, name := a.kind(m.Key)
		switch {
		case k == shellText && !command.Exists():
			command = m.Value
		case k == shellArgs && !args.Exists() && (a.raw[m.Value.Start] == '[' || a.raw[m.Value.Start] == '"'):
			args = m.Value
		case k == shellArgs, k == shellText:
			both = true
			a.value(k, m.Value)
		case k == method:
			a.does(name, m.Value, outermost)
		default:
			a.value(k, m.Value)
		}
	}
	switch {
	case command.Exists():
		a.shell(command, args)
		a.opaque = a.opaque || both
	case args.Exists():
		a.value(plain, args)
	}
}

// kind tells what a member is, by the tool's schema or by its name.
func (a *assay) kind(key wire.Span) (kind, string) {
	text := key.Of(a.raw)
	text = text[1 : len(text)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		if k, ok := a.p.kinds[string(text)]; ok {
			if k != method {
				return k, ""
			}
			return k, string(text)
		}
	}
	name, _ := wire.String(a.raw, key)
	k, ok := a.p.kinds[name]
	if !ok {
		k, name = a.p.otherwise(name[:min(len(name), maxValue)])
	}
	return k, name
}

// otherwise tells what a member is that the schema does not have in this spelling:
// what one that it has is, as many servers tell no upper and lower case apart, or
// what its own name says.
func (p *Profile) otherwise(name string) (kind, string) {
	if known, ok := p.folded[foldCase(name)]; ok {
		return p.kinds[known], known
	}
	k := kindOf(name, p.sql)
	if k == plain {
		k = kindOf(strings.ToLower(name), p.sql)
	}
	return k, name
}

// foldCase is a name in which upper and lower case are the same.
func foldCase(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// Defines reports whether the tool's schema has a member of this name, in this
// spelling, at any depth.
func (p *Profile) Defines(name string) bool {
	_, ok := p.kinds[name]
	return ok
}

// value judges one value.
func (a *assay) value(k kind, span wire.Span) {
	switch a.raw[span.Start] {
	case '{':
		a.object(span, false)
	case '[':
		a.array(k, span)
	case '"':
		text, _ := wire.String(a.raw, span)
		a.text(k, text)
	case 't':
		if k == force && !a.p.reads {
			a.add(hub.RiskCritical, "destroy", "it is told to do so by force, or to all there is")
		}
	default:
		if k == money {
			a.amount(string(span.Of(a.raw)))
		}
	}
}

func (a *assay) array(k kind, span wire.Span) {
	n := 0
	for element := range wire.Array(a.raw, span) {
		if a.members++; a.members > maxMembers {
			a.hide(hub.RiskHigh, "", "the arguments are too large to be judged")
			return
		}
		n++
		if k == shellText { // several commands
			a.shell(element, wire.Span{})
			continue
		}
		if k == method {
			a.does("", element, false)
			continue
		}
		a.value(k, element)
	}
	if n < many || a.p.reads || k == content || a.p.said.sort != acts {
		return
	}
	if n >= masses {
		a.add(hub.RiskCritical, "batch", "it is done to %d things at once", n)
		return
	}
	a.add(hub.RiskHigh, "batch", "it is done to %d things at once", n)
}

// text judges one text.
func (a *assay) text(k kind, text string) {
	if text == "" {
		return
	}
	a.keys(text)
	switch k {
	case shellText, shellArgs, sqlText, codeText:
		if len(text) > maxText {
			a.opaque = true
			a.hide(hub.RiskHigh, "", "what it is to carry out is too long to be judged")
			return
		}
	case content:
		return
	default:
		if len(text) > maxValue {
			return
		}
	}
	switch k {
	case shellText:
		a.line(text)
	case sqlText:
		a.sql(text)
	case codeText:
		a.opaque = true
		judgeCode(&a.findings, text)
	case pathText:
		a.path(text, true)
	case urlText:
		if !judgeURL(&a.findings, text, true) {
			a.path(text, false)
		}
	case money:
		a.amount(text)
	case recipient:
		if strings.Count(text, "@") >= many {
			a.add(hub.RiskHigh, "batch", "it is done to %d things at once", strings.Count(text, "@"))
		}
	case plain, shellArgs, method, force, content:
		if !judgeURL(&a.findings, text, false) {
			a.path(text, false)
		}
		if a.p.sql && startsSQL(text) {
			a.sql(text)
		}
	}
}

func (a *assay) path(text string, certain bool) {
	var roots []string
	if certain {
		roots = a.p.roots
	}
	judgePath(&a.findings, text, !a.p.reads && a.p.said.sort == acts, roots, certain)
}

// does judges a member that says what is done.
func (a *assay) does(name string, span wire.Span, outermost bool) {
	text, ok := wire.String(a.raw, span)
	if !ok {
		a.strange = true
		a.value(plain, span)
		return
	}
	text = text[:min(len(text), maxValue)]
	said := named(text)
	if number, known := a.p.enums[name]; known && outermost {
		a.methods |= 1 << number
		a.method = max(a.method, said.risk)
		a.strange = a.strange || said.word == ""
	}
	if said.sort == acts {
		a.add(said.risk, said.tag, "it is told to \"%s\"", text[:min(len(text), 80)])
		return
	}
	a.text(plain, text)
}

func (a *assay) amount(text string) {
	if !a.p.pays {
		return
	}
	number, err := strconv.ParseFloat(strings.Trim(text, " $€£¥,"), 64)
	if err != nil || number >= dear || number < 0 {
		a.add(hub.RiskCritical, "payment", "it is about the amount %s", text[:min(len(text), 40)])
	}
}

// sql judges statements in SQL.
func (a *assay) sql(text string) {
	var f findings
	judgeSQL(&f, text, 0)
	a.statements++
	a.statement = max(a.statement, f.risk)
	a.opaque = a.opaque || f.unclear
	if f.risk > hub.RiskMedium || !a.p.reads {
		a.join(&f)
	}
}

// shell judges a command: a line, or a command with its arguments.
func (a *assay) shell(command, args wire.Span) {
	var argv []string
	whole := true
	collect := func(span wire.Span) {
		switch a.raw[span.Start] {
		case '"':
			text, _ := wire.String(a.raw, span)
			argv = append(argv, text)
		case '[':
			for element := range wire.Array(a.raw, span) {
				if a.members++; a.members > maxMembers {
					whole = false
					return
				}
				text, ok := wire.String(a.raw, element)
				if !ok {
					text = string(element.Of(a.raw))
				}
				argv = append(argv, text)
			}
		case 'n':
		default:
			whole = false
		}
	}
	collect(command)
	line := a.raw[command.Start] == '"'
	if args.Exists() && a.raw[args.Start] == '"' && line { // both are text, which is put together as it is
		text, _ := wire.String(a.raw, args)
		argv[0] += " " + text
	} else if args.Exists() {
		collect(args)
	}
	total := 0
	for _, text := range argv {
		total += len(text)
		a.keys(text)
	}
	switch {
	case !whole || total > maxText:
		a.opaque = true
		a.hide(hub.RiskHigh, "shell", "what it is to carry out is too long to be judged")
	case len(argv) == 0:
	case len(argv) == 1:
		a.line(argv[0])
	default:
		var f findings
		judgeArgv(&f, argv)
		if line && strings.ContainsAny(argv[0], " \t\n;|&$`<>") { // a shell may read the first as a line
			judgeShell(&f, argv[0]+" "+quoteAll(argv[1:]), 0)
		}
		a.ran(&f)
	}
}

func (a *assay) line(text string) {
	if a.p.reads && !strings.ContainsAny(text, " ;|&$`<>\n") {
		return // of a tool that only tells about commands
	}
	var f findings
	judgeShell(&f, text, 0)
	a.ran(&f)
}

func (a *assay) ran(f *findings) {
	a.commands++
	a.command = max(a.command, f.risk)
	a.opaque = a.opaque || f.unclear
	a.join(f)
}

// keys notes what looks like a key that a service has given out.
func (a *assay) keys(text string) {
	if strings.Contains(text, "-----BEGIN ") && strings.Contains(text, "PRIVATE KEY-----") {
		a.add(hub.RiskHigh, "secret", "the arguments hold what looks like a key")
		return
	}
	const longest = 4096
	for len(text) > 15 {
		end := strings.IndexAny(text, " \t\r\n\"'=,;:()[]{}<>")
		if end < 0 {
			end = len(text)
		}
		if word := text[:end]; len(word) >= 16 && looksLikeKey(word[:min(len(word), longest)]) {
			a.add(hub.RiskHigh, "secret", "the arguments hold what looks like a key")
			return
		}
		if end == len(text) {
			return
		}
		text = text[end+1:]
	}
}

// looksLikeKey reports whether a word begins as keys do and is none of a language:
// what is base64 of JSON also begins as a token does, and has no dots.
func looksLikeKey(word string) bool {
	if !secret.HasKeyPrefix(word) {
		return false
	}
	if strings.HasPrefix(word, "eyJ") {
		return strings.Count(word, ".") == 2
	}
	digits := 0
	for i := range len(word) {
		if '0' <= word[i] && word[i] <= '9' {
			digits++
		}
	}
	return digits >= 2
}
