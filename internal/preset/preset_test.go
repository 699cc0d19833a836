package preset

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Every package has its exact version, and every entry is one.
func TestPresetsAreExact(t *testing.T) {
	whole := regexp.MustCompile(`^@[a-z0-9-]+/[a-z0-9-]+@[0-9]+\.[0-9]+\.[0-9]+$`)
	for _, p := range All() {
		if p.Package != "" && !whole.MatchString(p.Package) {
			t.Errorf("%s: %q is no exact version", p.Key, p.Package)
		}
		if p.Name == "" || p.Description.Empty() || !slices.IsSorted(p.Tools) && p.Package == "" || len(p.Tools) == 0 {
			t.Errorf("%+v", p)
		}
		var entry map[string]any
		if err := json.Unmarshal(p.Entry(false), &entry); err != nil || entry["enabled"] != false || (entry["command"] == "npx") != (p.Package != "") {
			t.Errorf("%s: %v %v", p.Key, entry, err)
		}
		if IsBuiltin(p.Key) != (p.Package == "") {
			t.Errorf("%s", p.Key)
		}
	}
	if _, ok := Find("nobody"); ok || IsBuiltin("nobody") {
		t.Error("nobody is a preset")
	}
}

// What somebody else runs under the key of a preset is no preset.
func TestIs(t *testing.T) {
	every, _ := Find("everything")
	demo, _ := Find("demo")
	npx := func(args ...string) hub.Server {
		return hub.Server{Key: "everything", Kind: hub.KindStdio, Command: "npx", Args: args}
	}
	for _, test := range []struct {
		preset Preset
		server hub.Server
		want   bool
	}{
		{every, npx("-y", every.Package), true},
		{every, npx(every.Package), true},
		{every, npx("--yes", "@modelcontextprotocol/server-everything@2025.1.2-rc.1", "stdio"), true},
		{every, npx("@modelcontextprotocol/server-everything"), false},
		{every, npx("-y", "@modelcontextprotocol/server-everything@latest"), false},
		{every, npx("-y", "@modelcontextprotocol/server-everything@^2026.8.31"), false},
		{every, npx("-y", "@modelcontextprotocol/server-everything@2026"), false},
		{every, npx("@modelcontextprotocol/server-everything-else@1.0.0"), false},
		{every, npx("-p", "other", every.Package), false},
		{every, npx("other", every.Package), false},
		{every, npx("-y"), false},
		{every, npx(), false},
		{every, hub.Server{Key: "everything", Kind: hub.KindStdio, Command: "other", Args: []string{"-y", every.Package}}, false},
		{every, hub.Server{Key: "other", Kind: hub.KindStdio, Command: "npx", Args: []string{every.Package}}, false},
		{every, hub.Server{Key: "everything", Kind: hub.KindHTTP}, false},
		{demo, hub.Server{Key: "demo", Kind: hub.KindBuiltin}, true},
		{demo, hub.Server{Key: "demo", Kind: hub.KindStdio}, false},
	} {
		if got := test.preset.Is(&test.server); got != test.want {
			t.Errorf("%s %+v: %t", test.preset.Key, test.server.Args, got)
		}
	}
}
