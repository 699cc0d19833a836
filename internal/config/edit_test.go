package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// TestEdit does what the first line of each file of testdata/edit says to the
// text "before", and compares what comes of it with "after". Comments, order
// and layout count.
func TestEdit(t *testing.T) {
	files, err := filepath.Glob("testdata/edit/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			part := make(map[string]string)
			for _, f := range archive.Files {
				part[f.Name] = string(f.Data)
			}
			for _, newline := range []string{"\n", "\r\n"} {
				before := strings.ReplaceAll(part["before"], "\n", newline)
				if before == "" && newline == "\r\n" {
					continue // such a text shows no newline
				}
				want := strings.ReplaceAll(part["after"], "\n", newline)
				for _, mark := range []string{"", "\xef\xbb\xbf"} {
					got := doEdit(t, strings.TrimSpace(string(archive.Comment)), mark+before, part["entry"])
					if diff := cmp.Diff(mark+want, got); diff != "" {
						t.Errorf("newline %q, mark %q (-want +got)\n%s", newline, mark, diff)
					}
				}
			}
		})
	}
}

// doEdit carries a command out: "set KEY", "remove KEY", "member KEY NAME
// [VALUE]".
func doEdit(t *testing.T, command, text, entry string) string {
	t.Helper()
	word := append(strings.Fields(command), "", "", "")
	var got []byte
	var err error
	switch word[0] {
	case "set":
		got, err = SetServer([]byte(text), word[1], []byte(entry))
		if err != nil {
			break
		}
		back, found, err := Entry(got, word[1])
		if err != nil || !found || !equalJSON(t, back, []byte(entry)) {
			t.Errorf("the entry reads %s, %v, %v", back, found, err)
		}
		again, err := SetServer(got, word[1], back)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("set to what it is, it becomes\n%s, %v", again, err)
		}
	case "remove":
		_, has, _ := Entry([]byte(text), word[1])
		var found bool
		if got, found, err = RemoveServer([]byte(text), word[1]); found != has {
			t.Errorf("found: %v, but it is there: %v", found, has)
		}
	case "member":
		var value []byte
		if word[3] != "" {
			value = []byte(word[3])
		}
		got, err = SetMember([]byte(text), word[1], word[2], value)
	default:
		t.Fatalf("command %q", command)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	return reflect.DeepEqual(decode(t, a), decode(t, b))
}

// decode is a text with comments as plain values.
func decode(t *testing.T, text []byte) any {
	t.Helper()
	plain, err := hujson.Standardize(slices.Clone(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var v any
	if err := json.Unmarshal(plain, &v); err != nil {
		t.Fatalf("%s: %v", plain, err)
	}
	return v
}

// TestEditRefuses shows what is wrong by its place, and quotes no value.
func TestEditRefuses(t *testing.T) {
	for _, test := range []struct{ text, entry, want string }{
		{"{\n\"mcpServers\": [}", `{}`, "configuration:2:16: the file is not valid JSON: invalid character '}' at start of value"},
		{`[]`, `{}`, "configuration:1:1: the file must be an object, but is an array"},
		{"{\n \"mcpServers\": \"SECRET\"}", `{}`, `configuration:2:16: "mcpServers" must be an object, but is a string`},
		{`{"mcp": 1}`, `{}`, ""},
		{`{}`, `"SECRET"`, `configuration:1:1: server "a" must be an object, but is a string`},
		{`{}`, `{"k": SECRET}`, "configuration:1:7: this is no JSON value"},
		{`{}`, "\xff", "configuration:1:1: the file is not valid UTF-8"},
	} {
		_, err := SetServer([]byte(test.text), "a", []byte(test.entry))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", test.text, err)
			}
			continue
		}
		if !hub.IsCode(err, message.ConfigInvalid) || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s, %s:\n %v, want\n %s", test.text, test.entry, err, test.want)
		}
	}
	if _, err := SetMember([]byte(`{"mcpServers":{"a":[]}}`), "a", "enabled", []byte("true")); !hub.IsCode(err, message.ConfigInvalid) {
		t.Errorf("a member of an array was set: %v", err)
	}
	for _, value := range []string{`1,"x":2`, `}`, `1 2`} {
		if got, err := SetMember([]byte(`{}`), "a", "m", []byte(value)); err == nil {
			t.Errorf("the value %s was let in: %s", value, got)
		}
	}
}

