package catalog

import (
	"errors"
	"log/slog"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Accept reads what a server lists into an offer, in the server's order. A
// description that cannot be used is left out and logged: it must not cost the
// server its other tools.
func Accept(server hub.Server, tools [][]byte, log *slog.Logger) hub.Offer {
	offer := hub.Offer{Tools: make([]hub.Tool, 0, len(tools))}
	for _, raw := range tools {
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
			continue
		}
		offer.Tools = append(offer.Tools, tool)
	}
	return offer
}

// hasSchema reports whether a description has the inputSchema that every
// revision asks for. There are clients that drop the whole list, those of all
// other servers with it, over one tool without.
func hasSchema(raw []byte) bool {
	schema := wire.Lookup(raw, wire.Value(raw), "inputSchema")
	if !schema.Exists() || raw[schema.Start] != '{' {
		return false
	}
	kind := wire.Lookup(raw, schema, "type")
	return kind.Exists() && wire.KeyIs(raw, kind, "object")
}
