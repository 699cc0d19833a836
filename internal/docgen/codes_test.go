package docgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// TestCodes is the table of all codes, one for each file of the catalogue.
func TestCodes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "internal", "message", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	groups := make(map[string][]message.Code)
	missing := message.Codes()
	for _, file := range files {
		codes := codesIn(t, file)
		if len(codes) == 0 {
			continue
		}
		groups["codes-"+strings.TrimSuffix(filepath.Base(file), ".go")] = codes
		missing = slices.DeleteFunc(missing, func(c message.Code) bool { return slices.Contains(codes, c) })
	}
	if len(missing) > 0 {
		t.Errorf("no file of the catalogue has %q", missing)
	}
	inBoth(t, "docs/troubleshooting", func(lang message.Lang) map[string]string {
		head := []string{"code", "what it says", "what to do"}
		if lang == message.Chinese {
			head = []string{"代码", "含义", "处理"}
		}
		parts := make(map[string]string)
		for name, codes := range groups {
			rows := [][]string{head}
			for _, code := range codes {
				text := message.For(lang, code, nil)
				rows = append(rows, []string{"`" + string(code) + "`", text.What, text.Remedy})
			}
			parts[name] = table(rows...)
		}
		return parts
	})
}

// codesIn returns the codes that a file defines, in its order.
func codesIn(t *testing.T, path string) []message.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var codes []message.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" || len(spec.Values) == 0 {
			return false
		}
		for _, v := range spec.Values {
			code, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, message.Code(code))
		}
		return false
	})
	return codes
}
