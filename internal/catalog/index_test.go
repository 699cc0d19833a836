package catalog_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// run runs a catalog until the function returned is called, which returns when
// Run has.
func run(t *testing.T, c *catalog.Catalog) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stop = func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		done <- nil
	}
	t.Cleanup(stop)
	return stop
}

// oddTools are descriptions in which nothing may be changed.
var oddTools = []string{
	"{ \"name\" : \"a\\u002eb\" ,\r\n\t\"x\":[ 1.0e+2 , 9007199254740993,-0 ] }",
	`{"name":"天气","description":"<&>\u2028\/\ud83d\ude00 ` + "\u2028" + `\u0000","":{}}`,
	`{"annotations":{"readOnlyHint":true},"name":"plain","inputSchema":{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"P"}}}}`,
}

func TestIndexRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	servers := []hub.Server{server("a"), server("天气\"\n"), server("none"), server("unknown")}
	c := open(t, catalog.Options{IndexPath: path})
	stop := run(t, c)
	c.SetServers(servers)
	var o hub.Offer
	for _, raw := range oddTools {
		o.Tools = append(o.Tools, parse(t, raw))
	}
	for _, raw := range []string{"{ \"uri\" : \"x:\\u002f\" }", `{"uri":"天","size":1e3}`} {
		r, err := catalog.ParseResource([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		o.Resources = append(o.Resources, r)
	}
	template, err := catalog.ParseTemplate([]byte(`{"uriTemplate":"x:/{天}","":null}`))
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := catalog.ParsePrompt([]byte(`{"name":"p.q","arguments":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	o.Templates, o.Prompts = []hub.Template{template}, []hub.Prompt{prompt}
	o.Capabilities = []byte("{ \"prompts\" : {},\"unknown\":[1.0] }")
	o.Instructions = "Line\n\"quoted\" \u2028 天"
	c.Replace(server("a"), o)
	c.Replace(server("天气\"\n"), o)
	c.Replace(server("none"), hub.Offer{})
	stop()
	if info, err := os.Stat(path); err != nil {
		t.Fatal(err)
	} else if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}

	var b bus.Bus
	sub := b.Subscribe(10)
	defer sub.Close()
	again := open(t, catalog.Options{IndexPath: path, Bus: &b})
	if got := exposed(again.Snapshot()); len(got) != 0 {
		t.Errorf("listed before it is known whose may be: %q", got)
	}
	again.SetServers(servers)
	if n := events(sub); n != 3 {
		t.Errorf("%d events", n)
	}
	for _, which := range []hub.ListSet{hub.ListTools, hub.ListResources, hub.ListTemplates, hub.ListPrompts} {
		want, _ := c.List(protocol.Legacy, which, "")
		if got, err := again.List(protocol.Legacy, which, ""); err != nil || string(got) != string(want) || len(got) < 50 {
			t.Errorf("%s: %v, got  %s\nwant %s", which, err, got, want)
		}
	}
	if got := again.Snapshot().Capabilities(); got != (protocol.Capabilities{Prompts: true}) {
		t.Errorf("capabilities %+v", got)
	}
	if !again.Known(servers[0]) {
		t.Error("it has to be asked again")
	}
	if diff := cmp.Diff(instructions(c.Snapshot()), instructions(again.Snapshot())); diff != "" {
		t.Error(diff)
	}
	for i, e := range again.Snapshot().Entries() {
		was := c.Snapshot().Entries()[i]
		if string(e.Tool.Raw) != oddTools[i%3] {
			t.Errorf("Raw is %q, was %q", e.Tool.Raw, oddTools[i%3])
		}
		if diff := cmp.Diff(was.Tool, e.Tool); diff != "" {
			t.Error(diff)
		}
		if e.Live || !e.ListedAt.Equal(was.ListedAt.Truncate(time.Second)) {
			t.Errorf("live %t, listed at %v, was %v", e.Live, e.ListedAt, was.ListedAt)
		}
	}

	// The server confirms its list: the same to the byte, but live.
	again.Replace(server("a"), o)
	if n := events(sub); n != 0 {
		t.Errorf("%d events", n)
	}
	if e := again.Snapshot().Entries()[0]; !e.Live {
		t.Error("not live")
	}
}

func TestIndexOfChangedServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	c := open(t, catalog.Options{IndexPath: path})
	stop := run(t, c)
	c.SetServers([]hub.Server{server("a"), server("b"), server("c")})
	for _, key := range []string{"a", "b", "c"} {
		c.Replace(server(key), offer(t, "x"))
	}
	stop()

	again := open(t, catalog.Options{IndexPath: path})
	stop = run(t, again)
	other := server("b")
	other.Args = []string{"--other"}
	again.SetServers([]hub.Server{other, server("c")})
	if diff := cmp.Diff([]string{"c__x"}, exposed(again.Snapshot())); diff != "" {
		t.Error(diff)
	}
	stop()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), `"a"`) || strings.Contains(string(text), `"b"`) {
		t.Errorf("the index still has servers that are gone: %s", text)
	}
	// What came back later is as good as new.
	again.SetServers([]hub.Server{server("a"), server("b"), server("c")})
	if diff := cmp.Diff([]string{"c__x"}, exposed(again.Snapshot())); diff != "" {
		t.Error(diff)
	}
}

// A hub that ends before it has read its configuration keeps its index.
func TestIndexIsKeptWithoutServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	if err := os.WriteFile(path, []byte(goodIndex), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, open(t, catalog.Options{IndexPath: path}))()
	if text, _ := os.ReadFile(path); string(text) != goodIndex {
		t.Errorf("the index is %s", text)
	}
}

const goodIndex = `{"version":1,"servers":{"a":{"identity":"sha256:00","listedAt":"2026-11-21T09:30:00Z","instructions":"","tools":[{"name":"x"}]}}}`

func TestIndexIsPutAside(t *testing.T) {
	swap := func(old, with string) string {
		if !strings.Contains(goodIndex, old) {
			t.Fatalf("the index has no %s", old)
		}
		return strings.Replace(goodIndex, old, with, 1)
	}
	for name, text := range map[string]string{
		"empty":             "",
		"truncated":         goodIndex[:len(goodIndex)-20],
		"not JSON":          "index",
		"not UTF-8":         swap(`"x"`, "\"\xff\""),
		"zeroes":            strings.Repeat("\x00", 4096),
		"an array":          `[]`,
		"no version":        swap(`"version":1,`, ``),
		"a later version":   swap(`"version":1`, `"version":2`),
		"version as text":   swap(`"version":1`, `"version":"1"`),
		"no servers":        `{"version":1}`,
		"servers a list":    `{"version":1,"servers":[]}`,
		"server null":       `{"version":1,"servers":{"a":null}}`,
		"no identity":       swap(`"identity":"sha256:00",`, ``),
		"no time":           swap(`"listedAt":"2026-11-21T09:30:00Z",`, ``),
		"bad time":          swap(`2026-11-21`, `2026-13-21`),
		"no instructions":   swap(`"instructions":"",`, ``),
		"tools an object":   swap(`[{"name":"x"}]`, `{}`),
		"a tool of no name": swap(`{"name":"x"}`, `{}`),
		"resources a text":  swap(`"tools"`, `"resources":"x","tools"`),
		"a bad resource":    swap(`"tools"`, `"resources":[{}],"tools"`),
		"a resource twice":  swap(`"tools"`, `"resources":[{"uri":"x"},{"uri":"x"}],"tools"`),
		"a bad template":    swap(`"tools"`, `"templates":[{"uri":"x"}],"tools"`),
		"a template twice":  swap(`"tools"`, `"templates":[{"uriTemplate":"x"},{"uriTemplate":"x"}],"tools"`),
		"a bad prompt":      swap(`"tools"`, `"prompts":[{"name":1}],"tools"`),
		"a prompt twice":    swap(`"tools"`, `"prompts":[{"name":"x"},{"name":"x"}],"tools"`),
		"capabilities":      swap(`"tools"`, `"capabilities":[],"tools"`),
		"bad capabilities":  swap(`"tools"`, `"capabilities":{"tools":1},"tools"`),
		"a tool twice":      swap(`{"name":"x"}`, `{"name":"x"},{"name":"x"}`),
		"a key twice":       swap(`"identity":"sha256:00"`, `"identity":"","identity":""`),
		"too deep":          swap(`{"name":"x"}`, `{"name":"x","d":`+strings.Repeat("[", 1e5)+strings.Repeat("]", 1e5)+`}`),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "index.json")
			for _, file := range []string{path, path + ".bad"} { // an older one may be there
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log record
			c := open(t, catalog.Options{IndexPath: path, Log: log.logger()})
			c.SetServers([]hub.Server{server("a")})
			if got := exposed(c.Snapshot()); len(got) != 0 {
				t.Errorf("listed %q", got)
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("the file is still there: %v", err)
			}
			if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != text {
				t.Errorf("not kept: %v", err)
			}
			if log.lines("put aside") != 1 {
				t.Errorf("log: %s", log.text.String())
			}
			// The hub goes on, and has an index again.
			stop := run(t, c)
			c.Replace(server("a"), offer(t, "x"))
			stop()
			again := open(t, catalog.Options{IndexPath: path})
			again.SetServers([]hub.Server{server("a")})
			if got := exposed(again.Snapshot()); !slices.Equal(got, []string{"a__x"}) {
				t.Errorf("listed %q", got)
			}
		})
	}
}

// A sparse file costs nothing on disk, and must cost little to refuse.
func TestHugeIndexIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	if err := os.WriteFile(path, []byte(goodIndex), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<34); err != nil {
		t.Skip(err)
	}
	open(t, catalog.Options{IndexPath: path})
	if _, err := os.Stat(path + ".bad"); err != nil {
		t.Error(err)
	}
}

// Members that a later build of this version may add are no fault.
func TestIndexWithUnknownMembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	text := strings.Replace(goodIndex, `"identity"`, `"new":{"x":[]},"identity"`, 1)
	text = strings.Replace(text, `"version"`, `"more":0,"version"`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, catalog.Options{IndexPath: path})
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// An index of an earlier version has no lists but the tools. They are listed, and
// the server is to be asked for the others.
func TestIndexOfToolsOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	c := open(t, catalog.Options{IndexPath: path})
	stop := run(t, c)
	a := server("a")
	c.SetServers([]hub.Server{a})
	c.Listed(a, hub.Lists{Asked: hub.ListTools, Tools: lists("tool x").Tools})
	if !c.Known(a) {
		t.Error("a server that was asked is to be asked again")
	}
	stop()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"resources", "templates", "prompts", "capabilities"} {
		if strings.Contains(string(text), member) {
			t.Errorf("the index has %s:\n%s", member, text)
		}
	}

	again := open(t, catalog.Options{IndexPath: path})
	stop = run(t, again)
	again.SetServers([]hub.Server{a})
	wantShown(t, again, hub.ListTools, "a__x")
	if again.Known(a) {
		t.Error("a server is not to be asked whose resources nobody knows")
	}
	again.Listed(a, lists("tool x", "resource r"))
	stop()
	third := open(t, catalog.Options{IndexPath: path})
	third.SetServers([]hub.Server{a})
	wantShown(t, third, hub.ListResources, "r")
	if !third.Known(a) {
		t.Error("a server is to be asked again")
	}

	// Tools that are imported leave the rest as it is.
	third.Import([]catalog.Imported{{Server: "a", Tools: offer(t, "z").Tools, At: time.Now()}}, true)
	wantShown(t, third, hub.ListTools, "a__z")
	wantShown(t, third, hub.ListResources, "r")
}

func TestIndexThatIsNoFile(t *testing.T) {
	if _, err := catalog.Open(catalog.Options{IndexPath: t.TempDir()}); err == nil {
		t.Error("a directory was taken for an index")
	}
}

// stat is the index file; nil if there is none.
func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return info
}

func TestSavesTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	synctest.Test(t, func(t *testing.T) {
		c := open(t, catalog.Options{IndexPath: path})
		defer run(t, c)()
		c.SetServers([]hub.Server{server("a")})
		for i := range 50 {
			c.Replace(server("a"), offer(t, fmt.Sprint("x", i)))
			synctest.Wait()
		}
		time.Sleep(catalog.DefaultSaveDelay - 1)
		synctest.Wait()
		if stat(t, path) != nil {
			t.Error("saved before the delay")
		}
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), `"x49"`) {
			t.Fatalf("saved %s, %v", text, err)
		}

		// Each save makes a new file. A list that is confirmed is not saved
		// before the end.
		first := stat(t, path)
		time.Sleep(time.Hour)
		c.Replace(server("a"), offer(t, "x49"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if !os.SameFile(first, stat(t, path)) {
			t.Error("saved without need")
		}
		c.Replace(server("a"), offer(t, "y"))
		time.Sleep(time.Second)
		synctest.Wait()
		if os.SameFile(first, stat(t, path)) {
			t.Error("a change was not saved")
		}
	})
}

func TestSavesAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "index.json")
	synctest.Test(t, func(t *testing.T) {
		c := open(t, catalog.Options{IndexPath: path, SaveDelay: time.Hour})
		stop := run(t, c)
		c.SetServers([]hub.Server{server("a")})
		c.Replace(server("a"), offer(t, "x"))
		start := time.Now()
		stop()
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %v", took)
		}
	})
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `{"name":"x"`) {
		t.Errorf("saved %s, %v", text, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("files left behind: %v", files)
	}
}

func TestSavesNothingWithoutPath(t *testing.T) {
	t.Chdir(t.TempDir())
	c := open(t, catalog.Options{})
	stop := run(t, c)
	c.SetServers([]hub.Server{server("a")})
	c.Replace(server("a"), offer(t, "x"))
	stop()
	if files, _ := os.ReadDir("."); len(files) != 0 {
		t.Errorf("files: %v", files)
	}
}

func TestSavingFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "index.json")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var log record
	synctest.Test(t, func(t *testing.T) {
		c := open(t, catalog.Options{IndexPath: path, Log: log.logger()})
		defer run(t, c)()
		c.SetServers([]hub.Server{server("a")})
		n := 0
		change := func() {
			n++
			c.Replace(server("a"), offer(t, fmt.Sprint("x", n)))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		logged := func(failed, mended int) {
			t.Helper()
			if f, m := log.lines("could not be saved"), log.lines("could be saved again"); f != failed || m != mended {
				t.Errorf("%d failures and %d successes in the log:\n%s", f, m, log.text.String())
			}
		}
		change() // no directory
		change()
		logged(1, 0)
		must(os.MkdirAll(filepath.Join(path, "full"), 0o700)) // in the way
		change()                                              // another error says no more
		change()
		logged(1, 0)
		must(os.RemoveAll(path))
		change()
		logged(1, 1)
		if info := stat(t, path); info == nil || info.Mode() != fs.FileMode(0o600) {
			t.Errorf("index: %v", info)
		}
		if len(exposed(c.Snapshot())) != 1 {
			t.Error("the list is gone")
		}
		must(os.RemoveAll(dir))
		change() // the same error as before, but after a success
		logged(2, 1)
	})
}
