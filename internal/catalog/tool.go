package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// HeaderError says which x-mcp-header annotation of a tool breaks the rules of
// the revision 2026-07-28 ("Custom Headers from Tool Parameters").
type HeaderError struct {
	Path   []string // of keys within inputSchema, to the schema with the annotation
	Reason string
}

// Error names the place and the rule.
func (e *HeaderError) Error() string {
	place := strings.Join(append([]string{"inputSchema"}, e.Path...), ".")
	return fmt.Sprintf("x-mcp-header in %s: %s", message.Quote(place), e.Reason)
}

// ParseTool reads a tool's description, which may be any bytes. Raw of the
// result is raw without the white space around it, and shares its memory.
//
// A description must be a JSON object with a name, a string that is not empty,
// and without duplicate keys at any depth: those are read differently by
// different programs, so that what is shown, judged and called could differ.
// A hint counts as given only if it is literally true.
//
// If the only fault is an x-mcp-header annotation, the error is a
// [*HeaderError] and the tool is there, without Headers. Clients of streamable
// HTTP must leave such a tool out; for other transports it is as good as any.
func ParseTool(raw []byte) (hub.Tool, error) {
	if err := wire.Valid(raw, wire.Limits{UniqueKeys: true}); err != nil {
		return hub.Tool{}, fmt.Errorf("read a tool's description: %w", err)
	}
	raw = wire.Value(raw).Of(raw)
	desc := wire.Value(raw)
	if raw[0] != '{' {
		return hub.Tool{}, errors.New("a tool's description is not an object")
	}
	name, ok := wire.String(raw, wire.Lookup(raw, desc, "name"))
	if !ok || name == "" {
		return hub.Tool{}, errors.New("a tool's description has no name")
	}
	annotations := wire.Lookup(raw, desc, "annotations")
	tool := hub.Tool{
		Name:       name,
		Raw:        raw,
		ReadOnly:   isTrue(raw, wire.Lookup(raw, annotations, "readOnlyHint")),
		Idempotent: isTrue(raw, wire.Lookup(raw, annotations, "idempotentHint")),
		People:     forPeople(raw, wire.Lookup(raw, annotations, "audience")),
	}
	if mayAnnotate(raw) {
		w := schemaWalk{raw: raw, taken: make(map[string]bool)}
		if err := w.schema(wire.Lookup(raw, desc, "inputSchema"), nil, true); err != nil {
			return tool, fmt.Errorf("tool %q: %w", message.Quote(name), err)
		}
		tool.Headers = w.headers
	}
	return tool, nil
}

// forPeople reports whether an audience is users and nobody else.
func forPeople(raw []byte, audience wire.Span) bool {
	some := false
	for at := range wire.Array(raw, audience) {
		if who, _ := wire.String(raw, at); who != "user" {
			return false
		}
		some = true
	}
	return some
}

// isTrue reports whether a value is the literal true.
func isTrue(raw []byte, v wire.Span) bool { return string(v.Of(raw)) == "true" }

// headerKey is the member of a parameter's schema that names a header.
const headerKey = "x-mcp-header"

// mayAnnotate is a cheap test that almost all tools fail: the letters must be
// there, or an escape that might spell one of them.
func mayAnnotate(raw []byte) bool {
	return bytes.Contains(raw, []byte(headerKey)) || bytes.Contains(raw, []byte(`\u`))
}

// maxPath bounds the walk, which reads each byte once for every key above it. No
// schema of use comes near.
const maxPath = 128

// schemaWalk collects the annotations of one input schema, in their order. A path
// is that of the keys which lead to a place in it. While the walk is inside, a
// chain of properties alone led there, and every second key is the name of an
// argument. All errors are a [*HeaderError].
type schemaWalk struct {
	raw     []byte
	headers []hub.ParamHeader
	taken   map[string]bool // header names in lower case
}

// schema walks one schema.
func (w *schemaWalk) schema(s wire.Span, path []string, inside bool) error {
	if len(path) > maxPath {
		return &HeaderError{path, "the schema is nested too deeply to look for annotations"}
	}
	for m := range wire.Object(w.raw, s) {
		key, _ := wire.String(w.raw, m.Key)
		var err error
		switch holds(key) {
		case annotation:
			err = w.annotation(s, m.Value, path, inside)
		case schemas:
			err = w.schemas(m.Value, extend(path, key))
		case namedSchemas:
			err = w.namedSchemas(m.Value, extend(path, key), inside && key == "properties")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// schemas walks a schema, or all of an array of them.
func (w *schemaWalk) schemas(v wire.Span, path []string) error {
	for element := range wire.Array(w.raw, v) {
		if err := w.schema(element, path, false); err != nil {
			return err
		}
	}
	return w.schema(v, path, false)
}

// namedSchemas walks all schemas of an object of them.
func (w *schemaWalk) namedSchemas(v wire.Span, path []string, inside bool) error {
	for m := range wire.Object(w.raw, v) {
		name, _ := wire.String(w.raw, m.Key)
		if err := w.schema(m.Value, extend(path, name), inside); err != nil {
			return err
		}
	}
	return nil
}

// annotation checks the annotation of the schema s and notes the header.
func (w *schemaWalk) annotation(s, value wire.Span, path []string, inside bool) error {
	if !inside || len(path) == 0 {
		return &HeaderError{path, "only an argument reached through properties alone may have one"}
	}
	name, ok := wire.String(w.raw, value)
	if !ok || !isToken(name) {
		return &HeaderError{path, "not a header name"}
	}
	switch kind, _ := wire.String(w.raw, wire.Lookup(w.raw, s, "type")); kind {
	case "string", "integer", "boolean":
	default:
		return &HeaderError{path, "the type is not string, integer or boolean"}
	}
	if w.taken[strings.ToLower(name)] {
		return &HeaderError{path, "another argument has the same header"}
	}
	w.taken[strings.ToLower(name)] = true
	arguments := make([]string, 0, len(path)/2)
	for i := 1; i < len(path); i += 2 {
		arguments = append(arguments, path[i])
	}
	w.headers = append(w.headers, hub.ParamHeader{Path: arguments, Name: name})
	return nil
}

// extend returns a new path, one key longer.
func extend(path []string, key string) []string { return slices.Concat(path, []string{key}) }

// content is what the value of a schema's member is to the walk.
type content uint8

const (
	data content = iota // no schema: a default or an example may look like one
	annotation
	schemas      // one, or an array: "items" could be either before 2020-12
	namedSchemas // an object whose keys are no keywords
)

// holds tells what the value of a member with the key is. The keywords are
// those of JSON Schema 2020-12 and, where they differ, draft 7.
func holds(key string) content {
	switch key {
	case headerKey:
		return annotation
	case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
		"additionalProperties", "unevaluatedProperties", "propertyNames",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema":
		return schemas
	case "properties", "patternProperties", "dependentSchemas", "dependencies",
		"$defs", "definitions":
		return namedSchemas
	}
	return data
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2: 1*tchar.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
