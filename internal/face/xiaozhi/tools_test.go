package xiaozhi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// tool is a tool's description.
func tool(name, description string) string {
	text, _ := json.Marshal(description)
	return fmt.Sprintf(`{"name":%q,"description":%s,"inputSchema":{"type":"object"}}`, name, text)
}

// list is what a socket is offered.
func (h *house) list(s *voice.Socket) []voice.Tool {
	h.t.Helper()
	list, err := voice.XS(wait(h.t), s)
	must(h.t, err)
	return list
}

func names(list []voice.Tool) []string {
	var all []string
	for _, t := range list {
		all = append(all, t.Name)
	}
	return all
}

func TestReq13Names(t *testing.T) {
	lab := strings.Join([]string{
		tool("self.get.status", "Call self.set_volume. Then `add`, or add it up; self.get.status is this. See self.set_volume."),
		tool("self_get_status", "x"), tool("self.set_volume", "Sets “add” and add"), tool("add", "uses self.set_volume, not myself.set_volume2"),
		tool(strings.Repeat("long", 30), "x"), tool("天气", "x"), tool("天空", "x"), tool("a b", "x"),
	}, ",")
	var before []voice.Tool
	for range 2 { // the same after a restart
		bubble(t, map[string]string{"lab": lab}, func(t *testing.T, h *house) {
			h.catalog.SetViews(nil, []hub.Profile{{Client: "*", MaxName: 128}}) // which lets through dots and long names
			h.set.Apply([]hub.Endpoint{having("a")})
			s := h.next()
			h.ask(s, "0", "initialize", `{"clientInfo":{"name":"x"}}`)
			list := h.list(s)
			fits, seen := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), map[string]bool{}
			for _, one := range list {
				if flat := strings.ReplaceAll(one.Name, ".", "_"); !fits.MatchString(one.Name) || seen[flat] {
					t.Errorf("%q", one.Name)
				} else {
					seen[flat] = true
				}
			}
			if before != nil && !slices.Equal(names(before), names(list)) {
				t.Errorf("%v is not %v", names(list), names(before))
			}
			before = list
			own := []string{"self.get.status", "self_get_status", "self.set_volume", "add", strings.Repeat("long", 30), "天气", "天空", "a b"}
			for i, want := range own {
				if got, _, _ := text(t, h.callTool(s, "1", list[i].Name, "{}")); got != want {
					t.Errorf("%s reached %q, not %q", list[i].Name, got, want)
				}
			}
			if list[1].Name != "lab__self_get_status" {
				t.Errorf("a name that fits is %q", list[1].Name)
			}
			volume, add, status := list[2].Name, list[3].Name, list[0].Name
			if want := "Call " + volume + ". Then `" + add + "`, or add it up; " + status + " is this. See " + volume + "."; list[0].Description != want {
				t.Errorf("said %q", list[0].Description)
			}
			if list[2].Description != "Sets “"+add+"” and add" || list[3].Description != "uses "+volume+", not myself.set_volume2" {
				t.Errorf("said %q, %q", list[2].Description, list[3].Description)
			}
		})
	}
}

func TestReq14AllowAndDeny(t *testing.T) {
	lab := tool("one", "x") + "," + tool("two", "x") + "," + tool("three", "x")
	for _, tt := range []struct {
		change func(*hub.Endpoint)
		want   string
	}{
		{func(e *hub.Endpoint) { e.Allow = []string{"lab__t*"} }, "lab__two lab__three"},
		{func(e *hub.Endpoint) { e.Deny = []string{"lab__two"} }, "lab__one lab__three calc__add"},
		{func(e *hub.Endpoint) { e.Allow = []string{"*"}; e.Deny = []string{"*o*"} }, "lab__three calc__add"},
		{func(e *hub.Endpoint) { e.Group = "g" }, "lab__one calc__add"},
		{func(e *hub.Endpoint) { e.Group = "g"; e.Deny = []string{"calc__*"} }, "lab__one"},
	} {
		bubble(t, map[string]string{"lab": lab, "calc": calculator}, func(t *testing.T, h *house) {
			h.catalog.SetViews([]hub.Group{{Name: "g", Servers: []string{"calc"}, Tools: []string{"lab__one"}}}, []hub.Profile{{Client: "*", MaxTools: 2}})
			h.catalog.SetServers(h.servers)
			e := having("a", func(e *hub.Endpoint) { e.CancelLate = true }, tt.change)
			h.set.Apply([]hub.Endpoint{e})
			s := h.next()
			got := names(h.list(s))
			want := strings.Fields(tt.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%+v: %v", e, got)
			}
			for _, one := range []string{"lab__one", "lab__two", "lab__three", "two", "three", "one"} {
				long := one
				if !strings.Contains(one, "__") {
					long = "lab__" + one
				}
				raw := h.callTool(s, "9", one, "{}")
				if ok := strings.Contains(raw, `"isError":false`); ok != slices.Contains(want, long) {
					t.Errorf("%+v: calling %s: %s", tt.want, one, raw)
				}
				// Nor by the tools that lead to others.
				if raw := h.callTool(s, "9", "call_tool", `{"name":"`+one+`"}`); strings.Contains(raw, `"isError":false`) && !slices.Contains(want, long) {
					t.Errorf("%+v: by call_tool %s: %s", tt.want, one, raw)
				}
			}
			if h.calls("two") > 0 != slices.Contains(want, "lab__two") {
				t.Errorf("two was called %d times", h.calls("two"))
			}
		})
	}
}

