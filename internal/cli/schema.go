package cli

import (
	"encoding/json"
	"slices"
	"strings"
)

// schema is a JSON Schema, as far as the command line looks at it: to show
// what a tool takes, and to know how a text that was typed is meant. The
// server judges the values.
type schema struct {
	Type        kinds             `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.RawMessage   `json:"minimum"`
	Maximum     json.RawMessage   `json:"maximum"`
	Format      string            `json:"format"`
	Items       *schema           `json:"items"`
	AnyOf       []schema          `json:"anyOf"`
	OneOf       []schema          `json:"oneOf"`
	AllOf       []schema          `json:"allOf"`
	Ref         string            `json:"$ref"`

	Required   []string                   `json:"required"`
	Properties json.RawMessage            `json:"properties"`
	Defs       map[string]json.RawMessage `json:"$defs"`
	Old        map[string]json.RawMessage `json:"definitions"`
}

// UnmarshalJSON takes a schema that is not as expected, such as true, for one
// that says nothing.
func (s *schema) UnmarshalJSON(raw []byte) error {
	type bare schema
	var b bare
	if json.Unmarshal(raw, &b) == nil {
		*s = schema(b)
	}
	return nil
}

// kinds are the values of "type": one name, or several.
type kinds []string

// UnmarshalJSON reads a name or a list of names.
func (k *kinds) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*k = kinds{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(k))
}

// members are the properties of an object's schema, in its order.
func (s *schema) members() []parameter {
	var all []parameter
	for _, m := range members(s.Properties) {
		p := parameter{name: m.name, required: slices.Contains(s.Required, m.name)}
		if json.Unmarshal(m.raw, &p.schema) != nil {
			continue
		}
		p.schema.resolve(s, 3)
		all = append(all, p)
	}
	return all
}

// resolve puts what references within the root stand for in their place, to
// some depth. Its own description wins.
func (s *schema) resolve(root *schema, depth int) {
	if depth == 0 {
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s.replace(root.Defs[name])
	} else if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
		s.replace(root.Old[name])
	}
	if s.Items != nil {
		s.Items.resolve(root, depth-1)
	}
	for _, list := range [][]schema{s.AnyOf, s.OneOf, s.AllOf} {
		for i := range list {
			list[i].resolve(root, depth-1)
		}
	}
}

func (s *schema) replace(raw json.RawMessage) {
	about, std := s.Description, s.Default
	s.Ref = ""
	if len(raw) == 0 || json.Unmarshal(raw, s) != nil {
		return
	}
	if about != "" {
		s.Description = about
	}
	if std != nil {
		s.Default = std
	}
}

// types are all the types that a value may have; none if any will do.
func (s *schema) types() []string {
	all := slices.Clone([]string(s.Type))
	for _, list := range [][]schema{s.AnyOf, s.OneOf, s.AllOf} {
		for i := range list {
			all = append(all, list[i].types()...)
		}
	}
	if len(all) == 0 {
		for _, v := range append(slices.Clone(s.Enum), s.Const) {
			if kind := kindOf(v); kind != "" {
				all = append(all, kind)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// kind is the type for people, such as "array of string".
func (s *schema) kind() string {
	all := s.types()
	for i, t := range all {
		if t == "array" && s.Items != nil && len(s.Items.types()) > 0 {
			all[i] = "array of " + s.Items.kind()
		}
	}
	if len(all) == 0 {
		return "any"
	}
	return strings.Join(all, "|")
}

// choices are the values that are allowed, as a person types them; nil if
// there is no list. Titled choices are those of elicitation (2026-07-28,
// "Elicitation", schemas of choices).
func (s *schema) choices() []string {
	var all []string
	for _, v := range s.Enum {
		all = append(all, typedAs(v))
	}
	if len(all) == 0 {
		for _, list := range [][]schema{s.OneOf, s.AnyOf} {
			for i := range list {
				if len(list[i].Const) > 0 {
					all = append(all, typedAs(list[i].Const))
				}
			}
		}
	}
	return all
}

// about is what limits the values, for people.
func (s *schema) about() string {
	var parts []string
	if c := s.choices(); len(c) > 0 {
		parts = append(parts, strings.Join(c, ", "))
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		parts = append(parts, string(s.Minimum)+"–"+string(s.Maximum))
	case s.Minimum != nil:
		parts = append(parts, "≥ "+string(s.Minimum))
	case s.Maximum != nil:
		parts = append(parts, "≤ "+string(s.Maximum))
	}
	if s.Format != "" {
		parts = append(parts, s.Format)
	}
	if s.Default != nil {
		parts = append(parts, "= "+typedAs(s.Default))
	}
	return strings.Join(parts, "; ")
}

// typedAs is a JSON value as a person would type it: a text without quotes.
func typedAs(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}
