package protocol

// Reserved members of _meta (2026-07-28, "_meta").
const (
	MetaVersion        = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo     = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities   = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel       = "io.modelcontextprotocol/logLevel"
	MetaServerInfo     = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
	MetaProgressToken  = "progressToken"
)

// Members of _meta that say of which trace a request is part (2026-07-28,
// "_meta", by W3C Trace Context and Baggage).
const (
	MetaTraceparent = "traceparent"
	MetaTracestate  = "tracestate"
	MetaBaggage     = "baggage"
)

// Owned is one member that the hub writes itself when it passes a message on.
// Every other byte of params, results and notifications belongs to the two
// parties.
type Owned struct {
	Member string // path from the message's root
	Where  string // the messages in which it is the hub's
	Why    string
}

// OwnedMembers returns the whole table of what the hub changes in a message.
// The fidelity tests allow these differences and no other.
func OwnedMembers() []Owned {
	return []Owned{
		{"id", "requests, responses", "each leg numbers its own requests"},
		{"params.name", "tools/call, prompts/get", "callers know a tool or a prompt by its exposed name"},
		{"params.ref.name, params.ref.uri", "completion/complete", "callers know a prompt or a template as the hub exposes it"},
		{"params.uri", "resources/read, resources/subscribe, resources/unsubscribe", "callers know a resource by its exposed URI"},
		{"params", "resources/subscribe, resources/unsubscribe, logging/setLevel", "one request stands for those of many callers"},
		{"result.tools[].name", "tools/list", "callers know a tool by its exposed name"},
		{"result.tools[].description", "tools/list", "where the configuration has another one for the tool"},
		{"result.prompts[].name", "prompts/list", "callers know a prompt by its exposed name"},
		{"result.resources[].uri, result.resourceTemplates[].uriTemplate", "resources/list, resources/templates/list", "callers know a resource by its exposed URI"},
		{"result.contents[].uri", "resources/read", "where the caller knows the resource by its prefixed URI"},
		{"result.content[].uri, result.content[].resource.uri", "tools/call", "where the server's resources are set to be prefixed"},
		{"result.messages[].content.uri, result.messages[].content.resource.uri", "prompts/get", "where the server's resources are set to be prefixed"},
		{`result._meta["toolcrib/cache"]`, "tools/call", "where the result was kept from an earlier call"},
		{"result.content", "tools/call", "where a large result is kept, or links are replaced, as the configuration has it"},
		{"params.uri", NotificationUpdated, "callers know a resource by its exposed URI"},
		{"result.nextCursor, params.cursor", "lists", "pages are the hub's own"},
		{"params.requestId", NotificationCancelled, "each leg numbers its own requests"},
		{"params._meta.progressToken", "requests", "each leg has its own tokens"},
		{"params._meta.traceparent, params._meta.tracestate", "requests", "each leg is a span of its own, where traces are sent"},
		{"params._meta.baggage", "requests", "added where traces are sent and the caller's came in the header of its HTTP request"},
		{"params.progressToken", NotificationProgress, "each leg has its own tokens"},
		{"params._meta[" + MetaVersion + "]", "modern requests", "each leg has its own revision"},
		{"params._meta[" + MetaClientInfo + "]", "modern requests", "towards a server the client is the hub"},
		{"params._meta[" + MetaCapabilities + "]", "modern requests", "added for callers of the legacy era; removed for servers of that era"},
		{"params._meta[" + MetaLogLevel + "]", "modern requests", "stands for logging/setLevel of the legacy era"},
		{"params._meta[" + MetaSubscriptionID + "]", "notifications", "names the caller's own subscription"},
		{"result._meta[" + MetaServerInfo + "]", "modern results", "towards a caller the server is the hub"},
		{"result.resultType", "results between the eras", "exists in the modern era only"},
		{"result.ttlMs, result.cacheScope", "cacheable results", "the hub's lists are its own, and what it has kept holds for the time that is left; exist in the modern era only"},
		{"error.code", "errors between the eras", "the one of a resource that is not there is another number in the modern era"},
	}
}
