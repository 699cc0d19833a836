// Package risk says how much harm a call may do, before it is made.
//
// There are two steps. Describe reads what a server says of a tool: the verbs in
// its name and description, the names and types of what it takes, and its
// annotations. That is how bad a call of it can be. Assess then reads the
// arguments of one call: command lines are parsed as a shell does, SQL is lexed,
// paths are followed lexically, URLs are looked at for addresses that are nobody
// else's business, and anything that looks like a key is found wherever it
// stands.
//
// Who describes a tool may lie about it. So everything that is said raises the
// risk and only two things lower it. An annotation does for servers that are
// marked as trusted. And a tool which does nothing but carry out what it is given,
// such as a shell, is as bad as what it is given: where that was read to its end
// and only looks, builds or adds, a call is of medium risk although the tool is
// critical. What was not read to its end keeps the tool's risk. So it is with a
// tool that is many in one, as "manage" with its "action": the action decides if
// it is one of those that the schema names. A server that describes a tool that
// deletes as one that reads is believed; who does not trust it has rules for it.
//
// Nothing here asks anybody: no name is resolved and no file is looked at. A name
// of a host that resolves to a private address is not noticed, nor is a symbolic
// link. What is too much to be read in a bounded time is reported as unclear, and
// is never taken for harmless.
package risk

