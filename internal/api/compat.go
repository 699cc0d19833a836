package api

import (
	"encoding/json"
	"time"
)

// The shapes of the paths that other programs know; docs/compatibility.md says
// from where they are. Answers have `success`; errors are [Problem] documents with
// `success` and `error` besides. What comes with a request may be null where it
// may be left out.

// CompatServer is a server, or a preset that is off.
type CompatServer struct {
	ID              int64             `json:"id" doc:"Always the same for a key; paths take the key as well"`
	Key             string            `json:"server_key" doc:"The first half of its tools' names"`
	PresetKey       string            `json:"preset_key" doc:"The key of a preset; empty for any other server"`
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	Transport       string            `json:"transport" enum:"stdio,http,sse,ws" doc:"stdio also for a server that is part of the hub"`
	ServerURL       string            `json:"server_url" doc:"What may be a secret is masked"`
	HealthCheckPath string            `json:"health_check_path"`
	Command         string            `json:"command" doc:"What may be a secret is masked"`
	Args            []string          `json:"args" doc:"What may be a secret is masked"`
	Env             map[string]string `json:"env" doc:"Every value is masked as ${unchanged}, but for placeholders"`
	Tools           []string          `json:"tools" doc:"The server's own names"`
	Status          string            `json:"status" enum:"enabled,disabled,error"`
	AuthType        string            `json:"auth_type" enum:"none,api_key,oauth"`
	AuthConfig      map[string]string `json:"auth_config" doc:"Masked: api_key, and header if it is not sent as a bearer token"`
	IsPreset        bool              `json:"is_preset" doc:"It cannot be deleted, and what it runs stays what it is"`
	RequiresNode    bool              `json:"requires_node" doc:"It is run by npx or node"`
	Error           string            `json:"error,omitempty" doc:"Why the status is error"`
}

// CompatServerList is every server and every preset.
type CompatServerList struct {
	Success bool           `json:"success"`
	Servers []CompatServer `json:"servers"`
}

// CompatServerDone is a server after a change.
type CompatServerDone struct {
	Success bool         `json:"success"`
	Server  CompatServer `json:"server"`
}

// CompatDone says that something was done.
type CompatDone struct {
	Success bool `json:"success"`
}

// CompatToggle says what a server is to be.
type CompatToggle struct {
	Enabled *bool `json:"enabled,omitempty" doc:"The opposite of what it is, if this is not there"`
}

// CompatServerSet is what is to be said about a server. What is not there, or
// null, stays what it is; so does a value of ${unchanged}. A row may be sent back
// as it came: id, tools, is_preset, requires_node and error say nothing.
type CompatServerSet struct {
	Name            *string           `json:"name,omitempty"`
	Key             *string           `json:"server_key,omitempty" doc:"Of a new server; made of the name if it is not there"`
	PresetKey       *string           `json:"preset_key,omitempty" doc:"The same, for presets"`
	Description     *string           `json:"description,omitempty"`
	Transport       *string           `json:"transport,omitempty" doc:"stdio, http, sse or ws"`
	ServerURL       *string           `json:"server_url,omitempty"`
	HealthCheckPath *string           `json:"health_check_path,omitempty"`
	Command         *string           `json:"command,omitempty"`
	Args            []string          `json:"args,omitempty"`
	Env             map[string]string `json:"env,omitempty" doc:"All variables; what is a secret is sealed"`
	Status          *string           `json:"status,omitempty" doc:"enabled or disabled; a new server is disabled if this is not there; error, as a row may have it, says nothing"`
	AuthType        *string           `json:"auth_type,omitempty" doc:"none, api_key or oauth"`
	AuthConfig      map[string]string `json:"auth_config,omitempty" doc:"api_key with, if it is no bearer token, header; or clientId, clientSecret and scope"`

	ID           json.RawMessage `json:"id,omitempty" doc:"Says nothing"`
	Tools        json.RawMessage `json:"tools,omitempty" doc:"Says nothing: a server's tools are those that it lists"`
	IsPreset     json.RawMessage `json:"is_preset,omitempty" doc:"Says nothing"`
	RequiresNode json.RawMessage `json:"requires_node,omitempty" doc:"Says nothing"`
	Error        json.RawMessage `json:"error,omitempty" doc:"Says nothing"`
}

