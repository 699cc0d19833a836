package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Schema is the JSON Schema (2020-12) of a configuration file of ours,
// [FormToolcrib], indented. The members of a server stand in the order in
// which they are best explained, each with a description in Markdown; those
// that only other programs' files have are marked as deprecated. The schema is
// as wide as the reader: what the reader only warns about is allowed.
func Schema() []byte {
	server := &jsonschema.Schema{
		Type:        "object",
		Description: "One MCP server. It needs `command` or `url`, unless it only changes the settings of a built-in server.",
		Properties:  make(map[string]*jsonschema.Schema),
	}
	like := make(map[string]func() *jsonschema.Schema)
	for _, t := range serverTerms() {
		like[t.name] = t.schema
		member := &jsonschema.Schema{} // anything
		switch {
		case t.whose == "":
			member = t.schema()
		case t.like != "":
			member = like[t.like]()
		}
		member.Description = t.description()
		member.Deprecated = t.whose != ""
		server.Properties[t.name] = member
		server.PropertyOrder = append(server.PropertyOrder, t.name)
	}
	root := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema",
		Title:  "Toolcrib configuration",
		Description: "JSON with comments and trailing commas. Texts that say how a server is reached may hold placeholders: " +
			"${env:NAME}, ${file:PATH}, ${secret:NAME}, ${input:ID}, ${workspaceFolder}, ${userHome}; $${ stands for ${ itself.",
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"$schema": {Type: "string", Description: "For editors."},
			"mcpServers": {
				Type:                 "object",
				Description:          "The MCP servers. A key is the first half of the server's tools' names; that of a built-in server changes its settings, or replaces it if the entry has `command` or `url`.",
				PropertyNames:        &jsonschema.Schema{MinLength: new(1), MaxLength: new(maxKey)},
				AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/server"},
			},
			groupsMember:            groupsSchema(),
			"clients":               clientsSchema(),
			"callers":               callersSchema(),
			"language":              languageSchema("Of what Toolcrib says to clients that do not say which language they want."),
			"auth":                  authSchema(),
			"policy":                policySchema(),
			"approval":              approvalSchema(),
			"store":                 storeSchema(),
			"audit":                 auditSchema(),
			"events":                eventsSchema(),
			"telemetry":             telemetrySchema(),
			voiceMember:             voiceSchema(),
			devicesMember:           devicesSchema(),
			"mcpServiceManager":     managerSchema(),
			"cache_ttl_seconds":     cacheTTLSchema(),
			"force_refresh_on_init": forceRefreshSchema(),
		},
		PropertyOrder: []string{
			"$schema", "mcpServers", groupsMember, "clients", "callers", "language", "auth", "policy", "approval", "store", "audit", "events", "telemetry",
			voiceMember, devicesMember, "mcpServiceManager", "cache_ttl_seconds", "force_refresh_on_init",
		},
		Defs: map[string]*jsonschema.Schema{"server": server},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(fmt.Sprintf("the schema of the configuration: %v", err)) // it is made of constants
	}
	return b.Bytes()
}

func textSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

func listSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: textSchema()}
}

func mapSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Types: []string{"string", "number", "boolean", "null"}}}
}

func onSchema() *jsonschema.Schema {
	return withDefault(&jsonschema.Schema{Type: "boolean"}, "true")
}

func offSchema() *jsonschema.Schema {
	return withDefault(&jsonschema.Schema{Type: "boolean"}, "false")
}

func typeSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{
		"stdio", "http", "sse", "ws",
		"streamable-http", "streamableHttp", "streamable_http", "websocket", "local", "remote", "external", "embedded",
	}}
}

func resourcesSchema() *jsonschema.Schema {
	return withDefault(&jsonschema.Schema{Type: "string", Enum: []any{"verbatim", "prefixed"}}, `"verbatim"`)
}

func connectionSchema() *jsonschema.Schema {
	return withDefault(&jsonschema.Schema{
		Type: "string", Enum: []any{string(hub.ConnectionAuto), string(hub.ConnectionShared), string(hub.ConnectionPerCaller)},
	}, `"auto"`)
}

func spillSchema() *jsonschema.Schema {
	return withDefault(&jsonschema.Schema{Types: []string{"integer", "string"}, Examples: []any{"256KiB", "off"}}, `"off"`)
}

func timeoutSchema() *jsonschema.Schema { return spanSchema(`"30s"`)() }

func prioritySchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(float64(-maxPriority)), Maximum: new(float64(maxPriority))}
}

func withDefault(s *jsonschema.Schema, value string) *jsonschema.Schema {
	s.Default = json.RawMessage(value)
	return s
}
