package config

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/policy"
)

// wordsSchema is a text, or a list of them.
func wordsSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "array"}, Items: textSchema(), MinItems: new(1)}
}

// choicesSchema is one of a few words, or a list of them.
func choicesSchema(words []string) *jsonschema.Schema {
	one := choiceSchema(words...)
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{one, {Type: "array", Items: choiceSchema(words...), MinItems: new(1)}}}
}

func choiceSchema(words ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
	}
	return s
}

// strictSchema is an object of these members and no others.
func strictSchema(fields ...field) *jsonschema.Schema {
	s := objectSchema(nil, fields...)
	s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	return s
}

// policySchema is "policy".
func policySchema() *jsonschema.Schema {
	var modes, verdicts []field
	for _, door := range policy.Doors() {
		modes = append(modes, field{string(door), "", choiceSchema(string(hub.PolicyObserve), string(hub.PolicyEnforce))})
	}
	for _, risk := range riskNames() {
		verdicts = append(verdicts, field{risk, "", choiceSchema(hub.VerdictAllow, hub.VerdictAsk, hub.VerdictDeny)})
	}
	return about(strictSchema(
		field{"modes", "By door, whether verdicts are enforced, or calls only observed: judged and recorded, and let pass. By default they are enforced; without a `policy`, MCP callers are observed.", strictSchema(modes...)},
		field{"defaults", "What holds where no rule is met, by risk, at every door. By default high and critical ask, and of voice assistants and devices only critical.", strictSchema(verdicts...)},
		field{"secondPerson", "true: critical calls are agreed to by two persons. Otherwise one may agree twice.", offSchema()},
		field{"rules", "Of all rules that a call meets deny goes before ask, and ask before allow. A call meets a rule if it meets all that the rule has.", &jsonschema.Schema{Type: "array", MaxItems: new(maxRules), Items: ruleSchema()}},
	), "Who has to agree to which call.")
}

// ruleSchema is one of "rules".
func ruleSchema() *jsonschema.Schema {
	var doors []string
	for _, d := range policy.Doors() {
		doors = append(doors, string(d))
	}
	s := strictSchema(
		field{"id", "By which the rule is named. By default its place, such as `rule 3`.", &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(maxRuleID)}},
		field{"effect", "What it says to the calls that meet it.", choiceSchema(hub.VerdictAllow, hub.VerdictAsk, hub.VerdictDeny)},
		field{"when", "An expression in CEL about the call, such as `call.args.amount > 100`.", textSchema()},
		field{"because", "Why, for people.", textSchema()},
		field{"tenant", "Of the caller; an empty text for callers of Toolcrib itself. `*` stands for any text, as in what follows.", wordsSchema()},
		field{"caller", "Who calls, by subject.", wordsSchema()},
		field{"role", "What the caller may do.", choicesSchema(roleNames())},
		field{"door", "By which way the call came.", choicesSchema(doors)},
		field{"group", "At whose address.", wordsSchema()},
		field{"client", "The name that the caller's program gives itself. Upper and lower case are the same.", wordsSchema()},
		field{"method", "Of MCP. By default `tools/call`.", wordsSchema()},
		field{"server", "By key.", wordsSchema()},
		field{"tool", "By the name that callers see, as `server__tool`, or by the server's own. With another `method`, a URI or the name of a prompt.", wordsSchema()},
		field{"tags", "Of the server, or of what the call is about.", wordsSchema()},
		field{"risk", "Of the call.", choicesSchema(riskNames())},
	)
	s.Required = []string{"effect"}
	return s
}

// approvalSchema is "approval".
func approvalSchema() *jsonschema.Schema {
	keeping := func(value string) *jsonschema.Schema {
		return withDefault(&jsonschema.Schema{Type: "string", Examples: []any{"5m", "90s"}}, value)
	}
	return about(objectSchema(nil,
		field{"expires", "How long a person has to agree, from 10s to 24h.", keeping(`"5m"`)},
		field{"hold", "How long a call waits for that before its caller gets a ticket, from 1s to 10m.", keeping(`"45s"`)},
		field{"elicit", "true: callers that can be asked questions are asked to agree there.", offSchema()},
		field{"pending", "How many calls of one caller may wait for a person at once.", countSchema(1, maxPending, "100")()},
	), "How people are asked.")
}
