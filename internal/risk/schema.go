package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// How deep schemas are read, and how many of their members.
const (
	maxSchemaDepth   = 128
	maxNesting       = 8
	maxSchemaMembers = 1000
	maxMethods       = 16 // members that say what is done; of more, none is taken to
)

// kind is what a member of the arguments is, as far as its name says.
type kind uint8

const (
	plain     kind = iota
	shellText      // a command line, or a command and its arguments
	shellArgs      // the arguments of a command
	codeText       // a program
	sqlText
	pathText
	urlText
	money
	recipient
	method  // says what is done
	force   // true makes it worse
	content // text that is stored or said, and not carried out
)

// kindOf tells by a member's name what it is.
func kindOf(name string, sql bool) kind {
	words := split(name)
	if len(words) == 0 {
		return plain
	}
	only, last := "", words[len(words)-1]
	if len(words) == 1 {
		only = last
	}
	switch last {
	case "command", "cmd", "commands", "cmdline", "commandline", "cmds":
		return shellText
	case "line":
		if words[0] == "command" {
			return shellText
		}
	case "args", "argv", "arguments":
		return shellArgs
	case "script", "javascript", "js", "python", "bash", "code", "snippet", "program", "stdin", "env", "powershell":
		if only != "" || last != "code" || words[0] == "source" || words[0] == "python" || words[0] == "js" {
			return codeText
		}
	case "sql":
		return sqlText
	case "statement", "statements", "query", "queries":
		if sql {
			return sqlText
		}
	case "path", "paths", "file", "files", "filename", "filepath", "dir", "directory", "folder", "cwd", "dest", "destination", "src", "workdir":
		return pathText
	case "url", "urls", "uri", "href", "endpoint", "host", "hostname", "webhook", "callback", "website", "ip":
		return urlText
	case "amount", "price", "payout", "tip", "金额":
		return money
	case "to", "cc", "bcc", "recipient", "recipients", "payee", "beneficiary", "iban", "receiver", "email", "emails", "phone", "收件人", "收款人":
		return recipient
	case "method", "action", "operation", "op", "subcommand", "verb", "actions", "operations", "mode", "动作", "操作":
		return method
	case "tool", "function":
		return method
	case "name":
		if len(words) > 1 && (words[0] == "tool" || words[0] == "function" || words[0] == "action" || words[0] == "service") {
			return method
		}
	case "force", "recursive", "recursively", "purge", "permanent", "permanently", "hard", "cascade", "overwrite", "yes":
		return force
	case "content", "contents", "text", "body", "message", "description", "title", "comment", "prompt", "summary", "note", "notes", "html", "markdown":
		return content
	case "service":
		if only != "" {
			return method
		}
	}
	if words[0] == "sql" {
		return sqlText
	}
	return plain
}

// survey reads a tool's schema.
type survey struct {
	p       *Profile
	raw     []byte
	members int

	shell, code, sql, money, recipient bool
	worst                              verb // of the values that a member may have which says what is done
	word                               string
}

// object reads a schema, and those within it.
func (s *survey) object(span wire.Span, depth int) {
	if depth > maxNesting {
		return
	}
	for m := range wire.Object(s.raw, span) {
		key, _ := wire.String(s.raw, m.Key)
		switch key {
		case "properties", "$defs", "definitions", "patternProperties":
			for property := range wire.Object(s.raw, m.Value) {
				if s.members++; s.members > maxSchemaMembers {
					return
				}
				name, _ := wire.String(s.raw, property.Key)
				if key == "properties" {
					s.member(name, property.Value, depth)
				}
				s.object(property.Value, depth+1)
			}
		case "items", "additionalProperties", "then", "else", "if":
			s.object(m.Value, depth+1)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for branch := range wire.Array(s.raw, m.Value) {
				s.object(branch, depth+1)
			}
		}
	}
}

