package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestBytesOf(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "0": 0, "2048B": 2048, "1k": 1 << 10, "1 KiB": 1 << 10, "512MB": 512 << 20, "512m": 512 << 20, "1.5GiB": 3 << 29, "2 tb": 2 << 40, "1e3": 1000,
	} {
		if got, ok := bytesOf(text); !ok || int64(got) != want {
			t.Errorf("%q is %v, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", " ", "MB", "-1MB", "1PB", "1XB", "1MBs", "1 M B", "1ib", "NaN", "half a GB", "512 MB RAM"} {
		if got, ok := bytesOf(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	for _, n := range []int64{minMemory, minMemory + 1, 1000 << 20, 1 << 30, 1<<30 + 1<<10, maxMemory} {
		if got, ok := bytesOf(memoryText(n)); !ok || int64(got) != n {
			t.Errorf("%d is written as %q, which is %v", n, memoryText(n), got)
		}
	}
}

// TestSchemaHasEveryPart shows that the schema and the reader know the same
// members of the objects within an entry, and of "mcpServiceManager".
func TestSchemaHasEveryPart(t *testing.T) {
	root := parsedSchema(t)
	objects := make(map[string]*jsonschema.Schema)
	for _, name := range []string{"mcpServiceManager", "callers", "store", "audit", "events"} {
		objects[`{"`+name+`":{%q:null}}`] = root.Properties[name]
	}
	objects[`{"telemetry":{"traces":{},%q:null}}`] = root.Properties["telemetry"]
	objects[`{"telemetry":{"traces":{%q:null}}}`] = root.Properties["telemetry"].Properties["traces"]
	tools := root.Defs["server"].Properties["toolOverrides"].AdditionalProperties
	objects[`{"mcpServers":{"a":{"command":"x","toolOverrides":{"t":{%q:null}}}}}`] = tools
	objects[`{"mcpServers":{"a":{"command":"x","toolOverrides":{"t":{"messages":{%q:null}}}}}}`] = tools.Properties["messages"]
	for name, member := range root.Defs["server"].Properties {
		if len(member.Properties) > 0 {
			objects[`{"mcpServers":{"a":{"command":"x","`+name+`":{%q:null}}}}`] = member
		}
	}
	if len(objects) != 16 {
		t.Errorf("%d objects", len(objects))
	}
	for text, object := range objects {
		unknown := func(name string) bool {
			_, warnings, _ := Parse("f", fmt.Appendf(nil, text, name), nil)
			return slices.ContainsFunc(warnings, func(w Warning) bool { return strings.Contains(w.Detail.String(), "is not known") })
		}
		for name, member := range object.Properties {
			if unknown(name) || member.Description == "" {
				t.Errorf(text+": not known, or not described", name)
			}
		}
		if !unknown("no such member") {
			t.Errorf(text+": known", "no such member")
		}
	}
}

// What is taken for a path can be asked for: else every check would fail.
func TestHealthPath(t *testing.T) {
	for path, good := range map[string]bool{
		"/health": true, "//health": true, "/健康": true, "/a%20b": true, "/a;b": true, "": true,
		"/%zz": false, "/%": false, "health": false, "http://other/health": false, "/a?b": false, "/a#b": false, `\\\\host`: false,
	} {
		_, _, err := Parse("f", []byte(`{"mcpServers":{"a":{"url":"http://h/mcp","healthCheckPath":"`+path+`"}}}`), nil)
		if good != (err == nil) {
			t.Errorf("%q: %v", path, err)
		}
	}
}