// CompatServerAdd defines a server, or several.
type CompatServerAdd struct {
	CompatServerSet

	MCPServers json.RawMessage `json:"mcpServers,omitempty" doc:"By key, as other programs have them in their files; goes alone"`
}

// CompatServerAdded is what was defined.
type CompatServerAdded struct {
	Success bool           `json:"success"`
	Server  CompatServer   `json:"server" doc:"The first of servers"`
	Servers []CompatServer `json:"servers"`
}

// CompatHostServer is how a server is.
type CompatHostServer struct {
	ID          int64  `json:"id"`
	Key         string `json:"server_key"`
	PresetKey   string `json:"preset_key" doc:"The key of a preset; empty for any other server"`
	Name        string `json:"name"`
	Transport   string `json:"transport" enum:"stdio,http,sse,ws"`
	ServerURL   string `json:"server_url" doc:"What may be a secret is masked; empty for a server that runs on this machine"`
	AuthType    string `json:"auth_type" enum:"none,api_key,oauth"`
	Status      string `json:"status" enum:"running,stopped,starting,error" doc:"stopped also if a call would start it; see enabled"`
	Enabled     bool   `json:"enabled"`
	Running     bool   `json:"running"`
	Initialized bool   `json:"initialized" doc:"It is connected and its tools are known"`
	Tools       int    `json:"tools_count"`
	Resources   int    `json:"resources_count"`
	Prompts     int    `json:"prompts_count"`
	PID         int    `json:"pid,omitempty"`
	Error       string `json:"error,omitempty" doc:"Why it is not ready"`
}

// CompatHostServers is how every server is.
type CompatHostServers struct {
	Success bool               `json:"success"`
	Servers []CompatHostServer `json:"servers"`
	Total   int                `json:"total"`
	Running int                `json:"running"`
}

// CompatHostServerDone is how a server is after it was started or stopped.
type CompatHostServerDone struct {
	Success bool             `json:"success"`
	Message string           `json:"message"`
	Server  CompatHostServer `json:"server"`
	Tools   []string         `json:"tools" doc:"Of a server that was started: its own names"`
}

// CompatTool is one tool.
type CompatTool struct {
	Name        string          `json:"name" doc:"By which it is called"`
	ToolName    string          `json:"tool_name" doc:"The server's own name for it"`
	ServerKey   string          `json:"server_key"`
	ServerName  string          `json:"server_name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	ReadOnly    bool            `json:"read_only" doc:"The server says that it changes nothing"`
}

// CompatTools is every tool.
type CompatTools struct {
	Success bool         `json:"success"`
	Tools   []CompatTool `json:"tools"`
	Total   int          `json:"total"`
}

// CompatStart says which server is to be started: one that is there, by its key,
// or a new one.
type CompatStart struct {
	ServerKey string            `json:"server_key,omitempty" doc:"Of a new one made of the name if it is not there"`
	Name      *string           `json:"name,omitempty" doc:"Of a new one, for people"`
	Command   *string           `json:"command,omitempty" doc:"Of a new one, which is tried out and then written into the configuration"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Timeout   *float64          `json:"timeout,omitempty" doc:"Seconds to wait for it, at most 3600"`
}

// CompatToolCall is a call of one server's tool.
type CompatToolCall struct {
	ServerKey string          `json:"server_key"`
	ToolName  string          `json:"tool_name,omitempty" doc:"The server's own name for it, or that by which it is called; this or name has to be there"`
	Name      string          `json:"name,omitempty" doc:"The same as tool_name"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"An object"`
	SessionID string          `json:"session_id,omitempty" doc:"Names the conversation that the call is part of; at most 128 characters"`
	Timeout   *float64        `json:"timeout,omitempty" doc:"Seconds after which the call ends, at most 3600; the server's own limit holds as well"`
}

