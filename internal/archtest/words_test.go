package archtest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// word is a pattern that no file of its kind may contain.
type word struct {
	pattern *regexp.Regexp
	why     string
	applies func(file) bool
}

// words returns the forbidden patterns. They are put together from pieces, so
// that this file does not contain them.
func words() []word {
	everywhere := func(file) bool { return true }
	// Hashes hold any letters.
	written := func(f file) bool { return !slices.Contains(list("go.sum package-lock.json"), path.Base(f.path)) }
	// The hub may not know the tools by which the official suite tests it: it
	// has to be right for every tool.
	product := func(f file) bool {
		return f.ast != nil && !f.isTest() && (strings.HasPrefix(f.path, "internal/") || strings.HasPrefix(f.path, "cmd/"))
	}
	fixtures := list("simple_ tool_with_ prompt_with_ input_required_ mrtr_ elicitation sampling reconnection " +
		"image_content audio_content embedded_resource multiple_content error_handling missing_capability " +
		"custom_headers streaming_elicitation logging_tool trigger_ client_elicitation")
	return []word{
		{
			regexp.MustCompile("/wo" + "rk/|\\.\\./sha" + "red|bash" + "_jobs|/ro" + "ot/"),
			"names a place on one machine", everywhere,
		},
		{
			regexp.MustCompile(`registry\.npm` + `js|proxy\.go` + `lang|sum\.go` + `lang|deb\.deb` + `ian`),
			"names the host of a package registry, which is a setting of the machine", everywhere,
		},
		{
			regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`),
			"marks unfinished work: finish it, or open an issue", written,
		},
		{
			regexp.MustCompile("test_(" + strings.Join(fixtures, "|") + ")|test:/" + "/|json_schema_(2020|echo)|" +
				"slow_" + "compute|failing_" + "job|protocol_error_" + "job|confirm_" + "delete"),
			"names a fixture of the conformance suite", product,
		},
	}
}

func wordFaults(files []file) []string {
	var faults []string
	for _, f := range files {
		for _, w := range words() {
			if !w.applies(f) {
				continue
			}
			for _, at := range w.pattern.FindAllStringIndex(f.text, -1) {
				line := 1 + strings.Count(f.text[:at[0]], "\n")
				faults = append(faults, fmt.Sprintf("%s:%d: %q %s", f.path, line, f.text[at[0]:at[1]], w.why))
			}
		}
	}
	return faults
}

func TestWords(t *testing.T) { report(t, wordFaults(repository(t))) }

func TestWordRulesFindFaults(t *testing.T) {
	mark := "// TO" + "DO: later"
	wantOne(t, wordFaults, "a/a.go:2:", newFile(t, "a/a.go", "package a\n"+mark+"\n"))
	wantOne(t, wordFaults, "unfinished", newFile(t, "README.md", mark))
	wantOne(t, wordFaults, "one machine", newFile(t, "a/a_test.go", "package a // /wo"+"rk/x\n"))
	wantOne(t, wordFaults, "registry", newFile(t, "package-lock.json", "https://registry.npm"+"js.org"))
	fixture := "package a // test_tool_" + "with_x\n"
	wantOne(t, wordFaults, "fixture", newFile(t, "internal/a/a.go", fixture))
	if got := wordFaults([]file{
		newFile(t, "internal/a/a_test.go", fixture),
		newFile(t, "test/conformance/a.go", fixture),
		newFile(t, "package-lock.json", "sha512-TO"+"DO"),
	}); len(got) > 0 {
		t.Errorf("found what is allowed: %q", got)
	}
}
