package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// step is one request of a script, which is the same whoever answers it.
type step struct {
	method, params string // params without _meta
	progress       bool   // asks for progress
	cancel         bool   // is cancelled at its first progress, and not answered
	await          string // a notification that comes of it, maybe later
}

// everything is what server-everything 2026.8.31 can be asked, in an order in
// which each step finds what it needs.
func everything() []step {
	call := func(name, arguments string) step {
		return step{method: "tools/call", params: fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments)}
	}
	read := func(uri string) step { return step{method: "resources/read", params: fmt.Sprintf(`"uri":%q`, uri)} }
	prompt := func(members string) step { return step{method: "prompts/get", params: members} }
	complete := func(members string) step { return step{method: "completion/complete", params: members} }
	long := call("trigger-long-running-operation", `{"duration":0.3,"steps":3}`)
	long.progress = true
	endless := call("trigger-long-running-operation", `{"duration":2,"steps":20}`)
	endless.progress, endless.cancel = true, true
	logging := call("toggle-simulated-logging", `{}`)
	logging.await = "notifications/message"
	updates := call("toggle-subscriber-updates", `{}`)
	updates.await = "notifications/resources/updated"
	const document = "demo://resource/static/document/architecture.md"
	return []step{
		{method: "ping"},
		{method: "tools/list"},
		{method: "resources/list"},
		{method: "resources/templates/list"},
		{method: "prompts/list"},
		call("echo", `{"message":"Gr\u00fc\u00dfe \ud83d\ude00 <b> & \u2028"}`),
		call("echo", `{}`),
		call("get-annotated-message", `{"messageType":"error","includeImage":true}`),
		call("get-annotated-message", `{"messageType":"success"}`),
		call("get-annotated-message", `{"messageType":"debug","includeImage":false}`),
		call("get-resource-links", `{"count":3}`),
		call("get-resource-reference", `{"resourceType":"Text","resourceId":1}`),
		call("get-resource-reference", `{"resourceType":"Blob","resourceId":2}`),
		call("get-resource-reference", `{"resourceType":"None","resourceId":2}`),
		call("get-structured-content", `{"location":"New York"}`),
		call("get-sum", `{"a":1e2,"b":0.5}`),
		call("get-sum", `{"a":"one","b":2}`),
		call("get-tiny-image", `{}`),
		call("gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`),
		call("gzip-file-as-resource", `{"name":"b.gz","data":"data:text/plain,hello","outputType":"resourceLink"}`),
		read("demo://resource/session/b.gz"),
		call("simulate-research-query", `{"topic":"t"}`), // which has to be called as a task, and says so
		long,
		call("get-roots-list", `{}`),
		call("trigger-sampling-request", `{"prompt":"say it","maxTokens":20}`),
		call("trigger-elicitation-request", `{}`),
		call("trigger-url-elicitation", `{"url":"https://example.com/?a=b","message":"go there","elicitationId":"e-1"}`),
		call("trigger-url-elicitation", `{"url":"https://example.com/","errorPath":true}`),
		endless,
		read(document),
		read("demo://resource/dynamic/text/7"),
		read("demo://resource/dynamic/blob/8"),
		read("demo://resource/dynamic/blob/none"),
		prompt(`"name":"simple-prompt"`),
		prompt(`"name":"args-prompt","arguments":{"city":"K\u00f6ln","state":"NRW"}`),
		prompt(`"name":"args-prompt","arguments":{}`),
		prompt(`"name":"completable-prompt","arguments":{"department":"Sales","name":"Eve"}`),
		prompt(`"name":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"3"}`),
		complete(`"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}`),
		complete(`"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"name","value":""},"context":{"arguments":{"department":"Sales"}}`),
		complete(`"ref":{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},"argument":{"name":"resourceId","value":"12"}`),
		{method: "logging/setLevel", params: `"level":"debug"`},
		logging,
		call("toggle-simulated-logging", `{}`),
		{method: "resources/subscribe", params: fmt.Sprintf(`"uri":%q`, document)},
		updates,
		call("toggle-subscriber-updates", `{}`),
		{method: "resources/unsubscribe", params: fmt.Sprintf(`"uri":%q`, document)},
		{method: "ping"},
	}
}

