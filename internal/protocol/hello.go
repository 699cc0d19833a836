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
	Instructions string
	ServerInfo   json.RawMessage // as it came; nil if the server did not say
}

// Capabilities are those of a server's capabilities that the hub acts upon.
type Capabilities struct {
	Tools            bool
	ToolsListChanged bool
	Logging          bool
}

type rawCapabilities struct {
	Tools *struct {
		ListChanged bool `json:"listChanged"`
	} `json:"tools"`
	Logging *struct{} `json:"logging"`
}

func (c rawCapabilities) known() Capabilities {
	return Capabilities{
		Tools:            c.Tools != nil,
		ToolsListChanged: c.Tools != nil && c.Tools.ListChanged,
		Logging:          c.Logging != nil,
	}
}

// ParseInitialize reads the result of an initialize request. The revision is
// returned as the server gave it, known or not.
func ParseInitialize(result []byte) (Hello, error) {
	var r struct {
		ProtocolVersion Revision        `json:"protocolVersion"`
		Capabilities    rawCapabilities `json:"capabilities"`
		Instructions    string          `json:"instructions"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return Hello{}, fmt.Errorf("read the initialize result: %w", err)
	}
	return Hello{r.ProtocolVersion, r.Capabilities.known(), r.Instructions, r.ServerInfo}, nil
}

// ParseDiscover reads the result of a server/discover request. Revision is the
// newest modern one that both sides speak, or "" if there is none.
func ParseDiscover(result []byte) (Hello, error) {
	var r struct {
		SupportedVersions []Revision                 `json:"supportedVersions"`
		Capabilities      rawCapabilities            `json:"capabilities"`
		Instructions      string                     `json:"instructions"`
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return Hello{}, fmt.Errorf("read the discover result: %w", err)
	}
	return Hello{CommonModern(r.SupportedVersions), r.Capabilities.known(), r.Instructions, r.Meta[MetaServerInfo]}, nil
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
