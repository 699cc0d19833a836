package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// run carries out a command line that needs no hub.
func run(t *testing.T, lang message.Lang, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(t.Context(), args, Env{Version: "v1", Stdin: strings.NewReader(""), Stdout: &o, Stderr: &e, Lang: lang})
	return code, o.String(), e.String()
}

func TestCommandLines(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		want string // on one of the outputs
	}{
		{"", 0, "Exit codes:"},
		{"--help", 0, "4  no hub could be reached"},
		{"version", 0, "toolcrib v1 (" + runtime.Version()},
		{"version --json", 0, `"version": "v1"`},
		{"nonsense", 2, `Run "toolcrib --help"`},
		{"server add time npx -y thing", 2, `behind "--"`},
		{"server start", 2, "--all"},
		{"server start a --all", 2, "--all"},
		{"--lang zh server start", 2, "无法理解该命令"},
		{"--lang fr version", 2, "--lang"},
		{"serve --tls-cert x", 2, "--tls-key"},
		{"import", 2, "--from"},
		{"server add k http://h --env SECRET", 2, "NAME=VALUE"},
		{"server add k http://SECRET more", 2, "stands alone"},
		{"server add k http://h --api-key=", 2, "--api-key is empty"},
		{"call t a", 2, "number 1"},
	} {
		code, out, errs := run(t, message.English, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%q: exit code %d, printed %q and %q", test.args, code, out, errs)
		}
		if code != exitOK && out != "" {
			t.Errorf("%q: an error is on standard output: %q", test.args, out)
		}
		if strings.Contains(errs, "SECRET") {
			t.Errorf("%q: a value is shown: %q", test.args, errs)
		}
	}
}

func TestStatusAndStopStartNoHub(t *testing.T) {
	dir := t.TempDir()
	for _, command := range []string{"status", "stop"} {
		code, _, errs := run(t, message.English, command, "--data-dir", dir)
		if code != exitNoHub || !strings.Contains(errs, "toolcrib serve") {
			t.Errorf("%s: exit code %d, %q", command, code, errs)
		}
	}
}

func TestUnreachableHub(t *testing.T) {
	code, _, errs := run(t, message.Chinese, "server", "list", "--url", "http://127.0.0.1:1", "--token", "tca_x")
	if code != exitNoHub || !strings.Contains(errs, "没有应答") || strings.Contains(errs, "tca_x") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// full is a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// What could not be written is not done.
func TestFullOutput(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"config", "path", "--config", "x"}, {"version", "--json"}} {
		var errs bytes.Buffer
		code := Main(t.Context(), args, Env{Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &errs, Lang: message.English})
		if code != exitFailure || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%q: exit code %d, %s", args, code, errs.String())
		}
	}
}