// transcript is what a client saw of a script.
type transcript struct {
	steps []string // of each step, everything that belongs to it, in its order
	other []string // log lines and questions that belong to no step, sorted
}

// capabilities are those of a client that can be asked everything.
const capabilities = `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// play plays the script. Want is what another server answered to it, nil for
// the first.
func play(t *testing.T, p *rig.Peer, revision string, script []step, want *transcript) transcript {
	t.Helper()
	var got transcript
	_, m := p.Ask("0", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"e2e","version":"1"}}}`,
		revision, capabilities), nil)
	if !strings.Contains(string(m.Result), fmt.Sprintf(`"protocolVersion":%q`, revision)) {
		t.Fatalf("initialize: %s", m.Raw)
	}
	p.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, s := range script {
		got.play(t, p, s, i+1)
	}
	// What belongs to no step may come later.
	for want != nil && len(got.other) < len(want.other) {
		m, ok := p.Within(10 * time.Second)
		if !ok {
			break // comparing says what is missing
		}
		got.meet(p, m, nil)
	}
	return got
}

// play plays one step.
func (got *transcript) play(t *testing.T, p *rig.Peer, s step, id int) {
	t.Helper()
	var lines []string
	params := s.params
	if s.progress {
		params = fmt.Sprintf(`"_meta":{"progressToken":"of %d"},%s`, id, params)
	}
	p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, s.method, params))
	answered, came := false, s.await == ""
	for !answered || !came {
		m, ok := p.Within(20 * time.Second)
		if !ok {
			t.Fatalf("%s %s: no more came than %q", s.method, s.params, lines)
		}
		switch {
		case m.Method == "" && string(m.ID) == fmt.Sprint(id):
			answered = true
			lines = append(lines, "result "+string(m.Result)+" error "+string(m.Error))
		case m.Method == "notifications/progress" && s.cancel:
			if !answered { // the first
				p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"enough"}}`, id))
			}
			answered = true
		default:
			got.meet(p, m, &lines)
		}
		came = came || m.Method == s.await
	}
	if s.await == "notifications/resources/updated" {
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, s.await) })
		lines = append(lines, s.await) // it may come before the answer or behind it
	}
	got.steps = append(got.steps, fmt.Sprintf("%s %s\n  %s", s.method, s.params, strings.Join(lines, "\n  ")))
}

// meet takes a message that is not an answer. A question is answered.
func (got *transcript) meet(p *rig.Peer, m rig.Message, lines *[]string) {
	answers := map[string]string{
		"sampling/createMessage": `{"model":"m","role":"assistant","stopReason":"endTurn","content":{"type":"text","text":"said \u00e4 / \/"}}`,
		"elicitation/create":     `{"action":"accept","content":{"name":"N\u00e4me","integer":7,"number":1.50,"check":false}}`,
		"roots/list":             `{"roots":[{"uri":"file:///a%20b","name":"mine"},{"uri":"file:///c"}]}`,
	}
	if m.Question() {
		if answer, ok := answers[m.Method]; ok {
			p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer))
		} else {
			p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not known"}}`, m.ID))
		}
	}
	said := m.Method + " " + string(m.Params)
	switch {
	case m.Method == "":
		// The answer to the request that was cancelled, which nobody waits for:
		// over HTTP there has to be one.
	case strings.HasSuffix(m.Method, "/list_changed"):
		// The hub's lists are its own, and so are the words that they changed.
	case m.Method == "notifications/progress" && strings.Contains(said, `"total":20`):
		// Of the step that was cancelled.
	case strings.Contains(strings.ToLower(said), "roots") && slices.Contains(got.other, said):
		// The server asks a while after the start, and for a call: once, unless
		// both fall together.
	case m.Method == "roots/list", m.Method == "notifications/message", lines == nil:
		got.other = append(got.other, said)
	default:
		*lines = append(*lines, said)
	}
}

