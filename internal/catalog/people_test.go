package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// What a device keeps for people is in no list and found by no program, under
// whatever name; a person finds it. Of a server that is no device it is a tool as any
// other.
func TestToolsForPeople(t *testing.T) {
	tools := []hub.Tool{
		parse(t, `{"name":"see","inputSchema":{"type":"object"}}`),
		parse(t, `{"name":"reboot","inputSchema":{"type":"object"},"annotations":{"audience":["user"]}}`),
		parse(t, `{"name":"tell","inputSchema":{"type":"object"},"annotations":{"audience":["user","assistant"]}}`),
		parse(t, `{"name":"none","inputSchema":{"type":"object"},"annotations":{"audience":[]}}`),
	}
	c := open(t, catalog.Options{})
	c.SetViews([]hub.Group{{Name: "all", Servers: []string{"kitchen", "files"}}, {Name: "some", Tools: []string{"kitchen__see"}}}, []hub.Profile{{Client: "wide", MaxName: 128}})
	device := hub.Server{Key: "kitchen", Kind: hub.KindDevice, UserTools: true, Enabled: true}
	files := server("files")
	c.SetServers([]hub.Server{device, files})
	c.Replace(device, hub.Offer{Tools: tools})
	c.Replace(files, hub.Offer{Tools: tools})

	want := []string{"kitchen__see", "kitchen__tell", "kitchen__none", "files__see", "files__reboot", "files__tell", "files__none"}
	for _, viewer := range []hub.Viewer{{}, {Person: true}, {Group: "all"}, {Client: "wide"}} {
		view, err := c.View(viewer)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range view.Tools() {
			names = append(names, e.Exposed)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%+v is offered %q", viewer, names)
		}
		if raw, err := view.List(protocol.Legacy, hub.ListTools, ""); err != nil || strings.Contains(string(raw), "kitchen__reboot") {
			t.Errorf("%+v is shown %s", viewer, raw)
		}
		if _, ok := view.Tool("kitchen__reboot"); ok || len(view.Providers("kitchen__reboot")) != 0 {
			t.Errorf("%+v finds it", viewer)
		}
		if _, ok := view.Blocked("kitchen__reboot"); ok {
			t.Errorf("%+v is told that it has drifted", viewer)
		}
		if e, ok := view.PeopleTool("kitchen__reboot"); !ok || e.Tool.Name != "reboot" {
			t.Errorf("%+v: a person does not find it", viewer)
		}
		if _, ok := view.PeopleTool("kitchen__see"); ok {
			t.Error("all tools are for people")
		}
		if all := view.Providers("reboot"); len(all) != 1 || all[0].Server.Key != "files" {
			t.Errorf("%+v: %d tools of the bare name", viewer, len(all))
		}
	}
	if view, err := c.View(hub.Viewer{Group: "some"}); err != nil {
		t.Error(err)
	} else if _, ok := view.PeopleTool("kitchen__reboot"); ok {
		t.Error("it is found outside of its group")
	}
	share, _ := c.Snapshot().Share("kitchen")
	if len(share.Tools) != 3 || len(share.People) != 1 || c.Snapshot().Hidden("kitchen") != 0 {
		t.Errorf("%d tools, %d for people, %d hidden", len(share.Tools), len(share.People), c.Snapshot().Hidden("kitchen"))
	}
}

// That devices come and go is told as such, and everything else is not.
func TestDevicesAlone(t *testing.T) {
	events := &bus.Bus{}
	sub := events.Subscribe(100)
	defer sub.Close()
	told := func() (devices, others int) {
		for {
			select {
			case e := <-sub.C():
				if changed, ok := e.(hub.ToolsChanged); ok && changed.Devices {
					devices++
				} else if ok {
					others++
				}
			default:
				return devices, others
			}
		}
	}
	c := open(t, catalog.Options{Bus: events})
	device := hub.Server{Key: "kitchen", Kind: hub.KindDevice, UserTools: true, Enabled: true}
	files := server("files")
	for _, step := range []struct {
		what            string
		do              func()
		devices, others int
	}{
		{"a server", func() { c.SetServers([]hub.Server{files}); c.Replace(files, offer(t, "read")) }, 0, 1},
		{"a device comes", func() { c.SetServers([]hub.Server{device, files}); c.Replace(device, offer(t, "see", "say")) }, 1, 0},
		{"it has other tools", func() { c.Replace(device, offer(t, "see")) }, 1, 0},
		{"the server has others", func() { c.Replace(files, offer(t, "write")) }, 0, 1},
		{"the server has more", func() { c.Replace(files, offer(t, "write", "read")) }, 0, 1},
		{"the device goes", func() { c.SetServers([]hub.Server{files}) }, 1, 0},
		{"both change", func() { c.SetServers([]hub.Server{device}) }, 0, 1},
	} {
		step.do()
		if devices, others := told(); devices != step.devices || others != step.others {
			t.Errorf("%s: told %d times of devices, %d times of others", step.what, devices, others)
		}
	}
}

// What says that it is for people is offered to everybody where nobody else could call
// it: of a server whose word on that does not count.
func TestPeopleOfAPair(t *testing.T) {
	c := open(t, catalog.Options{})
	pair := hub.Server{Key: "tools-desk", Kind: hub.KindDevice, Enabled: true}
	c.SetServers([]hub.Server{pair})
	c.Replace(pair, hub.Offer{Tools: []hub.Tool{parse(t, `{"name":"reboot","inputSchema":{"type":"object"},"annotations":{"audience":["user"]}}`)}})
	view, err := c.View(hub.Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := view.Tool("tools-desk__reboot"); !ok {
		t.Error("nobody can call it")
	}
}
