package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// mayImport says which packages of ours each package may import, besides
// message and atomicfile: the catalogue of texts and the way a file is written
// are open to all. The direction is
// drawn in ARCHITECTURE.md. Some packages are planned and not there yet.
func mayImport() map[string][]string {
	face := list("gateway call callstate control catalog approval audit events policy auth httpd transport protocol wire hub bus api config toolindex stats preset xiaozhi")
	return map[string][]string{
		"atomicfile":      nil,
		"wire":            nil,
		"proc":            list("sandbox"),
		"sandbox":         nil,
		"npx":             nil,
		"search":          nil,
		"stats":           list("bus hub"),
		"toolindex":       list("catalog hub wire"),
		"secret":          nil,
		"message":         nil,
		"datadir":         nil,
		"archtest":        nil,
		"api":             nil,
		"apiclient":       list("api hub"),
		"bridge":          list("transport protocol wire hub"),
		"telemetry":       list("hub secret stats"),
		"protocol":        list("wire"),
		"hub":             nil,
		"transport":       list("wire protocol proc"),
		"config":          list("hub policy preset secret"),
		"config/importer": list("config hub secret"),
		"preset":          list("hub"),
		"risk":            list("hub secret wire"),
		"policy":          list("hub risk wire"),
		"bus":             list("hub"),
		"store":           list("hub"),
		"store/storetest": list("store"),
		"builtin":         list("hub"),
		"httpd":           list("auth hub"),
		"oauth":           list("secret hub"),
		"upstream":        list("transport protocol wire proc sandbox npx hub oauth secret"),
		"fleet":           list("upstream transport proc hub bus wire protocol"),
		"catalog":         list("search hub protocol bus wire"),
		"auth":            list("store bus hub secret"),
		"approval":        list("store bus hub secret wire"),
		"callstate":       list("hub bus"),
		"events":          list("store bus hub api wire callstate"),
		"audit":           list("store wire bus hub api secret"),
		"xiaozhi":         list("secret wire hub"),
		"call":            list("catalog fleet upstream transport policy approval audit callstate protocol wire hub bus"),
		"gateway":         list("call catalog protocol wire hub bus"),
		"control":         list("config config/importer preset secret fleet catalog toolindex upstream hub oauth"),
		"face/mcp":        face,
		"face/rest":       face,
		"face/xiaozhi":    face,
		"face/device":     list("xiaozhi protocol wire hub bus"),
		"face/broker":     list("call catalog gateway xiaozhi protocol wire hub"),
		"face/web":        face,
		"face/login":      list("auth hub"),
		"cli":             list("app api apiclient audit auth bridge config config/importer datadir hub sandbox store transport wire"),
		"app":             {"*"},
	}
}

// onlyFor names packages that few may import, whatever mayImport says: there
// is one way to a server, and one place where telemetry is set up.
func onlyFor() map[string][]string {
	return map[string][]string{
		"fleet":     list("call control app"),
		"telemetry": list("app"),
	}
}

// sdk is the official Go SDK. It decodes messages into types and so would
// change them on their way; it is for the servers inside the program and for
// OAuth (docs/decisions/0001).
const sdk = "github.com/modelcontextprotocol/go-sdk"

func list(names string) []string { return strings.Fields(names) }

// importFaults checks the imports of all files but tests, which may stand
// outside the direction.
func importFaults(files []file) []string {
	rules := mayImport()
	var faults []string
	fault := func(f file, format string, args ...any) {
		faults = append(faults, f.path+": "+fmt.Sprintf(format, args...))
	}
	for _, f := range files {
		if f.ast == nil || f.isTest() {
			continue
		}
		from, internal := strings.CutPrefix(f.dir(), "internal/")
		if _, known := rules[from]; internal && !known {
			fault(f, "package internal/%s has no place in the direction of imports: "+
				"add it to mayImport in internal/archtest/imports_test.go and to ARCHITECTURE.md", from)
			continue
		}
		for _, imported := range f.imports() {
			if internal && isIn(imported, sdk) && !slices.Contains(list("builtin oauth auth"), from) {
				fault(f, "imports %s, which changes the messages that it carries", imported)
			}
			if !isIn(imported, module) {
				continue
			}
			name := strings.TrimPrefix(imported, module+"/")
			to, ours := strings.CutPrefix(name, "internal/")
			switch {
			case strings.HasPrefix(f.path, "cmd/"):
				if name != "internal/cli" {
					fault(f, "a command may import only internal/cli, not %s", name)
				}
			case strings.HasPrefix(f.path, "test/e2e/rig/") && slices.Contains(list("apiclient auth datadir"), to):
				// The rig stands where the command line does, which is a client too.
			case strings.HasPrefix(f.path, "test/"):
				if !strings.HasPrefix(name, "test/") {
					fault(f, "programs under test stand outside the hub, they may not import %s", name)
				}
			case internal && !ours:
				fault(f, "may not import %s", name)
			case internal && !allowed(rules[from], to):
				fault(f, "%s may not import %s", from, to)
			case internal && !isExempt(from, to):
				fault(f, "%s may be imported only by %s", to, strings.Join(onlyFor()[to], ", "))
			}
		}
	}
	return faults
}

func allowed(may []string, to string) bool {
	return to == "message" || to == "atomicfile" || slices.Contains(may, to) || slices.Contains(may, "*")
}

func isExempt(from, to string) bool {
	only, restricted := onlyFor()[to]
	return !restricted || slices.Contains(only, from)
}

// isIn reports whether an import path lies in a module.
func isIn(imported, module string) bool {
	return imported == module || strings.HasPrefix(imported, module+"/")
}

func TestImports(t *testing.T) { report(t, importFaults(repository(t))) }

func TestImportRulesFindFaults(t *testing.T) {
	for _, test := range []struct{ path, imported, want string }{
		{"internal/wire/a.go", module + "/internal/hub", "wire may not import hub"},
		{"internal/fleet/a.go", module + "/internal/call", "fleet may not import call"},
		{"internal/face/mcp/a_windows.go", module + "/internal/fleet", "face/mcp may not import fleet"},
		{"internal/novelty/a.go", "fmt", "add it to mayImport"},
		{"internal/hub/a.go", module + "/test/e2e/rig", "may not import test/e2e/rig"},
		{"internal/call/a.go", sdk + "/mcp", "changes the messages"},
		{"cmd/toolcrib/a.go", module + "/internal/app", "only internal/cli"},
		{"test/bench/a.go", module + "/internal/wire", "stand outside the hub"},
	} {
		wantOne(t, importFaults, test.want, newFile(t, test.path, "package a\nimport _ \""+test.imported+"\"\n"))
	}
	if isExempt("gateway", "fleet") || !isExempt("call", "fleet") || !isExempt("gateway", "call") {
		t.Error("onlyFor does not hold")
	}
}

// TestDirectionIsOne shows that the table itself has no way back and names no
// package that it does not know.
func TestDirectionIsOne(t *testing.T) {
	rules := mayImport()
	state := map[string]int{} // 1 on the way, 2 done
	var visit func(name string, way []string)
	visit = func(name string, way []string) {
		way = append(way, name)
		may, known := rules[name]
		switch {
		case name == "*" || state[name] == 2:
			return
		case !known:
			t.Errorf("%s names a package that the table does not have", strings.Join(way, " -> "))
			return
		case state[name] == 1:
			t.Errorf("the table goes in a circle: %s", strings.Join(way, " -> "))
			return
		}
		state[name] = 1
		for _, to := range may {
			visit(to, way)
		}
		state[name] = 2
	}
	for name := range rules {
		visit(name, nil)
	}
}
