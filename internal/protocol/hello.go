package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Hello is what a server says about itself when a connection opens.
type Hello struct {
	Revision     Revision
	Capabilities Capabilities
	Declared     json.RawMessage // the capabilities as they came; nil for none
	Instructions string
	ServerInfo   json.RawMessage // as it came; nil if the server did not say
}

// Capabilities are those of a server's capabilities that the hub acts upon.
type Capabilities struct {
	Tools                bool
	ToolsListChanged     bool
	Resources            bool
	ResourcesListChanged bool
	Subscribe            bool // to resources
	Prompts              bool
	PromptsListChanged   bool
	Completions          bool
	Logging              bool
}

// Union is what at least one of both has.
func (c Capabilities) Union(d Capabilities) Capabilities {
	return Capabilities{
		Tools:                c.Tools || d.Tools,
		ToolsListChanged:     c.ToolsListChanged || d.ToolsListChanged,
		Resources:            c.Resources || d.Resources,
		ResourcesListChanged: c.ResourcesListChanged || d.ResourcesListChanged,
		Subscribe:            c.Subscribe || d.Subscribe,
		Prompts:              c.Prompts || d.Prompts,
		PromptsListChanged:   c.PromptsListChanged || d.PromptsListChanged,
		Completions:          c.Completions || d.Completions,
		Logging:              c.Logging || d.Logging,
	}
}

// ParseCapabilities reads the capabilities that a server declared, as a JSON
// object; nil and null declare none.
func ParseCapabilities(raw []byte) (Capabilities, error) {
	var c rawCapabilities
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return Capabilities{}, fmt.Errorf("read the capabilities: %w", err)
		}
	}
	return c.known(), nil
}

type rawList struct {
	ListChanged bool `json:"listChanged"`
	Subscribe   bool `json:"subscribe"`
}

type rawCapabilities struct {
	Tools       *rawList  `json:"tools"`
	Resources   *rawList  `json:"resources"`
	Prompts     *rawList  `json:"prompts"`
	Completions *struct{} `json:"completions"`
	Logging     *struct{} `json:"logging"`
}

func (c rawCapabilities) known() Capabilities {
	return Capabilities{
		Tools:                c.Tools != nil,
		ToolsListChanged:     c.Tools != nil && c.Tools.ListChanged,
		Resources:            c.Resources != nil,
		ResourcesListChanged: c.Resources != nil && c.Resources.ListChanged,
		Subscribe:            c.Resources != nil && c.Resources.Subscribe,
		Prompts:              c.Prompts != nil,
		PromptsListChanged:   c.Prompts != nil && c.Prompts.ListChanged,
		Completions:          c.Completions != nil,
		Logging:              c.Logging != nil,
	}
}

// ParseInitialize reads the result of an initialize request. The revision is
// returned as the server gave it, known or not.
func ParseInitialize(result []byte) (Hello, error) {
	var r struct {
		ProtocolVersion Revision        `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		Instructions    string          `json:"instructions"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return Hello{}, fmt.Errorf("read the initialize result: %w", err)
	}
	known, err := ParseCapabilities(r.Capabilities)
	if err != nil {
		return Hello{}, err
	}
	return Hello{r.ProtocolVersion, known, r.Capabilities, r.Instructions, r.ServerInfo}, nil
}

// ParseDiscover reads the result of a server/discover request. Revision is the
// newest modern one that both sides speak, or "" if there is none.
func ParseDiscover(result []byte) (Hello, error) {
	var r struct {
		SupportedVersions []Revision                 `json:"supportedVersions"`
		Capabilities      json.RawMessage            `json:"capabilities"`
		Instructions      string                     `json:"instructions"`
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return Hello{}, fmt.Errorf("read the discover result: %w", err)
	}
	known, err := ParseCapabilities(r.Capabilities)
	if err != nil {
		return Hello{}, err
	}
	return Hello{CommonModern(r.SupportedVersions), known, r.Capabilities, r.Instructions, r.Meta[MetaServerInfo]}, nil
}

// CommonModern returns the newest modern revision in the list that is spoken
// here, or "".
func CommonModern(list []Revision) Revision {
	for _, r := range Revisions() {
		if r.Era() == Modern && slices.Contains(list, r) {
			return r
		}
	}
	return ""
}

// Levels of log messages, from the most verbose on (RFC 5424 by name).
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// Level returns the rank of a log level, 0 for the most verbose; false if
// there is no such level.
func Level(name string) (int, bool) {
	i := slices.Index(levels, name)
	return i, i >= 0
}
