package cli

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/message"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "b.tar.gz")
	config := filepath.Join(dir, "my.json")
	write(t, config, "{}")
	for _, name := range []string{"admin.token", "keys/age.key", "secrets.json", "pins.json", "lock", "hub.json", "index.json", "hub.log", "version.part"} {
		write(t, filepath.Join(data, name), "what is in "+name)
	}
	if err := os.Symlink(config, filepath.Join(data, "link")); err != nil {
		t.Log(err)
	}
	code, out, errs := run(t, message.English, "backup", file, "--data-dir", data, "--config", config)
	if code != exitOK || !strings.Contains(out, "toolcrib restore "+file) {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v", info.Mode())
	}
	got := unpack(t, file)
	want := map[string]string{
		"config/": "", "data/": "", "data/keys/": "",
		"config/my.json": "{}", "data/admin.token": "what is in admin.token", "data/keys/age.key": "what is in keys/age.key",
		"data/secrets.json": "what is in secrets.json", "data/pins.json": "what is in pins.json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	// The data directory may be a link.
	link, linked := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "linked.tar.gz")
	if err := os.Symlink(data, link); err == nil {
		if code, _, errs := run(t, message.English, "backup", linked, "--data-dir", link, "--config", config); code != exitOK {
			t.Errorf("of a link: exit code %d: %s", code, errs)
		}
		if diff := cmp.Diff(want, unpack(t, linked)); diff != "" {
			t.Errorf("of a link:\n%s", diff)
		}
	}

	// Nothing is replaced unless that is asked for, and nothing is left over.
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, _ := run(t, message.English, "backup", file, "--data-dir", data, "--config", config); code != exitFailure {
		t.Errorf("again: exit code %d", code)
	}
	if code, _, errs := run(t, message.English, "backup", file, "--data-dir", data, "--config", config, "--force"); code != exitOK {
		t.Errorf("--force: exit code %d: %s", code, errs)
	}
	after, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(before) != len(after) {
		t.Errorf("left over: %v", after)
	}
}

func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for tape := tar.NewReader(zip); ; {
		h, err := tape.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			if h.Mode != 0o700 {
				t.Errorf("%s: mode %o", h.Name, h.Mode)
			}
			all[h.Name] = ""
			continue
		}
		text, err := io.ReadAll(tape)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = string(text)
	}
}

func TestConfigCheck(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.json"), filepath.Join(dir, "bad.json")
	write(t, good, `{"mcpServers": {"a": {"command": "x", "commando": 1}}} // fine`)
	write(t, bad, "{\n  \"mcpServers\": {\"a\": {\"args\": [\"tok_secret\"]}}\n}")
	code, out, _ := run(t, message.English, "config", "check", good)
	if code != exitOK || !strings.Contains(out, good+":1:39: warning: ") || !strings.Contains(out, "is fine") {
		t.Errorf("good: exit code %d, %s", code, out)
	}
	for _, args := range [][]string{{"config", "check", bad}, {"config", "check", "--config", bad}, {"config", "check", bad, "--json"}} {
		code, out, errs := run(t, message.English, args...)
		if code != exitFailure || strings.Contains(out+errs, "tok_secret") {
			t.Errorf("%q: exit code %d, %s%s", args, code, out, errs)
		}
		if want := bad + ":2:"; !slices.Contains(args, "--json") && !strings.Contains(out, want) {
			t.Errorf("%q: no place: %s", args, out)
		}
	}
	if code, _, errs := run(t, message.English, "config", "check", filepath.Join(dir, "none")); code != exitFailure || errs == "" {
		t.Errorf("none: exit code %d, %s", code, errs)
	}
	t.Setenv("TOOLCRIB_CONFIG", filepath.Join(dir, "later.json"))
	if code, out, _ := run(t, message.English, "config", "check"); code != exitOK || !strings.Contains(out, "no file") {
		t.Errorf("none yet: exit code %d, %s", code, out)
	}
	if code, out, _ := run(t, message.English, "config", "path"); code != exitOK || out != filepath.Join(dir, "later.json")+"\n" {
		t.Errorf("path: exit code %d, %s", code, out)
	}
	if code, out, _ := run(t, message.English, "config", "schema"); code != exitOK || !strings.Contains(out, "mcpServers") {
		t.Errorf("schema: exit code %d, %s", code, out)
	}
}

func TestConnect(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	file := filepath.Join(home, ".cursor", "mcp.json")
	const was = "{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"K\": \"tok_secret\"}}}\n}\n"
	write(t, file, was)
	_, out, _ := run(t, message.English, "connect", "cursor", "--print", "--data-dir", filepath.Join(home, "d"))
	if !strings.Contains(out, `"stdio"`) || !strings.Contains(out, filepath.Join(home, "d")) || strings.Contains(out, "tok_secret") {
		t.Errorf("printed %s", out)
	}
	if _, out, _ := run(t, message.English, "connect", "cursor", "--print", "--group", "office", "--url", "http://127.0.0.1:9"); !strings.Contains(out, `"http://127.0.0.1:9/mcp/office"`) {
		t.Errorf("the address is not that of the group:\n%s", out)
	}
	code, out, errs := run(t, message.English, "connect", "cursor")
	now, err := os.ReadFile(file)
	if code != exitOK || err != nil || !strings.Contains(string(now), `"toolcrib"`) || !strings.Contains(string(now), "// mine") {
		t.Fatalf("exit code %d, %s%s%s, %v", code, out, errs, now, err)
	}
	for _, want := range []string{file, ".toolcrib-backup-", "connect cursor --undo", "Restart Cursor"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing: %s", want, out)
		}
	}
	if _, out, _ := run(t, message.English, "connect", "cursor"); !strings.Contains(out, "connected already") {
		t.Errorf("again: %s", out)
	}
	if code, _, errs := run(t, message.English, "connect", "cursor", "--undo"); code != exitOK {
		t.Errorf("undo: %s", errs)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != was {
		t.Errorf("after undo: %s, %v", now, err)
	}
	if code, _, errs := run(t, message.English, "connect", "lumi"); code != exitFailure || errs == "" {
		t.Errorf("lumi: exit code %d, %s", code, errs)
	}
	if code, out, errs := run(t, message.English, "connect", "cursor", "--url", "nowhere"); code != exitFailure || !strings.Contains(errs, "--url") {
		t.Errorf("no URL: exit code %d, %s%s", code, out, errs)
	}
	if _, _, errs := run(t, message.English, "connect", "cursor", "--url", "http://127.0.0.1:9/mcp?x=y"); errs != "" {
		t.Error(errs)
	}
	if now, _ := os.ReadFile(file); !strings.Contains(string(now), `"http://127.0.0.1:9/mcp"`) {
		t.Errorf("with a URL: %s", now)
	}
}
