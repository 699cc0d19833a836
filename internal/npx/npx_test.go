//go:build unix

package npx

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// world is a machine's files as npm and npx leave them.
type world struct {
	t    *testing.T
	root string
	env  []string
}

// newWorld makes one with node, npm 11 and the package tool-server 1.2.3, which
// npx has fetched as spec.
func newWorld(t *testing.T, spec string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root}
	w.env = []string{"PATH=" + w.at("usr/bin"), "HOME=" + w.at("home")}
	w.write("usr/bin/node", "\x7fELF")
	w.write("usr/lib/node_modules/npm/package.json", `{"version":"11.2.0"}`)
	w.write("usr/lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env node\n")
	w.link("../lib/node_modules/npm/bin/npx-cli.js", "usr/bin/npx")
	w.write("home/project/src/x", "")
	cache := "home/.npm/_npx/" + hash(spec)
	w.json(cache+"/package.json", map[string]any{"_npx": map[string]any{"packages": []string{spec}}})
	w.write(cache+"/node_modules/@org/tool-server/package.json",
		`{"name":"@org/tool-server","version":"1.2.3","bin":{"other":"dist/other.js","tool-server":"./dist/index.js"}}`)
	w.write(cache+"/node_modules/@org/tool-server/dist/index.js", "#!/usr/bin/env node\ncode")
	w.write(cache+"/node_modules/@org/tool-server/dist/other.js", "#!/usr/bin/env node\r\ncode")
	w.link("../@org/tool-server/dist/index.js", cache+"/node_modules/.bin/tool-server")
	w.link("../@org/tool-server/dist/other.js", cache+"/node_modules/.bin/other")
	return w
}

func (w *world) at(path string) string { return filepath.Join(w.root, path) }

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.at(path)), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.at(path), []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) json(path string, v any) {
	w.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(path, string(text))
}

func (w *world) link(to, path string) {
	w.t.Helper()
	w.write(path, "")
	if err := os.Remove(w.at(path)); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(to, w.at(path)); err != nil {
		w.t.Fatal(err)
	}
}

// cached is a path in what npx has fetched.
func (w *world) cached(spec, path string) string {
	return w.at("home/.npm/_npx/" + hash(spec) + "/" + path)
}

func (w *world) resolve(args ...string) (Program, bool) {
	return Resolve("npx", args, w.env, w.at("home/project/src"))
}

const named = "@org/tool-server"

func TestResolve(t *testing.T) {
	for _, test := range []struct {
		spec string
		args string
		bin  string
		rest string
	}{
		{named, "-y @org/tool-server", "tool-server", ""},
		{named, "@org/tool-server --port 1 -y", "tool-server", "--port 1 -y"},
		{named, "--yes -q --prefer-offline -- @org/tool-server a", "tool-server", "a"},
		{named, "-y -p @org/tool-server other b", "other", "b"},
		{named, "--package=@org/tool-server tool-server", "tool-server", ""},
		{named + "@latest", "-y @org/tool-server@latest", "tool-server", ""},
		{named + "@^1.0.0", "-y @org/tool-server@^1.0.0", "tool-server", ""},
		{named + "@1.2.3", "-y @org/tool-server@1.2.3", "tool-server", ""},
	} {
		w := newWorld(t, test.spec)
		p, ok := w.resolve(strings.Fields(test.args)...)
		want := append([]string{w.cached(test.spec, "node_modules/.bin/"+test.bin)}, strings.Fields(test.rest)...)
		if !ok || !slices.Equal(p.Args, want) || p.Node != w.at("usr/bin/node") ||
			p.Path != w.cached(test.spec, "node_modules/.bin")+":"+w.at("usr/bin") || p.Root != w.cached(test.spec, "") {
			t.Errorf("npx %s: %v %+v", test.args, ok, p)
		}
	}
}

func TestResolveGivesUp(t *testing.T) {
	for _, args := range []string{
		"", "-y", "--", "-y --",
		"-c tool-server", "--call=tool-server", "-p @org/tool-server -c tool-server",
		"-p @org/tool-server", "-p @org/tool-server -p b tool-server", "--package", "-p",
		"--registry=http://x @org/tool-server", "--yes=false @org/tool-server", "--no @org/tool-server", "-yq @org/tool-server",
		"-y @org/tool-server -- --port", "-p @org/tool-server ./tool-server", "-p @org/tool-server no-command",
		"-y @org/tool-server@1.2.4", "-y @org/tool-server@latest", "-y tool-server", "-y @org/tool", "-y @org/Tool-server",
		"-y .", "-y ./dist", "-y ../x", "-y /tmp/x", "-y org/repo", "-y git+https://x/y", "-y npm:@org/tool-server", "-y a@npm:b",
		"-y https://x/y.tgz", "-y a.tgz", "-y a@../b",
	} {
		if p, ok := newWorld(t, named).resolve(strings.Fields(args)...); ok {
			t.Errorf("npx %s: %+v", args, p)
		}
	}
	w := newWorld(t, named)
	for _, command := range []string{"npm", "node", "pnpx", "npx.cmd", "./npx", w.at("home/npx"), ""} {
		if p, ok := Resolve(command, []string{named}, w.env, w.root); ok {
			t.Errorf("%s: %+v", command, p)
		}
	}
	if _, ok := Resolve(w.at("usr/bin/npx"), []string{named}, w.env, w.root); !ok {
		t.Error("npx by its path was not taken for npx")
	}
}

