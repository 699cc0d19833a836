package catalog

import (
	"regexp"
	"strings"
	"sync"
)

// Bounds of the templates that are matched, and of the URIs; no template of use
// comes near. One that is larger is listed all the same.
const (
	maxTemplate  = 2048 // bytes
	maxVariables = 64
	maxExpanded  = 8 << 10 // bytes of a URI, which would be compared with thousands of templates
)

// pattern tells which URIs a URI template (RFC 6570) may have been expanded to.
type pattern struct {
	start     string // text before the first expression
	literal   int    // length of all text outside of expressions
	variables int
	compiled  func() *regexp.Regexp // of most templates never needed
}

// newPattern reads a template, which may be any text. One that is no template
// fits nothing.
func newPattern(template string) *pattern {
	p := &pattern{compiled: func() *regexp.Regexp { return nil }}
	if len(template) > maxTemplate {
		return p
	}
	var expr strings.Builder
	expr.WriteString(`(?s)^`)
	rest, first := template, true
	for {
		text, after, more := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return p
		}
		if first {
			p.start = text
			first = false
		}
		p.literal += len(text)
		expr.WriteString(regexp.QuoteMeta(text))
		if !more {
			break
		}
		expression, next, closed := strings.Cut(after, "}")
		form, variables, ok := expansion(expression)
		if !closed || !ok {
			return p
		}
		p.variables += variables
		expr.WriteString(form)
		rest = next
	}
	if p.variables > maxVariables {
		return p
	}
	expr.WriteString(`$`)
	p.compiled = sync.OnceValue(func() *regexp.Regexp {
		compiled, err := regexp.Compile(expr.String())
		if err != nil {
			return nil // too deep or too large for that package
		}
		return compiled
	})
	return p
}

// expansion is a regular expression for what an expression, without its braces,
// may expand to (RFC 6570, section 3.2), and how many variables it has. Values
// are taken a little wider than they may be, since not every client escapes what
// it has to; one that nothing is put before must not be empty.
func expansion(expression string) (form string, variables int, ok bool) {
	list := expression
	if expression != "" && strings.Contains("+#./;?&", expression[:1]) {
		list = expression[1:]
	}
	if list == "" || strings.ContainsAny(list, "{+#/;?&=!@|") {
		return "", 0, false // the last ones are reserved for later versions
	}
	variables = 1 + strings.Count(list, ",")
	switch expression[0] {
	case '+':
		form = `.+`
	case '#':
		form = `(?:#.*)?`
	case '.':
		form = `(?:\.[^/?#]*)?`
	case '/':
		form = `(?:/[^/?#]*)*`
	case ';':
		form = `(?:;[^/?#]*)?`
	case '?':
		form = `(?:\?[^#]*)?`
	case '&':
		form = `(?:&[^#]*)?`
	default:
		form = `[^/?#]+`
	}
	return form, variables, true
}

// matches reports whether the URI may be an expansion of the template. It takes
// time in proportion to the URI's length; one that is too long is of none.
func (p *pattern) matches(uri string) bool {
	if len(uri) > maxExpanded || !strings.HasPrefix(uri, p.start) {
		return false
	}
	compiled := p.compiled()
	return compiled != nil && compiled.MatchString(uri)
}
