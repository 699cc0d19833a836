package message_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// sayers are the functions that make phrases of an argument, by package and
// name, and which one. Those of every package stand under "".
func sayers() map[string]map[string]int {
	return map[string]map[string]int{
		"":          {"Say": 0, "Term": 0},
		"gateway":   {"invalid": 0},
		"call":      {"invalid": 0, "mismatch": 1},
		"mcp":       {"invalid": 0, "mismatch": 1},
		"auth":      {"unfit": 0, "failed": 1, "forbidden": 0, "unavailable": 1},
		"cli":       {"unfit": 0, "misuse": 1},
		"catalog":   {},
		"risk":      {"add": 2, "hide": 2},
		"config":    {"problem": 1, "warn": 1, "fail": 1, "New": 0, "wrong": 2, "elements": 1, "size": 1, "useless": 0, "duration": 3},
		"apiclient": {"unusable": 0},
		"secret":    {"unresolved": 0},
		"toolindex": {"invalid": 1},
		"wire":      {"malformed": 1, "not": 2},
	}
}

// faults are the functions that return what becomes a [message.Term].
func faults() map[string][]string {
	return map[string][]string{
		"config":  {"urlFault", "storeFault"},
		"secret":  {"Fault", "parseEnv", "envValue", "readFile"},
		"httpd":   {"check"},
		"auth":    {"checkToken"},
		"hub":     {"EndpointFault"},
		"sandbox": {"unavailable"},
	}
}

// said are the phrases of the program, each with a place where it is.
func said(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	by, of := sayers(), faults()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := file.Name.Name
		add := func(e ast.Expr) {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && hasWords(text) {
					all[text] = files.Position(lit.Pos()).String()
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if slices.Contains(of[pkg], n.Name.Name) {
					returned(n, add)
				}
			case *ast.KeyValueExpr: // config's notes about members, and wire's details
				if key, ok := n.Key.(*ast.Ident); ok && (pkg == "config" && key.Name == "note" || pkg == "wire" && key.Name == "detail") {
					add(n.Value)
				}
			case *ast.CompositeLit:
				if kind, ok := n.Type.(*ast.Ident); ok && pkg == "config" && kind.Name == "keeping" {
					add(n.Elts[len(n.Elts)-1])
				}
			case *ast.CallExpr:
				name := ""
				switch f := n.Fun.(type) {
				case *ast.Ident:
					name = f.Name
				case *ast.SelectorExpr:
					name = f.Sel.Name
				}
				at, ok := by[pkg][name]
				if !ok {
					at, ok = by[""][name]
				}
				if ok && at < len(n.Args) {
					add(n.Args[at])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for r := wire.Malformed; r <= wire.NotMessage; r++ {
		all[r.String()] = "wire"
	}
	return all
}

// returned passes on the texts that a function returns, also as errors.
func returned(f *ast.FuncDecl, add func(ast.Expr)) {
	ast.Inspect(f, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok {
			return true
		}
		for _, e := range r.Results {
			if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
				e = call.Args[0]
			}
			add(e)
		}
		return true
	})
}

var verb = regexp.MustCompile(`%(\[\d+\])?[-+# 0]*\d*[a-zA-Z%]`)

// hasWords reports whether there is anything to translate in a format.
func hasWords(format string) bool {
	return regexp.MustCompile(`[A-Za-z]`).MatchString(verb.ReplaceAllString(format, ""))
}

// Every phrase has a Chinese one, of the same values, and there is none too many.
func TestPhrasesAreWhole(t *testing.T) {
	phrases, used := message.Phrases(), said(t)
	for en, place := range used {
		if phrases[en] == "" {
			t.Errorf("%s: there is no Chinese for %q", place, en)
		}
	}
	han := regexp.MustCompile(`\p{Han}`)
	for en, zh := range phrases {
		if used[en] == "" && hasWords(en) && !slices.Contains(composed(), en) {
			t.Errorf("nothing says %q any more", en)
		}
		if hasWords(en) && en != `"url" %s` && !strings.Contains(en, "tools\"") && !han.MatchString(zh) {
			t.Errorf("not Chinese: %q", zh)
		}
		if strings.Contains(en, "%AppData%") {
			continue // it is no format
		}
		if a, b := verbs(en), verbs(zh); !slices.Equal(a, b) {
			t.Errorf("%q takes %q, and %q takes %q", en, a, zh, b)
		}
	}
}

// composed are phrases that stand nowhere as one literal.
func composed() []string {
	return []string{
		"a text such as \"10/s\", \"100/m\" or \"1000/h\", or a number of calls a second",
		"there are more problems than are shown here", "there are more warnings than are shown here",
		"must begin with http:// or https://", "must begin with ws:// or wss://",
		"it was exchanged while it was opened",
		"the closing brace is missing; write $${ for a literal ${",
		"placeholders of this kind are not known here; write $${ for a literal ${",
	}
}

// verbs are those of a format, each with the number of its argument.
func verbs(format string) []string {
	var all []string
	next := 1
	for _, v := range verb.FindAllString(format, -1) {
		if v == "%%" {
			continue
		}
		at := regexp.MustCompile(`\[(\d+)\]`).FindStringSubmatch(v)
		if at != nil {
			next, _ = strconv.Atoi(at[1])
			v = strings.Replace(v, at[0], "", 1)
		}
		all = append(all, fmt.Sprintf("%d%s", next, v))
		next++
	}
	slices.Sort(all)
	return all
}
