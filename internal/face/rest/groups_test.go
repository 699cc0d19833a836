package rest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

// A group from its definition to its end, with what is seen through it.
func TestGroup(t *testing.T) {
	h := open(t, "{\n  \"mcpServers\": {}, // none\n}\n")
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	h.change(http.MethodPost, "/servers/calculator/start", "").into(http.StatusOK, nil)
	var g api.Group
	const definition = `{"description":"d","servers":["lab"],"tools":["calculator__*"],"exclude":["lab__hold"],"rename":{"calculator__calculator":"sum"}}`
	a := h.change(http.MethodPut, "/groups/office", definition).into(http.StatusOK, &g)
	if g.Name != "office" || g.Path != "/mcp/office" || g.URL != h.url+g.Path || g.Offers != (api.Offers{Tools: 5, Resources: 1, Templates: 1, Prompts: 1}) ||
		g.ETag == "" || a.header.Get("ETag") != g.ETag || g.Description != "d" || g.Rename["calculator__calculator"] != "sum" {
		t.Errorf("the group is %s", a.body)
	}
	if !strings.Contains(h.text(), "// none") || !strings.Contains(h.text(), `"office"`) {
		t.Errorf("the file is %s", h.text())
	}
	var tools api.ToolList
	h.get("/tools?group=office").into(http.StatusOK, &tools)
	if !slices.ContainsFunc(tools.Tools, func(v api.Tool) bool { return v.Name == "sum" && v.Server == "calculator" && v.Tool == "calculator" }) ||
		slices.ContainsFunc(tools.Tools, func(v api.Tool) bool { return v.Tool == "hold" }) {
		t.Errorf("the tools are %+v", tools)
	}
	h.get("/tools?group=other").refused(http.StatusNotFound, message.GroupUnknown)

	set := func(etag, body string) *answer {
		return h.do(ask{method: http.MethodPut, path: "/groups/office", token: h.admin, body: body, header: map[string]string{"If-Match": etag}})
	}
	set(g.ETag, `{"tools":["calculator__*"]}`).into(http.StatusOK, &g)
	if g.Offers != (api.Offers{Tools: 1}) || len(g.Servers)+len(g.Exclude)+len(g.Rename) > 0 || g.Description != "" {
		t.Errorf("the group is %+v", g)
	}
	set(`"other"`, `{}`).refused(http.StatusPreconditionFailed, message.ConfigStale)
	p := h.change(http.MethodPut, "/groups/bad.name", `{}`).refused(http.StatusUnprocessableEntity, message.ConfigInvalid)
	if len(p.Problems) != 1 || p.Problems[0].Line == 0 {
		t.Errorf("the problems are %+v", p.Problems)
	}
	h.change(http.MethodPut, "/groups/x", `{"rename":{"a":"b c"}}`).refused(http.StatusUnprocessableEntity, message.ConfigInvalid)
	h.change(http.MethodPut, "/groups/x", `{"server":[]}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	var all api.GroupList
	if h.get("/groups").into(http.StatusOK, &all); len(all.Groups) != 1 || all.Groups[0].Name != "office" {
		t.Errorf("the groups are %+v", all)
	}
	h.do(ask{method: http.MethodDelete, path: "/groups/office", token: h.admin, header: map[string]string{"If-Match": `"other"`}}).
		refused(http.StatusPreconditionFailed, message.ConfigStale)
	h.change(http.MethodDelete, "/groups/office", "").into(http.StatusNoContent, nil)
	h.change(http.MethodDelete, "/groups/office", "").refused(http.StatusNotFound, message.GroupUnknown)
	h.get("/groups/office").refused(http.StatusNotFound, message.GroupUnknown)
}

// A change of the file by hand holds at once, and so does what it says of
// clients; a reload tells of it.
func TestGroupsByHand(t *testing.T) {
	h := open(t, `{"groups":{"a":{}}}`)
	var c api.ConfigCheck
	h.write(`{"groups":{"a":{},"b":{"servers":["lab"]}}}`)
	if h.change(http.MethodPost, "/config/reload", "").into(http.StatusOK, &c); !c.Diff.Views {
		t.Errorf("the difference is %+v", c.Diff)
	}
	h.get("/tools?group=b").into(http.StatusOK, nil)
	if h.change(http.MethodPost, "/config/reload", "").into(http.StatusOK, &c); c.Diff.Views {
		t.Errorf("the difference is %+v", c.Diff)
	}
}
