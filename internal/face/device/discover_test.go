package device_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// sent is what the hub has sent in envelopes, in its order.
func sent(t *testing.T, s *voice.DeviceSocket) (methods []string, ids []int64) {
	t.Helper()
	for _, text := range s.Heard() {
		var e struct {
			Type    string
			Session string `json:"session_id"`
			Payload struct {
				JSONRPC, Method string
				ID              *int64
			}
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "mcp" {
			continue
		}
		if e.Payload.JSONRPC != "2.0" || e.Session == "" {
			t.Errorf("%s", text)
		}
		methods = append(methods, e.Payload.Method)
		if e.Payload.ID != nil {
			ids = append(ids, *e.Payload.ID)
		}
	}
	return methods, ids
}

// Requirement 30: the order of discovery, its ids and its pages.
func TestRequirement30Discovery(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		for n := range 30 {
			d.Tools = append(d.Tools, voice.DeviceTool{Name: fmt.Sprintf("self.more.tool_%02d", n), Description: strings.Repeat("long ", 150)})
		}
		d.Tools = append(d.Tools, d.Tools[0]) // once more under the same name
		s := h.here(d)
		methods, _ := sent(t, s)
		if len(methods) < 7 || methods[0] != "initialize" || methods[1] != "notifications/initialized" || methods[2] != "tools/list" || methods[3] != "tools/list" {
			t.Errorf("sent %q", methods)
		}
		for range 3 {
			h.ask(alias+"__self.get_device_status", `{}`)
		}
		_, ids := sent(t, s)
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) || ids[0] < 1 || ids[len(ids)-1] > 1<<31-1 {
			t.Errorf("ids %v", ids)
		}
		if got := h.tools(alias); len(got) != 34 {
			t.Errorf("%d tools: %q", len(got), got)
		}
	})
}

// Requirement 30: a device whose cursors lead in a circle, or never end.
func TestRequirement30CursorsWithoutEnd(t *testing.T) {
	for name, next := range map[string]func(n int) string{
		"a circle":   func(int) string { return "again" },
		"never ends": func(n int) string { return fmt.Sprint("c", n) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				h := open(t, usual())
				n := 0
				h.dial(&voice.Device{ID: mac, Hello: `{"type":"hello","features":{"mcp":true}}`, Lists: func() string {
					n++
					return fmt.Sprintf(`"result":{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":%q}`, n, next(n))
				}})
				time.Sleep(time.Second)
				synctest.Wait()
				if st := h.status(mac); st.Tools == 0 || n > 100 {
					t.Errorf("%d pages, %+v", n, st)
				}
			})
		})
	}
}

// Requirement 30: a device that does not answer is asked three times, for 15 s each, and
// again each time that it would be asked for news. One that answers then is listed; one
// that never does is sent away, so that it connects anew.
func TestRequirement30SilentDevice(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		d.Lists = func() string { return "" }
		s := h.dial(d)
		time.Sleep(44 * time.Second)
		synctest.Wait()
		if st := h.status(mac); st.Reason != nil {
			t.Errorf("given up too early: %v", st.Reason)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		methods, _ := sent(t, s)
		n := 0
		for _, m := range methods {
			if m == "initialize" {
				n++
			}
		}
		if st := h.status(mac); n != 3 || st.Reason == nil || st.Reason.Code != message.DeviceSilent || !st.Online {
			t.Errorf("asked %d times, %+v", n, st)
		}
		d.Change(func() { d.Lists = nil })
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if st := h.status(mac); st.Reason != nil || len(h.tools(alias)) != 4 {
			t.Errorf("it answers now: %+v, listed %q", st, h.tools(alias))
		}
	})
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		d.Lists = func() string { return "" }
		s := h.dial(d)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		select {
		case <-s.Done():
		default:
			t.Error("a device that never answers is kept")
		}
		if st := h.status(mac); st.Online || st.Reason.Code != message.DeviceDropped {
			t.Errorf("%+v", st)
		}
	})
}