// member notes what a member of the arguments is.
func (s *survey) member(name string, schema wire.Span, depth int) {
	description := ""
	var enum wire.Span
	textual := true
	for m := range wire.Object(s.raw, schema) {
		switch {
		case wire.KeyIs(s.raw, m.Key, "description"):
			description, _ = wire.String(s.raw, m.Value)
		case wire.KeyIs(s.raw, m.Key, "enum"):
			enum = m.Value
		case wire.KeyIs(s.raw, m.Key, "type"):
			t := string(m.Value.Of(s.raw))
			textual = t != `"integer"` && t != `"number"` && t != `"boolean"` && t != `"null"`
		}
	}
	k := kindOf(name, s.p.sql || strings.Contains(strings.ToLower(description), "sql"))
	if enum.Exists() && k == shellText {
		k = method
	}
	if k != force && k != money && !textual {
		k = plain
	}
	if s.p.kinds == nil {
		s.p.kinds, s.p.folded = make(map[string]kind), make(map[string]string)
	}
	if old := s.p.kinds[name]; old == plain || k == shellText || k == sqlText {
		s.p.kinds[name] = k
	}
	if before, ok := s.p.folded[foldCase(name)]; !ok || s.p.kinds[before] == plain {
		s.p.folded[foldCase(name)] = name
	}
	does := saysThatItRuns(description)
	switch k {
	case shellText:
		s.shell = s.shell || !s.p.reads || does
	case codeText:
		s.code = s.code || does || s.p.said.runs
	case sqlText:
		s.sql = true
	case money:
		s.money = true
	case recipient:
		s.recipient = true
	case method:
		if enum.Exists() {
			s.enum(name, enum, depth)
		}
	}
}

// saysThatItRuns reports whether the description of a member says that it is
// carried out.
func saysThatItRuns(description string) bool {
	n := 0
	for p := range pieces(description) {
		if n++; n > 60 {
			break
		}
		if v, f, ok := lookUp(p.word); ok && v.runs && (v.noun < 2 && f != third || p.word == "shell") {
			return true
		}
	}
	return strings.Contains(description, "执行") || strings.Contains(description, "运行")
}

// enum notes what is done by the values that a member may have.
func (s *survey) enum(name string, values wire.Span, depth int) {
	verbs := false
	for value := range wire.Array(s.raw, values) {
		text, ok := wire.String(s.raw, value)
		if !ok {
			continue
		}
		if does := named(text); does.word != "" {
			verbs = true
			if does.sort == acts && does.risk > s.worst.risk {
				s.worst, s.word = does.verb, text
			}
		}
	}
	if _, there := s.p.enums[name]; verbs && depth == 0 && !there && len(s.p.enums) < maxMethods {
		if s.p.enums == nil {
			s.p.enums = make(map[string]int)
		}
		s.p.enums[name] = len(s.p.enums)
	}
}

// conclude notes what the schema means for the tool.
func (s *survey) conclude() {
	p := s.p
	if s.word != "" {
		p.static.add(s.worst.risk, s.worst.tag, "one of the things that it can do is \"%s\"", s.word)
		p.reads = false
	}
	switch {
	case s.shell:
		p.shell = true
		p.static.add(hub.RiskCritical, "shell", "it runs the command that it is given")
		p.reads = false
	case s.code:
		p.static.add(hub.RiskCritical, "execute", "it runs the program that it is given")
		p.reads = false
	case s.sql:
		p.sql = true
		risk := hub.RiskMedium
		if p.said.runs {
			risk = hub.RiskCritical
		}
		p.static.add(risk, "sql", "it takes SQL, which can change anything in a database")
	}
	act := p.said.sort == acts && !p.reads
	if s.money && act {
		p.pays = true
		p.static.add(hub.RiskHigh, "payment", "it takes an amount of money")
	}
	if s.recipient && act {
		p.sends = true
		p.static.add(hub.RiskHigh, "message", "it sends something to somebody")
	}
	if p.said.sort == neutral && p.said.word == "" && (s.recipient && s.money) {
		p.pays = true
		p.static.add(hub.RiskCritical, "payment", "it takes an amount of money and somebody who gets it")
	}
}
