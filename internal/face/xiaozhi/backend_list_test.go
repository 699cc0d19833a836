package xiaozhi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

func TestReq23Sessions(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a")})
		one := s.next()
		for _, tt := range []struct{ before, frame, id, want string }{
			{"", `{"type":"mcp","payload":{"jsonrpc":"2.0","id":0,"method":"ping"}}`, "0", ""},
			{"", `{"type":"mcp","session_id":"early","payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}`, "1", "early"},
			{`{"type":"hello","session_id":"one","transport":"websocket"}`, `{"type":"mcp","payload":{"jsonrpc":"2.0","id":2,"method":"ping"}}`, "2", "one"},
			{"", `{"session_id":"别的\n\"","payload":{"id":"x_1","method":"ping"},"type":"mcp"}`, `"x_1"`, "别的\n\""},
			{"", `{"session_id":"","type":"mcp","payload":{"jsonrpc":"2.0","id":3,"method":"ping"}}`, "3", ""},
			{"", `{"session_id":null,"type":"mcp","payload":{"jsonrpc":"2.0","id":4,"method":"ping"}}`, "4", "one"},
			{`{"type":"hello","session_id":"two"}`, `{"type":"mcp","payload":{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}}`, "9007199254740993", "two"},
			{"", `{"type":"mcp","session_id":"` + strings.Repeat("s", 2000) + `","payload":{"jsonrpc":"2.0","id":5,"method":"nonsense"}}`, "5", "two"},
		} {
			if tt.before != "" {
				must(t, one.Send(tt.before))
			}
			must(t, one.Send(tt.frame))
			raw, err := one.Hear(wait(t), `"id":`+tt.id+`,`)
			must(t, err)
			if session(t, raw) != tt.want {
				t.Errorf("%.200s: %s", tt.frame, raw)
			}
		}
	})
}

func TestReq24Pages(t *testing.T) {
	var lab []string
	for i := range 60 {
		lab = append(lab, tool(fmt.Sprintf("t%02d", i), strings.Repeat("说", 20*(i%9))))
	}
	lab = append(lab, tool("huge", strings.Repeat("x", 8000)), tool("t_0", "x"), tool("grows", strings.Repeat("See t_0. ", 800)))
	lesson(t, map[string]string{"lab": strings.Join(lab, ",")}, func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a")})
		talk := s.talk(voice.BackendXS)
		got := names(talk.Tools)
		if len(got) != 62 || slices.Contains(got, "lab__huge") || slices.Contains(got, "lab__grows") || got[61] != "hub_task_result" {
			t.Errorf("%d tools: %v", len(got), got)
		}
		if len(talk.Pages) < 2 {
			t.Fatalf("%d pages", len(talk.Pages))
		}
		at := 0
		for i, page := range talk.Pages {
			if len(page) > 8000 {
				t.Errorf("a page of %d bytes", len(page))
			}
			var m struct {
				Result struct {
					Tools      []voice.Tool
					NextCursor *string
				}
			}
			must(t, json.Unmarshal(voice.Opened(page).Payload, &m))
			at += len(m.Result.Tools)
			switch last := i == len(talk.Pages)-1; {
			case last && m.Result.NextCursor != nil:
				t.Errorf("after the last page comes %q", *m.Result.NextCursor)
			case !last && (m.Result.NextCursor == nil || *m.Result.NextCursor != got[at]):
				t.Errorf("after page %d comes %v, not %s", i, m.Result.NextCursor, got[at])
			}
		}
		st := s.stands("a")
		if len(st.Warnings) != 1 || st.Warnings[0].Code != message.BackendToolLong || !strings.Contains(st.Warnings[0].Error(), "lab__huge, lab__grows") {
			t.Errorf("%+v", st.Warnings)
		}
		raw, err := talk.Request(wait(t), "8", "tools/list", `{"cursor":"no_such_tool","withUserTools":true}`)
		must(t, err)
		if !strings.Contains(raw, `"code":-32602`) {
			t.Error(raw)
		}
		// What has no room in the list can be called nevertheless.
		if got, err := talk.Call(wait(t), "9", "lab__huge", "{}"); err != nil || got != "huge" {
			t.Error(got, err)
		}
	})
}