// Requirement 34: a device without tools hears something every 90 s as well.
func TestRequirement34WithoutTools(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.dial(voice.LumiKt(mac))
		time.Sleep(89 * time.Second)
		before := len(s.Heard())
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := len(s.Heard()) - before; got < 6 || !h.status(mac).Online {
			t.Errorf("%d frames of data in ten minutes, %+v", got, h.status(mac))
		}
	})
}

// Requirement 31: the tools for people are kept where the second list fails for once,
// and a device that does not answer it has not answered.
func TestRequirement31SecondListFails(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		s := h.here(d)
		people := h.status(mac).UserTools
		first := true
		d.Change(func() {
			d.Lists = func() string {
				if first = !first; first {
					return `"error":{"code":-32603,"message":"no memory"}`
				}
				return `"result":{"tools":[{"name":"self.get_device_status","inputSchema":{"type":"object"}}]}`
			}
		})
		time.Sleep(91 * time.Second)
		synctest.Wait()
		if st := h.status(mac); st.Tools != 1 || len(people) == 0 || !slices.Equal(st.UserTools, people) {
			t.Errorf("%d tools, and for people %q in place of %q", st.Tools, st.UserTools, people)
		}
		d.Change(func() {
			d.Lists = func() string {
				if first = !first; first {
					return ""
				}
				return `"result":{"tools":[]}`
			}
		})
		time.Sleep(90*time.Second + 61*time.Second)
		synctest.Wait()
		if st := h.status(mac); st.Tools != 1 || !slices.Equal(st.UserTools, people) {
			t.Errorf("a list without an answer is an empty one: %+v", st)
		}
		s.Drop()
	})
}

// Requirement 31: what is for people is listed apart, and called by them alone.
func TestRequirement31PeopleOnly(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		d.Tools = append(d.Tools, voice.DeviceTool{Name: "self.unmarked", People: true})
		ran := ""
		d.Run = func(name string, _ json.RawMessage) string {
			ran = name
			return `"result":{"content":[{"type":"text","text":"true"}],"isError":false}`
		}
		h.here(d)
		for _, name := range h.tools(alias) {
			if strings.Contains(name, "reboot") {
				t.Errorf("programs are offered %s", name)
			}
		}
		if st := h.status(mac); !slices.Equal(st.UserTools, []string{"self.get_system_info", "self.reboot", "self.upgrade_firmware", "self.unmarked"}) {
			t.Errorf("for people: %q", st.UserTools)
		}
		reboot := alias + "__self.reboot"
		for name, tc := range map[string]struct {
			role   hub.Role
			person bool
			tool   string
			may    bool
		}{
			"a program":                     {hub.RoleAdmin, false, reboot, false},
			"a person who may call only":    {hub.RoleCaller, true, reboot, false},
			"an operator":                   {hub.RoleOperator, true, reboot, true},
			"an operator, by the bare name": {hub.RoleOperator, true, "self.reboot", true},
			"a program, by the bare name":   {hub.RoleOperator, false, "self.reboot", false},
			"an operator, any other tool":   {hub.RoleOperator, true, alias + "__self.get_device_status", true},
		} {
			ran = ""
			a := h.askAs(tc.role, tc.person, tc.tool, `{}`)
			if (a.err == nil) != tc.may || (ran != "") != tc.may {
				t.Errorf("%s: %+v, ran %q", name, a, ran)
			}
			if !tc.may && a.err.Code != message.ToolUnknown {
				t.Errorf("%s is told %v", name, a.err)
			}
		}
	})
}

