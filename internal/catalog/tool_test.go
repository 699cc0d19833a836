package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestParseTool(t *testing.T) {
	tests := map[string]struct {
		raw  string
		want hub.Tool
	}{
		"name only": {`{"name":"echo"}`, hub.Tool{Name: "echo"}},
		"escaped":   {`{"na\u006de":"\u5929\"\ud83d\ude00"}`, hub.Tool{Name: "天\"😀"}},
		"hints":     {`{"name":"a","annotations":{"readOnlyHint":true,"idempotentHint":true}}`, hub.Tool{Name: "a", ReadOnly: true, Idempotent: true}},
		"no hints":  {`{"name":"a","annotations":{"readOnlyHint":false,"idempotentHint":null}}`, hub.Tool{Name: "a"}},
		"truthy":    {`{"name":"a","annotations":{"readOnlyHint":"true","idempotentHint":1}}`, hub.Tool{Name: "a"}},
		"case":      {`{"name":"a","Name":"b","annotations":{"readonlyhint":true}}`, hub.Tool{Name: "a"}},
		"misplaced": {`{"name":"a","readOnlyHint":true,"annotations":[true]}`, hub.Tool{Name: "a"}},
		"nested":    {`{"inputSchema":{"name":"b","annotations":{"readOnlyHint":true}},"name":"a"}`, hub.Tool{Name: "a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.want.Raw = []byte(tt.raw)
			got, err := catalog.ParseTool([]byte(" \r\n" + tt.raw + "\t\n"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseToolRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing":          ``,
		"blank":            ` `,
		"not JSON":         `{"name":"a"`,
		"not UTF-8":        "{\"name\":\"a\xff\"}",
		"two values":       `{"name":"a"} {}`,
		"array":            `[{"name":"a"}]`,
		"null":             `null`,
		"no name":          `{"description":"a"}`,
		"other case":       `{"NAME":"a"}`,
		"empty name":       `{"name":""}`,
		"number":           `{"name":1}`,
		"two names":        `{"name":"a","name":"b"}`,
		"two names spelt":  `{"name":"a","n\u0061me":"b"}`,
		"two hints":        `{"name":"a","annotations":{"readOnlyHint":true,"readOnlyHint":false}}`,
		"two deep members": `{"name":"a","inputSchema":{"properties":{"p":{"type":"string","type":"integer"}}}}`,
		"bottomless":       `{"name":"a","inputSchema":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := catalog.ParseTool([]byte(raw))
			if err == nil {
				t.Fatalf("accepted as %q", got.Name)
			}
			if _, ok := errors.AsType[*catalog.HeaderError](err); ok || got.Name != "" {
				t.Errorf("as if it were usable: %q, %v", got.Name, err)
			}
		})
	}
}

// in puts a schema text in the place of %s of an input schema.
func in(schema, sub string) string {
	return `{"name":"a","inputSchema":` + strings.Replace(schema, "%s", sub, 1) + `}`
}

func TestParseToolHeaders(t *testing.T) {
	const region = `{"type":"string","x-mcp-header":"Region"}`
	deep := `{"type":"object","properties":{"o":{"type":"object","properties":{"x.y":%s}}}}`
	tests := map[string]struct {
		raw  string
		want []hub.ParamHeader
	}{
		"none":      {in(`{"type":"object","properties":{"p":%s}}`, `{"type":"string"}`), nil},
		"one":       {in(`{"type":"object","properties":{"p":%s}}`, region), []hub.ParamHeader{{Path: []string{"p"}, Name: "Region"}}},
		"nested":    {in(deep, region), []hub.ParamHeader{{Path: []string{"o", "x.y"}, Name: "Region"}}},
		"kinds":     {in(`{"properties":{"i":{"x-mcp-header":"I","type":"integer"},"b":%s}}`, `{"type":"boolean","x-mcp-header":"B"}`), []hub.ParamHeader{{Path: []string{"i"}, Name: "I"}, {Path: []string{"b"}, Name: "B"}}},
		"any token": {in(`{"properties":{"p":%s}}`, "{\"type\":\"string\",\"x-mcp-header\":\"!#$%&'*+-.^_`|~aZ0\"}"), []hub.ParamHeader{{Path: []string{"p"}, Name: "!#$%&'*+-.^_`|~aZ0"}}},
		"escaped":   {in(`{"properties":{"p":%s}}`, `{"type":"string","x\u002dmcp\u002dheader":"\u0052"}`), []hub.ParamHeader{{Path: []string{"p"}, Name: "R"}}},

		// Places where the letters are no annotation.
		"in a text":          {`{"name":"a","description":"no \"x-mcp-header\":\"\" here"}`, nil},
		"in an example":      {in(`{"properties":{"p":{"default":%s}}}`, region), nil},
		"in enum":            {in(`{"properties":{"p":{"enum":[%s]}}}`, region), nil},
		"a parameter's name": {in(`{"properties":{"x-mcp-header":%s}}`, `{"type":"string"}`), nil},
		"outside the input":  {`{"name":"a","outputSchema":{"items":` + region + `},"inputSchema":{}}`, nil},
		"no schema":          {`{"name":"a","inputSchema":["x-mcp-header"]}`, nil},

		// "properties" is a property's name here, not the keyword.
		"named properties": {in(`{"properties":{"properties":%s}}`, region), []hub.ParamHeader{{Path: []string{"properties"}, Name: "Region"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parse(t, tt.raw).Headers); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseToolRefusesHeaders(t *testing.T) {
	const region = `{"type":"string","x-mcp-header":"Region"}`
	property := func(value string) string { return in(`{"properties":{"p":%s}}`, value) }
	tests := map[string]string{
		"empty":         property(`{"type":"string","x-mcp-header":""}`),
		"no string":     property(`{"type":"string","x-mcp-header":true}`),
		"null":          property(`{"type":"string","x-mcp-header":null}`),
		"space":         property(`{"type":"string","x-mcp-header":"My Region"}`),
		"colon":         property(`{"type":"string","x-mcp-header":"Region:"}`),
		"line break":    property(`{"type":"string","x-mcp-header":"Region\r\nHost"}`),
		"not ASCII":     property(`{"type":"string","x-mcp-header":"Région"}`),
		"brackets":      property(`{"type":"string","x-mcp-header":"X-(Region)"}`),
		"at sign":       property(`{"type":"string","x-mcp-header":"a@b"}`),
		"number":        property(`{"type":"number","x-mcp-header":"N"}`),
		"object":        property(`{"type":"object","x-mcp-header":"O"}`),
		"array":         property(`{"type":"array","x-mcp-header":"A"}`),
		"several types": property(`{"type":["string","null"],"x-mcp-header":"S"}`),
		"no type":       property(`{"x-mcp-header":"N"}`),

		"twice":          in(`{"properties":{"a":`+region+`,"b":%s}}`, region),
		"twice, by case": in(`{"properties":{"a":`+region+`,"b":{"properties":{"c":%s}}}}`, `{"type":"string","x-mcp-header":"REGION"}`),

		"at the root":       in(`%s`, region),
		"items":             in(`{"properties":{"p":{"type":"array","items":%s}}}`, region),
		"items, a list":     in(`{"properties":{"p":{"type":"array","items":[{},%s]}}}`, region),
		"prefixItems":       in(`{"properties":{"p":{"prefixItems":[%s]}}}`, region),
		"contains":          in(`{"properties":{"p":{"contains":%s}}}`, region),
		"oneOf":             in(`{"oneOf":[{"properties":{"p":%s}}]}`, region),
		"anyOf":             in(`{"properties":{"p":{"anyOf":[%s]}}}`, region),
		"allOf":             in(`{"allOf":[{"properties":{"p":%s}}]}`, region),
		"not":               in(`{"not":{"properties":{"p":%s}}}`, region),
		"if":                in(`{"if":{"properties":{"p":%s}}}`, region),
		"then":              in(`{"then":{"properties":{"p":%s}}}`, region),
		"else":              in(`{"else":{"properties":{"p":%s}}}`, region),
		"$defs":             in(`{"properties":{"p":{"$ref":"#/$defs/p"}},"$defs":{"p":%s}}`, region),
		"definitions":       in(`{"definitions":{"p":%s}}`, region),
		"patternProperties": in(`{"patternProperties":{"p":%s}}`, region),
		"dependentSchemas":  in(`{"dependentSchemas":{"p":%s}}`, region),
		"additional":        in(`{"additionalProperties":%s}`, region),
		"back inside":       in(`{"items":{"properties":{"p":%s}}}`, region),

		"too deep": in(strings.Repeat(`{"properties":{"p":`, 100)+`%s`+strings.Repeat(`}}`, 100), region),
	}
	for name, raw := range tests {
		t.Run(name, func(t *testing.T) {
			tool, err := catalog.ParseTool([]byte(raw))
			if _, ok := errors.AsType[*catalog.HeaderError](err); !ok {
				t.Fatalf("error is %v, want a *HeaderError", err)
			}
			// For servers not reached by HTTP it is still a good tool.
			if want := (hub.Tool{Name: "a", Raw: []byte(raw)}); !cmp.Equal(want, tool) {
				t.Error(cmp.Diff(want, tool))
			}
		})
	}

	_, err := catalog.ParseTool([]byte(in(`{"properties":{"o":{"properties":{"p":%s}}}}`, `{"type":"number","x-mcp-header":"N"}`)))
	const want = `tool "a": x-mcp-header in inputSchema.properties.o.properties.p: the type is not string, integer or boolean`
	if err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func FuzzParseTool(f *testing.F) {
	for _, raw := range []string{
		`{"name":"a","inputSchema":{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"P"}}}}`,
		` {"na\u006de" : "\ud800\u0000" } `,
		`{"name":"a","annotations":{"readOnlyHint":true}}`,
		`{"name":"a","name":"b"}`, `{"name":"a","inputSchema":{"type":5}}`,
		`{"name":"a","inputSchema":{"items":[{"x-mcp-header":1}],"properties":[]}}`,
		`{"name":"a","inputSchema":{"properties":{"":{"type":"integer","x\u002dmcp-header":"a"}}}}`,
		`[]`, `"name"`, `{"name":`, "\ufeff{}",
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		tool, err := catalog.ParseTool(raw)
		if !bytes.Equal(before, raw) {
			t.Fatal("the input was changed")
		}
		if n := len(catalog.Accept(hub.Server{Kind: hub.KindHTTP}, hub.Lists{Tools: [][]byte{raw}}, slog.New(slog.DiscardHandler)).Tools); err != nil && n > 0 {
			t.Fatalf("refused with %v, yet accepted", err)
		}
		_, headers := errors.AsType[*catalog.HeaderError](err)
		if err != nil && !headers {
			if tool.Name != "" || tool.Raw != nil {
				t.Fatalf("refused with %v, yet a tool", err)
			}
			return
		}
		if !bytes.Equal(tool.Raw, bytes.Trim(raw, " \t\r\n")) {
			t.Fatalf("Raw is %q", tool.Raw)
		}
		var members map[string]json.RawMessage // compares keys by case
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatalf("accepted what is not JSON: %v", err)
		}
		var name string
		if err := json.Unmarshal(members["name"], &name); err != nil || name != tool.Name || name == "" {
			t.Fatalf("name %q, want %q (%v)", tool.Name, name, err)
		}
		seen := map[string]bool{}
		for _, h := range tool.Headers {
			lower := strings.ToLower(h.Name)
			if headers || h.Name == "" || len(h.Path) == 0 || seen[lower] || strings.ContainsAny(h.Name, " :\r\n\"") {
				t.Fatalf("header %+v", h)
			}
			seen[lower] = true
		}
	})
}
