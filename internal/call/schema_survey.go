package call

import (
	"net/url"
	"strconv"
	"strings"
)

// survey is what there is in a schema.
type survey struct {
	all   []map[string]any // it, and those in it
	work  int              // steps to judge a value by all of them
	most  int              // and by one of them
	refs  []string         // that they refer to
	named map[string]bool  // what may be referred to, as a fragment
	inner bool             // one in it has an address of its own
}

// newSurvey looks through a schema. It takes all formats out.
func newSurvey(value any) *survey {
	s := &survey{most: 1, named: make(map[string]bool)} // true and false are schemas too
	s.schema(value, "")
	return s
}

// schema looks through one, at a JSON pointer.
func (s *survey) schema(value any, at string) {
	this, ok := value.(map[string]any)
	if !ok || len(s.all) > maxSubschemas {
		return
	}
	s.all = append(s.all, this)
	steps := effort(this)
	s.work, s.most = s.work+steps, max(s.most, steps)
	s.named[at] = true
	delete(this, "format")
	for _, key := range [...]string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := this[key].(string); ok {
			s.refs = append(s.refs, ref)
		}
	}
	for _, key := range [...]string{"$anchor", "$dynamicAnchor"} {
		if name, ok := this[key].(string); ok {
			s.named[name] = true
		}
	}
	for _, key := range [...]string{"$id", "id"} {
		if _, ok := this[key].(string); ok && at != "" {
			s.inner = true
		}
	}
	for key, member := range this {
		next := at + "/" + escaped(key)
		switch key {
		case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
			"additionalProperties", "unevaluatedProperties", "propertyNames",
			"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema":
			if list, ok := member.([]any); ok {
				for i, one := range list {
					s.schema(one, next+"/"+strconv.Itoa(i))
				}
				continue
			}
			s.schema(member, next)
		case "properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions":
			list, _ := member.(map[string]any)
			for name, one := range list {
				s.schema(one, next+"/"+escaped(name))
			}
		}
	}
}

// closed reports whether all that is referred to was seen. If not, the schema
// leads elsewhere, or to a place that nobody would take for a schema, whose steps
// are not counted.
func (s *survey) closed() error {
	for _, ref := range s.refs {
		fragment, ok := strings.CutPrefix(ref, "#")
		if !ok || s.inner {
			return errAway
		}
		if fragment, err := url.PathUnescape(fragment); err != nil || !s.named[fragment] {
			return errAway
		}
	}
	return nil
}

// escaped is a key as a part of a JSON pointer (RFC 6901).
func escaped(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
