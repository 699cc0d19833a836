package config

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// shareSchema is a number from 0 to 1.
func shareSchema(value string) func() *jsonschema.Schema {
	return func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "number", Minimum: new(0.0), Maximum: new(1.0), Default: json.RawMessage(value)}
	}
}

func poolSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MaxLength: new(maxKey)}
}

func gateSchema() *jsonschema.Schema {
	rate := &jsonschema.Schema{
		Types: []string{"number", "string"}, Pattern: `^\s*[0-9.eE+-]+\s*/\s*[smh]\s*$`,
		Minimum: new(minRate), Maximum: new(maxRate), Examples: []any{"10/s", "100/m"},
	}
	return objectSchema(nil,
		field{"concurrency", "How many calls may be under way at once.", countSchema(1, maxConcurrency, "")()},
		field{"queue", "How many more may wait for their turn; needs `concurrency`.", countSchema(0, maxWaiting, "100")()},
		field{"rate", "How many calls there may be in a time, on average: a text such as \"10/s\", \"100/m\" or \"1000/h\", or a number of calls a second.", rate},
		field{"burst", "How many of them may come at once; needs `rate`. By default those of a second.", countSchema(1, maxBurst, "")()},
	)
}

func messagesSchema() *jsonschema.Schema {
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", MaxLength: new(maxCallMessage)} }
	return objectSchema(nil,
		field{"calling", "While it is under way.", text()},
		field{"success", "When it went well.", text()},
		field{"failed", "When it did not.", text()},
	)
}

func overridesSchema() *jsonschema.Schema {
	description := textSchema()
	name := &jsonschema.Schema{Type: "string", Pattern: "^[a-zA-Z0-9_-]{1,64}$"}
	timeout, cache := &jsonschema.Schema{Types: []string{"integer", "string"}}, &jsonschema.Schema{Types: []string{"integer", "string"}}
	return &jsonschema.Schema{
		Type: "object",
		AdditionalProperties: objectSchema(nil,
			field{"name", "The name that callers see, without `server__`.", name},
			field{"description", "The description that callers see. An empty one is none.", description},
			field{"enabled", "false: the tool is not offered.", onSchema()},
			field{"timeout", "`timeout` of the tool's calls.", timeout},
			field{"retries", "`retries` of the tool's calls; the same holds for the next three.", countSchema(0, maxRetries, "")()},
			field{"retryDelay", "In place of the server's.", &jsonschema.Schema{Types: []string{"integer", "string"}}},
			field{"maxRetryDelay", "In place of the server's.", &jsonschema.Schema{Types: []string{"integer", "string"}}},
			field{"retryJitter", "In place of the server's.", &jsonschema.Schema{Type: "number", Minimum: new(0.0), Maximum: new(1.0)}},
			field{"callLimits", "Of the tool's calls, besides those of the server.", gateSchema()},
			field{"cache", "`toolCache` of the tool.", cache},
			field{"messages", "What a person is told of the tool's calls, in place of the usual texts.", messagesSchema()},
		),
	}
}
