package rest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

func (h *house) post(path, body string) *answer {
	h.t.Helper()
	return h.do(ask{method: http.MethodPost, path: path, body: body})
}

func TestResources(t *testing.T) {
	h := open(t, `{"groups":{"none":{},"all":{"servers":["lab"]}}}`)
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	var list api.ResourceList
	resource := api.Resource{URI: "lab://readme", Server: "lab", Name: "readme", Title: "Read me", Description: "First.", MIMEType: "text/plain", State: "ready"}
	template := api.ResourceTemplate{URITemplate: "lab://notes/{name}", Server: "lab", Name: "notes", MIMEType: "text/plain", State: "ready"}
	for query, want := range map[string]int{"": 1, "?server=lab": 1, "?server=calculator": 0, "?group=all": 1, "?group=none": 0, "?group=all&server=lab": 1} {
		h.get("/resources"+query).into(http.StatusOK, &list)
		if len(list.Resources) != want || len(list.Templates) != want || want == 1 && (list.Resources[0] != resource || list.Templates[0] != template) {
			t.Errorf("%q: the resources are %+v", query, list)
		}
	}
	h.get("/resources?group=other").refused(http.StatusNotFound, message.GroupUnknown)
	for _, uri := range []string{"lab://readme", "lab://notes/a"} {
		var v api.Answer
		h.post("/resources/read", `{"uri":`+quote(uri)+`}`).into(http.StatusOK, &v)
		if want := `"text":"what is in it"`; v.Server != "lab" || !strings.Contains(string(v.Result), want) || !strings.Contains(string(v.Result), quote(uri)) {
			t.Errorf("%s: the answer is %+v", uri, v)
		}
	}
	p := h.post("/resources/read", `{"uri":"lab://notes/gone"}`).refused(http.StatusBadGateway, message.ServerRefused)
	if !strings.Contains(p.Detail, "resources/read") {
		t.Errorf("the problem is %+v", p)
	}
	h.post("/resources/read", `{"uri":"toolcrib://nobody/x:y"}`).refused(http.StatusNotFound, message.ResourceUnknown)
	h.post("/resources/read", `{}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	var v api.Server
	h.get("/servers/lab").into(http.StatusOK, &v)
	if v.Resources != 1 || v.Templates != 1 || v.Prompts != 1 {
		t.Errorf("the server is %+v", v)
	}
	var s api.Status
	h.get("/status").into(http.StatusOK, &s)
	if s.Resources != 1 || s.Prompts != 1 {
		t.Errorf("the status is %+v", s)
	}
}

// A server whose URIs are prefixed answers in the prefixed form, to a caller that
// does not speak MCP as well.
func TestPrefixedResource(t *testing.T) {
	h := open(t, `{"mcpServers":{"lab":{"resources":"prefixed"}}}`)
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	var list api.ResourceList
	h.get("/resources").into(http.StatusOK, &list)
	const uri = "toolcrib://lab/lab://readme"
	if len(list.Resources) != 1 || list.Resources[0].URI != uri {
		t.Fatalf("the resources are %+v", list)
	}
	var v api.Answer
	h.post("/resources/read", `{"uri":"`+uri+`"}`).into(http.StatusOK, &v)
	if !strings.Contains(string(v.Result), `"uri":"`+uri+`"`) || !strings.Contains(string(v.Result), "what is in it") {
		t.Errorf("the answer is %+v", v)
	}
}

func TestPrompts(t *testing.T) {
	h := open(t, `{"groups":{"none":{}}}`)
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	var list api.PromptList
	for query, want := range map[string]int{"": 1, "?server=lab": 1, "?server=calculator": 0, "?group=none": 0} {
		if h.get("/prompts"+query).into(http.StatusOK, &list); len(list.Prompts) != want {
			t.Errorf("%q: the prompts are %+v", query, list)
		}
	}
	h.get("/prompts").into(http.StatusOK, &list)
	arguments := []api.PromptArgument{{Name: "whom", Description: "To be greeted", Required: true}, {Name: "how"}}
	if v := list.Prompts[0]; v.Name != "lab__greet" || v.Server != "lab" || v.Prompt != "greet" || v.Title != "Greeting" || v.State != "ready" || !slices.Equal(v.Arguments, arguments) {
		t.Errorf("the prompt is %+v", v)
	}
	var v api.Answer
	for _, name := range []string{"lab__greet", "greet"} {
		h.post("/prompts/get", `{"name":"`+name+`","arguments":{"whom":"you"}}`).into(http.StatusOK, &v)
		if v.Server != "lab" || !strings.Contains(string(v.Result), "Hello you") {
			t.Errorf("%s: the answer is %+v", name, v)
		}
	}
	h.post("/prompts/get", `{"name":"nothing"}`).refused(http.StatusNotFound, message.PromptUnknown)
	h.post("/prompts/get", `{"name":"lab__greet","arguments":[]}`).refused(http.StatusUnprocessableEntity, message.ParamsInvalid)
}
