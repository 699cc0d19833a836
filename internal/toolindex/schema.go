package toolindex

import (
	"github.com/toolcrib/toolcrib/internal/wire"
)

// inputSchema returns the JSON Schema that the input_schema of an imported tool
// stands for, or why there is none. A schema stays as it is, but that every tool
// of MCP must say that its arguments are an object. Anything else is the short
// form: an object of the parameters' names and the names of their types.
func inputSchema(raw []byte, v wire.Span) (schema []byte, fault string) {
	switch {
	case !v.Exists() || string(v.Of(raw)) == "null":
		return []byte(`{"type":"object"}`), ""
	case raw[v.Start] != '{':
		return nil, "it is no object"
	}
	kind := wire.Lookup(raw, v, "type")
	if name, _ := wire.String(raw, kind); name == "object" {
		return v.Of(raw), ""
	}
	if !isSchema(raw, v) {
		return expand(raw, v), ""
	}
	if kind.Exists() {
		return nil, "its type is not object"
	}
	whole := v.Of(raw)
	return wire.Splice(whole, wire.Insert(whole, wire.Value(whole), []byte(`"type":"object"`))), ""
}

// isSchema reports whether an object has what only a JSON Schema has: a member
// named so whose value no short form would have there.
func isSchema(raw []byte, v wire.Span) bool {
	for key, first := range map[string]byte{
		"properties": '{', "required": '[', "allOf": '[', "anyOf": '[', "oneOf": '[', "$defs": '{',
	} {
		if m := wire.Lookup(raw, v, key); m.Exists() && raw[m.Start] == first {
			return true
		}
	}
	return wire.Lookup(raw, v, "$schema").Exists() || wire.Lookup(raw, v, "$ref").Exists()
}

// expand makes a JSON Schema of the short form. Which parameters are needed it
// does not say. A parameter whose type is a schema has just that.
func expand(raw []byte, v wire.Span) []byte {
	b := []byte(`{"type":"object","properties":{`)
	first := true
	for m := range wire.Object(raw, v) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, m.Key.Of(raw)...), ':')
		if raw[m.Value.Start] == '{' {
			b = append(b, m.Value.Of(raw)...)
			continue
		}
		name, _ := wire.String(raw, m.Value)
		b = append(b, '{')
		if kind := typeNamed(name); kind != "" {
			b = wire.AppendString(append(b, `"type":`...), kind)
		}
		b = append(b, '}')
	}
	return append(b, "}}"...)
}

// typeNamed is the type of JSON Schema that a type's name in the short form
// stands for; "" if it is none that is known, so that anything may be given.
func typeNamed(name string) string {
	switch name {
	case "str", "string":
		return "string"
	case "int", "integer":
		return "integer"
	case "float", "number":
		return "number"
	case "bool", "boolean":
		return "boolean"
	case "list", "array":
		return "array"
	case "dict", "object":
		return "object"
	}
	return ""
}
