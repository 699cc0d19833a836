package message_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Both languages say something for every code, and refer to the same values.
func TestCatalogueIsWhole(t *testing.T) {
	value := regexp.MustCompile(`\{[a-z_]+\}`)
	han := regexp.MustCompile(`\p{Han}`)
	for _, code := range message.Codes() {
		en, zh := message.For(message.English, code, nil), message.For(message.Chinese, code, nil)
		if en.What == "" || zh.What == "" || (en.Remedy == "") != (zh.Remedy == "") {
			t.Errorf("%s: a text is missing: %q, %q", code, en, zh)
		}
		if code != message.ConfigInvalid && !han.MatchString(zh.What) {
			t.Errorf("%s: not Chinese: %q", code, zh.What)
		}
		a, b := value.FindAllString(en.String(), -1), value.FindAllString(zh.String(), -1)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("%s: English refers to %v, Chinese to %v", code, a, b)
		}
	}
}

func TestFor(t *testing.T) {
	got := message.For(message.English, message.ToolUnknown, message.Args{"tool": "a{tool}b"})
	if !strings.Contains(got.What, `"a{tool}b"`) {
		t.Errorf("got %q", got.What)
	}
	if got := message.For(message.English, "no_such_code", nil); got.What != "no_such_code" {
		t.Errorf("got %q", got.What)
	}
}

func TestQuote(t *testing.T) {
	if got := message.Quote("a\x1b[31m\n" + strings.Repeat("é", 300)); strings.ContainsAny(got, "\x1b\n") || len([]rune(got)) > 220 {
		t.Errorf("got %q", got)
	}
}
