package packaging_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The two languages of the guide to running it.
const (
	guide        = "docs/running.md"
	guideChinese = "docs/running.zh-CN.md"
)

// TestGuideCommands has the program itself read every command that the guide
// shows, with --help, which carries out nothing.
func TestGuideCommands(t *testing.T) {
	bin := program(t)
	names := regexp.MustCompile(`(?m)^  ([a-z]+)  +\S`).FindAllStringSubmatch(output(t, command(t, bin, "--help")), -1)
	var words []string
	for _, name := range names {
		words = append(words, name[1])
	}
	shown := regexp.MustCompile("(?:^|[\\s/`])toolcrib ((?:" + strings.Join(words, "|") + ")\\b[^`#\\n]*)")
	for _, file := range []string{guide, guideChinese} {
		text := strings.ReplaceAll(readFile(t, file), "\\\n", " ")
		seen := 0
		for _, match := range shown.FindAllStringSubmatch(text, -1) {
			args := strings.Fields(match[1])
			if i := slices.Index(args, "--"); i >= 0 {
				args = slices.Insert(args, i, "--help")
			} else {
				args = append(args, "--help")
			}
			seen++
			output(t, command(t, bin, args...))
		}
		if seen < 20 {
			t.Errorf("%s: %d commands only", file, seen)
		}
	}
}

// TestGuideFlags compares the flags in the guide's tables with those of serve.
func TestGuideFlags(t *testing.T) {
	flags := output(t, command(t, program(t), "serve", "--help"))
	row := regexp.MustCompile("(?m)^\\|.*`(--[a-z-]+)")
	for _, file := range []string{guide, guideChinese} {
		for _, match := range row.FindAllStringSubmatch(readFile(t, file), -1) {
			if !strings.Contains(flags, match[1]+"=") && !strings.Contains(flags, match[1]+" ") {
				t.Errorf("%s: serve has no flag %s", file, match[1])
			}
		}
	}
}

// TestGuideFiles looks for the files that the guide takes from an archive.
func TestGuideFiles(t *testing.T) {
	for _, file := range []string{guide, guideChinese} {
		for _, name := range regexp.MustCompile(`(?m) ((?:systemd|launchd)/\S+) `).FindAllStringSubmatch(readFile(t, file), -1) {
			if _, err := os.Stat(filepath.Join(root, "packaging", filepath.FromSlash(name[1]))); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestGuideLanguages compares what both languages give to be typed or copied.
func TestGuideLanguages(t *testing.T) {
	blocks := func(file string) []string {
		comment := regexp.MustCompile(`(?m) +# .*$`)
		return regexp.MustCompile("(?s)```.*?```").FindAllString(comment.ReplaceAllString(readFile(t, file), ""), -1)
	}
	english, chinese := blocks(guide), blocks(guideChinese)
	if len(english) < 10 || !slices.Equal(english, chinese) {
		for i := range min(len(english), len(chinese)) {
			if english[i] != chinese[i] {
				t.Errorf("%s\nis in Chinese\n%s", english[i], chinese[i])
			}
		}
		t.Errorf("%d blocks, in Chinese %d", len(english), len(chinese))
	}
}
