package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/message"
)

// completeWith is complete for words, with a hub that knows a few names.
func completeWith(t *testing.T, words ...string) []string {
	t.Helper()
	var c commands
	parser, err := newParser(&c, Env{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	walk := completer{node: parser.Model.Node, known: func(kind string) []candidate {
		return []candidate{{word: kind + "-one"}, {word: kind + "-two"}}
	}}
	var got []string
	for _, one := range walk.complete(words) {
		got = append(got, one.word)
	}
	return got
}

func TestComplete(t *testing.T) {
	for line, want := range map[string][]string{
		"ser":                              {"server", "serve"},
		"server st":                        {"start", "stop"},
		"server show ":                     {"server-one", "server-two"},
		"server show x ":                   nil,
		"server start a server-t":          {"server-two"},
		"server --json show server-o":      {"server-one"},
		"--data-dir server server sh":      {"show"},
		"--lang ":                          {"en", "zh"},
		"server list --log-level w":        {"warn"},
		"call tool-":                       {"tool-one", "tool-two"},
		"call tool-one --tr":               {"--trace"},
		"completion ":                      {"bash", "fish", "zsh"},
		"tool list --server ":              {"server-one", "server-two"},
		"server add k --type ":             {"http", "sse", "stdio", "ws"},
		"server add k -- --":               nil,
		"import ":                          nil, // files
		"serve --li":                       {"--listen"},
		"nonsense ":                        nil,
		"server add --no-test --prio":      {"--priority"},
		"server log -n 5 server-":          {"server-one", "server-two"},
		"config ":                          {"path", "check", "schema", "show", "reload"},
		"group show ":                      {"group-one", "group-two"},
		"group set g --server ":            {"server-one", "server-two"},
		"stdio --group group-t":            {"group-two"},
		"resource read ":                   {"resource-one", "resource-two"},
		"prompt get prompt-o":              {"prompt-one"},
		"approval approve approval-t":      {"approval-two"},
		"approval show ":                   {"approval-one", "approval-two"},
		"approval edit x ":                 nil,
		"grant revoke grant-o":             {"grant-one"},
		"grant add tool-t":                 {"tool-two"},
		"grant add t --max-risk h":         {"high"},
		"policy judge tool-o":              {"tool-one"},
		"connect ":                         {"connectable-one", "connectable-two"},
		"server add k http://h --env x --": nil,
	} {
		words := strings.Split(line, " ")
		got := completeWith(t, words...)
		if want == nil && strings.HasSuffix(line, "--") && !strings.Contains(line, "-- --") {
			if len(got) == 0 {
				t.Errorf("%q: no flags", line)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q:\n%s", line, diff)
		}
	}
}

// Whatever was typed, completing it ends.
func FuzzComplete(f *testing.F) {
	f.Add("server show ")
	f.Add("-- - --x")
	var c commands
	parser, err := newParser(&c, Env{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		walk := completer{node: parser.Model.Node, known: func(string) []candidate { return nil }}
		for _, one := range walk.complete(words) {
			if !strings.HasPrefix(one.word, words[len(words)-1]) {
				t.Errorf("%q: %q does not fit", line, one.word)
			}
		}
	})
}

// toolcribEnv makes the test binary behave as the program.
const toolcribEnv = "TOOLCRIB_TEST_MAIN"

// The scripts are taken by the shells, and bash offers what they ask for.
func TestScriptsRun(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "toolcrib")); err != nil {
		t.Skip(err)
	}
	for shell, program := range map[string]string{
		"bash": `source "$1"
COMP_WORDS=(toolcrib server st); COMP_CWORD=2; _toolcrib; printf '%s\n' "${COMPREPLY[@]}"
COMP_WORDS=(toolcrib --lang ""); COMP_CWORD=2; _toolcrib; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh": `compdef() { : }; _files() { : }; _describe() { shift; print -l -- "${(@P)1%%:*}" }
source "$1"
words=(toolcrib server st); CURRENT=3; _toolcrib
words=(toolcrib --lang ""); CURRENT=3; _toolcrib`,
		"fish": `source $argv[1]
complete -C "toolcrib server st" | string replace -r '\t.*' ''
complete -C "toolcrib --lang " | string replace -r '\t.*' ''`,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(err)
			}
			code, script, errs := run(t, message.English, "completion", shell)
			if code != exitOK {
				t.Fatal(errs)
			}
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"-c", program, shell, file}
			if shell == "fish" {
				args = []string{"-c", program, file}
			}
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), toolcribEnv+"=1", "HOME="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got, want := strings.Fields(string(out)), []string{"start", "stop", "en", "zh"}; !cmp.Equal(got, want) {
				t.Errorf("offered %q", got)
			}
		})
	}
}
