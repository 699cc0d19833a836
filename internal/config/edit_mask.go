package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// Unchanged stands in a masked text for what is not shown.
const Unchanged = "${unchanged}"

// Masked returns the text with everything that may be a secret replaced by
// [Unchanged]: values of "env" and "headers", arguments, URLs' users and
// queries, whatever stands below a name such as "apiKey" or "token", and
// comments that may hold one of these. Placeholders stay, since they show where
// a secret is and not what it is.
//
// A text that cannot be parsed cannot be masked either: it is not returned, and
// must not be shown. The error is [Problems].
func Masked(text []byte) ([]byte, error) {
	t, err := plant(text)
	if err != nil {
		return nil, err
	}
	if t.blank() {
		return text, nil
	}
	for v, spans := range t.hidden() {
		v.Value = hujson.String(mask(textOf(v), spans))
	}
	n := 0
	t.comments(func(comment []byte) []byte {
		n++
		if !suspicious(comment) {
			return comment
		}
		open, end := delimiters(comment)
		return fmt.Appendf(nil, "%s${unchanged:%d}%s", open, n, end)
	})
	return t.pack(), nil
}

// Unmask returns a masked text, which somebody may have edited, with what was
// not shown put back: where it has [Unchanged], it gets what stands in the
// current text at the same place. A place is named by members, by the "id" of
// an element, else by its index. Unmask(Masked(x), x) is x.
//
// An [Unchanged] that has no counterpart is one of the [Problems] that are the
// error, as is a text that cannot be parsed.
func Unmask(masked, current []byte) ([]byte, error) {
	next, err := plant(masked)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(masked, []byte("unchanged")) && !bytes.Contains(masked, []byte(`\u`)) {
		return masked, nil // whatever the current text is
	}
	now, err := plant(current)
	if err != nil {
		return nil, err
	}
	u := unmasking{next: next, hidden: now.hidden()}
	u.restore(&next.root, &now.root)
	u.restoreComments(now)
	if len(next.doc.problems) > 0 {
		return nil, next.doc.errors()
	}
	return next.pack(), nil
}

// MaskArgs returns the arguments of a command with what may be a secret
// replaced by [Unchanged].
func MaskArgs(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		_, spans := judge(inArgs, before, arg)
		shown[i] = mask(arg, spans)
	}
	return shown
}

// mask replaces parts of a value.
func mask(value string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(value[at:s.from])
		b.WriteString(Unchanged)
		at = s.to
	}
	b.WriteString(value[at:])
	return b.String()
}

// textOf is the text of a string, or of another plain value as it is written.
func textOf(v *hujson.Value) string { return v.Value.(hujson.Literal).String() }

// hidden finds all values that may be secrets, and which parts of them.
func (t *tree) hidden() map[*hujson.Value][]span {
	h := hider{}
	h.walk(&t.root, plain, "")
	return h
}

type hider map[*hujson.Value][]span

func (h hider) walk(v *hujson.Value, in setting, name string) {
	c := childrenOf(v)
	if c.object == nil && c.array == nil {
		h.value(v, in, name)
		return
	}
	before := ""
	password := asksPassword(c)
	for i := range c.len() {
		child := c.value(i)
		switch {
		case c.object != nil && in == plain && (namesAnything(name) && childrenOf(child).len() > 0 || name == "rename"):
			h.walk(child, plain, "")
		case c.object != nil:
			at := below(in, c.name(i))
			if password && at == plain && c.name(i) == "default" {
				at = inSecret // an input of VS Code
			}
			if in == plain && isIdentity(c.name(i), child) {
				at = plain // what is secret in it has a name of its own
			}
			h.walk(child, at, c.name(i))
		case in == inArgs:
			h.walk(child, in, before)
			if child.Value.Kind() == '"' {
				before = textOf(child)
			}
		default:
			h.walk(child, in, name)
		}
	}
}

// value hides what may be a secret in a string, or in a number that stands
// where a secret does.
func (h hider) value(v *hujson.Value, in setting, name string) {
	text := textOf(v)
	switch v.Value.Kind() {
	case '"':
	case '0':
		if in != plain && in != inArgs {
			h[v] = []span{{0, len(text)}}
		}
		return
	default:
		return
	}
	var spans []span
	if in == plain && name == "command" {
		spans = commandLine(text)
	} else {
		_, spans = judge(in, name, text)
	}
	switch {
	case len(spans) == 0:
	case strings.Count(mask(text, spans), Unchanged) == len(spans):
		h[v] = spans
	default:
		h[v] = []span{{0, len(text)}} // or it could not be told what is to be put back
	}
}

// below is the setting of a member's value.
func below(in setting, name string) setting {
	if in != plain {
		return in
	}
	// A name that is misspelt has a value all the same.
	switch member := strings.ToLower(name); {
	case member == "env", member == "environment":
		return inEnv
	case member == "headers":
		return inHeader
	case member == "args":
		return inArgs
	case member == "platforms", secret.NamesSecret(name):
		return inSecret
	}
	return plain
}

// namesAnything reports whether the objects in the one with the name are called
// as people like: such a name tells nothing about what is in them. In "rename" of
// a group this holds for the texts, too.
func namesAnything(name string) bool {
	switch name {
	case "mcpServers", "servers", "context_servers", "mcp.servers", "mcpServerConfig", "projects", "tools", "toolOverrides", groupsMember, string(Endpoints), string(Backends):
		return true
	}
	return false
}