// Requirement 31: the alias of the configuration, and what stands in its place.
func TestRequirement31Names(t *testing.T) {
	in(t, func(t *testing.T) {
		twin := "11:22:33:dd:ee:01" // ends as the other does
		conf := hub.Devices{Allow: []string{mac, twin}, Aliases: map[string]string{strings.ToUpper(mac): "kitchen"}, Keep: time.Minute}
		h := open(t, conf)
		h.here(voice.FW(mac))
		h.here(voice.FW(twin))
		if got := h.tools("kitchen"); len(got) != 4 || !strings.HasPrefix(got[0], "kitchen__self_get_device_status") {
			t.Errorf("%q", got)
		}
		if got := h.status(twin).Alias; got != "device-112233ddee01" {
			t.Errorf("without an alias it is %q", got)
		}
		conf.Aliases = nil
		h.door.Apply(conf)
		synctest.Wait()
		if a, b := h.status(mac).Alias, h.status(twin).Alias; a != alias || b != "device-112233ddee01" || len(h.tools("kitchen")) != 0 || len(h.tools(a)) != 4 {
			t.Errorf("then they are %q and %q", a, b)
		}
		conf.Aliases = map[string]string{mac: "calculator"} // which is a server already
		h.door.Apply(conf)
		synctest.Wait()
		if st := h.status(mac); st.Reason == nil || st.Reason.Code != message.DeviceAliasTaken {
			t.Errorf("%+v", st)
		}
	})
}

// Requirement 31: devices are called the same after a restart, in whatever order they
// come.
func TestRequirement31NamesOutlastARestart(t *testing.T) {
	in(t, func(t *testing.T) {
		alike := []string{mac, "11:22:33:dd:ee:01", "44:55:66:dd:ee:01", "my_web_client_1", "your_web_client_1"}
		seen := make(map[string]string)
		for _, backwards := range []bool{false, true} {
			h := open(t, hub.Devices{Allow: alike, Keep: time.Minute})
			if backwards {
				slices.Reverse(alike)
			}
			for _, id := range alike {
				h.here(voice.FW(id))
				name := h.status(id).Alias
				if before, again := seen[id]; again && before != name {
					t.Errorf("%s was called %q, and is %q", id, before, name)
				}
				if seen[id] = name; len(h.tools(name)) != 4 {
					t.Errorf("%s is not listed as %q", id, name)
				}
			}
		}
	})
}

// Requirement 31: an alias that is given to another device is that one's at once, whether
// the first one is here or not.
func TestRequirement31AliasMoves(t *testing.T) {
	for _, gone := range []bool{false, true} {
		in(t, func(t *testing.T) {
			other := "aa:bb:cc:dd:ee:02"
			conf := hub.Devices{Allow: []string{mac, other}, Aliases: map[string]string{mac: "kitchen"}, Keep: time.Hour}
			h := open(t, conf)
			s := h.here(voice.FW(mac))
			h.here(voice.FW(other))
			if gone {
				s.Drop()
				synctest.Wait()
			}
			conf.Aliases = map[string]string{other: "kitchen"}
			h.door.Apply(conf)
			time.Sleep(time.Second)
			synctest.Wait()
			if st := h.status(other); st.Alias != "kitchen" || st.Reason != nil || len(h.tools("kitchen")) != 4 || len(h.tools("device-aabbccddee02")) != 0 {
				t.Errorf("gone %v: %+v, listed %q", gone, st, h.tools("kitchen"))
			}
			if def, ok := h.fleet.Server("kitchen"); !ok || def.Name != other {
				t.Errorf("gone %v: it is the server of %q", gone, def.Name)
			}
			listed := 4
			if gone {
				listed = 0
			}
			if got := h.tools(alias); len(got) != listed || h.status(mac).Alias != alias {
				t.Errorf("gone %v: of the other are listed %q, %+v", gone, got, h.status(mac))
			}
		})
	}
}

