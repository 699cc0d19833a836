package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func builtins() []string { return []string{"calculator", "datetime", "device"} }

// archives calls f with each txtar file of a directory, taken apart.
func archives(t *testing.T, dir string, f func(t *testing.T, first string, part map[string]string)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			part := make(map[string]string)
			for _, file := range archive.Files {
				part[file.Name] = string(file.Data)
			}
			f(t, strings.TrimSpace(string(archive.Comment)), part)
		})
	}
}

// TestRead reads a file of each program, at the place that the first line
// names, and compares what is found. DIR stands for the project's directory.
func TestRead(t *testing.T) {
	archives(t, "read", func(t *testing.T, name string, part map[string]string) {
		dir := filepath.ToSlash(t.TempDir())
		path := filepath.Join(dir, filepath.FromSlash(name))
		found, err := Read(path, []byte(part["file"]), builtins())
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		fmt.Fprintf(&got, "form %s\n", found.Form)
		text := []byte(nil)
		for _, key := range found.Keys() {
			entry, _ := found.Entry(key)
			fmt.Fprintf(&got, "%s %s\n", key, entry)
			if text, err = config.SetServer(text, key, entry); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range found.Warnings {
			fmt.Fprintf(&got, "warning %d:%d %s\n", w.Line, w.Column, w.Detail)
		}
		if runtime.GOOS != "windows" { // where paths are written otherwise
			if diff := cmp.Diff(part["found"], strings.ReplaceAll(got.String(), dir, "DIR")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
		ours, _, err := config.Parse(filepath.Join(dir, "toolcrib.json"), text, builtins())
		if err != nil {
			t.Fatalf("taken over, it reads: %v\n%s", err, text)
		}
		if added, same, clashing := Plan(found, ours); len(added)+len(clashing) > 0 || !slices.Equal(same, found.Keys()) {
			t.Errorf("taken over, it is %q, %q, %q", added, same, clashing)
		}
	})
}

func TestReadRefuses(t *testing.T) {
	_, err := Read("f.json", []byte(`{"mcpServers": {"a": SECRET}}`), nil)
	if problems, ok := errors.AsType[config.Problems](err); !ok || problems[0].Args["path"] != "f.json" || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%v", err)
	}
	if found, err := Read("f.json", []byte(`{"editor.tabSize": 2}`), builtins()); err != nil || len(found.Keys()) != 0 {
		t.Errorf("a file without servers: %v, %v", found, err)
	}
}

func TestSelect(t *testing.T) {
	found, err := Read("f.json", []byte(`{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = found.Select([]string{"c", "x"})
	if e := hub.AsError(err); err == nil || e.Code != message.ImportKeyUnknown || e.Args["known"] != "a, b, c" {
		t.Errorf("%v", err)
	}
	if err := found.Select(nil); err != nil || len(found.Keys()) != 3 {
		t.Errorf("%v, %v", found.Keys(), err)
	}
	if err := found.Select([]string{"c", "a"}); err != nil || !slices.Equal(found.Keys(), []string{"a", "c"}) {
		t.Errorf("%v, %v", found.Keys(), err)
	}
	if _, ok := found.Entry("b"); ok {
		t.Error("b is still there")
	}
}

func TestPlan(t *testing.T) {
	found, err := Read("f.json", []byte(`{"mcpServers": {
		"new": {"command": "n"}, "same": {"command": "s", "args": [], "enabled": true}, "other": {"command": "o"},
		"calculator": {"type": "embedded", "name": "Rechner"}, "device": {"type": "embedded", "name": "Gerät"}, "datetime": {"command": "dt"},
		"sealed": {"url": "http://h", "apiKey": "k1"}, "turned": {"url": "http://h", "apiKey": "k2"}}}`), builtins())
	if err != nil {
		t.Fatal(err)
	}
	current, _, err := config.Parse("toolcrib.json", []byte(`{"mcpServers": {
		"same": {"disabled": true, "command": "s"}, "other": {"command": "x"}, "device": {"name": "d"},
		"sealed": {"url": "http://h", "headers": {"Authorization": "${secret:sealed.headers.Authorization}"}},
		"turned": {"url": "http://h", "headers": {"Authorization": "${secret:turned.headers.Authorization}"}}}}`), builtins())
	if err != nil {
		t.Fatal(err)
	}
	plan := func() string { return fmt.Sprint(Plan(found, current)) }
	if got, want := plan(), "[new calculator] [same] [other device datetime sealed turned]"; got != want {
		t.Errorf("without a store %s, want %s", got, want)
	}
	found.Holds = func(name, value string) bool {
		return name == "sealed.headers.Authorization" && value == "Bearer k1"
	}
	if got, want := plan(), "[new calculator] [same sealed] [other device datetime turned]"; got != want {
		t.Errorf("with a store %s, want %s", got, want)
	}
}

func program() Connection {
	return Connection{Command: "/opt/tool crib/toolcrib", Args: []string{"stdio"}}
}

// TestConnect writes Toolcrib into a file of each client, and out again.
func TestConnect(t *testing.T) {
	archives(t, "connect", func(t *testing.T, name string, part map[string]string) {
		client, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		before := []byte(part["before"])
		for kind, c := range map[string]Connection{"program": program(), "url": {URL: "http://127.0.0.1:8080/mcp"}} {
			after, err := Connect(client, before, c)
			want, possible := part[kind]
			if !possible {
				if !hub.IsCode(err, message.ClientNeedsProgram) {
					t.Errorf("%s: %v", kind, err)
				}
				continue
			}
			if diff := cmp.Diff(want, string(after)); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got)\n%s", kind, err, diff)
			}
			if again, err := Connect(client, after, c); err != nil || !bytes.Equal(again, after) {
				t.Errorf("%s, connected twice: %v\n%s", kind, err, again)
			}
			if back, err := takeBack(client.entry.block, after, before); err != nil || !bytes.Equal(back, before) {
				t.Errorf("%s, taken back: %v\n%s", kind, err, back)
			}
		}
	})
}

func TestConnectIsRightAlready(t *testing.T) {
	for _, test := range []struct {
		client, entry string
		url, right    bool
	}{
		{"claude", `{"command": "/opt/tool crib/toolcrib", "args": ["stdio"], "env": {"A": "1"}}`, false, true},
		{"claude-code", `{"type": "stdio", "command": "/opt/tool crib/toolcrib", "args": ["stdio"], "env": {}}`, false, true},
		{"vscode", `{"command": "/opt/tool crib/toolcrib", "args": ["stdio"]}`, false, true},
		{"claude", `{"command": "/opt/tool crib/toolcrib", "args": ["stdio", "x"]}`, false, false},
		{"claude", `{"command": "/opt/tool crib/toolcrib", "args": ["stdio"], "disabled": true}`, false, false},
		{"claude", `{"command": "/opt/tool crib/toolcrib", "args": ["stdio"], "url": "http://x"}`, false, false},
		{"claude-code", `{"type": "http", "url": "http://h/mcp"}`, true, true},
		{"claude-code", `{"url": "http://h/mcp"}`, true, false},
		{"cursor", `{"url": "http://h/mcp", "args": []}`, true, true},
		{"cursor", `{"url": "http://h"}`, true, false},
		{"cursor", `[]`, true, false},
	} {
		client, err := Lookup(test.client)
		if err != nil {
			t.Fatal(err)
		}
		c := program()
		if test.url {
			c = Connection{URL: "http://h/mcp"}
		}
		text := fmt.Appendf(nil, `{%q: {"toolcrib": %s}}`, client.entry.block, test.entry)
		after, err := Connect(client, text, c)
		if err != nil || bytes.Equal(after, text) != test.right {
			t.Errorf("%s has %s: %v\n%s", test.client, test.entry, err, after)
		}
	}
}

func fakeSystem(goos string, env map[string]string, packages ...string) System {
	home := map[string]string{"windows": `C:\Users\ada`, "darwin": "/Users/ada", "linux": "/home/ada"}[goos]
	return System{
		GOOS: goos, Home: home, Dir: "DIR", Getenv: func(name string) string { return env[name] },
		Glob: func(pattern string) ([]string, error) {
			if pattern != `C:\Users\ada\AppData\Local\Packages\Claude_*` {
				return nil, fmt.Errorf("pattern %s", pattern)
			}
			return packages, nil
		},
	}
}

func TestPlaces(t *testing.T) {
	for _, test := range []struct {
		client string
		s      System
		want   string
	}{
		{"claude", fakeSystem("linux", nil), "/home/ada/.config/Claude/claude_desktop_config.json"},
		{"claude", fakeSystem("linux", map[string]string{"XDG_CONFIG_HOME": "/x"}), "/x/Claude/claude_desktop_config.json"},
		{"claude", fakeSystem("darwin", nil), "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude", fakeSystem("windows", nil), `C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json`},
		{
			"claude", fakeSystem("windows", map[string]string{"APPDATA": `D:\R`}, `P\Claude_x`),
			`P\Claude_x\LocalCache\Roaming\Claude\claude_desktop_config.json D:\R\Claude\claude_desktop_config.json`,
		},
		{"claude-code", fakeSystem("linux", nil), "/home/ada/.claude.json DIR/.mcp.json"},
		{"claude-code", fakeSystem("darwin", map[string]string{"CLAUDE_CONFIG_DIR": "/c"}), "/c/.claude.json DIR/.mcp.json"},
		{"claude-code", fakeSystem("windows", nil), `C:\Users\ada\.claude.json DIR\.mcp.json`},
		{"cursor", fakeSystem("linux", nil), "/home/ada/.cursor/mcp.json DIR/.cursor/mcp.json"},
		{"cursor", fakeSystem("windows", nil), `C:\Users\ada\.cursor\mcp.json DIR\.cursor\mcp.json`},
		{"vscode", fakeSystem("linux", nil), "/home/ada/.config/Code/User/mcp.json DIR/.vscode/mcp.json"},
		{"vscode", fakeSystem("darwin", nil), "/Users/ada/Library/Application Support/Code/User/mcp.json DIR/.vscode/mcp.json"},
		{"vscode", fakeSystem("windows", nil), `C:\Users\ada\AppData\Roaming\Code\User\mcp.json DIR\.vscode\mcp.json`},
		{"windsurf", fakeSystem("linux", nil), "/home/ada/.codeium/windsurf/mcp_config.json"},
		{
			"cline", fakeSystem("linux", nil),
			"/home/ada/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json /home/ada/.cline/data/settings/cline_mcp_settings.json",
		},
		{"lumi", fakeSystem("linux", nil), "/home/ada/.lumi_assistant/mcp_config.json"},
		{"lumi", fakeSystem("windows", nil), `C:\Users\ada\.lumi_assistant\mcp_config.json`},
		{"xiaozhi", fakeSystem("linux", nil), "/home/ada/.xiaozhi-client/xiaozhi.config.json DIR/xiaozhi.config.json"},
		{
			"xiaozhi", fakeSystem("darwin", map[string]string{"XIAOZHI_CONFIG_DIR": "/z"}),
			"/z/xiaozhi.config.json /Users/ada/.xiaozhi-client/xiaozhi.config.json DIR/xiaozhi.config.json",
		},
	} {
		client, err := Lookup(test.client)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Locate(client, test.s)
		e := hub.AsError(err)
		if err == nil || e.Code != message.ClientFileMissing || e.Args["paths"] != strings.ReplaceAll(test.want, "json ", "json, ") {
			t.Errorf("%s on %s: %v, want %s", test.client, test.s.GOOS, err, test.want)
		}
		target, err := Target(client, test.s)
		if client.Connectable() != (err == nil) || err == nil && !strings.HasPrefix(test.want, target) {
			t.Errorf("%s on %s is connected in %q, %v", test.client, test.s.GOOS, target, err)
		}
	}
}

func TestLocate(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	s := System{GOOS: runtime.GOOS, Home: home, Dir: dir, Getenv: func(string) string { return "" }, Glob: filepath.Glob}
	cursor, err := Lookup("cursor")
	if err != nil {
		t.Fatal(err)
	}
	user, project := filepath.Join(home, ".cursor", "mcp.json"), filepath.Join(dir, ".cursor", "mcp.json")
	if err := os.MkdirAll(user, 0o700); err != nil { // a directory is no file
		t.Fatal(err)
	}
	write(t, project, "{}")
	if found, err := Locate(cursor, s); err != nil || !slices.Equal(found, []string{project}) {
		t.Errorf("%q, %v", found, err)
	}
	if target, err := Target(cursor, s); err != nil || target != user {
		t.Errorf("the project's file was chosen: %q, %v", target, err)
	}
	if err := os.Remove(user); err != nil {
		t.Fatal(err)
	}
	write(t, user, "{}")
	if found, err := Locate(cursor, s); err != nil || !slices.Equal(found, []string{user, project}) {
		t.Errorf("%q, %v", found, err)
	}
	_, err = Lookup("emacs")
	if e := hub.AsError(err); err == nil || e.Code != message.ClientUnknown || !strings.Contains(e.Args["known"], "claude, claude-code") {
		t.Errorf("%v", err)
	}
	lumi, _ := Lookup("lumi")
	if _, err := Target(lumi, s); !hub.IsCode(err, message.ClientNotConnectable) {
		t.Errorf("%v", err)
	}
	if this, err := ThisSystem(); err != nil || this.Home == "" || this.Dir == "" || this.GOOS != runtime.GOOS {
		t.Errorf("%v, %v", this, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func backups(t *testing.T, path string) []string {
	t.Helper()
	found, err := filepath.Glob(path + backupMark + "*")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestInstallAndUndo(t *testing.T) {
	const before = "{\n  // mine\n  \"mcpServers\": {},\n  \"x\":   1,\n}\n"
	cursor, _ := Lookup("cursor")
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, before)

	first, err := Install(cursor, path, program())
	if err != nil || !first.Changed || first.Path != path {
		t.Fatalf("%+v, %v", first, err)
	}
	if got := readFile(t, first.Backup); got != before {
		t.Errorf("the backup is %s", got)
	}
	if info, err := os.Stat(first.Backup); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is for others, too: %v, %v", info.Mode(), err)
	}
	again, err := Install(cursor, path, program())
	if err != nil || again.Changed || again.Backup != "" || len(backups(t, path)) != 1 {
		t.Errorf("installed twice: %+v, %v, %q", again, err, backups(t, path))
	}
	installed := readFile(t, path)
	second, err := Install(cursor, path, Connection{URL: "http://h"}) // within the same second
	if err != nil || !second.Changed || len(backups(t, path)) != 2 {
		t.Fatalf("%+v, %v", second, err)
	}
	for _, want := range []string{installed, before} {
		undone, err := Undo(cursor, path)
		if err != nil || !undone.Changed || undone.Partly {
			t.Errorf("%+v, %v", undone, err)
		}
		if diff := cmp.Diff(want, readFile(t, path)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if _, err := Undo(cursor, path); !hub.IsCode(err, message.BackupMissing) || readFile(t, path) != before {
		t.Errorf("%v", err)
	}
}

// TestUndoChangedSince is a client that goes on writing to its file, as Claude
// Code does: what it has written is not lost.
func TestUndoChangedSince(t *testing.T) {
	code, _ := Lookup("claude-code")
	for _, test := range []struct{ before, want string }{
		{`{"numStartups": 1}`, `{"numStartups": 2, "mcpServers": {}}`},
		{
			`{"numStartups": 1, "mcpServers": {"toolcrib": {"command": "old"}}}`,
			`{"numStartups": 2, "mcpServers": {"toolcrib": {"command": "old"}}}`,
		},
	} {
		path := filepath.Join(t.TempDir(), ".claude.json")
		write(t, path, test.before)
		if _, err := Install(code, path, program()); err != nil {
			t.Fatal(err)
		}
		write(t, path, strings.Replace(readFile(t, path), `"numStartups": 1`, `"numStartups": 2`, 1))
		undone, err := Undo(code, path)
		if err != nil || !undone.Changed || !undone.Partly || len(backups(t, path)) != 0 {
			t.Errorf("%+v, %v", undone, err)
		}
		if got := readFile(t, path); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// TestUndoMissingFile is a file that somebody has removed since: the backup is
// the last of it.
func TestUndoMissingFile(t *testing.T) {
	cursor, _ := Lookup("cursor")
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"mcpServers": {}}`)
	if _, err := Install(cursor, path, program()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if undone, err := Undo(cursor, path); err != nil || undone.Changed || len(backups(t, path)) != 1 {
		t.Errorf("%+v, %v, %q", undone, err, backups(t, path))
	}
}

// TestUndoNewFileThroughSymlink is a link that led nowhere, and does so again.
func TestUndoNewFileThroughSymlink(t *testing.T) {
	cursor, _ := Lookup("cursor")
	dir := t.TempDir()
	path, target := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "target.json")
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	if _, err := Install(cursor, path, program()); err != nil {
		t.Fatal(err)
	}
	if undone, err := Undo(cursor, path); err != nil || !undone.Changed {
		t.Errorf("%+v, %v", undone, err)
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("the file is still there")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the link: %v", err)
	}
}

func TestInstallNewFile(t *testing.T) {
	cursor, _ := Lookup("cursor")
	path := filepath.Join(t.TempDir(), ".cursor", "mcp.json")
	if done, err := Install(cursor, path, program()); err != nil || !done.Changed || done.Backup == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	if done, err := Undo(cursor, path); err != nil || !done.Changed || done.Partly {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || len(backups(t, path)) != 0 {
		t.Errorf("%v, %q", err, backups(t, path))
	}
}

func TestInstallRefuses(t *testing.T) {
	cursor, _ := Lookup("cursor")
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, "{\n  \"mcpServers\": SECRET\n}")
	_, err := Install(cursor, path, program())
	if e := hub.AsError(err); err == nil || e.Code != message.ConfigInvalid || e.Args["path"] != path || e.Args["line"] != "2" || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%v", err)
	}
	if len(backups(t, path)) != 0 {
		t.Errorf("nothing was changed, yet there is a backup: %q", backups(t, path))
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(cursor, path, program()); !hub.IsCode(err, message.ConfigUnwritable) || len(backups(t, path)) != 0 {
		t.Errorf("a read-only file: %v, %q", err, backups(t, path))
	}
	lumi, _ := Lookup("lumi")
	if _, err := Install(lumi, path, program()); !hub.IsCode(err, message.ClientNotConnectable) {
		t.Errorf("%v", err)
	}
	if _, err := Undo(lumi, path); !hub.IsCode(err, message.ClientNotConnectable) {
		t.Errorf("%v", err)
	}
	if _, err := Undo(cursor, filepath.Join(path, "none", "mcp.json")); !hub.IsCode(err, message.BackupMissing) && !hub.IsCode(err, message.ConfigUnreadable) {
		t.Errorf("%v", err)
	}
}

func TestInstallThroughSymlink(t *testing.T) {
	cursor, _ := Lookup("cursor")
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles", "mcp.json"), filepath.Join(dir, "mcp.json")
	write(t, target, "{}")
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := Install(cursor, link, program()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || !strings.Contains(readFile(t, target), EntryName) {
		t.Errorf("the link was replaced: %v, %v", info.Mode(), err)
	}
	if done, err := Undo(cursor, link); err != nil || !done.Changed || readFile(t, target) != "{}" {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestInstallRace has many installations at once. Each ends well or is told
// that it came too late, and the file is whole.
func TestInstallRace(t *testing.T) {
	cursor, _ := Lookup("cursor")
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"x": 1}`)
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			_, err := Install(cursor, path, Connection{Command: fmt.Sprint("c", n%2)})
			if err != nil && !hub.IsCode(err, message.ConfigStale) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	found, err := Read(path, []byte(readFile(t, path)), nil)
	if err != nil || !slices.Equal(found.Keys(), []string{EntryName}) {
		t.Errorf("%v\n%s", err, readFile(t, path))
	}
}

// FuzzImport reads, connects and disconnects any text.
func FuzzImport(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.txtar", "../testdata/*.json"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
			for _, file := range txtar.Parse(raw).Files {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "mcp.json")
		if found, err := Read(path, text, builtins()); err == nil {
			var ours []byte
			for _, key := range found.Keys() {
				entry, _ := found.Entry(key)
				var err error
				if ours, err = config.SetServer(ours, key, entry); err != nil {
					t.Fatalf("%q: %s: %v", key, entry, err)
				}
			}
			if len(ours) > 0 {
				if _, _, err := config.Parse("ours", ours, builtins()); err != nil {
					t.Errorf("read well, but taken over it is\n%s\n%v", ours, err)
				}
			}
		}
		for _, c := range Clients() {
			if !c.Connectable() {
				continue
			}
			after, err := Connect(c, text, program())
			if err != nil {
				continue
			}
			if again, err := Connect(c, after, program()); err != nil || !bytes.Equal(again, after) {
				t.Errorf("%s: connected twice\n%s\n%s\n%v", c.Name, after, again, err)
			}
			if back, err := takeBack(c.entry.block, after, text); err != nil || !bytes.Equal(back, text) {
				t.Errorf("%s: taken back: %v\n%s\nof\n%s", c.Name, err, back, after)
			}
		}
	})
}