// Each of these has npx run something else, or may do so.
func TestResolveLooksAround(t *testing.T) {
	cache := "home/.npm/_npx/" + hash(named) + "/"
	pkg := cache + "node_modules/@org/tool-server/"
	for name, change := range map[string]func(w *world){
		"another spec was fetched here": func(w *world) { w.write(cache+"package.json", `{"_npx":{"packages":["x"]}}`) },
		"by an npm that does not say":   func(w *world) { w.write(cache+"package.json", `{"dependencies":{}}`) },
		"npx is at it":                  func(w *world) { w.write(cache+"concurrency.lock/x", "") },
		"a damaged package":             func(w *world) { w.write(pkg+"package.json", `{"name":`) },
		"an enormous package.json":      func(w *world) { w.write(pkg+"package.json", `{"name":"`+strings.Repeat("x", maxManifest)+`"}`) },
		"another package":               func(w *world) { w.write(pkg+"package.json", `{"name":"x","bin":"dist/index.js"}`) },
		"no commands":                   func(w *world) { w.write(pkg+"package.json", `{"name":"@org/tool-server"}`) },
		"commands of other names": func(w *world) {
			w.write(pkg+"package.json", `{"name":"@org/tool-server","bin":{"a":"a.js","b":"b.js"}}`)
		},
		"a command outside":       func(w *world) { w.write(pkg+"package.json", `{"name":"@org/tool-server","bin":"../../x"}`) },
		"a link elsewhere":        func(w *world) { w.link("../@org/tool-server/dist/other.js", cache+"node_modules/.bin/tool-server") },
		"a shell script":          func(w *world) { w.write(pkg+"dist/index.js", "#!/bin/sh\n") },
		"options for node":        func(w *world) { w.write(pkg+"dist/index.js", "#!/usr/bin/env -S node --inspect\n") },
		"no line":                 func(w *world) { w.write(pkg+"dist/index.js", "#!/usr/bin/env node") },
		"a node of the package's": func(w *world) { w.write(cache+"node_modules/.bin/node", "") },

		"in the project":          func(w *world) { w.write("home/project/node_modules/@org/tool-server/package.json", "{}") },
		"a command of the folder": func(w *world) { w.write("home/node_modules/.bin/@org/tool-server", "") },
		"a node of the project's": func(w *world) { w.write("home/project/node_modules/.bin/node", "") },
		"the project itself":      func(w *world) { w.write("home/project/package.json", `{"name":"@org/tool-server"}`) },
		"a project with commands": func(w *world) { w.write("home/project/package.json", `{"bin":{}}`) },
		"a workspace":             func(w *world) { w.write("home/package.json", `{"workspaces":["project"]}`) },
		"a damaged project":       func(w *world) { w.write("home/project/package.json", `{`) },

		"global":                 func(w *world) { w.write("usr/lib/node_modules/@org/tool-server/package.json", "{}") },
		"a global command":       func(w *world) { w.write("usr/bin/@org/tool-server", "") },
		"user's settings":        func(w *world) { w.write("home/.npmrc", "a=b\n  Prefix = /x\n") },
		"quoted settings":        func(w *world) { w.write("home/.npmrc", `"script-shell"=x`) },
		"settings in a list":     func(w *world) { w.write("home/.npmrc", `workspace[]=x`) },
		"settings by a variable": func(w *world) { w.write("home/.npmrc", `${X}=x`) },
		"an endless setting":     func(w *world) { w.write("home/.npmrc", strings.Repeat("x", 1<<20)) },
		"project's settings":     func(w *world) { w.write("home/project/.npmrc", "node-options=--inspect") },
		"global settings":        func(w *world) { w.write("usr/etc/npmrc", "cache=/x") },
		"npm's settings":         func(w *world) { w.write("usr/lib/node_modules/npm/npmrc", "prefix=/x") },

		"settings in the environment": func(w *world) { w.env = append(w.env, "NPM_CONFIG_SCRIPT_SHELL=x") },
		"another cache":               func(w *world) { w.env = append(w.env, "npm_config_cache="+w.at("none")) },
		"a cache nearby":              func(w *world) { w.env = append(w.env, "npm_config_cache=near") },
		"a prefix":                    func(w *world) { w.env = append(w.env, "PREFIX=/x") },
		"no home":                     func(w *world) { w.env = []string{w.env[0]} },
		"a node nearby":               func(w *world) { w.env[0] = "PATH=bin:" + w.at("usr/bin") },
		"no node":                     func(w *world) { w.env[0] = "PATH=" + w.at("home") },
		"an old npm":                  func(w *world) { w.write("usr/lib/node_modules/npm/package.json", `{"version":"8.19.0"}`) },
		"another npx":                 func(w *world) { w.link("/bin/true", "usr/bin/npx") },
		"a shim for node":             func(w *world) { w.write("usr/bin/node", "#!/bin/sh\n") },
		"a launcher for node":         func(w *world) { w.write("usr/lib/volta-shim", ""); w.link("../lib/volta-shim", "usr/bin/node") },
	} {
		w := newWorld(t, named)
		change(w)
		if p, ok := w.resolve("-y", named); ok {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for name, change := range map[string]func(w *world){
		"an unrelated project": func(w *world) { w.write("home/project/package.json", `{"name":"p","dependencies":{}}`) },
		"unrelated packages":   func(w *world) { w.write("home/node_modules/.bin/tsc", "") },
		"harmless settings":    func(w *world) { w.write("home/.npmrc", "; prefix=/x\nregistry=https://x\n//x/:_authToken=cache\n") },
		"the same cache": func(w *world) {
			w.env = append(w.env, "NPM_CONFIG_CACHE="+w.at("home/.npm"), "NPM_CONFIG_YES=true", "npm_config_shell=")
		},
		"several names for one command": func(w *world) {
			w.write(pkg+"package.json", `{"name":"@org/tool-server","bin":{"other":"dist/other.js","z":"./dist/other.js"}}`)
		},
	} {
		w := newWorld(t, named)
		change(w)
		if _, ok := w.resolve("-y", named); !ok {
			t.Errorf("%s: not resolved", name)
		}
	}
}

// TestSameAsNPX has the real npx fetch and run a package, from a registry in
// this process, and compares what the program sees then with a direct start.
func TestSameAsNPX(t *testing.T) {
	for _, tool := range []string{"npx", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root}
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.at("home")}
	w.write("pkg/package.json", `{"name":"look-server","version":"1.0.0","bin":{"look-server":"main.js"}}`)
	w.write("pkg/main.js", "#!/usr/bin/env node\nconsole.log(JSON.stringify([process.argv, process.env.PATH.split(':')[0], process.execArgv]))\n")
	w.write("home/here/x", "")
	registry := serve(t, w.at("pkg"))
	w.env = append(w.env, "NPM_CONFIG_REGISTRY="+registry)
	dir, args := w.at("home/here"), []string{"-y", "look-server@1.0.0", "--port", "a b", "$x"}

	if p, ok := Resolve("npx", args, w.env, dir); ok {
		t.Fatalf("resolved before it was fetched: %+v", p)
	}
	run := func(name string, args []string, env []string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, errs.String())
		}
		return string(out)
	}
	byNPX := run("npx", args, w.env)
	p, ok := Resolve("npx", args, w.env, dir)
	if !ok {
		t.Fatalf("not resolved; npx ran %s", byNPX)
	}
	direct := run(p.Node, p.Args, append(w.env, "PATH="+p.Path))
	if direct != byNPX {
		t.Errorf("npx:\n%s\ndirect:\n%s", byNPX, direct)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"name":"@org/a","version":"1.0.0","bin":{"a":"./a.js","b":"b.js"},"_npx":{"packages":["@org/a"]}}`), "")
	f.Add([]byte(`{"name":"a","bin":"../../etc/passwd"}`), "a")
	f.Add([]byte(`{"name":"a","bin":{"../x":"x"}}`), "../x")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		m, ok := parseManifest(text)
		if !ok {
			return
		}
		b, ok := m.command(name)
		if !ok {
			return
		}
		if !filepath.IsLocal(b.file) || filepath.Base(b.name) != b.name || name != "" && b.name != name {
			t.Errorf("%q", b)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("-y\n@org/a@^1.0\n--x")
	f.Add("-p\na\nb")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		r, ok := parse(args)
		if !ok {
			return
		}
		if !filepath.IsLocal(r.name) || strings.Count(r.name, "/") > 1 || !strings.HasPrefix(r.spec, r.name) ||
			len(r.args) >= len(args) || !slices.Equal(r.args, args[len(args)-len(r.args):]) {
			t.Errorf("%q: %+v", args, r)
		}
	})
}