// varying are the parts of server-everything's texts that differ from run to run.
var varying = []struct {
	what *regexp.Regexp
	in   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`at \d{1,2}:\d\d:\d\d.[AP]M`), "at TIME"},
	{regexp.MustCompile(`"blob":"UmVzb3VyY2Ug[^"]*"`), `"blob":"WITH THE TIME"`},
	{regexp.MustCompile(`\{"level":"[a-z]+","data":"(Debug|Info|Notice|Warning|Error|Critical|Alert|Emergency)[- ]level[- ]message`), `{"level":"ANY","data":"ANY-level message`},
}

// normal is the text without what varies.
func normal(s string) string {
	for _, v := range varying {
		s = v.what.ReplaceAllString(s, v.in)
	}
	return s
}

// compare compares two transcripts.
func compare(t *testing.T, direct, through transcript) {
	t.Helper()
	for i := range direct.steps {
		want, got := normal(direct.steps[i]), normal(through.steps[i])
		if want != got {
			at := 0 // where they begin to differ
			for at < min(len(want), len(got)) && want[at] == got[at] {
				at++
			}
			from := max(0, at-100)
			t.Errorf("%.100s ...\ndirectly\n %.400s\nthrough the hub\n %.400s", want, want[from:], got[from:])
		}
	}
	for _, other := range [][]string{direct.other, through.other} {
		for i := range other {
			other[i] = normal(other[i])
		}
		slices.Sort(other)
	}
	if !slices.Equal(direct.other, through.other) {
		t.Errorf("outside of calls directly\n %s\nthrough the hub\n %s", strings.Join(direct.other, "\n "), strings.Join(through.other, "\n "))
	}
}

// TestEverything has the same client say the same to server-everything directly
// and through the hub: what it hears differs in the members of
// [protocol.OwnedMembers] only.
func TestEverything(t *testing.T) {
	t.Parallel()
	index := rig.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	all := func(s rig.Server) []rig.Server {
		// It is to judge arguments itself, in its own words.
		return append(quiet(), s.With("bareNames", true).With("connection", "perCaller").With("validate", false))
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		direct := play(t, rig.StdioPeer(t, nil, rig.Node(t), index), latestLegacy, everything(), nil)
		hub := rig.StartHub(t, all(rig.Stdio("everything", rig.Node(t), index))...)
		hub.AwaitReady()
		compare(t, direct, play(t, rig.HTTPPeer(t, hub.MCP()), latestLegacy, everything(), &direct))
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		url := everythingAt(t, "streamableHttp")
		direct := play(t, rig.HTTPPeer(t, url+"/mcp"), latestLegacy, everything(), nil)
		hub := rig.StartHub(t, all(rig.HTTP("everything", url+"/mcp"))...)
		hub.AwaitReady()
		compare(t, direct, play(t, rig.HTTPPeer(t, hub.MCP()), latestLegacy, everything(), &direct))
	})
	t.Run("sse", func(t *testing.T) {
		t.Parallel()
		url := everythingAt(t, "sse")
		direct := play(t, rig.SSEPeer(t, url+"/sse"), "2024-11-05", everything(), nil)
		hub := rig.StartHub(t, all(rig.HTTP("everything", url+"/sse"))...)
		hub.AwaitReady()
		compare(t, direct, play(t, rig.SSEPeer(t, hub.URL+"/sse"), "2024-11-05", everything(), &direct))
	})
}

// quiet are the built-in servers, which are not to be listed.
func quiet() []rig.Server {
	var all []rig.Server
	for _, key := range []string{"calculator", "datetime", "device"} {
		all = append(all, rig.Server{Key: key, Entry: map[string]any{"disabled": true}})
	}
	return all
}

// everythingAt starts server-everything at a port of its own.
func everythingAt(t *testing.T, mode string) string {
	t.Helper()
	port := rig.FreePort(t)
	rig.Spawn(t, []string{"PORT=" + port}, rig.Node(t), rig.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js"), mode)
	url := "http://127.0.0.1:" + port
	rig.AwaitListening(t, "127.0.0.1:"+port)
	return url
}
