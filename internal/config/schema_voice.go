package config

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// voiceSchema is "xiaozhi".
func voiceSchema() *jsonschema.Schema {
	return about(objectSchema(nil,
		field{string(Endpoints), "Addresses of voice assistants' backends, by names of yours, at which Toolcrib is an MCP server.", namedSchema(endpointSchema())},
		field{string(Backends), "Voice assistants' backends, by names of yours, to which Toolcrib is a device.", namedSchema(backendSchema())},
	), "The backends of voice assistants that Toolcrib connects to.")
}

// namedSchema is an object of such values by names of the user's.
func namedSchema(value *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", PropertyNames: &jsonschema.Schema{Pattern: "^[A-Za-z0-9_-]{1,64}$"}, AdditionalProperties: value,
	}
}

func amountSchema(value string) *jsonschema.Schema {
	return withDefault(&jsonschema.Schema{Types: []string{"integer", "string"}, Examples: []any{"8KiB"}}, value)
}

// offeredFields say which tools a backend gets.
func offeredFields() []field {
	return []field{
		{"enabled", "false: it is not connected.", onSchema()},
		{"group", "The group of which it gets the tools. By default it gets everything.", textSchema()},
		{"allow", "Only these of them, by the names that callers see; `*` stands for any text.", listSchema()},
		{"deny", "Not these, whatever is said above.", listSchema()},
		{"deadline", "How long a call may take until it is answered that its result will be kept: whole milliseconds, or a text, at least 1s. Backends wait for as long as 10s, 30s or 300s: \"9s\", \"25s\" and \"290s\" are short of that.", spanSchema(`"25s"`)()},
	}
}

// dialledFields say when a backend is dialled.
func dialledFields(delay string) []field {
	return []field{
		{"delay", "The pause after the first failure. Each is twice as long as the one before it.", spanSchema(delay)()},
		{"maxDelay", "The longest pause.", spanSchema(`"1m"`)()},
		{"dialTimeout", "How long connecting may take.", spanSchema(`"10s"`)()},
		{"language", "Of what Toolcrib says to it, in place of its own language.", languageSchema("")},
	}
}

func endpointSchema() *jsonschema.Schema {
	return objectSchema(nil, slices.Concat(
		[]field{{"url", "Such as `wss://api.xiaozhi.me/mcp/?token=${secret:xiaozhi}`. It is used to the byte.", textSchema()}},
		offeredFields(),
		[]field{
			{"profile", "What is behind the address, by which `deadline`, `maxResult` and `refresh` are as it bears them, unless they are given. `xiaozhi`: anything. `cloud`: xiaozhi.me, 290s, 8 KiB, always. `cloud-short`: xiaozhi.me where it waits for 10s only, 9s, 8 KiB, always. `self-hosted`: a server of one's own, 25s, 64 KiB, never.", profileSchema()},
			{"requiredTools", "Tools, by the names that callers see, or servers, that are started when the endpoint is connected, and kept running for as long as it is.", listSchema()},
			{"cancelLate", "true: a call that reaches its deadline is cancelled, and not kept.", offSchema()},
			{"maxResult", "The longest answer, in bytes: a text such as \"8KiB\", or a number, from 512 bytes to 1020 KiB. What is longer is cut.", amountSchema(`"8KiB"`)},
			{"maxTools", "The number of tools from which on the status warns.", countSchema(1, maxToolCap, "64")()},
			{"maxList", "The length of the list of tools from which on the status warns, and at which a page ends.", amountSchema(`"64KiB"`)},
			{"pages", "true: the list of tools is given in pages. The console of xiaozhi.me reads one only.", offSchema()},
			{"maxMessage", "The longest message that is taken, from 64 KiB to 64 MiB. A longer one ends the connection.", amountSchema(`"4MiB"`)},
			{"concurrency", "Calls that are under way at once.", countSchema(1, maxAtOnce, "16")()},
			{"queue", "Calls that wait for their turn besides.", countSchema(1, maxQueue, "64")()},
			{"keepActions", "true: an `action` in a tool's text is left as it is, which some backends carry out.", offSchema()},
			{"refresh", "Whether it is connected anew when the tools have changed. `auto`: where the backend is known to need it.", withDefault(&jsonschema.Schema{
				Type: "string", Enum: []any{refreshAuto, string(hub.RefreshAlways), string(hub.RefreshNever)},
			}, `"auto"`)},
			{"ping", "How often it is seen whether the connection is still there.", spanSchema(`"25s"`)()},
			{"pingTimeout", "How long an answer to that may take.", spanSchema(`"15s"`)()},
		},
		dialledFields(`"1s"`),
	)...)
}

func profileSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, word := range profiles() {
		s.Enum = append(s.Enum, word)
	}
	return withDefault(s, `"xiaozhi"`)
}

func backendSchema() *jsonschema.Schema {
	return objectSchema(nil, slices.Concat(
		[]field{
			{"url", "Such as `wss://xiaozhi.example.com/xiaozhi/v1/`.", textSchema()},
			{"ota", "The address to ask for `url` and `token`, if they are not given.", textSchema()},
			{"token", "That it is shown.", textSchema()},
			{"deviceId", "As which device Toolcrib presents itself, usually a MAC address. By default one that is made once, and kept.", textSchema()},
			{"clientId", "As which program. By default one that is made once, and kept.", textSchema()},
			{"query", "true: who the device is stands in the address and not in headers, as browsers do it.", offSchema()},
		},
		offeredFields(),
		[]field{
			{"prefix", "true: tools are named `self.server.tool`.", offSchema()},
			{"maxList", "The longest page of the list of tools, in bytes.", amountSchema("8000")},
			{"keepAlive", "How often the backend is told that the device is still there, in words of its own; \"off\" for never.", intervalSchema(`"off"`)()},
		},
		dialledFields(`"2s"`),
	)...)
}

// devicesSchema is "devices".
func devicesSchema() *jsonschema.Schema {
	texts := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: textSchema()}
	}
	return about(objectSchema(nil,
		field{"aliases", "Names of devices by their ids, which are usually MAC addresses: the first halves of their tools' names.", namesOfDevices()},
		field{"allow", "Ids of devices that need no token. Whoever can reach the listener can say to be one of them.", listSchema()},
		field{"keep", "How long the tools of a device stay listed when it has gone; \"off\" for not at all.", intervalSchema(`"10m"`)()},
		field{"websocket", "The address that devices are told when they ask where to connect. By default that at which they ask.", textSchema()},
		field{"vision", "The address to which devices send pictures. By default they are not asked for any.", textSchema()},
		field{"relay", "Backends, by ids of devices and `*` for all others, to which everything that such a device says goes on, so that it stays a voice assistant.", texts()},
		field{"timeout", "How long a call of a device may take.", spanSchema(`"30s"`)()},
		field{"queue", "How many calls wait for one device.", countSchema(1, maxQueue, "16")()},
	), "The devices of voice assistants that connect to Toolcrib; see `toolcrib serve --device-listen`.")
}

func namesOfDevices() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string", Pattern: "^[A-Za-z0-9_-]{1,64}$"}}
}