func TestReq14Limits(t *testing.T) {
	many := func(n, size int) string {
		var all []string
		for i := range n {
			all = append(all, tool(fmt.Sprintf("t%03d", i), strings.Repeat("x", size)))
		}
		return strings.Join(all, ",")
	}
	bubble(t, map[string]string{"lab": many(100, 12<<10)}, func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a"), having("p", func(e *hub.Endpoint) { e.Pages = true; e.MaxTools = 200 })})
		for range 2 {
			s := h.next()
			must(t, s.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			raw, err := s.Hear(wait(t), `"id":1,`)
			must(t, err)
			codes := func(name string) (all []message.Code) {
				for _, w := range h.status(name).Warnings {
					all = append(all, w.Code)
				}
				return all
			}
			list := h.list(s)
			if n := len(list); n < 70 || n > 75 || list[n-1].Name != "hub_task_result" || list[0].Name != "lab__t000" {
				t.Errorf("%d tools, the last is %s", n, list[n-1].Name)
			}
			if strings.Contains(s.Query, "token=a-") {
				if len(raw) > 900<<10+100 || strings.Contains(raw, "nextCursor") {
					t.Errorf("%d bytes", len(raw))
				}
				if got := codes("a"); !slices.Equal(got, []message.Code{message.EndpointListCut, message.EndpointManyTools, message.EndpointLongList}) || !strings.Contains(h.journal("a"), "26 tools are not offered") {
					t.Errorf("warned of %s\n%s", got, h.journal("a"))
				}
				continue
			}
			if len(raw) > 64<<10+100 || !strings.Contains(raw, `"nextCursor":"lab__t005"`) || !slices.Equal(codes("p"), []message.Code{message.EndpointListCut}) {
				t.Errorf("a page has %d bytes: …%s %s", len(raw), raw[len(raw)-100:], codes("p"))
			}
			for _, cursor := range []string{`"nobody"`, `"lab__t000"`, `7`} {
				if got := h.ask(s, "1", "tools/list", `{"cursor":`+cursor+`}`); !strings.Contains(got, "-32602") {
					t.Errorf("%s: %.200s", cursor, got)
				}
			}
			if got := h.ask(s, "1", "tools/list", `{"cursor":""}`); !strings.Contains(got, "lab__t000") {
				t.Errorf("%.200s", got)
			}
		}
	})
}

func TestReq14NoGroup(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Group = "gone" })})
		s := h.next()
		hello := h.ask(s, "0", "initialize", "{}")
		if got := h.ask(s, "1", "tools/list", "{}"); !strings.Contains(hello, "result") || !strings.Contains(got, "group_unknown") {
			t.Errorf("%s %s", hello, got)
		}
		if w := h.status("a").Warnings; len(w) != 1 || w[0].Code != message.GroupUnknown {
			t.Errorf("%v", w)
		}
	})
}

func TestReq15Shaping(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Language = message.Chinese })})
		s := h.next()
		give := func(result string) string {
			h.mu.Lock()
			h.answer = func(string, string) string { return result }
			h.mu.Unlock()
			return h.callTool(s, "3", "calc__add", "{}")
		}
		if got, _, _ := text(t, give(`"result":{"content":[{"type":"image","mimeType":"image/png","data":"QUJDREVG"},{"type":"text","text":"一"},{"type":"text","text":"二"},{"type":"resource","resource":{"uri":"f:/x","text":"三"}}],"structuredContent":{"x":1}}`)); got != "[图片，image/png，6 字节，此处无法显示]\n一\n二\n三" {
			t.Errorf("got %q", got)
		}
		if got, _, _ := text(t, give(`"result":{"content":[],"structuredContent":{"x":1}}`)); got != `{"x":1}` {
			t.Errorf("got %q", got)
		}
		long := strings.Repeat("中\"\n", 9000)
		for _, isError := range []bool{false, true} {
			content, _ := json.Marshal(long)
			raw := give(fmt.Sprintf(`"result":{"content":[{"type":"text","text":%s}],"isError":%t}`, content, isError))
			got, fault, wrong := text(t, raw)
			if len(raw) > 8192 || len(raw) < 8100 || wrong != isError || !strings.Contains(got, "原文共 45000 字节") || strings.ContainsRune(got, '\ufffd') {
				t.Errorf("%d bytes, %t: …%s", len(raw), wrong, got[len(got)-100:])
			}
			if isError && fault != got || !isError && fault != "" {
				t.Errorf("the error is %q", fault)
			}
		}
		if n := h.status("a").Truncated; n != 2 {
			t.Errorf("%d were cut", n)
		}
		// What the self-hosted backend makes of an error.
		_, _, err := voice.XSRead(give(`"result":{"content":[{"type":"text","text":"灯坏了"}],"isError":true}`))
		if err == nil || !strings.Contains(err.Error(), "灯坏了") {
			t.Errorf("the backend has %v", err)
		}
		_, _, err = voice.XSRead(give(`"error":{"code":-32000,"message":"没电了"}`))
		if err == nil || !strings.Contains(err.Error(), "没电了") {
			t.Errorf("the backend has %v", err)
		}
	})
}

