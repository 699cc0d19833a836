package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Every problem and every warning of the sample files is told in Chinese as
// well, with nothing left in English but names.
func TestChinese(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	han := regexp.MustCompile(`\p{Han}`)
	english := regexp.MustCompile(`[A-Za-z]{2,} [a-z]{2,}`)
	names := regexp.MustCompile(`"[^"]*"|\$\{[^}]*\}?|toolcrib import`)
	check := func(path string, said message.Phrase) {
		zh := said.In(message.Chinese)
		if !han.MatchString(zh) || english.MatchString(names.ReplaceAllString(zh, "")) {
			t.Errorf("%s: %q in Chinese is %q", path, said, zh)
		}
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, warnings, err := Parse(path, text, []string{"calculator", "device"})
		for _, w := range warnings {
			check(path, w.Detail)
		}
		problems, _ := errors.AsType[Problems](err)
		for _, p := range problems {
			check(path, p.Phrases["detail"])
		}
	}
}
