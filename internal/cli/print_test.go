package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/message"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "服务器": 6, "é": 1, "e\u0301": 1, "●": 1, "ｗ": 2, "🙂": 2,
		"\x1b[31mred\x1b[0m": 3, "\x1b[": 1 + 1, "\xff": 1,
	} {
		if got := width(text); got != want {
			t.Errorf("width(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"服务器", 5, "服务…"},
		{"服务器", 4, "服…"},
		{"\x1b[31mabcd\x1b[0m", 3, "\x1b[31mab…\x1b[0m"},
	} {
		if got := cut(test.text, test.limit); got != test.want {
			t.Errorf("cut(%q, %d) = %q", test.text, test.limit, got)
		}
	}
}

// A text that is cut fits, and is the beginning of what it was.
func FuzzCut(f *testing.F) {
	f.Add("服务器\x1b[1mx", 3)
	f.Add("\x1b[", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 1000 {
			return
		}
		got := cut(text, limit)
		if width(got) > limit {
			t.Errorf("cut(%q, %d) = %q takes %d", text, limit, got, width(got))
		}
		if width(text) <= limit && got != text {
			t.Errorf("cut(%q, %d) = %q although it fits", text, limit, got)
		}
	})
}

// Nothing from elsewhere can steer the terminal.
func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2J\u202eb\u0085\n\t")
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text)
		if strings.ContainsAny(got, "\x1b\r\b\x07\u0085\u202e\u2066") {
			t.Errorf("clean(%q) = %q", text, got)
		}
		if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) && got != text {
			t.Errorf("clean(%q) = %q", text, got)
		}
		if strings.Contains(oneLine(text), "\n") {
			t.Errorf("oneLine(%q) has more than one", text)
		}
	})
}

func TestTableIsCutToTheTerminal(t *testing.T) {
	var b bytes.Buffer
	p := &printer{w: &b, width: 12, color: true}
	p.table([]string{"A", "LONG"}, []row{{cells: []string{p.paint(bold, "x"), strings.Repeat("y", 50)}, below: []string{"below"}}})
	if got, want := b.String(), "\x1b[2mA\x1b[0m  \x1b[2mLONG\x1b[0m\n\x1b[1mx\x1b[0m  yyyyyyyy…\n  below\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestFieldsLeaveOutWhatIsEmpty(t *testing.T) {
	var b bytes.Buffer
	p := &printer{w: &b, lang: message.Chinese}
	p.fields("名", "a", "none", "", "地址", "b")
	if got, want := b.String(), "名    a\n地址  b\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m01s", 26*time.Hour + time.Minute: "26h01m", 72 * time.Hour: "3d",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%v) = %q", d, got)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 12 << 10: "12 KiB", 3 << 19: "1.5 MiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q", n, got)
		}
	}
}