func asksPassword(c children) bool {
	v := c.member("password")
	return v != nil && v.Value.Kind() == 't'
}

// commandLine hides what may be a secret in a command with its arguments.
func commandLine(text string) []span {
	var spans []span
	before := ""
	for at := 0; at < len(text); {
		n := until(text[at:], " ")
		word := text[at : at+n]
		in := inArgs
		if before == "" {
			in = plain
		}
		_, found := judge(in, before, word)
		for _, s := range found {
			spans = append(spans, span{at + s.from, at + s.to})
		}
		if word != "" {
			before = word
		}
		at += n + 1
	}
	return spans
}

// comments replaces every comment of the text, in order.
func (t *tree) comments(f func(comment []byte) []byte) {
	extras(&t.root, func(e *hujson.Extra) {
		if !hasComment(*e) {
			return
		}
		var next hujson.Extra
		for _, p := range pieces(*e) {
			if isComment(p) {
				p = f(p)
			}
			next = append(next, p...)
		}
		*e = next
	})
}

func delimiters(comment []byte) (open, end string) {
	if isLineComment(comment) {
		return "//", ""
	}
	return "/*", "*/"
}

// suspicious reports whether a comment may hold a secret: it has what looks
// like a part of a file, a URL or a key, or speaks of one.
func suspicious(comment []byte) bool {
	text := string(comment)
	if strings.ContainsAny(text, `"=$`) || strings.Contains(text, "://") && strings.ContainsAny(text, "?@") || secret.NamesSecret(text) {
		return true
	}
	return slices.ContainsFunc(strings.Fields(text), secret.IsKey)
}

// unmasking puts back what was not shown.
type unmasking struct {
	next   *tree
	hidden map[*hujson.Value][]span // of the current text
}

// restore puts back what is missing in v, which stands where was stands in the
// current text; was is nil if nothing does.
func (u *unmasking) restore(v, was *hujson.Value) {
	c := childrenOf(v)
	if c.object == nil && c.array == nil {
		u.restoreText(v, was)
		return
	}
	old := counterparts(was)
	seen := make(map[string]int)
	for i := range c.len() {
		var then *hujson.Value
		switch id, hasID := childID(c, i); {
		case hasID:
			if same := old.named[id]; seen[id] < len(same) {
				then = same[seen[id]]
			}
			seen[id]++
		case i < len(old.numbered):
			then = old.numbered[i]
		}
		u.restore(c.value(i), then)
	}
}

// former is the children of a value of the current text, by what tells them
// again. Several may have the same name.
type former struct {
	named    map[string][]*hujson.Value
	numbered []*hujson.Value // of an array
}

func counterparts(v *hujson.Value) former {
	var f former
	if v == nil {
		return f
	}
	c := childrenOf(v)
	f.named = make(map[string][]*hujson.Value)
	for i := range c.len() {
		if id, ok := childID(c, i); ok {
			f.named[id] = append(f.named[id], c.value(i))
		}
		if c.array != nil {
			f.numbered = append(f.numbered, c.value(i))
		}
	}
	return f
}

// childID is what tells child i again: the name of a member, the "id" of an
// element. An object and an array have no child in common.
func childID(c children, i int) (id string, ok bool) {
	if c.object != nil {
		return "." + c.name(i), true
	}
	id, ok = elementID(c.value(i))
	return "#" + id, ok
}

func (u *unmasking) restoreText(v, was *hujson.Value) {
	if v.Value.Kind() != '"' {
		return
	}
	text := textOf(v)
	n := strings.Count(text, Unchanged)
	if n == 0 {
		return
	}
	if was != nil {
		if _, plain := was.Value.(hujson.Literal); plain {
			old, spans := textOf(was), u.hidden[was]
			switch {
			case text == mask(old, spans), text == Unchanged && len(spans) > 0:
				v.Value = was.Value
				return
			case n == len(spans):
				parts := strings.Split(text, Unchanged)
				for i, s := range spans {
					parts[i] += old[s.from:s.to]
				}
				v.Value = hujson.String(strings.Join(parts, ""))
				return
			}
		}
	}
	u.next.doc.problem(v.StartOffset, "%s stands for a value that is not shown, but there is none at this place; write the value itself", Unchanged)
}

// restoreComments puts back the comments that were not shown.
func (u *unmasking) restoreComments(now *tree) {
	var old [][]byte
	now.comments(func(comment []byte) []byte {
		old = append(old, comment)
		return comment
	})
	u.next.comments(func(comment []byte) []byte {
		open, end := delimiters(comment)
		body := bytes.TrimSuffix(comment[len(open):], []byte(end))
		number, ok := bytes.CutPrefix(bytes.TrimSpace(body), []byte("${unchanged:"))
		if !ok {
			return comment
		}
		n, err := strconv.Atoi(string(bytes.TrimSuffix(number, []byte("}"))))
		if err != nil || n < 1 || n > len(old) || isLineComment(old[n-1]) != isLineComment(comment) {
			return comment // it says nothing any more, and does no harm
		}
		return old[n-1]
	})
}
