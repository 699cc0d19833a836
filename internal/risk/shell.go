package risk

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// maxCommands is how many commands of one text are judged, with all that stands
// within them.
const maxCommands = 4000

// maxBrackets is how many brackets a text may have. What they hold may be nested,
// and is read anew for each that is open.
const maxBrackets = 1000

// parsers are kept: what they hold is worth more than the parsing of a short line.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// shell judges the commands of one text.
//
// The levels are those of tools. Low only looks. Medium asks the network, adds
// something new or builds and tests what is there already: none of it takes
// anything away. High overwrites, installs, sends, brings programs in, changes
// the state of a system or another machine, or runs what is not known. Critical
// deletes, runs what comes from elsewhere, or takes the machine over.
type shell struct {
	f     *findings
	depth int
	left  *int              // commands that may still be judged
	vars  map[string]string // variables that were given a fixed value
	funcs map[string]bool   // functions that are defined in the text
	fed   bool              // the command has something else's output as its input
	heard string            // that output, if it is known
	known bool              // whether it is
}

// judgeShell judges a command line, or a script, as bash reads it. What cannot be
// read is unclear, and of high risk at least.
func judgeShell(f *findings, text string, depth int) {
	left := maxCommands
	s := &shell{f: f, depth: depth, left: &left}
	s.script(text)
	f.add(hub.RiskLow, "shell", "a command is run")
}

// judgeArgv judges a command that is given as a list, and that no shell reads.
func judgeArgv(f *findings, argv []string) {
	left := maxCommands
	s := &shell{f: f, left: &left}
	args := make([]arg, len(argv))
	for i, text := range argv {
		args[i] = arg{text, true}
	}
	s.command(args)
	f.add(hub.RiskLow, "shell", "a command is run")
}

// inner judges a text that another command takes as a script.
func (s *shell) inner(text string) {
	nested := shell{f: s.f, depth: s.depth + 1, left: s.left, vars: s.vars, funcs: s.funcs}
	nested.script(text)
}

func (s *shell) script(text string) {
	if s.depth > maxNested || len(text) > maxText || strings.Count(text, "(")+strings.Count(text, "{")+strings.Count(text, "`") > maxBrackets {
		s.f.hide(hub.RiskHigh, "shell", "the command cannot be read to its end")
		return
	}
	if strings.IndexByte(text, 0) >= 0 {
		s.f.hide(hub.RiskHigh, "shell", "the command cannot be read to its end")
		text = strings.ReplaceAll(text, "\x00", "")
	}
	parser := parsers.Get().(*syntax.Parser)
	file, err := parser.Parse(strings.NewReader(text), "")
	parsers.Put(parser)
	if err != nil {
		s.unparsed(text)
		return
	}
	s.stmts(file.Stmts)
}

// unparsed judges a text that is none of bash: by its words, whatever shell it is
// for.
func (s *shell) unparsed(text string) {
	s.f.hide(hub.RiskHigh, "shell", "the command cannot be read as a shell does")
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";|&\n(){}`", r) }) {
		if *s.left--; *s.left < 0 {
			return
		}
		var args []arg
		for word := range strings.FieldsSeq(line) {
			if len(args) < 64 {
				args = append(args, arg{strings.Trim(word, `"'`), true})
			}
		}
		if len(args) > 0 {
			s.command(args)
		}
	}
}

func (s *shell) stmts(list []*syntax.Stmt) {
	for _, stmt := range list {
		s.stmt(stmt)
	}
}

func (s *shell) stmt(stmt *syntax.Stmt) {
	if *s.left--; stmt == nil || *s.left < 0 {
		if *s.left < 0 {
			s.f.hide(hub.RiskHigh, "shell", "the command cannot be read to its end")
		}
		return
	}
	fed, heard, known := s.fed, s.heard, s.known
	for _, r := range stmt.Redirs {
		s.redirect(r)
	}
	s.run(stmt.Cmd, len(stmt.Redirs) > 0)
	s.fed, s.heard, s.known = fed, heard, known
}

// run judges one command of any kind.
func (s *shell) run(cmd syntax.Command, redirected bool) {
	switch c := cmd.(type) {
	case nil:
		if redirected {
			s.f.add(hub.RiskLow, "shell", "a command is run")
		}
	case *syntax.CallExpr:
		s.call(c)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			s.pipe(c)
			return
		}
		s.stmt(c.X)
		s.stmt(c.Y)
	case *syntax.Subshell:
		s.stmts(c.Stmts)
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.stmts(c.Cond)
			s.stmts(c.Then)
		}
	case *syntax.WhileClause:
		s.stmts(c.Cond)
		s.stmts(c.Do)
	case *syntax.ForClause:
		s.within(c.Loop)
		if each, ok := c.Loop.(*syntax.WordIter); ok && each.Name != nil {
			s.each(each, c.Do)
			return
		}
		s.stmts(c.Do)
	case *syntax.CaseClause:
		s.within(c.Word)
		for _, item := range c.Items {
			s.stmts(item.Stmts)
		}
	case *syntax.FuncDecl:
		s.function(c)
	case *syntax.DeclClause:
		for _, a := range c.Args {
			s.assign(a)
		}
	case *syntax.TimeClause:
		s.stmt(c.Stmt)
	case *syntax.CoprocClause:
		s.stmt(c.Stmt)
	case *syntax.ArithmCmd, *syntax.TestClause, *syntax.LetClause:
		s.within(c)
	default:
		s.f.hide(hub.RiskHigh, "shell", "the command cannot be read to its end")
	}
}

