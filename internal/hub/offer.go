package hub

import "strings"

// ListSet is a set of the four lists that a server may have.
type ListSet uint8

// The lists.
const (
	ListTools ListSet = 1 << iota
	ListResources
	ListTemplates // of resources; a server tells of their changes with those of resources
	ListPrompts

	// ListAll is all of them.
	ListAll = ListTools | ListResources | ListTemplates | ListPrompts
)

// Has reports whether all of the others are in the set.
func (s ListSet) Has(other ListSet) bool { return s&other == other }

// String names the lists, such as "tools, prompts".
func (s ListSet) String() string {
	var names []string
	for i, name := range [...]string{"tools", "resources", "resource templates", "prompts"} {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Lists is what a server lists: the descriptions, byte for byte and in its
// order. Nobody changes them.
type Lists struct {
	Asked     ListSet // those that were asked for; what is not among them is nil and stays as it was
	Announced ListSet // those of which the server had said that they have changed
	Tools     [][]byte
	Resources [][]byte
	Templates [][]byte
	Prompts   [][]byte

	Capabilities []byte // JSON object, as the server declared it; nil if unknown
	Instructions string // what the server says about its use
}

// Offer is what a server has to give, as it said so itself.
type Offer struct {
	Tools        []Tool
	Resources    []Resource
	Templates    []Template
	Prompts      []Prompt
	Capabilities []byte // JSON object; nil if unknown
	Instructions string
}

// Tool is one tool of a server, as the server described it.
type Tool struct {
	Name string // the server's own name for it
	Raw  []byte // the whole description, the bytes that came; nobody changes them

	ReadOnly   bool // annotations.readOnlyHint
	Idempotent bool // annotations.idempotentHint

	// People says that the tool is for people alone, and not for programs:
	// annotations.audience is ["user"]. It counts where [Server.UserTools] is set.
	People bool

	Headers []ParamHeader // arguments to be mirrored into HTTP headers
}

// ParamHeader says that an argument is mirrored into the header
// Mcp-Param-{Name} (2026-07-28, "Custom Headers from Tool Parameters").
type ParamHeader struct {
	Path []string // of members within the arguments
	Name string
}

// Resource is one resource of a server, as the server described it.
type Resource struct {
	URI string
	Raw []byte // as Tool.Raw
}

// Template is one template of resources of a server, as the server described it.
type Template struct {
	URI string // the URI template (RFC 6570)
	Raw []byte // as Tool.Raw
}

// Prompt is one prompt of a server, as the server described it.
type Prompt struct {
	Name string // the server's own name for it
	Raw  []byte // as Tool.Raw
}
