package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

const formSchema = `{"type":"object","required":["name","age"],"properties":{
	"name":{"type":"string","title":"Your name"},
	"age":{"type":"integer","minimum":0},
	"sure":{"type":"boolean","default":true},
	"color":{"type":"string","enum":["red","green"]},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}`

func TestForm(t *testing.T) {
	for _, test := range []struct{ name, typed, want string }{
		{"all of it", "Ann\n5\nno\nred\nl\na, b\ny\n", `{"action":"accept","content":{"name":"Ann","age":5,"sure":false,"color":"red","size":"l","tags":["a","b"]}}`},
		{"the least", "Ann\n5\n\n\n\n\nyes\n", `{"action":"accept","content":{"name":"Ann","age":5,"sure":true}}`},
		{"asked again", "Ann\nold\n5.5\n5\nmaybe\ny\nblue\n\n\nc\n[\"a\"]\nwhat\ny\n", `{"action":"accept","content":{"name":"Ann","age":5,"sure":true,"tags":["a"]}}`},
		{"declined", "Ann\n5\n\n\n\n\nd\n", `{"action":"decline"}`},
		{"cancelled", "Ann\n5\n\n\n\n\nc\n", `{"action":"cancel"}`},
		{"the end of input", "Ann\n", `{"action":"cancel"}`},
	} {
		var sch schema
		if err := json.Unmarshal([]byte(formSchema), &sch); err != nil {
			t.Fatal(err)
		}
		s, _, errs := newTest(t, message.English, "")
		f := &form{prompt: newPrompt(strings.NewReader(test.typed), errs), say: s.out.say, schema: &sch}
		got, err := f.fill(t.Context(), "Who\x1b are you?")
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, %v\n%s", test.name, got, err, errs)
		}
		if !strings.Contains(errs.String(), "? Who\\u001b are you?") || !strings.Contains(errs.String(), "Your name (string)") {
			t.Errorf("%s: asked %s", test.name, errs)
		}
		drain(f.prompt)
	}
}

// drain lets the reader of a prompt end.
func drain(p *prompt) {
	for range p.lines {
	}
}

func TestPromptEndsWithItsContext(t *testing.T) {
	r, w := io.Pipe()
	p := newPrompt(r, io.Discard)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := p.ask(ctx, "?"); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	w.Close()
	drain(p)
}

func TestConfirm(t *testing.T) {
	for typed, want := range map[string]bool{"y\n": true, "YES\n": true, "是\n": true, "\n": false, "n\n": false, "": false} {
		var shown bytes.Buffer
		p := newPrompt(strings.NewReader(typed), &shown)
		if got, err := p.confirm(t.Context(), "Sure?"); got != want || err != nil {
			t.Errorf("%q: %v, %v", typed, got, err)
		}
		if !strings.Contains(shown.String(), "Sure? [y/N]") {
			t.Errorf("asked %q", shown.String())
		}
		drain(p)
	}
}

func TestAsks(t *testing.T) {
	if q := asks(json.RawMessage(`{"resultType":"input_required","requestState":"s","inputRequests":{"a":{}}}`)); q == nil || q.State != "s" || string(q.Requests) != `{"a":{}}` {
		t.Errorf("got %+v", q)
	}
	for _, final := range []string{`{"content":[]}`, `{"resultType":"complete"}`, `7`, ``} {
		if q := asks(json.RawMessage(final)); q != nil {
			t.Errorf("%s: got %+v", final, q)
		}
	}
}