func TestReq24Names(t *testing.T) {
	have := map[string]string{
		"calc": calculator, "device": tool("adjust_volume", "Sets the volume. See get_volume.") + "," + tool("get_volume", "x"),
	}
	lesson(t, have, func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a"), being("b", func(b *hub.Backend) { b.Prefix = true; b.DeviceID = "b" })})
		for range 2 {
			talk := s.talk(voice.BackendXS)
			want := []string{"adjust_volume", "get_volume", "calc__add", "hub_task_result"}
			if talk.Header.Get("Device-Id") == "b" {
				want = []string{"self.device.adjust_volume", "self.device.get_volume", "self.calc.add", "self.hub_task_result"}
			}
			if got := names(talk.Tools); !slices.Equal(got, want) {
				t.Errorf("%v, not %v", got, want)
			}
			if said := talk.Tools[0].Description; said != "Sets the volume. See "+want[1]+"." {
				t.Errorf("said %q", said)
			}
			for i, own := range []string{"adjust_volume", "get_volume", "add"} {
				if got, err := talk.Call(wait(t), "1", want[i], "{}"); err != nil || got != own {
					t.Errorf("%s: %q, %v", want[i], got, err)
				}
			}
		}
	})
}

// Of equal tools with one name one is listed, and another carries out what the first
// cannot; of others with one name each has its own.
func TestReq24EqualTools(t *testing.T) {
	other := `{"name":"get_volume","inputSchema":{"type":"object","required":["x"]}}`
	lesson(t, map[string]string{"device": tool("adjust_volume", "x") + "," + tool("get_volume", "x"), "amp": tool("adjust_volume", "y") + "," + other}, func(t *testing.T, s *school) {
		for i := range s.servers {
			s.servers[i].BareNames = s.servers[i].Key == "amp"
		}
		s.catalog.SetServers(s.servers)
		synctest.Wait()
		s.set.Apply([]hub.Backend{being("a")})
		talk := s.talk(voice.BackendXS)
		got := names(talk.Tools)
		if len(got) != 4 || got[0] != "adjust_volume" || got[1] != "get_volume" || !strings.HasPrefix(got[2], "get_volume_") {
			t.Fatalf("%v", got)
		}
		if got, err := talk.Call(wait(t), "1", got[2], `{"x":1}`); err != nil || got != "get_volume" {
			t.Error(got, err)
		}
		s.answer = func(name, args string) string {
			return `"result":{"content":[{"type":"text","text":"of the amplifier"}]}`
		}
		must(t, s.fleet.Stop(wait(t), "device"))
		if got, err := talk.Call(wait(t), "2", "adjust_volume", `{}`); err != nil || got != "of the amplifier" {
			t.Errorf("%q, %v; %s", got, err, s.noted("a"))
		}
	})
}

// Two servers that leave their names away may have the same tool: the catalog tells the
// second apart by a suffix, and a backend has them as one that fails over.
func TestReq24EqualToolsOfServers(t *testing.T) {
	other := `{"name":"louder","inputSchema":{"type":"object","required":["x"]}}`
	have := map[string]string{
		"left": tool("louder", "On the left.") + "," + tool("left_only", "x"), "right": tool("louder", "On the right.") + "," + tool("right_only", "x"),
		"third": other, "fourth": strings.Replace(other, "{", `{"description":"As the third.",`, 1), "named": tool("louder", "x"),
	}
	order := []string{"left", "right", "third", "fourth", "named"}
	lesson(t, have, func(t *testing.T, s *school) {
		for i := range s.servers {
			s.servers[i].BareNames = s.servers[i].Key != "named"
		}
		slices.SortFunc(s.servers, func(a, b hub.Server) int { return slices.Index(order, a.Key) - slices.Index(order, b.Key) })
		s.catalog.SetServers(s.servers)
		synctest.Wait()
		s.set.Apply([]hub.Backend{being("a")})
		talk := s.talk(voice.BackendXS)
		got := names(talk.Tools)
		if len(got) != 6 || got[0] != "louder" || got[1] != "left_only" || got[2] != "right_only" || !strings.HasPrefix(got[3], "louder_") || got[4] != "named__louder" {
			t.Fatalf("%v", got)
		}
		view, err := s.catalog.View(hub.Viewer{})
		must(t, err)
		if e, ok := view.Tool(got[3]); !ok || e.Exposed != got[3] || e.Server.Key != "third" {
			t.Errorf("%s is not what the catalog calls the third: %+v", got[3], e)
		}
		at := func(name string) string {
			t.Helper()
			raw, err := talk.Call(wait(t), "1", name, `{"x":1}`)
			must(t, err)
			return raw
		}
		for _, stop := range []string{"", "left", "third"} {
			if stop != "" {
				must(t, s.fleet.Stop(wait(t), stop))
			}
			if at("louder") != "louder" || at(got[3]) != "louder" {
				t.Errorf("without %q: %s", stop, s.noted("a"))
			}
		}
		if said := s.noted("a"); strings.Count(said, "is tried") != 3 {
			t.Errorf("%s", said)
		}
		must(t, s.fleet.Stop(wait(t), "right"))
		if raw, err := talk.Call(wait(t), "2", "louder", `{}`); err == nil {
			t.Errorf("another carried it out: %s", raw)
		}
	})
}
