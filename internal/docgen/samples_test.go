package docgen

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/toolindex"
)

// documents are the documents for people, by their paths from the root.
func documents(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(rel))
		}
	}
	return names
}

// fence is a block of code in a document.
var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestSamples parses every sample of a configuration file and of a tool index.
func TestSamples(t *testing.T) {
	builtins := []string{"calculator", "datetime", "device"}
	count := 0
	for _, name := range documents(t) {
		for _, block := range fence.FindAllStringSubmatch(read(t, name), -1) {
			if block[1] != "json" && block[1] != "jsonc" {
				continue
			}
			text := []byte(block[2])
			standard, err := hujson.Standardize(bytes.Clone(text))
			if err != nil {
				t.Errorf("%s: not JSON: %v\n%s", name, err, text)
				continue
			}
			if bytes.Contains(standard, []byte(`"server_id"`)) {
				if _, err := toolindex.Decode(standard); err != nil {
					t.Errorf("%s: %v\n%s", name, err, text)
				}
				continue
			}
			if !regexp.MustCompile(`"(mcpServers|servers|mcp_servers)"`).Match(standard) {
				continue
			}
			count++
			if _, _, err := config.Parse("sample", text, builtins); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
	if count < 10 {
		t.Errorf("found %d samples of a configuration only", count)
	}
}

// TestSampleCommands looks for commands and flags that there are not.
func TestSampleCommands(t *testing.T) {
	program := help(t, "")
	known := map[string][]string{} // the flags of each command
	program.leaves(t, func(_ string, c *command) {
		for _, f := range append(c.flags, program.common...) {
			known[c.path] = append(known[c.path], flagsOf(f.name)...)
		}
	})
	for _, name := range documents(t) {
		for _, block := range fence.FindAllStringSubmatch(read(t, name), -1) {
			if block[1] != "sh" && block[1] != "console" {
				continue
			}
			whole := strings.ReplaceAll(block[2], "\\\n", " ") // lines that go on
			for line := range strings.Lines(whole) {
				words := strings.Fields(strings.TrimPrefix(line, "$ "))
				if len(words) > 0 && path.Base(words[0]) == "toolcrib" {
					checkCommand(t, name, words[1:], known)
				}
			}
		}
	}
}

// flagsOf are the spellings of a flag in the help, such as "-o, --out=FILE".
func flagsOf(name string) []string {
	var all []string
	for part := range strings.SplitSeq(name, ", ") {
		part, _, _ = strings.Cut(part, "=")
		if bare, ok := strings.CutPrefix(part, "--[no-]"); ok {
			all = append(all, "--"+bare, "--no-"+bare)
			continue
		}
		all = append(all, part)
	}
	return all
}

func checkCommand(t *testing.T, doc string, words []string, known map[string][]string) {
	t.Helper()
	if end := slices.IndexFunc(words, func(w string) bool { return slices.Contains([]string{"--", "|", ">", "<", "#", "&"}, w) }); end >= 0 {
		words = words[:end]
	}
	var names []string // in front of a command there may be flags
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			names = append(names, w)
		}
	}
	flags := []string{"-h", "--help"}
	found := len(words) == 1 && words[0] == "--help"
	for n := min(3, len(names)); n > 0 && !found; n-- {
		if own, ok := known[strings.Join(names[:n], " ")]; ok {
			flags, found = append(flags, own...), true
		}
	}
	if !found {
		t.Errorf("%s: there is no such command: toolcrib %s", doc, strings.Join(words, " "))
	}
	for _, w := range words {
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(w, "-") && w != "-" && !slices.Contains(flags, flag) {
			t.Errorf("%s: there is no flag %s: toolcrib %s", doc, flag, strings.Join(words, " "))
		}
	}
}

// TestLinks follows the links within the repository.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	anchors := make(map[string][]string)
	for _, name := range documents(t) {
		text := fence.ReplaceAllString(read(t, name), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, m[1])
				continue
			}
			if anchor == "" {
				continue
			}
			if anchors[target] == nil {
				anchors[target] = anchorsOf(read(t, target))
			}
			if !slices.Contains(anchors[target], anchor) {
				t.Errorf("%s: %s has no heading for the link to #%s", name, target, anchor)
			}
		}
	}
}

// anchorsOf are the places that headings make, as GitHub names them.
func anchorsOf(text string) []string {
	var all []string
	for _, h := range headings(text) {
		anchor := strings.ToLower(strings.TrimSpace(strings.TrimLeft(h, "#")))
		anchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(anchor, "")
		all = append(all, strings.ReplaceAll(anchor, " ", "-"))
	}
	return all
}

func headings(text string) []string {
	return regexp.MustCompile(`(?m)^#+ .*$`).FindAllString(fence.ReplaceAllString(text, ""), -1)
}

// TestLanguages compares the shape of each document in both languages: its
// headings, its tables and its samples.
func TestLanguages(t *testing.T) {
	shape := func(name string) []string {
		var all []string
		text := read(t, name)
		for _, line := range regexp.MustCompile("(?m)^(#+ |\\||```[a-z]*$|<!-- generated: .*$)").FindAllString(text, -1) {
			if line != "```" {
				all = append(all, line)
			}
		}
		return all
	}
	count := 0
	for _, name := range documents(t) {
		en, isChinese := strings.CutSuffix(name, ".zh-CN.md")
		if !isChinese {
			continue
		}
		count++
		if a, b := shape(en+".md"), shape(name); !slices.Equal(a, b) {
			at := 0
			for at < min(len(a), len(b)) && a[at] == b[at] {
				at++
			}
			t.Errorf("%s.md and its Chinese differ in headings, tables or samples, from the %dth on (%d and %d)", en, at+1, len(a), len(b))
		}
	}
	if count < 6 {
		t.Errorf("found %d documents in Chinese only", count)
	}
}

// TestPackages looks for packages that the map of the program leaves out.
func TestPackages(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	for _, pattern := range []string{"internal/*", "internal/config/importer", "internal/face/*"} {
		dirs, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			rel, err := filepath.Rel(root, dir)
			if err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			if len(files) > 0 && !strings.Contains(text, "`"+filepath.ToSlash(rel)+"`") {
				t.Errorf("ARCHITECTURE.md does not name the package %s", filepath.ToSlash(rel))
			}
		}
	}
}
