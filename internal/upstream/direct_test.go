//go:build unix

package upstream_test

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// packaged is a server that npx runs. What npx is here stands in for npm's and
// says so; the package lies where npm's would have put it, and is the script.
func packaged(t *testing.T, script string) hub.Server {
	t.Helper()
	node := rig.Node(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		write(path, "")
		path = filepath.Join(root, path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	serve := fmt.Sprintf("require('child_process').spawn(%q, {stdio: 'inherit'}).on('exit', process.exit)\n", rig.FaultServer(t))
	const spec = "packaged-server@1.0.0"
	sum := sha512.Sum512([]byte(spec))
	cache := "home/.npm/_npx/" + hex.EncodeToString(sum[:])[:16] + "/"
	write("npm/package.json", `{"version":"11.0.0"}`)
	write("npm/bin/npx-cli.js", "#!/usr/bin/env node\nconsole.error('by npx', process.argv.slice(2).join(' '))\n"+serve)
	link("../npm/bin/npx-cli.js", "bin/npx")
	write(cache+"package.json", `{"_npx":{"packages":["`+spec+`"]}}`)
	write(cache+"node_modules/packaged-server/package.json", `{"name":"packaged-server","version":"1.0.0","bin":"main.js"}`)
	write(cache+"node_modules/packaged-server/main.js", "#!/usr/bin/env node\n"+strings.ReplaceAll(script, "SERVE", serve))
	link("../packaged-server/main.js", cache+"node_modules/.bin/packaged-server")
	write("work/x", "")
	return hub.Server{
		Key: "s", Kind: hub.KindStdio, Command: "npx", Args: []string{"-y", spec, "an", "argument"}, DirectNode: true,
		Dir: filepath.Join(root, "work"),
		Env: map[string]string{
			"HOME": filepath.Join(root, "home"), "GORACE": "atexit_sleep_ms=0",
			"PATH": filepath.Join(root, "bin") + ":" + filepath.Dir(node) + ":/usr/bin:/bin",
		},
	}
}

// hears connects, makes a call, and checks what the server's log begins with.
func hears(t *testing.T, s hub.Server, want ...string) {
	t.Helper()
	lines := make(chan string, 100)
	opt := options(s)
	opt.Note = func(source hub.LogSource, _ hub.LogLevel, line string) { lines <- string(source) + ": " + line }
	c := dial(t, opt)
	if got := do(t, c, "echo", `{"text":"there"}`); got != "there" {
		t.Errorf("echo: %s", got)
	}
	for i, line := range want {
		select {
		case got := <-lines:
			if got != line {
				t.Errorf("line %d is %q, not %q", i, got, line)
			}
		case <-time.After(limit):
			t.Fatalf("no line %d, %q", i, line)
		}
	}
}

func TestDirectNode(t *testing.T) {
	const (
		skipped = "hub: The package is there: node is started without npx."
		ended   = "hub: Started without npx the server has ended; it is started with it."
		direct  = "stderr: by node packaged-server an argument"
		byNPX   = "stderr: by npx -y packaged-server@1.0.0 an argument"
		hello   = "console.error('by node', require('path').basename(process.argv[1]), process.argv.slice(2).join(' '))\n"
	)
	s := packaged(t, hello+"SERVE")
	hears(t, s, skipped, direct)
	s.DirectNode = false
	hears(t, s, byNPX)
	// It needs what npx prepares, and ends without it.
	hears(t, packaged(t, hello+"process.exit(3)"), skipped, direct, ended, byNPX)
}
