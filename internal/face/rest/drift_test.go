package rest

import (
	"net/http"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What is accepted is what was seen, and a tool that waits for that is told from
// one that there is not.
func TestAcceptSeen(t *testing.T) {
	h := open(t, `{"mcpServers":{"a":{"command":"a","pinned":true}}}`)
	server, err := h.door.opt.Control.Server("a")
	must(t, err)
	list := func(text string) {
		h.catalog.Listed(server.Definition, hub.Lists{Asked: hub.ListTools, Tools: [][]byte{[]byte(`{"name":"x","description":` + quote(text) + `,"inputSchema":{"type":"object"}}`)}})
	}
	list("reads")
	list("reads all")
	for _, name := range []string{"a__x", "x"} {
		h.get("/tools/"+name).refused(http.StatusConflict, message.ToolChanged)
	}
	h.get("/tools/a__y").refused(http.StatusNotFound, message.ToolUnknown)

	accept := func(digest string) *answer {
		return h.change(http.MethodPost, "/servers/a/accept", `{"digests":{"x":`+quote(digest)+`}}`)
	}
	var drift api.Drift
	h.get("/servers/a/drift").into(http.StatusOK, &drift)
	seen := drift.Tools[0].Digest
	list("reads all, and sends it")
	accept(seen).refused(http.StatusConflict, message.DriftStale)
	accept("").refused(http.StatusConflict, message.DriftStale)
	h.change(http.MethodPost, "/servers/a/accept", `{"tools":["x"],"digests":{"x":`+quote(seen)+`}}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodPost, "/servers/a/accept", `{"digests":{}}`).into(http.StatusOK, &drift)
	if len(drift.Tools) != 1 || drift.Tools[0].Digest == seen {
		t.Fatalf("left is %+v", drift)
	}
	accept(drift.Tools[0].Digest).into(http.StatusOK, &drift)
	if len(drift.Tools) != 0 {
		t.Errorf("left is %+v", drift)
	}
	h.get("/tools/a__x").into(http.StatusOK, nil)
}