// A hub that is named by a URL is reached there, whatever else the URL says,
// which is not shown.
func TestStdioURL(t *testing.T) {
	for url, want := range map[string]int{"http://127.0.0.1:1/?t=tca_x": exitNoHub, "http://tca_x@h": exitFailure} {
		code, out, errs := run(t, message.English, "stdio", "--url", url)
		if code != want || out != "" || strings.Contains(errs, "tca_x") || errs == "" {
			t.Errorf("%s: exit code %d, %s%s", url, code, out, errs)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{
		exitOK:        nil,
		exitFailure:   errors.New("x"),
		exitUsage:     hub.E(message.ArgumentType, nil),
		exitToolError: errors.Join(errors.New("x"), exit(exitToolError)),
		exitNoHub:     hub.E(message.HubUnreachable, nil),
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

// What is told of an error is what happened and what to do, without control
// characters.
func TestTell(t *testing.T) {
	refused := &apiclient.Error{Problem: api.Problem{
		Code: "config_invalid", Title: "bad\x1b[2J", Remedy: "mend it", Problems: []api.ConfigProblem{{Line: 1, Column: 2, Detail: "here"}, {Line: 3, Column: 4, Detail: "there"}},
	}}
	one := &apiclient.Error{Problem: api.Problem{
		Code: "config_invalid", Title: "f:1:2: here", Problems: []api.ConfigProblem{{Line: 1, Column: 2, Detail: "here"}},
	}}
	for _, test := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{exit(3), ""},
		{refused, "toolcrib: bad\\u001b[2J\n          mend it\n          1:2: here\n          3:4: there\n"},
		{one, "toolcrib: f:1:2: here\n"},
		{hub.E(message.SecretMissing, errors.New("cause")), "toolcrib: No value was given.\n          Type it when asked, or pipe it in: toolcrib secret set NAME < FILE\n"},
		{errors.Join(errors.New("one"), errors.New("two")), "toolcrib: one\ntoolcrib: two\n"},
		{unreadable("p", &fs.PathError{Op: "open", Path: "p", Err: fs.ErrNotExist}), "toolcrib: p cannot be read: file does not exist.\n"},
	} {
		s, _, errs := newTest(t, message.English, "")
		s.tell(test.err)
		if diff := cmp.Diff(test.want, errs.String()); diff != "" {
			t.Errorf("%v:\n%s", test.err, diff)
		}
	}
}

func TestServerAddDefinition(t *testing.T) {
	seven, off := 7, false
	for _, test := range []struct {
		args  []string
		stdin string
		want  definition
	}{
		{
			args: []string{"time", "--env", "A=b=c;d", "--timeout", "90s", "--priority", "7", "--", "npx", "-y", "thing", "--env", "x"},
			want: definition{Command: "npx", Args: []string{"-y", "thing", "--env", "x"}, Env: map[string]string{"A": "b=c;d"}, Timeout: "1m30s", Priority: &seven},
		},
		{
			args:  []string{"r", "HTTPS://h/mcp", "--header", "X-A: b: c", "--api-key", "-", "--disabled", "--tools", "a,b", "--deny", "c", "--type", "sse", "--name", "N"},
			stdin: "key \r\nrest",
			want: definition{
				URL: "HTTPS://h/mcp", Headers: map[string]string{"X-A": "b: c"}, APIKey: "key ", Enabled: &off,
				Tools: []string{"a", "b"}, DenyTools: []string{"c"}, Type: "sse", Name: "N",
			},
		},
		{
			args: []string{"l", "http://h", "--pool", "p", "--retries", "0", "--concurrency", "4", "--rate", "100/m", "--cache", "30s"},
			want: definition{URL: "http://h", Pool: "p", Retries: new(int), Limits: &callLimits{Concurrency: 4, Rate: "100/m"}, ToolCache: "30s"},
		},
		{args: []string{"c", "prog"}, want: definition{Command: "prog", Args: []string{}}},
	} {
		c, _ := parse(t, append([]string{"server", "add"}, test.args...)...)
		got, err := c.Server.Add.definition(strings.NewReader(test.stdin))
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q:\n%s", test.args, diff)
		}
		if c.Server.Add.Test != true {
			t.Errorf("%q: not tested", test.args)
		}
	}
	c, _ := parse(t, "server", "add", "k", "http://h", "--api-key", "-", "--no-test")
	if _, err := c.Server.Add.definition(strings.NewReader("\n")); !hub.IsCode(err, message.SecretMissing) {
		t.Errorf("an empty key: %v", err)
	}
	if c.Server.Add.Test {
		t.Error("--no-test is not heard")
	}
}

// What is given from the present directory means the same to a hub elsewhere.
func TestServerAddFromHere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ in, want definition }{
		{definition{Command: "./srv.py", Cwd: "sub"}, definition{Command: filepath.Join(here, "srv.py"), Cwd: filepath.Join(here, "sub")}},
		{definition{Command: "npx", Args: []string{"./a"}}, definition{Command: "npx", Args: []string{"./a"}}},
		{definition{Command: "${env:D}/x", Cwd: "${userHome}/y"}, definition{Command: "${env:D}/x", Cwd: "${userHome}/y"}},
		{definition{URL: "http://h/mcp"}, definition{URL: "http://h/mcp"}},
	} {
		got := test.in
		got.fromHere()
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSteps(t *testing.T) {
	s, out, _ := newTest(t, message.English, "")
	s.steps(api.TestResult{Stderr: "oh\x07\nno\n", Steps: []api.TestStep{
		{Step: "config", OK: true}, {Step: "command", Detail: "not\nthere", Remedy: "get it"},
	}})
	want := "  ✓ config\n  ✗ command     not there\n    → get it\n    It wrote to standard error:\n      oh\\u0007\n      no\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestServersTable(t *testing.T) {
	since := time.Now().Add(-90 * time.Second)
	retry := time.Now()
	s, out, _ := newTest(t, message.Chinese, "")
	s.servers([]api.Server{
		{Key: "时间", Kind: "stdio", State: "ready", Tools: 2, Hidden: 1, Since: since},
		{Key: "b", Name: "B", Kind: "http", State: "reconnecting", Reason: "连不上", Remedy: "检查", Retry: &retry, Since: since},
	})
	lines := strings.Split(out.String(), "\n")
	// Every column begins at the same place of the screen.
	for _, n := range []int{1, 2} {
		if got, want := width(lines[n][:strings.IndexAny(lines[n], "●◐")]), width(lines[0][:strings.Index(lines[0], "状态")]); got != want {
			t.Errorf("line %d: the state is at %d, not %d:\n%s", n, got, want, out)
		}
	}
	for _, want := range []string{"2 (-1)", "b (B)", "◐ 重连中", "  连不上", "→ 检查", "1m30s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "资源") || strings.Contains(out.String(), "提示") {
		t.Errorf("there are columns without anything in them:\n%s", out)
	}
	out.Reset()
	s.servers([]api.Server{{Key: "a", Tools: 7, Templates: 2, Resources: 1}, {Key: "b", Prompts: 4}})
	rows := strings.Split(out.String(), "\n")
	for i, want := range [][]string{{"a", "○", "7", "3"}, {"b", "○", "0", "4"}} {
		if got := strings.Fields(rows[i+1]); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q:\n%s", got, want, out)
		}
	}
}
