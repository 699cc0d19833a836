package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// askingHub starts a hub that has a person asked about the fault server's note.
func askingHub(t *testing.T, approval string) *rig.Hub {
	t.Helper()
	hub := askingHubIn(t, t.TempDir(), approval)
	hub.AwaitReady()
	return hub
}

// askingHubIn is askingHub with a given data directory. Its servers may still be on
// their way.
func askingHubIn(t *testing.T, dataDir, approval string) *rig.Hub {
	t.Helper()
	entry, err := json.Marshal(rig.Stdio("fault", rig.FaultServer(t)).Entry)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "toolcrib.json")
	text := `{"mcpServers": {"fault": ` + string(entry) + `}, "approval": ` + approval + `,
		"policy": {"rules": [{"id": "notes", "effect": "ask", "tool": "note"}]}}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return rig.Serve(t, nil, "--config", config, "--listen", "127.0.0.1:0", "--data-dir", dataDir)
}

// TestTicketsOverMCP: a client of either era finds the tool for tickets in its list,
// is answered with a ticket, and picks up what the tool says once somebody has agreed.
func TestTicketsOverMCP(t *testing.T) {
	t.Parallel()
	hub := askingHub(t, `{"hold": "1s"}`)
	for _, revision := range []string{latestLegacy, modernRevision} {
		c := connect(t, hub.MCP(), revision)
		var list struct{ Tools []struct{ Name string } }
		result(t, c, "tools/list", nil, &list)
		if n := len(list.Tools); n < 2 || list.Tools[n-1].Name != "approval_result" {
			t.Fatalf("%s: the list is %v", revision, list.Tools)
		}
		type answer struct {
			Content []struct{ Text string }
			IsError bool
			Meta    map[string]struct{ Ticket, Status string } `json:"_meta"`
		}
		var held, got answer
		result(t, c, "tools/call", map[string]any{"name": "fault__note", "arguments": map[string]any{"text": revision}}, &held)
		about := held.Meta["toolcrib/approval"]
		if !held.IsError || about.Status != "pending" || !strings.Contains(held.Content[0].Text, about.Ticket) {
			t.Fatalf("%s: it was answered with %+v", revision, held)
		}
		if _, err := hub.API().Approve(t.Context(), about.Ticket, api.Approve{}); err != nil {
			t.Fatal(err)
		}
		result(t, c, "tools/call", map[string]any{"name": "approval_result", "arguments": map[string]any{"ticket": about.Ticket}}, &got)
		if got.IsError || got.Content[0].Text != revision {
			t.Errorf("%s: then it was answered with %+v", revision, got)
		}
	}
}

// result makes a request and reads its result, but for members that do not fit.
func result(t *testing.T, c *caller, method string, params map[string]any, into any) {
	t.Helper()
	m := c.response(c.send(t.Context(), method, params, nil))
	if m.Error != nil {
		t.Fatalf("%s: %s", method, m)
	}
	if err := json.Unmarshal(m.Result, into); err != nil {
		t.Fatalf("%s: %v: %s", method, err, m)
	}
}

// TestElicitedApproval: a client that can be asked is asked itself, if that is
// configured: its person sees what would run, and decides; that is on record. In one
// era it is asked by a request, in the other by an answer.
func TestElicitedApproval(t *testing.T) {
	t.Parallel()
	hub := askingHub(t, `{"elicit": true}`)
	for _, way := range [][2]string{{"approve", latestLegacy}, {"reject", latestLegacy}, {"approve", modernRevision}, {"reject", modernRevision}} {
		decision, revision := way[0], way[1]
		var asked string
		client := sdk.NewClient(&sdk.Implementation{Name: "asked", Version: "1"}, &sdk.ClientOptions{
			ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked = r.Params.Message
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision, "note": "as you see"}}, nil
			},
		})
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: hub.MCP()}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "fault__note", Arguments: map[string]any{"text": "by " + decision}})
		if err != nil {
			t.Fatal(err)
		}
		text := res.Content[0].(*sdk.TextContent).Text
		if res.IsError != (decision == "reject") || decision == "approve" && text != "by approve" || decision == "reject" && !strings.Contains(text, "as you see") {
			t.Errorf("%s: it was answered with %q", way, text)
		}
		if !strings.Contains(asked, `{"text":"by `+decision+`"}`) || !strings.Contains(asked, "fault__note") {
			t.Errorf("%s: the person was asked %q", way, asked)
		}
		_ = session.Close()
	}
	list, err := hub.API().Approvals(t.Context(), apiclient.ApprovalQuery{})
	if err != nil {
		t.Fatal(err)
	}
	by := make([]string, 0, len(list.Approvals))
	for _, q := range list.Approvals {
		for _, d := range q.Decisions {
			by = append(by, d.By)
		}
	}
	if !slices.Equal(by, slices.Repeat([]string{"local at its client"}, 4)) {
		t.Errorf("decided by %q", by)
	}
}

// TestElicitedApprovalOutlivesTheHub: what a hub has asked by an answer can be answered
// to the one that comes after it. Neither the question nor its answer is sent on.
func TestElicitedApprovalOutlivesTheHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ask := func(hub *rig.Hub, capabilities, more map[string]any) (answer struct {
		ResultType    string
		RequestState  string
		IsError       bool
		Content       []struct{ Text string }
		InputRequests map[string]struct{ Method string }
	},
	) {
		params := map[string]any{
			"name": "fault__note", "arguments": map[string]any{"text": "it lasts"},
			"_meta": map[string]any{"io.modelcontextprotocol/clientCapabilities": capabilities},
		}
		maps.Copy(params, more)
		result(t, connect(t, hub.MCP(), modernRevision), "tools/call", params, &answer)
		return answer
	}
	forms := map[string]any{"elicitation": map[string]any{}}
	hub := askingHubIn(t, dir, `{"elicit": true, "hold": "1s"}`)
	for _, none := range []map[string]any{{}, {"elicitation": map[string]any{"url": map[string]any{}}}} {
		if held := ask(hub, none, nil); !held.IsError || held.ResultType != "complete" || !strings.Contains(held.Content[0].Text, "ticket") {
			t.Errorf("%v: it was answered with %+v", none, held)
		}
	}
	asked := ask(hub, forms, nil)
	if asked.ResultType != "input_required" || asked.InputRequests["approval"].Method != "elicitation/create" {
		t.Fatalf("it was answered with %+v", asked)
	}
	hub.Stop()
	hub = askingHubIn(t, dir, `{"elicit": true, "hold": "1s"}`)
	yes := map[string]any{"action": "accept", "content": map[string]any{"decision": "approve"}}
	again := map[string]any{"requestState": asked.RequestState, "inputResponses": map[string]any{"approval": yes}}
	if got := ask(hub, forms, again); got.ResultType != "complete" || got.IsError || got.Content[0].Text != "it lasts" {
		t.Errorf("it was answered with %+v", got)
	}
	if twice := ask(hub, forms, again); !twice.IsError {
		t.Errorf("the second time it was answered with %+v", twice)
	}
}