import (
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Description is a tool as its server describes it.
type Description struct {
	Server  string   // the server's key; "" if it is not known
	Name    string   // the server's own name for the tool
	Raw     []byte   // the tool as tools/list gives it, JSON; nothing is taken from what is none
	Trusted bool     // what it says about itself is believed also where that makes it look harmless
	Roots   []string // directories within which calls are to stay; none if there are no such
}

// Profile is what can be said of a tool before any call. It never changes, and
// may be used from any goroutine. It keeps nothing of the description that it was
// made of.
type Profile struct {
	risk    hub.Risk // without arguments
	static  findings // why
	said    said
	trusted bool
	roots   []string

	kinds  map[string]kind   // of the members that the schema names, at any depth
	folded map[string]string // one of these names, by how it is with upper and lower case the same
	enums  map[string]int    // members whose values say what is done, numbered
	known  hub.Risk          // the risk if these are known and do nothing
	shell  bool              // it carries out a command
	sql    bool              // it is about a database that is spoken to in SQL
	reads  bool              // it only looks, as far as words go
	pays   bool
	sends  bool // it takes recipients or the like, and does not only read
	marked bool // a trusted server says that it only reads
}

// Describe says what can be said of a tool before any call. It never fails: a
// tool of which nothing is understood is of medium risk, as is one that is not
// described at all.
func Describe(d Description) *Profile {
	p := &Profile{trusted: d.Trusted}
	for _, root := range d.Roots {
		if root = cleanPath(root); root != "" {
			p.roots = append(p.roots, root)
		}
	}
	var parts parts
	if wire.Valid(d.Raw, wire.Limits{MaxDepth: maxSchemaDepth}) == nil {
		parts = readParts(d.Raw)
	}
	name, description := named(d.Name), described(parts.description)
	p.said = meaning(name, description)
	p.reads = p.said.sort == reads
	p.sql = aboutSQL(d.Name, parts.description)
	p.explain(name, d.Name)

	known := name.risk
	if name.word == "" || name.sort == neutral || generic(name.word) {
		known = hub.RiskLow
	}
	s := survey{p: p, raw: d.Raw}
	s.object(parts.schema, 0)
	p.known = known
	s.conclude()
	p.annotate(d.Raw, parts.annotations)
	p.risk = max(p.static.risk, hub.RiskLow)
	return p
}

// Risk is the risk of a call of which nothing else is known. That of a call
// whose arguments are known may be higher, and also lower as the package says.
func (p *Profile) Risk() hub.Risk { return p.risk }

// generic reports whether a verb leaves open what is done.
func generic(word string) bool {
	return word == "manage" || word == "control" || word == "handle" || word == "管理"
}

// explain notes what the words say.
func (p *Profile) explain(name said, tool string) {
	p.pays = p.said.tag == "payment" && p.said.sort == acts
	word, risk := p.said.word, p.said.risk
	switch {
	case p.said.sort != acts:
		if word == "" || p.said.sort == neutral {
			p.static.add(max(risk, hub.RiskMedium), "", "it is not said what the tool \"%s\" does", tool)
		} else if risk > hub.RiskLow {
			p.static.add(risk, "", "the tool reads more than one thing: \"%s\"", word)
		}
	case name.word == word:
		p.static.add(risk, p.said.tag, "the tool's name says \"%s\"", word)
	default:
		p.static.add(risk, p.said.tag, "the tool's description says \"%s\"", word)
	}
}

// annotate takes what a server says of a tool in its annotations.
func (p *Profile) annotate(raw []byte, span wire.Span) {
	var readOnly, destructive, changes, spares bool
	for m := range wire.Object(raw, span) {
		value := string(m.Value.Of(raw))
		switch {
		case wire.KeyIs(raw, m.Key, "readOnlyHint"):
			readOnly, changes = value == "true", changes || value == "false"
		case wire.KeyIs(raw, m.Key, "destructiveHint"):
			destructive, spares = destructive || value == "true", value == "false"
		}
	}
	if p.trusted && readOnly && !changes && !destructive {
		p.marked = true
		p.static = findings{}
		return
	}
	if p.trusted && spares && !destructive && p.static.risk == hub.RiskCritical && !p.shell && !p.pays {
		for i := range p.static.list {
			p.static.list[i].risk = min(p.static.list[i].risk, hub.RiskHigh)
		}
		p.static.risk = hub.RiskHigh
	}
	switch {
	case readOnly && !changes: // an untrusted server's word, and no reason for anything
	case destructive:
		p.static.add(hub.RiskHigh, "", "its server says that the tool may destroy something")
	case changes:
		p.static.add(hub.RiskHigh, "", "its server says that the tool changes something")
	}
	p.reads = p.reads && p.static.risk < hub.RiskHigh
}

// parts are the parts of a tool's description that are read.
type parts struct {
	description         string
	schema, annotations wire.Span
}

func readParts(raw []byte) parts {
	var found parts
	for m := range wire.Object(raw, whole(raw)) {
		switch {
		case wire.KeyIs(raw, m.Key, "description"):
			text, _ := wire.String(raw, m.Value)
			found.description += text
		case wire.KeyIs(raw, m.Key, "inputSchema"):
			found.schema = m.Value
		case wire.KeyIs(raw, m.Key, "annotations"):
			found.annotations = m.Value
		}
	}
	return found
}

// whole covers the value that raw is, without the white space around it.
func whole(raw []byte) wire.Span {
	start, end := 0, len(raw)
	for start < end && strings.IndexByte(" \t\r\n", raw[start]) >= 0 {
		start++
	}
	for end > start && strings.IndexByte(" \t\r\n", raw[end-1]) >= 0 {
		end--
	}
	return wire.Span{Start: start, End: end}
}

// aboutSQL reports whether a tool is one of a database that speaks SQL.
func aboutSQL(name, description string) bool {
	databases := []string{
		"sql", "mysql", "postgres", "postgresql", "sqlite", "mariadb", "mssql", "bigquery", "snowflake", "clickhouse",
		"redshift", "duckdb", "oracle", "database", "db", "supabase", "planetscale", "neon", "trino", "presto", "athena",
	}
	for _, word := range split(name) {
		if slices.Contains(databases, word) {
			return true
		}
	}
	lower := strings.ToLower(description[:min(len(description), 2000)])
	return strings.Contains(lower, "sql") || strings.Contains(lower, "数据库")
}

// Assess judges one call by its arguments, a JSON object; nil stands for none. It
// never fails, and takes a bounded time whatever it is given: what it cannot read
// is unclear, and of high risk at least. Of a member that is there twice each one
// counts.
func (p *Profile) Assess(arguments []byte) hub.Assessment {
	a := assay{p: p}
	a.arguments(arguments)
	floor := p.floor(&a)
	for _, n := range p.static.list {
		if n.risk <= floor {
			a.note(n)
		}
	}
	risk := max(floor, a.risk)
	if risk > hub.RiskLow && len(a.list) == 0 {
		switch {
		case a.commands > 0:
			a.list = append(a.list, finding{risk, "", message.Say("a command is run, which as far as can be seen only looks, builds or adds")})
		case a.statements > 0:
			a.list = append(a.list, finding{risk, "sql", message.Say("a database is asked, and may answer with anything in it")})
		}
	}
	return a.assessment(risk)
}

// floor is the risk that a call has whatever else is found in its arguments.
func (p *Profile) floor(a *assay) hub.Risk {
	switch {
	case p.marked:
		return p.risk
	case len(p.enums) > 0 && a.methods == 1<<len(p.enums)-1 && !a.strange:
		return max(p.known, a.method)
	case a.opaque || a.unclear || p.said.sort == acts && !p.said.runs || p.said.other > hub.RiskMedium:
		return p.risk
	case a.commands > 0 && a.command <= hub.RiskMedium, a.statements > 0 && a.statement <= hub.RiskMedium:
		return min(p.risk, hub.RiskMedium)
	}
	return p.risk
}