// TestEditsDoNotShare checks that an edit leaves the caller's bytes alone.
func TestEditsDoNotShare(t *testing.T) {
	text := []byte("{\n  // c\n  \"mcpServers\": {\n    \"a\": {\"x\": 1}, // a\n  }, // b\n}\n")
	room := append(make([]byte, 0, 4*len(text)), text...)
	if _, err := SetServer(room, "b", []byte(`{"y":2}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := RemoveServer(room, "a"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(room, text) || !bytes.Equal(room[len(text):cap(room)], make([]byte, cap(room)-len(text))) {
		t.Errorf("the text was changed: %q", room[:cap(room)])
	}
}

func TestKeys(t *testing.T) {
	keys, err := Keys([]byte(`{"mcp": {"servers": {"c": {}}}, "mcp_servers": [{"id": "b"}, {}, 1], "mcpServers": {"a": {}, "z": 1}}`))
	if want := []string{"a", "z", "b", "c"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("%q, %v, want %q", keys, err, want)
	}
}

// goldenFiles are the files of all forms that the reader is tested with.
func goldenFiles(t testing.TB) map[string][]byte {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"testdata/*.json", "testdata/*/*.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = raw
	}
	if len(files) == 0 {
		t.Fatal("no test files")
	}
	return files
}

// checkEdits makes some changes to any text, and reports what is lost by them.
func checkEdits(t *testing.T, text []byte, key string) {
	t.Helper()
	entry := []byte(`{"command":"new","env":{"A":"1"},"args":["x"]}`)
	set, err := SetServer(text, key, entry)
	if err != nil {
		return
	}
	before, err := plant(text)
	if err != nil {
		t.Fatal(err)
	}
	after, err := plant(set)
	if err != nil {
		t.Fatalf("set, it cannot be parsed: %v\n%s", err, set)
	}
	if before.root.IsStandard() && !after.root.IsStandard() {
		t.Errorf("plain JSON became\n%s", set)
	}
	if was, is := comments(before), comments(after); !hasAll(is, was) && !hadEntry(text, key) {
		t.Errorf("comments were lost: %q, %q", was, is)
	}
	if again, err := SetServer(set, key, entry); err != nil || !bytes.Equal(again, set) {
		t.Errorf("set twice, it becomes\n%s\nfrom\n%s\n%v", again, set, err)
	}
	others(t, text, set, key)

	removed, found, err := RemoveServer(set, key)
	if err != nil || !found {
		t.Fatalf("it is not there: %v\n%s", err, set)
	}
	if gone, err := plant(removed); err != nil || before.root.IsStandard() && !gone.root.IsStandard() {
		t.Fatalf("removed, it cannot be parsed, or is no plain JSON: %v\n%s", err, removed)
	}
	others(t, text, removed, key)

	for _, value := range [][]byte{[]byte("false"), nil} {
		switched, err := SetMember(text, key, "enabled", value)
		if err != nil {
			continue // it is no object
		}
		if tree, err := plant(switched); err != nil || before.root.IsStandard() && !tree.root.IsStandard() {
			t.Fatalf("switched, it cannot be parsed, or is no plain JSON: %v\n%s", err, switched)
		}
		others(t, text, switched, key)
	}
}

// others checks that the entries of other servers are what they were.
func others(t *testing.T, before, after []byte, but string) {
	t.Helper()
	keys, err := Keys(before)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if key == but {
			continue
		}
		was, _, _ := Entry(before, key)
		is, found, err := Entry(after, key)
		if !found || err != nil || !bytes.Equal(was, is) {
			t.Errorf("%q was %s, is %s, %v", key, was, is, err)
		}
	}
}

func hadEntry(text []byte, key string) bool {
	_, found, _ := Entry(text, key)
	return found
}

func comments(t *tree) []string {
	var all []string
	t.comments(func(comment []byte) []byte {
		all = append(all, strings.TrimSpace(string(comment)))
		return comment
	})
	return all
}

func hasAll(list, part []string) bool {
	for _, s := range part {
		if !slices.Contains(list, s) {
			return false
		}
	}
	return true
}

func TestEditGolden(t *testing.T) {
	for path, text := range goldenFiles(t) {
		t.Run(path, func(t *testing.T) {
			keys, _ := Keys(text)
			for _, key := range append(keys, "new") {
				checkEdits(t, text, key)
			}
			for _, name := range []string{"new", "coding"} {
				checkGroups(t, text, name)
			}
		})
	}
}

func FuzzEdit(f *testing.F) {
	for _, text := range goldenFiles(f) {
		f.Add(text, "new")
		if keys, _ := Keys(text); len(keys) > 0 {
			f.Add(text, keys[len(keys)-1])
		}
	}
	f.Add([]byte(`{"groups":{"a":{"servers":["x", // y`+"\n"+`],"rename":{"b":"c"}}, "g": /*z*/ {"icon":1,}}}`), "g")
	f.Add([]byte(`{"mcpServers":{"a":{}, // x`+"\n"+`"b":{} /*y*/ ,}}`), "b")
	f.Fuzz(func(t *testing.T, text []byte, key string) {
		if !utf8.ValidString(key) {
			t.Skip("no JSON text can hold the key")
		}
		checkEdits(t, text, key)
		checkGroups(t, text, key)
		checkMask(t, text)
	})
}