// each judges the body of a loop for the first words that it runs over.
func (s *shell) each(loop *syntax.WordIter, body []*syntax.Stmt) {
	const few = 4
	old, had := s.vars[loop.Name.Value]
	for i, item := range loop.Items {
		if i == few {
			break
		}
		if text, fixed := s.text(item); fixed {
			s.set(loop.Name.Value, text)
			s.stmts(body)
		}
	}
	delete(s.vars, loop.Name.Value)
	s.stmts(body)
	if had {
		s.set(loop.Name.Value, old)
	}
}

func (s *shell) set(name, value string) {
	if s.vars == nil {
		s.vars = make(map[string]string)
	}
	if len(s.vars) < 100 && len(value) <= maxValue {
		s.vars[name] = value
	} else {
		delete(s.vars, name)
	}
}

// function judges the body of a function where it is defined.
func (s *shell) function(c *syntax.FuncDecl) {
	if c.Name == nil {
		s.f.hide(hub.RiskHigh, "shell", "the command cannot be read to its end")
		return
	}
	name := c.Name.Value
	calls := 0
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == name {
			calls++
		}
		return true
	})
	if calls > 1 {
		s.f.add(hub.RiskCritical, "destroy", "the command starts itself again and again")
	}
	if s.funcs == nil {
		s.funcs = make(map[string]bool)
	}
	if _, there := harmless[name]; there || special[name] {
		s.f.add(hub.RiskHigh, "execute", "\"%s\" is made to mean something else", name)
	}
	s.funcs[name] = true
	s.stmt(c.Body)
}

// pipe judges commands of which each reads what the one before it writes.
func (s *shell) pipe(c *syntax.BinaryCmd) {
	s.stmt(c.X)
	said, known := s.echoed(c.X)
	fed, heard, was := s.fed, s.heard, s.known
	s.fed, s.heard, s.known = true, said, known
	s.stmt(c.Y)
	s.fed, s.heard, s.known = fed, heard, was
}

// echoed returns what a statement writes, if that stands there.
func (s *shell) echoed(stmt *syntax.Stmt) (string, bool) {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(stmt.Redirs) > 0 {
		return "", false
	}
	name := call.Args[0].Lit()
	if name != "echo" && name != "printf" {
		return "", false
	}
	var words []string
	for _, w := range call.Args[1:] {
		text, fixed := s.text(w)
		if !fixed || strings.IndexByte(text, '\\') >= 0 || name == "printf" && strings.IndexByte(text, '%') >= 0 {
			return "", false
		}
		if text != "-n" {
			words = append(words, text)
		}
	}
	return strings.Join(words, " "), true
}

// call judges a simple command.
func (s *shell) call(c *syntax.CallExpr) {
	if *s.left--; *s.left < 0 {
		s.f.hide(hub.RiskHigh, "shell", "the command cannot be read to its end")
		return
	}
	for _, a := range c.Assigns {
		s.assign(a)
	}
	if len(c.Args) == 0 {
		return
	}
	var buf [8]arg
	args := buf[:0]
	for _, w := range c.Args {
		s.within(w)
		text, fixed := s.text(w)
		args = append(args, arg{text, fixed})
	}
	s.command(spread(args))
}

// spread takes apart words that bash takes apart later than it reads them.
func spread(args []arg) []arg {
	name := args[0].text
	switch {
	case args[0].fixed && strings.HasPrefix(name, "{") && strings.IndexByte(name, ',') > 0 && strings.HasSuffix(name, "}"):
		var out []arg
		for word := range strings.SplitSeq(name[1:len(name)-1], ",") {
			out = append(out, arg{word, true})
		}
		return append(out, args[1:]...)
	case strings.IndexByte(name, ifs) >= 0:
		var out []arg
		for word := range strings.SplitSeq(name, string(rune(ifs))) {
			out = append(out, arg{word, args[0].fixed})
		}
		return append(out, args[1:]...)
	}
	return args
}

// assign judges what is given to a variable.
func (s *shell) assign(a *syntax.Assign) {
	if a.Array != nil {
		s.within(a.Array)
	}
	if a.Value == nil {
		return
	}
	s.within(a.Value)
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	switch name {
	case "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "IFS", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS",
		"PERL5OPT", "RUBYOPT", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "EDITOR", "VISUAL", "LESSOPEN",
		"DYLD_INSERT_LIBRARIES", "JAVA_TOOL_OPTIONS", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EDITOR", "MANPAGER", "BROWSER":
		if text, fixed := s.text(a.Value); !fixed || text != "cat" && text != "" && text != "less" && text != "true" {
			s.f.add(hub.RiskHigh, "execute", "\"%s\" decides which programs are run", name)
		}
	}
	if text, fixed := s.text(a.Value); fixed && !a.Append && a.Index == nil {
		s.set(name, text)
	} else {
		delete(s.vars, name)
	}
}

// within judges the commands that stand within something else, such as a word.
func (s *shell) within(n syntax.Node) {
	if w, ok := n.(*syntax.Word); ok && len(w.Parts) == 1 {
		switch w.Parts[0].(type) {
		case *syntax.Lit, *syntax.SglQuoted:
			return
		}
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.nested(n.Stmts)
			return false
		case *syntax.ProcSubst:
			s.nested(n.Stmts)
			return false
		}
		return true
	})
}

func (s *shell) nested(stmts []*syntax.Stmt) {
	fed, heard, known := s.fed, s.heard, s.known
	s.fed = false
	s.stmts(stmts)
	s.fed, s.heard, s.known = fed, heard, known
}
