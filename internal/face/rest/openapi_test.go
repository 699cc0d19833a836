package rest

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

var update = flag.Bool("update", false, "write api/openapi.json anew")

// TestOpenAPI holds the committed description of the API against the door.
func TestOpenAPI(t *testing.T) {
	path := filepath.Join(rig.Root(), "api", "openapi.json")
	got := New(Options{}).OpenAPI()
	if *update {
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("api/openapi.json is not current; run go test ./internal/face/rest -update (-committed +now)\n%s", diff)
	}
	h := open(t, "")
	if a := h.get("/openapi.json").into(http.StatusOK, nil); string(a.body) != string(want) {
		t.Error("what is served is something else")
	}
	if a := h.get("/config/schema").into(http.StatusOK, nil); a.header.Get("Content-Type") != "application/schema+json" || !json.Valid(a.body) {
		t.Errorf("the schema is %s", a.header.Get("Content-Type"))
	}
}

// The description is one of OpenAPI 3.1: what it refers to is there, and every
// operation says what it needs and how it fails.
func TestOpenAPIIsWhole(t *testing.T) {
	d := New(Options{})
	var tree map[string]any
	must(t, json.Unmarshal(d.OpenAPI(), &tree))
	if tree["openapi"] != "3.1.0" {
		t.Errorf("the version is %v", tree["openapi"])
	}
	walk(tree, func(ref string) {
		at := any(tree)
		for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			object, _ := at.(map[string]any)
			if at = object[step]; at == nil {
				t.Errorf("%s leads nowhere", ref)
				return
			}
		}
	})
	schemas := d.api.OpenAPI().Components.Schemas
	for _, foreign := range []string{"ErrorModel", "ErrorDetail"} {
		if schemas.Map()[foreign] != nil {
			t.Errorf("the framework's %s is there", foreign)
		}
	}
	ids := make(map[string]bool)
	for path, item := range d.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil {
				continue
			}
			if ids[op.OperationID] || op.Summary == "" || len(op.Tags) != 1 || op.Responses["default"] == nil {
				t.Errorf("%s: %+v", path, op)
			}
			ids[op.OperationID] = true
			checkParameters(t, path, op)
			for status, response := range op.Responses {
				code, err := strconv.Atoi(status)
				if response.Ref == "" && (response.Description == "" || err != nil || code >= 400) {
					t.Errorf("%s: the response %s is %+v", op.OperationID, status, response)
				}
			}
			if (op.Responses["401"] != nil) != (len(op.Security) > 0) {
				t.Errorf("%s: 401 and security do not fit", op.OperationID)
			}
			if op.RequestBody != nil {
				checkExample(t, schemas, op)
			}
		}
	}
}

// walk calls f with every reference.
func walk(v any, f func(ref string)) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			walk(one, f)
		}
	case map[string]any:
		for name, one := range v {
			if ref, ok := one.(string); ok && name == "$ref" {
				f(ref)
			}
			walk(one, f)
		}
	}
}

var template = regexp.MustCompile(`\{(\w+)\}`)

// checkParameters holds the path's parameters against those of the operation.
func checkParameters(t *testing.T, path string, op *huma.Operation) {
	t.Helper()
	var want, got []string
	for _, m := range template.FindAllStringSubmatch(path, -1) {
		want = append(want, m[1])
	}
	for _, p := range op.Parameters {
		if p.In == "path" {
			got = append(got, p.Name)
		}
		if p.Description == "" || p.Schema == nil {
			t.Errorf("%s: the parameter %s says nothing", op.OperationID, p.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s %s: the parameters are %q", op.Method, path, got)
	}
}

// checkExample holds the example of a body against its schema.
func checkExample(t *testing.T, schemas huma.Registry, op *huma.Operation) {
	t.Helper()
	content := op.RequestBody.Content["application/json"]
	shape := schemas.SchemaFromRef(content.Schema.Ref)
	example, ok := content.Example.(map[string]any)
	if !ok || shape.AdditionalProperties != false {
		t.Errorf("%s: no example, or an open shape", op.OperationID)
	}
	for name := range example {
		if shape.Properties[name] == nil {
			t.Errorf("%s: the example has %q", op.OperationID, name)
		}
	}
	for _, name := range shape.Required {
		if example[name] == nil {
			t.Errorf("%s: the example has no %q", op.OperationID, name)
		}
	}
}
