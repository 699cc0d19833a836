package config

import (
	"github.com/google/jsonschema-go/jsonschema"
)

// groupsSchema is "groups".
func groupsSchema() *jsonschema.Schema {
	const pattern = "^[A-Za-z0-9_-]{1,64}$"
	name := &jsonschema.Schema{Type: "string", Pattern: pattern}
	return &jsonschema.Schema{
		Type:          "object",
		Description:   "Named parts of what there is, each at an address of its own: `/mcp/NAME`.",
		PropertyNames: &jsonschema.Schema{Pattern: pattern},
		AdditionalProperties: objectSchema(nil,
			field{"description", "For people, and for models: it is the beginning of the instructions that a client gets.", textSchema()},
			field{"servers", "Keys of servers of which the group has everything.", listSchema()},
			field{"tools", "Tools that it has as well, by the names that callers see or `server__tool`; `*` stands for any text.", listSchema()},
			field{"exclude", "Tools that it does not have, named in the same way, whatever is said above.", listSchema()},
			field{"rename", "New names of tools, by the ones that callers see elsewhere or `server__tool`.", &jsonschema.Schema{Type: "object", AdditionalProperties: name}},
		),
	}
}

// clientsSchema is "clients".
func clientsSchema() *jsonschema.Schema {
	item := objectSchema(nil,
		field{"client", "The name that the client gives itself; `*` stands for any text. Upper and lower case are the same.", textSchema()},
		field{"maxNameLength", "The longest name of a tool that it takes, longer ones being shortened. With more than 64, names may hold dots.", countSchema(minExposedName, maxExposedName, "64")()},
		field{"maxTools", "How many tools it takes. Of more, the first are listed, and `find_tool` and `call_tool` lead to the rest.", countSchema(1, maxToolCap, "")()},
		field{"listChanged", "false: it is not told that lists have changed.", onSchema()},
		field{"embedLinks", "true: in results, links to resources are replaced by what they lead to, since the client cannot read them.", offSchema()},
		field{"approvalHold", "How long its calls wait for a person to agree before they are answered with a ticket, from 1s to 10m. By default as long as `approval` says, or until the request expires where the client asks to be told of progress.", &jsonschema.Schema{Type: "string", Examples: []any{"20s", "5m"}}},
		field{"language", "Of what Toolcrib says to it, whatever it asks for.", languageSchema("")},
	)
	item.Required = []string{"client"}
	return &jsonschema.Schema{
		Type:        "array",
		Description: "What is known of kinds of clients, of which the first that fits counts. There are none but these.",
		Items:       item,
	}
}