// What a device calls its tools takes no bare name from a server of the configuration.
func TestBareNamesAreOthers(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		h.here(voice.FW(mac))
		def, _ := h.fleet.Server(alias)
		own, err := catalog.Open(catalog.Options{Bus: h.events, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		tool, err := catalog.ParseTool([]byte(`{"name":"read_file","inputSchema":{"type":"object"}}`))
		if err != nil {
			t.Fatal(err)
		}
		low := hub.Server{Key: "files", Kind: hub.KindStdio, Command: "x", Enabled: true, Priority: -1 << 20}
		own.SetServers([]hub.Server{def, low})
		for _, s := range []hub.Server{def, low} {
			own.Replace(s, hub.Offer{Tools: []hub.Tool{tool}})
		}
		view, err := own.View(hub.Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := view.Tool("read_file"); !ok || e.Server.Key != "files" {
			t.Errorf("the device has it: %+v", e)
		}
	})
}

// A device whose alias has become the key of a server of the configuration is listed
// nowhere until it is called otherwise, and has taken nothing from that server.
func TestAliasTakenLater(t *testing.T) {
	in(t, func(t *testing.T) {
		var detached []string
		conf := usual()
		conf.Aliases = map[string]string{mac: "kitchen"}
		taken := false
		h := open(t, conf, func(o *device.Options) {
			attach, detach := o.Attach, o.Detach
			o.Attach = func(ctx context.Context, def hub.Server) error {
				if taken {
					return hub.E(message.ServerExists, nil, "server", def.Key)
				}
				return attach(ctx, def)
			}
			o.Detach = func(key, name string) {
				detached = append(detached, key+" of "+name)
				detach(key, name)
			}
		})
		s := h.here(voice.FW(mac))
		taken = true
		s.Drop()
		synctest.Wait()
		h.dial(voice.FW(mac))
		synctest.Wait()
		if st := h.status(mac); st.Reason == nil || st.Reason.Code != message.DeviceAliasTaken || !slices.Equal(detached, []string{"kitchen of " + mac}) {
			t.Errorf("%+v, detached %q", st, detached)
		}
	})
}

// Requirement 34: a device that takes its time to say what tools it has is pinged all
// the same.
func TestRequirement34PingsWhileSlow(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		d := voice.FW(mac)
		s := h.here(d)
		last := time.Now()
		d.Change(func() {
			d.Lists = func() string {
				time.Sleep(29 * time.Second) // for each of the two lists
				return `"result":{"tools":[{"name":"self.get_device_status","inputSchema":{"type":"object"}}]}`
			}
		})
		time.Sleep(10*time.Minute + time.Second)
		pings := s.Pings()
		if len(pings) != 20 || !h.status(mac).Online {
			t.Errorf("%d pings in ten minutes, %+v", len(pings), h.status(mac))
		}
		for _, at := range pings {
			if gap := at.Sub(last); gap > 31*time.Second {
				t.Errorf("no ping for %v", gap)
			}
			last = at
		}
	})
}

// Requirement 34: pings of the WebSocket, data every 90 s, and never a ping of MCP's.
func TestRequirement34KeepAlive(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.here(voice.FW(mac))
		before := len(s.Heard())
		time.Sleep(89 * time.Second)
		if got := len(s.Heard()); got != before {
			t.Errorf("%d frames of data before it is time", got-before)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		methods, _ := sent(t, s)
		if len(s.Heard()) == before || slices.Contains(methods, "ping") {
			t.Errorf("sent %q", methods)
		}
		s.Device.Change(func() { s.Device.Tools = append(s.Device.Tools, voice.DeviceTool{Name: "self.new"}) })
		time.Sleep(90 * time.Second)
		synctest.Wait()
		time.Sleep(2 * time.Second) // the fleet asks no more often
		if got := h.tools(alias); len(got) != 5 || !strings.HasPrefix(got[4], alias+"__self_new") {
			t.Errorf("a new tool is not listed: %q", got)
		}
		s.Device.Change(func() { s.Device.Lists = func() string { return "" } }) // it hangs
		time.Sleep(3*90*time.Second + time.Minute)
		synctest.Wait()
		select {
		case <-s.Done():
		default:
			t.Error("a device that does not answer is kept")
		}
		if websocket.CloseStatus(s.Err()) != websocket.StatusGoingAway {
			t.Errorf("closed with %v", s.Err())
		}
		if st := h.status(mac); st.Online || st.Reason.Code != message.DeviceDropped {
			t.Errorf("%+v", st)
		}
	})
}
