// Package docgen keeps the documents for people true to the program. What can
// be made from it is: the members of the configuration file, the codes of the
// message catalogue, the commands. It stands in the documents between
//
//	<!-- generated: NAME -->
//	<!-- end -->
//
// and "go test ./internal/docgen -update" writes it anew. What is written by
// hand is checked as far as a program can: samples, commands and links, and
// that a document says in Chinese what it says in English. It has tests only.
package docgen

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/message"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

// root is the directory of the repository.
var root = filepath.Join("..", "..")

// inBoth compares the generated parts of a document in both languages.
func inBoth(t *testing.T, name string, parts func(message.Lang) map[string]string) {
	t.Helper()
	compare(t, name+".md", parts(message.English))
	compare(t, name+".zh-CN.md", parts(message.Chinese))
}

// compare fails the test unless each part stands in the document, under its
// name and just so; or puts it there, if that was asked for.
func compare(t *testing.T, name string, parts map[string]string) {
	t.Helper()
	place := regexp.MustCompile(`(?s)<!-- generated: ([a-z-]+) -->\n.*?<!-- end -->\n`)
	text := read(t, name)
	found := make(map[string]bool)
	want := place.ReplaceAllStringFunc(text, func(old string) string {
		part := place.FindStringSubmatch(old)[1]
		found[part] = true
		if _, known := parts[part]; !known {
			t.Errorf("%s: nothing is generated under the name %q", name, part)
			return old
		}
		return "<!-- generated: " + part + " -->\n\n" + parts[part] + "\n<!-- end -->\n"
	})
	for part := range parts {
		if !found[part] {
			t.Errorf("%s has no place for the generated part %q", name, part)
		}
	}
	switch {
	case want == text:
	case *update:
		if err := os.WriteFile(filepath.Join(root, name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the program says; run: go test ./internal/docgen -update\n(-is +should)\n%s", name, cmp.Diff(text, want))
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// table is a table in Markdown, the first row of which is its head.
func table(rows ...[]string) string {
	var b strings.Builder
	for i, cells := range rows {
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
		}
	}
	return b.String()
}

// translation has the Chinese of English texts. It is read from a file of
// paragraphs of two lines, so that a text that changes loses its Chinese, and
// the test fails until somebody has looked at it.
type translation struct {
	t      *testing.T
	file   string
	zh     map[string]string
	used   map[string]bool
	absent map[string]bool
}

func newTranslation(t *testing.T, file string) *translation {
	t.Helper()
	tr := &translation{t, file, make(map[string]string), make(map[string]bool), make(map[string]bool)}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\n") {
		en, zh, ok := strings.Cut(pair, "\n")
		if !ok || strings.Contains(zh, "\n") || tr.zh[en] != "" {
			t.Errorf("%s: not one line of English and one of Chinese, or said twice:\n%s", file, pair)
		}
		tr.zh[en] = zh
	}
	return tr
}

// say is the text in a language.
func (tr *translation) say(lang message.Lang, en string) string {
	if lang == message.English || en == "" {
		return en
	}
	zh, ok := tr.zh[en]
	if !ok {
		tr.absent[en] = true
		return en
	}
	tr.used[en] = true
	return zh
}

// done reports the texts that have no Chinese, and the Chinese of texts that
// are not there any more.
func (tr *translation) done() {
	tr.t.Helper()
	for en := range tr.absent {
		tr.t.Errorf("%s has no Chinese for:\n%s", tr.file, en)
	}
	for en := range tr.zh {
		if !tr.used[en] {
			tr.t.Errorf("%s translates what nothing says any more:\n%s", tr.file, en)
		}
	}
}
