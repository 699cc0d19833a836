package docgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/message"
)

// property is what the schema of the file says about one member.
type property struct {
	name       string
	Type       any                   `json:"type"`
	Enum       []string              `json:"enum"`
	Default    json.RawMessage       `json:"default"`
	About      string                `json:"description"`
	Foreign    bool                  `json:"deprecated"`
	Properties json.RawMessage       `json:"properties"`
	Items      struct{ Type string } `json:"items"`
	Values     *property             `json:"additionalProperties"`
}

// TestMembers is the reference of the configuration file.
func TestMembers(t *testing.T) {
	var schema struct {
		Defs struct {
			Server struct {
				Properties json.RawMessage `json:"properties"`
			} `json:"server"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	members := properties(t, schema.Defs.Server.Properties)
	tr := newTranslation(t, "members.zh.txt")
	inBoth(t, "docs/configuration", func(lang message.Lang) map[string]string {
		own := [][]string{{tr.say(lang, "member"), tr.say(lang, "value"), tr.say(lang, "default"), tr.say(lang, "meaning")}}
		foreign := [][]string{{tr.say(lang, "member"), tr.say(lang, "meaning")}}
		for _, p := range members {
			if p.Foreign {
				foreign = append(foreign, []string{"`" + p.name + "`", tr.say(lang, p.About)})
				continue
			}
			own = append(own, p.rows(t, tr, lang, p.name)...)
		}
		return map[string]string{"members": table(own...), "foreign-members": table(foreign...)}
	})
	tr.done()
}

// rows are those of a member and of what is in it.
func (p *property) rows(t *testing.T, tr *translation, lang message.Lang, name string) [][]string {
	all := [][]string{p.row(tr, lang, name)}
	for _, inner := range properties(t, p.Properties) {
		all = append(all, inner.rows(t, tr, lang, name+"."+inner.name)...)
	}
	if p.Values != nil {
		for _, inner := range properties(t, p.Values.Properties) {
			all = append(all, inner.rows(t, tr, lang, name+".TOOL."+inner.name)...)
		}
	}
	return all
}

func (p *property) row(tr *translation, lang message.Lang, name string) []string {
	standard := ""
	if p.Default != nil {
		standard = "`" + string(p.Default) + "`"
	}
	return []string{"`" + name + "`", tr.say(lang, p.kind()), standard, tr.say(lang, p.About)}
}

// kind says in words which values a member has.
func (p *property) kind() string {
	switch {
	case p.name == "type":
		return "text" // which ones is told elsewhere
	case p.Enum != nil:
		return "`\"" + strings.Join(p.Enum, "\"`, `\"") + "\"`"
	case p.Values != nil && p.Values.Properties != nil:
		return "object of objects"
	case p.Values != nil:
		return "object of texts"
	}
	switch kind := fmt.Sprint(p.Type); kind {
	case "string":
		return "text"
	case "boolean":
		return "true or false"
	case "integer":
		return "whole number"
	case "array":
		if p.Items.Type == "integer" {
			return "array of whole numbers"
		}
		return "array of texts"
	case "number":
		return "number"
	case "object":
		return "object"
	case "[integer object]":
		return "whole number or object"
	case "[boolean string object]":
		return "true, false or object"
	case "[boolean object]":
		return "false or object"
	case "[integer string]":
		return "whole number or text"
	case "[string array]":
		return "text or array of texts"
	case "[number string]":
		return "number or text"
	default:
		return kind
	}
}

// properties are the members of an object, in their order.
func properties(t *testing.T, raw json.RawMessage) []property {
	t.Helper()
	if raw == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var all []property
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		p := property{name: name.(string)}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}
