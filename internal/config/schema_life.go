package config

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// intervalSchema is a duration that may be none.
func intervalSchema(value string) func() *jsonschema.Schema {
	return func() *jsonschema.Schema {
		s := spanSchema(value)()
		s.Examples = append(s.Examples, "off")
		return s
	}
}

func spanSchema(value string) func() *jsonschema.Schema {
	return func() *jsonschema.Schema {
		return withDefault(&jsonschema.Schema{Types: []string{"integer", "string"}, Examples: []any{"90s", 30000}}, value)
	}
}

// countSchema is a whole number within bounds; value is its default, "" for none.
func countSchema(least, most int, value string) func() *jsonschema.Schema {
	return func() *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "integer", Minimum: new(float64(least)), Maximum: new(float64(most))}
		if value != "" {
			s.Default = json.RawMessage(value)
		}
		return s
	}
}

func pathSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^(/[^?#]*)?$"}
}

// field is a member of an object within an entry.
type field struct {
	name   string
	about  string
	schema *jsonschema.Schema
}

// objectSchema is an object of these members, and of other types if types says
// so.
func objectSchema(types []string, fields ...field) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: make(map[string]*jsonschema.Schema)}
	if s.Types = append(types, "object"); len(types) == 0 {
		s.Type, s.Types = "object", nil
	}
	for _, f := range fields {
		f.schema.Description = f.about
		s.Properties[f.name] = f.schema
		s.PropertyOrder = append(s.PropertyOrder, f.name)
	}
	return s
}

func instancesSchema() *jsonschema.Schema {
	s := objectSchema([]string{"integer"},
		field{"min", "How many are kept while the server runs.", countSchema(1, maxInstances, "1")()},
		field{"max", "How many there may be. By default `min`; a bare number is this.", countSchema(1, maxInstances, "")()},
		field{"queue", "How many calls have to be under way on each before one more is started.", countSchema(1, maxQueue, "1")()},
	)
	s.Minimum, s.Maximum = new(1.0), new(float64(maxInstances))
	return withDefault(s, "1")
}

func breakerSchema() *jsonschema.Schema {
	return objectSchema([]string{"boolean"},
		field{"failures", "Calls in a row without an answer after which calls are refused.", countSchema(1, maxFailures, "5")()},
		field{"cooldown", "After how long one call is let through to try: whole milliseconds, or a text.", spanSchema(`"30s"`)()},
	)
}

func limitsSchema() *jsonschema.Schema {
	return objectSchema(nil,
		field{"memory", "Of all its processes together where Toolcrib has a cgroup of its own, else of each: a text such as \"512MB\", each unit 1024 of the one before, or a number of bytes.", &jsonschema.Schema{Types: []string{"integer", "string"}, Examples: []any{"512MB", "2GB"}}},
		field{"cpu", "Processors, such as 1.5, where Toolcrib has a cgroup of its own.", &jsonschema.Schema{Type: "number", Minimum: new(minCPU), Maximum: new(float64(maxCPU))}},
		field{"processes", "How many there may be, where Toolcrib has a cgroup of its own.", countSchema(1, maxProcesses, "")()},
		field{"files", "How many each of them may have open.", countSchema(minFiles, maxFiles, "")()},
	)
}

func sandboxSchema() *jsonschema.Schema {
	port := func(least float64) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "integer", Minimum: new(least), Maximum: new(float64(maxPort))}}
	}
	return objectSchema([]string{"boolean"},
		field{"read", "Files and directories that it may read and run. Relative ones start from its working directory, `~/` is the user's home, and placeholders are filled in.", listSchema()},
		field{"write", "Files and directories that it may change as well.", listSchema()},
		field{"connect", "TCP ports that it may connect to, on any host.", port(1)},
		field{"bind", "TCP ports that it may listen on; 0 for one that the system chooses.", port(0)},
	)
}

// managerSchema is "mcpServiceManager".
func managerSchema() *jsonschema.Schema {
	s := objectSchema(nil,
		field{"serviceTimeout", "`timeout` of servers that have none.", timeoutSchema()},
		field{"preloadServices", "Keys of servers that have `preload`.", listSchema()},
		field{"cleanupInterval", "Of servers that have none.", intervalSchema(`"5m"`)()},
		field{"maxReconnectAttempts", "Of servers that have none.", countSchema(0, maxReconnects, "0")()},
		field{"healthCheckInterval", "Of servers that have none.", intervalSchema(`"30s"`)()},
		field{"healthCheckTimeout", "Of servers that have none.", spanSchema(`"10s"`)()},
		field{"healthCheckMisses", "Of servers that have none.", countSchema(1, maxMisses, "3")()},
		field{"circuitBreaker", "Of servers that have none.", breakerSchema()},
		field{"cacheTTL", "Of servers that have none.", intervalSchema(`"5m"`)()},
		field{"autoStart", "No effect here: that Toolcrib itself comes up by itself is for the system to see to. It starts no server.", &jsonschema.Schema{}},
		field{"port", "No effect here; see `toolcrib serve --listen`.", &jsonschema.Schema{}},
	)
	s.Description = "What holds for every server of the file that does not say otherwise; as in xiaozhi.config.json."
	return s
}

func cacheTTLSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "integer", Minimum: new(1.0)}
	s.Description = "Up to which age, in seconds, the tools that are known from before the start need not be asked for when Toolcrib starts."
	return withDefault(s, "3600")
}

func forceRefreshSchema() *jsonschema.Schema {
	s := offSchema()
	s.Description = "true: every server is asked for its tools when Toolcrib starts, whatever is known."
	return s
}