// CompatToolResult is how a call went.
type CompatToolResult struct {
	Success  bool            `json:"success" doc:"False also if the tool says that it failed, and if the hub has refused the call"`
	Result   json.RawMessage `json:"result,omitempty" doc:"The server's result, as it is"`
	Error    string          `json:"error,omitempty" doc:"There unless it is a success"`
	Code     string          `json:"code,omitempty" doc:"Stable code of the error; not there if it is the tool's"`
	Duration float64         `json:"duration_ms"`
}

// CompatBatch is some calls, one beside the other.
type CompatBatch struct {
	Calls []CompatToolCall `json:"calls" doc:"1 to 100"`
}

// CompatBatchItem is how one of them went.
type CompatBatchItem struct {
	ServerKey string `json:"server_key"`
	ToolName  string `json:"tool_name"`
	Omitted   bool   `json:"result_omitted,omitempty" doc:"The results of all calls together were too large"`
	CompatToolResult
}

// CompatBatchResult is how all of them went, in their order.
type CompatBatchResult struct {
	Success  bool              `json:"success" doc:"Every call did"`
	Error    string            `json:"error,omitempty" doc:"How many did not; there unless all did"`
	Total    int               `json:"total"`
	Passed   int               `json:"passed"`
	Failed   int               `json:"failed"`
	Results  []CompatBatchItem `json:"results"`
	Duration float64           `json:"duration_ms"`
}

// CompatContext is all that a model may be told of tools.
type CompatContext struct {
	Success      bool            `json:"success"`
	SystemPrompt string          `json:"system_prompt" doc:"Markdown"`
	Tools        []CompatTool    `json:"tools"`
	OpenAI       []OpenAITool    `json:"openai_tools"`
	Anthropic    []AnthropicTool `json:"anthropic_tools"`
	Total        int             `json:"total"`
}

// CompatPrompt is a text for a model.
type CompatPrompt struct {
	Success      bool   `json:"success"`
	SystemPrompt string `json:"system_prompt" doc:"Markdown"`
	Total        int    `json:"total" doc:"Tools in it"`
}

// CompatContextTools is every tool in one of the formats.
type CompatContextTools struct {
	Success bool   `json:"success"`
	Format  string `json:"format" enum:"openai,anthropic,raw"`
	Tools   any    `json:"tools" doc:"A list of OpenAITool, AnthropicTool or CompatTool"`
	Total   int    `json:"total"`
}

// OpenAITool is a tool as OpenAI's API takes it.
type OpenAITool struct {
	Type     string         `json:"type" enum:"function"`
	Function OpenAIFunction `json:"function"`
}

// OpenAIFunction is the function of an [OpenAITool].
type OpenAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// AnthropicTool is a tool as Anthropic's API takes it.
type AnthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// CompatConfirmation is a call to which somebody is asked to agree.
type CompatConfirmation struct {
	ID                string            `json:"id"`
	SessionID         string            `json:"session_id"`
	ToolCall          CompatPendingCall `json:"tool_call"`
	RiskLevel         string            `json:"risk_level" enum:"low,medium,high,critical"`
	Status            string            `json:"status" enum:"pending,approved,rejected,expired" doc:"approved also with other arguments; expired also if it was withdrawn, or would be another call by now"`
	RiskDescription   string            `json:"risk_description"`
	WarningMessage    string            `json:"warning_message"`
	ExpiresAt         time.Time         `json:"expires_at"`
	ModifiedArguments json.RawMessage   `json:"modified_arguments" doc:"null if there are none"`

	CreatedAt     time.Time `json:"created_at"`
	State         string    `json:"state" doc:"The status in full: also edited, cancelled and superseded"`
	Hash          string    `json:"hash" doc:"Of what would be sent; the second confirmation says it as saw"`
	Confirmations int       `json:"confirmations" doc:"How often somebody has agreed so far"`
	Needed        int       `json:"confirmations_needed"`
}

