package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tailscale/hujson"
)

func parsedSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestSchemaIsCurrent holds the committed schema against the reader's. It is
// written anew with -update.
func TestSchemaIsCurrent(t *testing.T) {
	const path = "schema.json"
	if *update {
		if err := os.WriteFile(path, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, Schema()) {
		t.Errorf("%s is not what Schema returns; write it with: go test ./internal/config -run TestSchemaIsCurrent -update", path)
	}
}

// TestSchemaHasEveryMember shows that the schema and the reader know the same
// members: the reader warns about none of the schema's, and about any other.
func TestSchemaHasEveryMember(t *testing.T) {
	server := parsedSchema(t).Defs["server"]
	unknown := func(name string) bool {
		_, warnings, _ := Parse("f", fmt.Appendf(nil, `{"mcpServers":{"a":{%q:[]}}}`, name), nil)
		return slices.ContainsFunc(warnings, func(w Warning) bool { return strings.Contains(w.Detail.String(), "is not known") })
	}
	for name, member := range server.Properties {
		if unknown(name) {
			t.Errorf("the reader does not know %q", name)
		}
		if member.Description == "" {
			t.Errorf("%q has no description", name)
		}
	}
	terms := serverTerms()
	for i, one := range terms {
		if server.Properties[one.name] == nil {
			t.Errorf("the schema does not have %q", one.name)
		}
		if slices.ContainsFunc(terms[:i], func(other term) bool { return other.name == one.name }) {
			t.Errorf("%q is there twice", one.name)
		}
	}
	if !unknown("no such member") || len(server.Properties) != len(terms) {
		t.Errorf("%d members in the schema, %d read", len(server.Properties), len(terms))
	}
	for _, name := range topMembers() {
		if parsedSchema(t).Properties[name] == nil {
			t.Errorf("the schema does not have %q", name)
		}
	}
}

// TestSchemaAllowsGoodFiles validates every file of ours that has no problem.
func TestSchemaAllowsGoodFiles(t *testing.T) {
	resolved, err := parsedSchema(t).Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	// What only programs write is read, but not what an editor should offer.
	foreign := []string{"nulls.json", "types-odd.json"}
	checked := 0
	for _, path := range files {
		c, _, err := Load(path, builtins())
		if err != nil || c.Form != FormToolcrib || slices.Contains(foreign, filepath.Base(path)) {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := hujson.Standardize(append(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), '\n'))
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		checked++
		if err := resolved.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if checked < 10 {
		t.Errorf("only %d files were looked at", checked)
	}
	for _, bad := range []string{
		`[]`, `{"mcpServers":{"a":1}}`, `{"mcpServers":{"":{}}}`, `{"mcpServers":{"a":{"type":"pigeon"}}}`, `{"mcpServers":{"a":{"args":"x"}}}`,
		`{"mcpServers":{"a":{"toolOverrides":{"x":{"name":"a b"}}}}}`, `{"mcpServers":{"a":{"priority":1.5}}}`,
	} {
		var value any
		if err := json.Unmarshal([]byte(bad), &value); err != nil {
			t.Fatal(err)
		}
		if resolved.Validate(value) == nil {
			t.Errorf("%s is allowed", bad)
		}
	}
}
