package catalog

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Accept reads what a server lists into an offer, in the server's order. A
// description that cannot be used is left out and logged: it must not cost the
// server its other ones.
func Accept(server hub.Server, lists hub.Lists, log *slog.Logger) hub.Offer {
	offer := hub.Offer{Tools: make([]hub.Tool, 0, len(lists.Tools)), Instructions: lists.Instructions}
	for _, raw := range lists.Tools {
		if tool, ok := acceptTool(server, raw, log); ok {
			offer.Tools = append(offer.Tools, tool)
		}
	}
	offer.Resources = acceptAll(server, "resource", lists.Resources, ParseResource, log)
	offer.Templates = acceptAll(server, "resource template", lists.Templates, ParseTemplate, log)
	offer.Prompts = acceptAll(server, "prompt", lists.Prompts, ParsePrompt, log)
	if err := checkCapabilities(lists.Capabilities); err != nil {
		log.Warn("what a server declared is left out", "server", server.Key, "error", err)
	} else if lists.Capabilities != nil {
		offer.Capabilities = wire.Value(lists.Capabilities).Of(lists.Capabilities)
	}
	return offer
}

// acceptTool reads one tool.
func acceptTool(server hub.Server, raw []byte, log *slog.Logger) (hub.Tool, bool) {
	tool, err := ParseTool(raw)
	if header, ok := errors.AsType[*HeaderError](err); ok && server.Kind != hub.KindHTTP {
		log.Debug("an annotation for HTTP is ignored", "server", server.Key, "tool", message.Quote(tool.Name), "error", header)
		err = nil
	}
	if err == nil && !hasSchema(raw) {
		err = errors.New("its inputSchema is not of the type object")
	}
	if err != nil {
		log.Warn("a tool is left out", "server", server.Key, "tool", message.Quote(tool.Name), "error", err)
	}
	return tool, err == nil
}

// hasSchema reports whether a description has the inputSchema that every
// revision asks for. There are clients that drop the whole list, those of all
// other servers with it, over one tool without.
func hasSchema(raw []byte) bool {
	schema := wire.Lookup(raw, wire.Value(raw), "inputSchema")
	if !schema.Exists() || raw[schema.Start] != '{' {
		return false
	}
	kind, _ := wire.String(raw, wire.Lookup(raw, schema, "type"))
	return kind == "object"
}

// acceptAll reads one of the lists that need no more than to be parsed.
func acceptAll[T any](server hub.Server, kind string, list [][]byte, parse func([]byte) (T, error), log *slog.Logger) []T {
	all := make([]T, 0, len(list))
	for _, raw := range list {
		one, err := parse(raw)
		if err != nil {
			log.Warn("a description is left out", "server", server.Key, "kind", kind, "error", err)
			continue
		}
		all = append(all, one)
	}
	return all
}

// checkCapabilities reports why what a server declared cannot be kept. Nil is
// none, and is kept as such.
func checkCapabilities(raw []byte) error {
	if raw == nil {
		return nil
	}
	if err := wire.Valid(raw, wire.Limits{UniqueKeys: true}); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	if !starts(raw, wire.Value(raw), '{') {
		return errors.New("the capabilities are not an object")
	}
	_, err := protocol.ParseCapabilities(raw)
	return err
}

// ParseResource reads a resource's description, which may be any bytes. Raw of
// the result is raw without the white space around it, and shares its memory. A
// description must be a JSON object with a uri, a string that is not empty, and
// without duplicate keys at any depth, for the reason that [ParseTool] names.
func ParseResource(raw []byte) (hub.Resource, error) {
	raw, uri, err := parseDescription(raw, "resource", "uri")
	return hub.Resource{URI: uri, Raw: raw}, err
}

// ParseTemplate is [ParseResource] for a template of resources, whose URI
// template is its uriTemplate. Whether that is well-formed does not matter here.
func ParseTemplate(raw []byte) (hub.Template, error) {
	raw, uri, err := parseDescription(raw, "resource template", "uriTemplate")
	return hub.Template{URI: uri, Raw: raw}, err
}

// ParsePrompt is [ParseResource] for a prompt, which has a name.
func ParsePrompt(raw []byte) (hub.Prompt, error) {
	raw, name, err := parseDescription(raw, "prompt", "name")
	return hub.Prompt{Name: name, Raw: raw}, err
}

// parseDescription checks a description and reads the member by which it is
// known. With an error it returns nothing else.
func parseDescription(raw []byte, kind, member string) (trimmed []byte, id string, err error) {
	if err := wire.Valid(raw, wire.Limits{UniqueKeys: true}); err != nil {
		return nil, "", fmt.Errorf("read a %s's description: %w", kind, err)
	}
	raw = wire.Value(raw).Of(raw)
	if raw[0] != '{' {
		return nil, "", fmt.Errorf("a %s's description is not an object", kind)
	}
	id, ok := wire.String(raw, wire.Lookup(raw, wire.Value(raw), member))
	if !ok || id == "" {
		return nil, "", fmt.Errorf("a %s's description has no %s", kind, member)
	}
	return raw, id, nil
}
