package policy

import (
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/risk"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	methodCall = "tools/call" // what rules are about if they name no method
	methodRead = "resources/read"
)

// separator stands between a server's key and its tool's name.
const separator = "__"

// facts are a call as rules are held against it. As a [cel.Activation] it has the
// variables of expressions.
type facts struct {
	q         *Question
	server    string    // its key; "" for none
	own       string    // the server's own name for the tool; "" for what is no tool
	qualified string    // server__tool; as well
	client    string    // in lower case
	uri       *risk.URI // of a resource; nil for what is none
	found     *hub.Assessment
	readable  bool // see there, and alike
	profiles  *profiles

	decoded   bool                // args are as they are
	args      map[string]any      // as CEL takes them; nil if it cannot
	spellings map[string][]string // see spelledLike; nil as long as nobody needed them
	tags      []string            // of the server and of the assessment; nil as long as nobody needed them
	cost      uint64              // of the expressions so far
	evaluated int                 // expressions so far
	pending   []int32             // rules that are met if their expressions are
}

var _ cel.Activation = (*facts)(nil)

//nolint:gochecknoglobals // scratch, which each call gives back empty
var scratch = sync.Pool{New: func() any { return new(facts) }}

// newFacts looks at a question. The facts are to be released.
func newFacts(q *Question, found *hub.Assessment, of *profiles) *facts {
	f, _ := scratch.Get().(*facts)
	f.q, f.found, f.profiles = q, found, of
	f.readable = readable(q.Arguments) && (len(q.Arguments) == 0 || !f.alike(q.Arguments, wire.Value(q.Arguments)))
	f.client = strings.ToLower(q.Client)
	if q.Server != nil {
		f.server = q.Server.Key
	}
	if q.Method == methodRead && q.Tool == nil {
		u := risk.ReadURI(q.Name)
		f.uri = &u
	}
	if q.Tool != nil {
		f.own = q.Tool.Name
		f.qualified = qualify(q.Name, f.server, f.own)
	}
	return f
}

// qualify is server__tool, which is name nearly always.
func qualify(name, server, tool string) string {
	rest, ok := strings.CutPrefix(name, server)
	if ok {
		if rest, ok = strings.CutPrefix(rest, separator); ok && rest == tool {
			return name
		}
	}
	return server + separator + tool
}

func (f *facts) release() {
	*f = facts{pending: f.pending[:0]}
	scratch.Put(f)
}

// ResolveName returns the variables of expressions. It reports false for arguments
// that cannot be read, so that what needs them fails.
func (f *facts) ResolveName(name string) (any, bool) {
	p := &f.q.Principal
	switch name {
	case varArgs:
		return f.arguments()
	case varTool:
		if f.own != "" {
			return f.own, true
		}
		if f.uri != nil { // decoded altogether
			return f.uri.Forms[len(f.uri.Forms)-1], f.uri.Sure
		}
		return f.q.Name, true
	case varServer:
		return f.server, true
	case varCaller:
		return p.Subject, true
	case varRole:
		return string(p.Role), true
	case varTenant:
		return p.Tenant, true
	case varDoor:
		return string(p.Door), true
	case varGroup:
		return f.q.Group, true
	case varClient:
		return f.q.Client, true
	case varRisk:
		return f.found.Risk.String(), true
	case varTags:
		return f.allTags(), true
	}
	return nil, false
}

// Parent implements [cel.Activation].
func (f *facts) Parent() cel.Activation { return nil }

func (f *facts) arguments() (any, bool) {
	if !f.decoded && f.readable {
		f.args, f.decoded = decode(f.q.Arguments), true
	}
	return f.args, f.args != nil
}

func (f *facts) allTags() []string {
	if f.tags == nil {
		f.tags = []string{}
		if f.q.Server != nil {
			f.tags = append(f.tags, f.q.Server.Tags...)
		}
		for _, tag := range f.found.Tags {
			if !slices.Contains(f.tags, tag) {
				f.tags = append(f.tags, tag)
			}
		}
	}
	return f.tags
}

// tagged reports whether the server or the call has one of the tags.
func (f *facts) tagged(patterns []pattern) bool {
	if f.q.Server != nil && slices.ContainsFunc(f.q.Server.Tags, func(tag string) bool { return meet(patterns, tag) }) {
		return true
	}
	return slices.ContainsFunc(f.found.Tags, func(tag string) bool { return meet(patterns, tag) })
}
