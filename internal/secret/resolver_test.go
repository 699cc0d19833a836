package secret

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaceholders(t *testing.T) {
	for text, want := range map[string][]Placeholder{
		"":                            nil,
		"plain $VAR $ { } $$":         nil,
		"$${env:X}":                   nil,
		"a${env:X}b":                  {{Kind: Env, Name: "X", Start: 1, End: 9}},
		"${X}${Y:-}":                  {{Kind: Env, Name: "X", End: 4}, {Kind: Env, Name: "Y", HasDefault: true, Start: 4, End: 10}},
		"${Y:-a:-b}":                  {{Kind: Env, Name: "Y", Default: "a:-b", HasDefault: true, End: 10}},
		"${file:~/a b}":               {{Kind: File, Name: "~/a b", End: 13}},
		"${secret:a.b}":               {{Kind: Stored, Name: "a.b", End: 13}},
		"${input:api-key}":            {{Kind: Input, Name: "api-key", End: 16}},
		"${workspaceFolder}${/}":      {{Kind: Place, Name: "workspaceFolder", End: 18}, {Kind: Place, Name: "/", Start: 18, End: 22}},
		"${command:x}${env:}${}":      {{Kind: Unknown, Name: "command:x", End: 12}, {Kind: Unknown, Name: "env:", Start: 12, End: 19}, {Kind: Unknown, Start: 19, End: 22}},
		"x${env:A":                    {{Kind: Unclosed, Start: 1, End: 8}},
		"$$${A}":                      nil,
		"${1}":                        {{Kind: Unknown, Name: "1", End: 4}},
		"${userHome}${pathSeparator}": {{Kind: Place, Name: "userHome", End: 11}, {Kind: Place, Name: "pathSeparator", Start: 11, End: 27}},
	} {
		if diff := cmp.Diff(want, Placeholders(text)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

// newResolver has a directory with a few files, three variables and a store.
func newResolver(t *testing.T) (*Resolver, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"key": "from-file\n", "crlf": "a\nb\r\n", "two": "x\n\n", "none": "", "end": "\n", "nul": "a\x00b",
		"big": strings.Repeat("x", maxFile+1), "full": strings.Repeat("y", maxFile),
	} {
		write(t, filepath.Join(dir, name), text)
	}
	store, err := OpenStore(filepath.Join(dir, "age.key"), filepath.Join(dir, "secrets.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"github": "ghp", "input.token": "typed", "tricky": "${env:SET}"} {
		if err := store.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"SET": "value", "EMPTY": "", "TOOLCRIB_INPUT_API_KEY": "by-variable", "TOOLCRIB_INPUT_TOKEN": "not this", "INSERT": "${SET}",
	}
	return New(Options{Dir: dir, Home: dir, Store: store, Getenv: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}), dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	r, dir := newResolver(t)
	for text, want := range map[string]string{
		"":                             "",
		"plain $SET":                   "plain $SET",
		"Bearer ${env:SET}!":           "Bearer value!",
		"${SET}${SET:-x}":              "valuevalue",
		"${UNSET:-x y}${EMPTY:-z}":     "x yz",
		"${UNSET:-}":                   "",
		"${env:INSERT}":                "${SET}", // not looked at again
		"$${env:SET}":                  "${env:SET}",
		"$${a ${SET}":                  "${a value",
		"${file:key}":                  "from-file",
		"${file:~/key}":                "from-file",
		"${file:crlf}":                 "a\nb",
		"${file:two}":                  "x\n",
		"${file:" + dir + "/key}":      "from-file",
		"${secret:github}":             "ghp",
		"${secret:tricky}":             "${env:SET}",
		"${input:token}":               "typed",
		"${input:api-key}":             "by-variable",
		"${workspaceFolder}${/}x":      filepath.Join(dir, "x"),
		"${workspaceFolderBasename}":   filepath.Base(dir),
		"${userHome}${pathSeparator}b": filepath.Join(dir, "b"),
	} {
		got, err := r.Resolve(text)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	if got, err := r.Resolve("${file:full}"); err != nil || len(got) != maxFile {
		t.Errorf("the largest file: %d bytes, %v", len(got), err)
	}
}

func TestUnresolved(t *testing.T) {
	r, dir := newResolver(t)
	for text, want := range map[string]string{
		"a ${env:NONE}":        "${env:NONE}: the environment variable NONE of Toolcrib is not set",
		"${NONE}":              "${env:NONE}: the environment variable NONE of Toolcrib is not set",
		"${env:EMPTY}":         "${env:EMPTY}: the environment variable EMPTY of Toolcrib is not set",
		"${file:gone}":         "${file:gone}: the file " + filepath.Join(dir, "gone") + " cannot be read: there is no such file",
		"${file:.}":            "${file:.}: the file " + dir + " cannot be read: it is no regular file",
		"${file:none}":         "${file:none}: the file " + filepath.Join(dir, "none") + " is empty",
		"${file:end}":          "${file:end}: the file " + filepath.Join(dir, "end") + " is empty",
		"${file:big}":          "${file:big}: the file " + filepath.Join(dir, "big") + " cannot be read: it is larger than 64 KiB",
		"${file:nul}":          "${file:nul}: the value has a NUL character",
		"${secret:none}":       `${secret:none}: no value is sealed under "none"; set it with: toolcrib secret set none`,
		"${secret:a b}":        "${secret:a b}: this can be no name of a sealed value",
		"${input:none}":        "${input:none}: the input has no value; set it with: toolcrib secret set input.none, or with the environment variable TOOLCRIB_INPUT_NONE",
		"${input:é}":           "${input:é}: the environment variable TOOLCRIB_INPUT__ of Toolcrib is not set",
		"${command:hunter2}":   "${command:…}: placeholders of this kind are not known here; write $${ for a literal ${",
		"${hunter2 x}":         "${…}: placeholders of this kind are not known here; write $${ for a literal ${",
		"${SET} ${env:hunter2": "${…: the closing brace is missing; write $${ for a literal ${",
	} {
		got, secrets, err := r.Fill(text)
		e, ok := errors.AsType[*UnresolvedError](err)
		if !ok || got != "" || secrets != nil {
			t.Errorf("%q: got %q, %q, %v", text, got, secrets, err)
			continue
		}
		if told := e.Placeholder + ": " + e.Reason.String(); told != want {
			t.Errorf("%q:\n got %s\nwant %s", text, told, want)
		}
	}
	without := New(Options{Dir: dir})
	if _, err := without.Resolve("${secret:github}"); err == nil || !strings.Contains(err.Error(), "there is no store") {
		t.Errorf("without a store: %v", err)
	}
}

// TestPipe is a file that nobody writes to; reading it would never end.
func TestPipe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such files")
	}
	r, _ := newResolver(t)
	if _, err := r.Resolve("${file:/dev/zero}"); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("got %v", err)
	}
}

func TestFillTellsSecrets(t *testing.T) {
	r, _ := newResolver(t)
	_, secrets, err := r.Fill("${SET} ${file:key} ${secret:github} ${input:token} ${N:-def} ${userHome}")
	if diff := cmp.Diff([]string{"value", "from-file", "ghp", "typed", "def"}, secrets); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestWorkspace(t *testing.T) {
	project := filepath.Join(t.TempDir(), "project")
	for dir, want := range map[string]string{
		project: project, filepath.Join(project, ".vscode"): project, filepath.Join(project, ".cursor"): project,
		filepath.Join(project, ".config"): filepath.Join(project, ".config"),
	} {
		if got := Workspace(dir); got != want {
			t.Errorf("Workspace(%s) = %s", dir, got)
		}
		r := New(Options{Dir: dir, Home: "/home/ada"})
		if got, err := r.Path("sub"); err != nil || got != filepath.Join(want, "sub") {
			t.Errorf("Path in %s = %s, %v", dir, got, err)
		}
		if got, err := r.Path("~/sub"); err != nil || got != filepath.Join("/home/ada", "sub") {
			t.Errorf("Path in home = %s, %v", got, err)
		}
	}
}

func TestEnvFile(t *testing.T) {
	r, dir := newResolver(t)
	write(t, filepath.Join(dir, ".env"), "\ufeff# comment\r\n\nA=1\nexport B = two words # comment\r\nC='a # b\\n'\nD=\"x\\n\\\"y\\\"\\z\" # c\nE=\nF=a#b\n")
	got, err := r.EnvFile(".env")
	want := map[string]string{"A": "1", "B": "two words", "C": `a # b\n`, "D": "x\n\"y\"\\z", "E": "", "F": "a#b"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"A=1\nhunter2":       "line 2 of the file",
		"=hunter2":           "has no name",
		"A B=hunter2":        "has no name",
		"A='hunter2":         "has no closing quote",
		"A=\"hunter2\\\"":    "has no closing quote",
		"A='hunter2' more":   "after the closing quote",
		"\n\nA=\"a\"hunter2": "line 3 of the file",
		"A=hunter2\x00":      "has a NUL character",
	} {
		write(t, filepath.Join(dir, ".env"), text)
		_, err := r.EnvFile(".env")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := r.EnvFile("gone"); err == nil || !strings.Contains(err.Error(), "${envFile:gone}") {
		t.Errorf("got %v", err)
	}
}

func FuzzEnvFile(f *testing.F) {
	f.Add("A=1\nexport B='2' # c\n")
	f.Add("A=\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		vars, line, fault := parseEnv(text)
		if (vars == nil) == (fault == "") || fault != "" && (line < 1 || line > strings.Count(text, "\n")+1) {
			t.Fatalf("%v, line %d, %q", vars, line, fault)
		}
		for name, value := range vars {
			if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
				t.Errorf("%q=%q", name, value)
			}
		}
	})
}

// FuzzResolve holds the parser against what it was made from: placeholders lie
// in their order within the text, and a text without any comes back as it is
// but for the escapes.
func FuzzResolve(f *testing.F) {
	for _, text := range []string{"${env:A}", "$${", "${A:-b}${file:/x}", "${", "$$${x}", "a}${}"} {
		f.Add(text)
	}
	r := New(Options{Dir: f.TempDir(), Home: "/h", Getenv: func(name string) (string, bool) { return "<" + name + ">", true }})
	f.Fuzz(func(t *testing.T, text string) {
		end, files := 0, false
		for _, p := range Placeholders(text) {
			if p.Start < end || p.End <= p.Start || p.End > len(text) || !strings.HasPrefix(text[p.Start:], "${") {
				t.Fatalf("%q: %+v", text, p)
			}
			end = p.End
			files = files || p.Kind == File
			if p.Kind == Unknown && len(p.String()) > 40 {
				t.Errorf("%q shows %s", text, p)
			}
		}
		if files {
			return // whatever is there on this machine
		}
		got, err := r.Resolve(text)
		if err == nil && end == 0 && got != strings.ReplaceAll(text, "$${", "${") {
			t.Errorf("%q became %q", text, got)
		}
		if _, ok := errors.AsType[*UnresolvedError](err); err != nil && !ok {
			t.Errorf("%q: %v", text, err)
		}
	})
}
