package policy

import (
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of expressions. The cost is counted as CEL defines it: one for a step, and
// a tenth for each character of a text that is searched.
const (
	maxExpression = 4 << 10 // characters of one
	maxNodes      = 2_000   // parts of one
	maxRegexp     = 2_000   // steps of the program of a regular expression
	maxCost       = 50_000  // of one, for one call
	maxCallCost   = 100_000 // of all, for one call
)

// The variables of expressions.
const (
	varArgs   = "call.args"
	varTool   = "call.tool"
	varServer = "call.server"
	varCaller = "call.caller"
	varRole   = "call.role"
	varTenant = "call.tenant"
	varDoor   = "call.door"
	varGroup  = "call.group"
	varClient = "call.client"
	varRisk   = "call.risk"
	varTags   = "call.tags"
)

//nolint:gochecknoglobals // a table
var variables = []string{
	varArgs, varTool, varServer, varCaller, varRole, varTenant, varDoor, varGroup, varClient, varRisk, varTags,
}

// environment is what expressions are compiled in.
var environment = sync.OnceValues(func() (*cel.Env, error) { //nolint:gochecknoglobals // made once, and never changed
	options := []cel.EnvOption{
		cel.Variable(varArgs, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(varTags, cel.ListType(cel.StringType)),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ExpressionNodeLimit(maxNodes),
		cel.RegexProgramSizeLimit(maxRegexp),
		ext.Strings(ext.StringsVersion(5)),
	}
	for _, name := range variables {
		if name != varArgs && name != varTags {
			options = append(options, cel.Variable(name, cel.StringType))
		}
	}
	return cel.NewEnv(options...)
})

// expression is the condition of a rule.
type expression struct {
	program cel.Program

	// What it reads, for calls of which not everything is known.
	members          []string // of the arguments
	all              bool     // the arguments as a whole
	role, risk, tags bool

	// names are those that members may have of which it speaks, in each spelling
	// that it has, by how they are with upper and lower case the same.
	names map[string][]string
}

// compile reads an expression. The phrase is empty if nothing is wrong with it.
func compile(text string) (*expression, message.Phrase) {
	env, err := environment()
	if err != nil {
		return nil, message.Cause(err) // not of the expression
	}
	checked, issues := env.Compile(text)
	if list := issues.Errors(); len(list) > 0 {
		where := list[0].Location
		if strings.HasPrefix(list[0].Message, "undeclared reference to 'call'") {
			return nil, message.Say("it reads something of the call that is not there (line %d, column %d); there are %s",
				max(where.Line(), 1), where.Column()+1, strings.Join(variables, ", "))
		}
		why, _, _ := strings.Cut(list[0].Message, " expecting {") // every token that there is
		return nil, message.Say(`it is no expression in CEL: "%s" (line %d, column %d)`, message.Quote(why), max(where.Line(), 1), where.Column()+1)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, message.Say("it has to be true or false, but is of the type %s", checked.OutputType().String())
	}
	program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return nil, message.Say(`it cannot be compiled: "%s"`, message.Quote(err.Error()))
	}
	e := &expression{program: program}
	e.survey(ast.NavigateAST(checked.NativeRep()))
	return e, message.Phrase{}
}

// survey notes what the expression reads.
func (e *expression) survey(root ast.NavigableExpr) {
	idents := ast.MatchDescendants(root, ast.KindMatcher(ast.IdentKind))
	for _, ident := range idents {
		switch ident.AsIdent() {
		case varArgs:
			name, ok := member(ident)
			if !ok {
				e.all = true
			} else if !slices.Contains(e.members, name) {
				e.members = append(e.members, name)
			}
		case varRole:
			e.role = true
		case varRisk:
			e.risk = true
		case varTags:
			e.tags = true
		}
	}
	for _, part := range ast.MatchDescendants(root, ast.AllMatcher()) {
		switch part.Kind() {
		case ast.SelectKind:
			e.speaksOf(part.AsSelect().FieldName())
		case ast.LiteralKind:
			if text, ok := part.AsLiteral().Value().(string); ok {
				e.speaksOf(text)
			}
		}
	}
}

// speaksOf notes what may be the name of a member.
func (e *expression) speaksOf(name string) {
	if e.names == nil {
		e.names = make(map[string][]string)
	}
	folded := foldCase(name)
	if !slices.Contains(e.names[folded], name) {
		e.names[folded] = append(e.names[folded], name)
	}
}

// member is the name of the member that is taken of an object at once; false if
// something else is done with it.
func member(object ast.NavigableExpr) (string, bool) {
	parent, ok := object.Parent()
	if !ok {
		return "", false
	}
	switch parent.Kind() {
	case ast.SelectKind:
		return parent.AsSelect().FieldName(), true
	case ast.CallKind:
		call := parent.AsCall()
		args := call.Args()
		if call.FunctionName() != operators.Index || len(args) != 2 || args[0].ID() != object.ID() || args[1].Kind() != ast.LiteralKind {
			return "", false
		}
		name, ok := args[1].AsLiteral().Value().(string)
		return name, ok
	}
	return "", false
}

// outcome is what an expression says to a call.
type outcome uint8

const (
	unmet  outcome = iota
	met            // it is true
	failed         // it cannot be told
)

// evaluate runs the expression on a call; nil is one that did not compile.
func (e *expression) evaluate(f *facts) outcome {
	if e == nil || f.cost >= maxCallCost {
		return failed
	}
	f.evaluated++
	v, details, err := e.program.Eval(f)
	switch cost := details.ActualCost(); {
	case cost != nil:
		f.cost += *cost
	case err != nil:
		f.cost += maxCost
	}
	switch truth, ok := v.(types.Bool); {
	case err != nil || !ok:
		return failed
	case bool(truth):
		return met
	}
	return unmet
}
