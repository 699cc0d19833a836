package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// maxLines is where a file is more than one thing.
const maxLines = 600

// shapeFaults checks the names of packages, the length of files, and that no
// package does work when it is imported.
func shapeFaults(files []file) []string {
	var faults []string
	fault := func(f file, format string, args ...any) {
		faults = append(faults, f.path+": "+fmt.Sprintf(format, args...))
	}
	vague := list("util utils common helper helpers types model models manager managers misc base shared")
	for _, f := range files {
		if f.ast == nil {
			continue
		}
		if n := f.lines(); n > maxLines {
			fault(f, "has %d lines, more than %d: split it by subject", n, maxLines)
		}
		if name := path.Base(f.dir()); slices.Contains(vague, name) {
			fault(f, "a package named %s says nothing: name it after the noun that it owns", name)
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				fault(f, "has an init function: let a constructor do the work")
			}
		}
	}
	return faults
}

func TestShape(t *testing.T) { report(t, shapeFaults(repository(t))) }

func TestShapeRulesFindFaults(t *testing.T) {
	wantOne(t, shapeFaults, "lines", newFile(t, "a/a.go", "package a\n"+strings.Repeat("\n", maxLines)))
	wantOne(t, shapeFaults, "says nothing", newFile(t, "internal/util/a.go", "package util\n"))
	wantOne(t, shapeFaults, "init function", newFile(t, "a/a.go", "package a\nfunc init() {}\n"))
}