// CompatPendingCall is the call of a [CompatConfirmation].
type CompatPendingCall struct {
	Name       string          `json:"name" doc:"As the caller put it"`
	ServerKey  string          `json:"server_key"`
	ToolName   string          `json:"tool_name"`
	Arguments  json.RawMessage `json:"arguments" doc:"Exactly what would be sent"`
	Extra      json.RawMessage `json:"extra,omitempty" doc:"What would be sent besides the arguments, such as answers to the tool's questions"`
	RiskLevel  string          `json:"risk_level"`
	Confirming bool            `json:"requires_confirmation"`
}

// CompatConfirmations are those that are pending, newest first.
type CompatConfirmations struct {
	Success       bool                 `json:"success"`
	Confirmations []CompatConfirmation `json:"confirmations"`
}

// CompatConfirm decides about a [CompatConfirmation].
type CompatConfirm struct {
	Approved          *bool           `json:"approved,omitempty" doc:"This or confirmed has to be there"`
	Confirmed         *bool           `json:"confirmed,omitempty" doc:"The same as approved"`
	ModifiedArguments json.RawMessage `json:"modified_arguments,omitempty" doc:"To be sent in place of those that were asked for"`
	Reason            string          `json:"reason,omitempty" doc:"For the record and the caller"`
	Comment           string          `json:"comment,omitempty" doc:"The same as reason, which goes before it"`
	SessionID         json.RawMessage `json:"session_id,omitempty" doc:"Says nothing: the path names the session"`
	Confirmation      int             `json:"confirmation,omitempty" doc:"Which agreement this is meant to be; a second one needs it"`
	Saw               string          `json:"saw,omitempty" doc:"The hash as it was seen; a second agreement needs it"`
}

// CompatConfirmed is what came of a decision.
type CompatConfirmed struct {
	Success      bool               `json:"success"`
	Confirmation CompatConfirmation `json:"confirmation"`
}

// ProxyCall is a call of a proxy's.
type ProxyCall struct {
	ToolName  string          `json:"toolName" doc:"The exposed name"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"An object"`
	ProxyID   string          `json:"proxyId,omitempty" doc:"Keeps what the proxy has registered; at most 100 characters"`
	Timeout   *float64        `json:"timeout,omitempty" doc:"Seconds after which the call ends, at most 3600; the server's own limit holds as well"`
}

// ProxyCallResult is the answer to it.
type ProxyCallResult struct {
	Success bool            `json:"success" doc:"The server has answered; the result says whether the tool did what it was to"`
	Result  json.RawMessage `json:"result" doc:"The server's result, as it is, or what the hub says in its place; to be passed on"`
	Error   string          `json:"error,omitempty" doc:"Why the hub has not called the tool; there unless it is a success"`
	Code    string          `json:"code,omitempty" doc:"Stable code of that"`
}

// ProxyRegister says which tools a proxy needs.
type ProxyRegister struct {
	ProxyID       string   `json:"proxyId" doc:"At most 100 characters"`
	RequiredTools []string `json:"requiredTools"`
}

// ProxyRegistered is what came of it.
type ProxyRegistered struct {
	Success         bool      `json:"success"`
	RegisteredTools []string  `json:"registeredTools"`
	StartedServices []string  `json:"startedServices" doc:"Servers that were idle and are being started"`
	UnknownTools    []string  `json:"unknownTools" doc:"Names that stand for nothing, or for a server that is disabled or stopped"`
	Expires         time.Time `json:"expires" doc:"Unless the proxy calls or registers again before"`
}

// ProxyUnregister ends what a proxy has registered.
type ProxyUnregister struct {
	ProxyID string `json:"proxyId"`
}