func TestReq16Actions(t *testing.T) {
	for _, keep := range []bool{false, true} {
		bubble(t, tools(), func(t *testing.T, h *house) {
			h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.KeepActions = keep })})
			s := h.next()
			for _, said := range []string{`{"action":"exit","x":1}`, ` {"\u0061ction":"exit"}`, `{"x":1,"action":{"y":2}}`, `{"action":1,"action":2}`} {
				content, _ := json.Marshal(said)
				h.mu.Lock()
				h.answer = func(string, string) string {
					return `"result":{"content":[{"type":"text","text":` + string(content) + `}]}`
				}
				h.mu.Unlock()
				text, action, err := voice.XSCall(wait(t), s, 1, "calc__add", "{}")
				if must(t, err); (action != "") != keep || !strings.Contains(text, "x") && !strings.Contains(text, "ction") {
					t.Errorf("%s: the backend has %q, with the order %q", said, text, action)
				}
			}
		})
	}
}

func TestReq18Changes(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		h.set.Apply([]hub.Endpoint{having("a")})
		s := h.next()
		if _, err := voice.XS(wait(t), s); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for i := range 5 {
			h.setTools("calc", calculator+","+tool(fmt.Sprint("more", i), "x"))
			time.Sleep(time.Second)
		}
		for _, method := range []string{"notifications/tools/list_changed", "notifications/tools/updated"} {
			if _, err := s.Hear(wait(t), method); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 6900*time.Millisecond || took > 7100*time.Millisecond {
			t.Errorf("told after %v", took)
		}
		if list := names(h.list(s)); !slices.Contains(list, "calc__more4") {
			t.Errorf("%v", list)
		}
		time.Sleep(time.Minute)
		if heard := s.Heard(); len(heard) > 0 || h.status("a").Connects != 1 {
			t.Errorf("told more than once: %q", heard)
		}
		// There and back is no change.
		h.setTools("calc", calculator)
		time.Sleep(time.Second)
		h.setTools("calc", calculator+","+tool("more4", "x"))
		time.Sleep(time.Minute)
		if heard := s.Heard(); len(heard) > 0 {
			t.Errorf("told of no change: %q", heard)
		}
	})
}

func TestReq18TheBrokerIsConnectedAnew(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		release := h.hold()
		h.set.Apply([]hub.Endpoint{having("a"), having("never", func(e *hub.Endpoint) { e.Refresh = hub.RefreshNever })})
		var s, never *voice.Socket
		for range 2 {
			one := h.next()
			if _, _, err := voice.Cloud(wait(t), one); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(one.Query, "token=a-") {
				s = one
			} else {
				never = one
			}
		}
		must(t, s.Send(voice.CloudCall(7, "calc__add", "{}")))
		h.setTools("calc", calculator+","+tool("more", "x"))
		time.Sleep(8 * time.Second)
		if h.status("a").State != hub.EndpointConnected {
			t.Error("it did not wait for the call")
		}
		close(release)
		if _, err := s.Hear(wait(t), `"id":7,`); err != nil {
			t.Error(err)
		}
		began := time.Now()
		s = h.next()
		if took := time.Since(began); took > time.Second {
			t.Errorf("connected after %v", took)
		}
		_, list, err := voice.Cloud(wait(t), s)
		if must(t, err); !slices.Contains(names(list), "calc__more") {
			t.Errorf("%v", names(list))
		}
		// Not again within 30 s.
		last := time.Now()
		h.setTools("calc", calculator+","+tool("more", "x")+","+tool("other", "x"))
		h.next()
		if took := time.Since(last); took < 29*time.Second || took > 32*time.Second {
			t.Errorf("connected again after %v", took)
		}
		if st := h.status("never"); st.Connects != 1 || len(never.Heard()) == 0 {
			t.Errorf("%+v %v", st, never.Heard())
		}
	})
}

// A call that does not end is not waited for longer than ten seconds.
func TestReq18WaitsNoLonger(t *testing.T) {
	bubble(t, tools(), func(t *testing.T, h *house) {
		release := h.hold()
		defer close(release)
		h.set.Apply([]hub.Endpoint{having("a", func(e *hub.Endpoint) { e.Refresh = hub.RefreshAlways; e.Deadline = time.Minute })})
		s := h.next()
		must(t, s.Send(voice.CloudCall(7, "calc__add", "{}")))
		synctest.Wait()
		began := time.Now()
		h.setTools("calc", calculator+","+tool("more", "x"))
		h.next()
		if took := time.Since(began); took < 12*time.Second || took > 14*time.Second {
			t.Errorf("connected after %v", took)
		}
	})
}
