package protocol

// The methods that Toolcrib handles itself or routes.
const (
	MethodInitialize        = "initialize"
	MethodPing              = "ping"
	MethodDiscover          = "server/discover"
	MethodToolsList         = "tools/list"
	MethodToolsCall         = "tools/call"
	MethodSetLevel          = "logging/setLevel"
	MethodListen            = "subscriptions/listen"
	MethodResourcesList     = "resources/list"
	MethodTemplatesList     = "resources/templates/list"
	MethodResourcesRead     = "resources/read"
	MethodSubscribe         = "resources/subscribe"
	MethodUnsubscribe       = "resources/unsubscribe"
	MethodPromptsList       = "prompts/list"
	MethodPromptsGet        = "prompts/get"
	MethodComplete          = "completion/complete"
	MethodShutdown          = "shutdown" // of clients from before 2024-11-05
	NotificationInitialized = "notifications/initialized"
	NotificationCancelled   = "notifications/cancelled"
	NotificationProgress    = "notifications/progress"
	NotificationMessage     = "notifications/message"
	NotificationToolsList   = "notifications/tools/list_changed"
	NotificationResources   = "notifications/resources/list_changed"
	NotificationPrompts     = "notifications/prompts/list_changed"
	NotificationUpdated     = "notifications/resources/updated"
	NotificationRoots       = "notifications/roots/list_changed"
	NotificationElicited    = "notifications/elicitation/complete"
	NotificationListenAck   = "notifications/subscriptions/acknowledged"
)

// What servers ask callers (legacy era; in the modern one they do so in results).
const (
	MethodSampling    = "sampling/createMessage"
	MethodElicitation = "elicitation/create"
	MethodRootsList   = "roots/list"
)

// Stage tells which part of the hub answers a caller's method.
type Stage uint8

// The stages.
const (
	// StageGateway methods belong to the conversation itself.
	StageGateway Stage = iota + 1
	// StageCatalog methods are answered from the catalog's snapshot.
	StageCatalog
	// StageCall methods pass the call pipeline and reach a server.
	StageCall
)

// Method describes one method or notification that a client may send.
type Method struct {
	Name string
	// Legacy and Modern tell in which eras it exists.
	Legacy, Modern bool
	// Notification has no answer.
	Notification bool
	Stage        Stage
}

// methods is the table of what callers may send; see [LookupMethod].
var methods = map[string]Method{
	MethodInitialize:        {Legacy: true, Stage: StageGateway},
	MethodPing:              {Legacy: true, Stage: StageGateway},
	MethodSetLevel:          {Legacy: true, Stage: StageGateway},
	MethodDiscover:          {Modern: true, Stage: StageGateway},
	MethodListen:            {Modern: true, Stage: StageGateway},
	MethodToolsList:         {Legacy: true, Modern: true, Stage: StageCatalog},
	MethodToolsCall:         {Legacy: true, Modern: true, Stage: StageCall},
	MethodResourcesList:     {Legacy: true, Modern: true, Stage: StageCatalog},
	MethodTemplatesList:     {Legacy: true, Modern: true, Stage: StageCatalog},
	MethodPromptsList:       {Legacy: true, Modern: true, Stage: StageCatalog},
	MethodResourcesRead:     {Legacy: true, Modern: true, Stage: StageCall},
	MethodPromptsGet:        {Legacy: true, Modern: true, Stage: StageCall},
	MethodComplete:          {Legacy: true, Modern: true, Stage: StageCall},
	MethodSubscribe:         {Legacy: true, Stage: StageGateway},
	MethodUnsubscribe:       {Legacy: true, Stage: StageGateway},
	MethodShutdown:          {Legacy: true, Stage: StageGateway},
	NotificationInitialized: {Legacy: true, Notification: true, Stage: StageGateway},
	NotificationCancelled:   {Legacy: true, Modern: true, Notification: true, Stage: StageGateway},
	NotificationProgress:    {Legacy: true, Notification: true, Stage: StageGateway},
	NotificationRoots:       {Legacy: true, Notification: true, Stage: StageGateway},
}

// LookupMethod returns the method of a client by its name. Nothing is known
// about methods that are not served in the era.
func LookupMethod(name string, era Era) (Method, bool) {
	m, ok := methods[name]
	if !ok || (era == Legacy && !m.Legacy) || (era == Modern && !m.Modern) {
		return Method{}, false
	}
	m.Name = name
	return m, true
}

// NameMember returns the member of params that a modern client mirrors into
// Mcp-Name for the method, whether it is served here or not (2026-07-28,
// "Standard Request Headers"); "" if there is none.
func NameMember(method string) string {
	switch method {
	case MethodToolsCall, MethodPromptsGet:
		return "name"
	case MethodResourcesRead:
		return "uri"
	}
	return ""
}

// Cacheable reports whether complete results of the method say in the modern
// era how long they hold (2026-07-28, "Caching").
func Cacheable(method string) bool {
	switch method {
	case MethodDiscover, MethodToolsList, MethodResourcesList, MethodTemplatesList, MethodPromptsList, MethodResourcesRead:
		return true
	}
	return false
}
