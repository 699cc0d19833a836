package config

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolcrib/toolcrib/internal/message"
)

func about(s *jsonschema.Schema, text string) *jsonschema.Schema {
	s.Description = text
	return s
}

func languageSchema(text string) *jsonschema.Schema {
	return about(&jsonschema.Schema{Type: "string", Enum: []any{string(message.English), string(message.Chinese)}}, text)
}

// callersSchema is "callers".
func callersSchema() *jsonschema.Schema {
	return about(objectSchema(nil,
		field{"callLimits", "How many calls each caller has under way at once, and in a time.", gateSchema()},
	), "What holds for each caller, besides what holds for servers and tools.")
}

// storeSchema is "store".
func storeSchema() *jsonschema.Schema {
	return about(objectSchema(nil,
		field{"url", "Of a PostgreSQL database, such as `postgres://toolcrib:${secret:database}@db.example.com/toolcrib`. By default it is a file in the data directory.", textSchema()},
	), "Where Toolcrib keeps what it writes down. It takes effect at the next start.")
}

// auditSchema is "audit".
func auditSchema() *jsonschema.Schema {
	return about(objectSchema(nil,
		field{"retention", "How long calls are kept: a text such as \"90d\" or \"36h\", from 1h to 3650d; 0 or \"never\" for as long as there is room.", withDefault(&jsonschema.Schema{Types: []string{"integer", "string"}, Examples: []any{"90d", "never"}}, `"90d"`)},
		field{"arguments", "false: what was called with is not kept. What may be a secret never is.", onSchema()},
		field{"maxArguments", "How much of it is kept of one call: a text such as \"4KiB\", or a number of bytes, from 256 bytes to 1 MiB.", withDefault(&jsonschema.Schema{Types: []string{"integer", "string"}, Examples: []any{"4KiB"}}, `"4KiB"`)},
	), "The record of calls.")
}

// eventsSchema is "events".
func eventsSchema() *jsonschema.Schema {
	return about(objectSchema(nil,
		field{"retention", "How long events are kept for who was away: a text such as \"24h\" or \"7d\", from 1m to 30d.", withDefault(&jsonschema.Schema{Type: "string", Examples: []any{"24h", "7d"}}, `"24h"`)},
	), "The stream of events.")
}

// telemetrySchema is "telemetry".
func telemetrySchema() *jsonschema.Schema {
	return about(objectSchema(nil,
		field{"traces", "Where traces of calls are sent.", objectSchema(nil,
			field{"endpoint", "Of a collector that speaks OTLP over HTTP, such as `http://localhost:4318`. By default traces are sent nowhere.", textSchema()},
			field{"headers", "HTTP headers that are sent with them.", mapSchema()},
			field{"sample", "Which share of the calls is traced, from 0 to 1.", shareSchema("1")()},
		)},
	), "It takes effect at the next start.")
}
