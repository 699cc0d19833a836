package catalog

import (
	"errors"
	"log/slog"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
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
		if err != nil {
			log.Warn("a tool is left out", "server", server.Key, "tool", message.Quote(tool.Name), "error", err)
			continue
		}
		offer.Tools = append(offer.Tools, tool)
	}
	return offer
}
