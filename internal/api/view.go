package api

import "encoding/json"

// Group is a named part of what there is, at an address of its own.
type Group struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Servers     []string          `json:"servers" doc:"Keys of servers of which it has everything"`
	Tools       []string          `json:"tools" doc:"Tools that it has as well; * stands for any text"`
	Exclude     []string          `json:"exclude" doc:"Tools that it does not have, whatever is said above"`
	Rename      map[string]string `json:"rename" doc:"New names of tools, by the ones that callers see elsewhere or server__tool"`
	Path        string            `json:"path" doc:"Where MCP clients find it" example:"/mcp/coding"`
	URL         string            `json:"url,omitempty" doc:"The same as a whole URL, if the hub listens" example:"http://127.0.0.1:8080/mcp/coding"`
	Offers      Offers            `json:"offers" doc:"What a caller sees there now"`
	ETag        string            `json:"etag,omitempty" doc:"Of the configuration file; only when one group is asked for"`
}

// Offers is how much there is.
type Offers struct {
	Tools     int `json:"tools"`
	Resources int `json:"resources"`
	Templates int `json:"templates" doc:"Of resources"`
	Prompts   int `json:"prompts"`
}

// GroupList is every group, in the order of the configuration.
type GroupList struct {
	Groups []Group `json:"groups"`
}

// GroupDefinition is what the configuration is to say about a group; what is
// left out is empty.
type GroupDefinition struct {
	Description string            `json:"description,omitempty"`
	Servers     []string          `json:"servers,omitempty" doc:"Keys of servers of which it has everything"`
	Tools       []string          `json:"tools,omitempty" doc:"Tools that it has as well, by the names that callers see or server__tool; * stands for any text"`
	Exclude     []string          `json:"exclude,omitempty" doc:"Tools that it does not have, named in the same way, whatever is said above"`
	Rename      map[string]string `json:"rename,omitempty" doc:"New names of tools, by the ones that callers see elsewhere or server__tool"`
}

// Resource is one resource that is offered.
type Resource struct {
	URI         string `json:"uri" doc:"By which it is read"`
	Server      string `json:"server" doc:"Key of its server"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	State       string `json:"state" doc:"Of its server"`
}

// ResourceTemplate is one template of resources that is offered.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate" doc:"RFC 6570"`
	Server      string `json:"server" doc:"Key of its server"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	State       string `json:"state" doc:"Of its server"`
}

// ResourceList is every resource and every template that is offered, in the
// order in which MCP callers see them.
type ResourceList struct {
	Resources []Resource         `json:"resources"`
	Templates []ResourceTemplate `json:"templates"`
}

// ResourceRead asks for what is in a resource.
type ResourceRead struct {
	URI string `json:"uri"`
}

// Prompt is one prompt that is offered.
type Prompt struct {
	Name        string           `json:"name" doc:"The exposed name, by which it is got"`
	Server      string           `json:"server" doc:"Key of its server"`
	Prompt      string           `json:"prompt" doc:"The server's own name for it"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments"`
	State       string           `json:"state" doc:"Of its server"`
}

// PromptArgument is an argument that a prompt takes.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
}

// PromptList is every prompt that is offered, in the order in which MCP callers
// see them.
type PromptList struct {
	Prompts []Prompt `json:"prompts"`
}

// PromptGet asks for a prompt that is filled in.
type PromptGet struct {
	Name      string          `json:"name" doc:"Its exposed name, or its own name if that is clear"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"An object of texts"`
}

// Answer is what a server has answered.
type Answer struct {
	Server   string          `json:"server" doc:"That has answered; empty for the hub itself"`
	Result   json.RawMessage `json:"result" doc:"The server's result, as it is"`
	Duration float64         `json:"durationMs"`
}
