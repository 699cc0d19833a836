package cli

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

func TestResults(t *testing.T) {
	data := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 2048)))
	for _, test := range []struct {
		name, result, want string
	}{
		{"a text", `{"content":[{"type":"text","text":"a\u001b[2Jb\n"}]}`, "a\x1b[2Jb\n"},
		{"two texts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb\n"},
		{"text and structure", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":1}}`, "a\n"},
		{"structure alone", `{"content":[],"structuredContent":{"n":12345678901234567890}}`, "{\n  \"n\": 12345678901234567890\n}\n"},
		{"an image", `{"content":[{"type":"image","mimeType":"image/png","data":"` + data + `"}]}`, "[image image/png, 2 KiB; --out FILE saves it]\n"},
		{"a resource", `{"content":[{"type":"resource","resource":{"uri":"u","text":"t"}}]}`, "t\n"},
		{"data of a resource", `{"content":[{"type":"resource","resource":{"uri":"u","mimeType":"m","blob":"eA=="}}]}`, "[u m, 1 B; --out FILE saves it]\n"},
		{"a link", `{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}`, "[a file:///a]\n"},
		{"something new", `{"content":[{"type":"hologram"}]}`, "[hologram]\n"},
		{"something odd", `{"content":[{"type":5},7]}`, "{\"type\":5}\n7\n"},
		{"nothing", `{}`, ""},
	} {
		s, out, errs := newTest(t, message.English, "")
		if err := s.result(api.CallResult{Result: json.RawMessage(test.result)}, ""); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, out.String()+errs.String()); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

// A tool that failed says so on standard error, and by the exit code.
func TestToolErrors(t *testing.T) {
	r := api.CallResult{IsError: true, Result: json.RawMessage(`{"content":[{"type":"text","text":"no"}],"isError":true}`)}
	s, out, errs := newTest(t, message.English, "")
	if err := s.result(r, ""); !errors.Is(err, exit(exitToolError)) || out.String() != "" || errs.String() != "no\n" {
		t.Errorf("got %v, %q, %q", err, out, errs)
	}
	s, out, _ = newTest(t, message.English, "")
	s.JSON = true
	if err := s.result(r, ""); !errors.Is(err, exit(exitToolError)) || !strings.Contains(out.String(), `"isError": true`) {
		t.Errorf("JSON: got %v, %q", err, out)
	}
}

// On a terminal a text cannot do harm.
func TestTextOnATerminal(t *testing.T) {
	s, out, _ := newTest(t, message.English, "")
	s.env.Width = 80
	if err := s.result(api.CallResult{Result: json.RawMessage(`{"content":[{"type":"text","text":"a\u001b[2J\nb"}]}`)}, ""); err != nil {
		t.Fatal(err)
	}
	if out.String() != "a\\u001b[2J\nb\n" {
		t.Errorf("got %q", out)
	}
}

func TestDataIsSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.png")
	s, out, _ := newTest(t, message.Chinese, "")
	result := `{"content":[{"type":"image","mimeType":"image/png","data":"eA=="},{"type":"audio","mimeType":"audio/wav","data":"eXk="}]}`
	if err := s.result(api.CallResult{Result: json.RawMessage(result)}, path); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{path: "x", strings.TrimSuffix(path, ".png") + "-2.png": "yy"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
		if !strings.Contains(out.String(), "已保存到 "+file) {
			t.Errorf("%s is not named: %s", file, out)
		}
	}
}
