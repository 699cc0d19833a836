package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// notices returns the licences of all that is linked into the program for a
// target, which their texts ask to be handed on with it.
func notices(ctx context.Context, t target) ([]byte, error) {
	root, err := run(exec.CommandContext(ctx, "go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	list, err := run(goCommand(ctx, t, "list", "-deps",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/toolcrib"))
	if err != nil {
		return nil, err
	}
	modules := slices.Compact(slices.Sorted(strings.Lines(string(list))))
	var text strings.Builder
	text.WriteString("Toolcrib is under the licence in LICENSE. It contains what follows.\n")
	for _, line := range append([]string{"The Go standard library\t" + string(root)}, modules...) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if err := addNotices(&text, name, dir); err != nil {
			return nil, err
		}
	}
	return []byte(text.String()), nil
}

// addNotices adds the texts in the root of a module.
func addNotices(text *strings.Builder, module, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", module, err)
	}
	licence := regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(md|txt))?$`)
	found := false
	for _, e := range entries {
		if !licence.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("licence of %s: %w", module, err)
		}
		found = true
		fmt.Fprintf(text, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), module, e.Name(), strings.TrimSpace(string(content)))
	}
	if !found {
		return fmt.Errorf("there is no licence of %s in %s", module, dir)
	}
	return nil
}
