package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/toolcrib/toolcrib"

// file is one text file of the repository.
type file struct {
	path string // from the root, with slashes
	text string
	ast  *ast.File // of a Go file, else nil; with its imports and declarations
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// dir is the directory from the root, which is the import path of its package
// within the module.
func (f file) dir() string { return path.Dir(f.path) }

func (f file) lines() int { return strings.Count(f.text, "\n") }

// imports returns the import paths of a Go file.
func (f file) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// newFile parses what it has to. It reports a Go file that cannot be parsed.
func newFile(tb testing.TB, path, text string) file {
	tb.Helper()
	f := file{path: path, text: text}
	if strings.HasSuffix(path, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			tb.Fatal(err)
		}
		f.ast = parsed
	}
	return f
}

// repository reads every text file of the repository, for all operating
// systems and build tags; not what git ignores by name, nor the inputs that
// fuzzing found.
func repository(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	skip := []string{".git", ".cache", "bin", "dist", "node_modules", "testdata/fuzz"}
	var files []file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() {
			if slices.ContainsFunc(skip, func(s string) bool { return rel == s || strings.HasSuffix(rel, "/"+s) }) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if utf8.Valid(text) {
			files = append(files, newFile(t, rel, string(text)))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read the repository: %v", err)
	}
	if len(files) < 50 {
		t.Fatalf("found %d files only: is %s the root?", len(files), root)
	}
	return files
}

// report fails the test with each fault.
func report(t *testing.T, faults []string) {
	t.Helper()
	for _, fault := range faults {
		t.Error(fault)
	}
}

// wantOne fails the test unless the rule finds the one fault in the files.
func wantOne(t *testing.T, rule func([]file) []string, want string, files ...file) {
	t.Helper()
	if got := rule(files); len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("found %q, want one fault with %q", got, want)
	}
}
