package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// emptyHome is where nothing was ever started, in a way that also other
// processes see. A short path has room for a socket.
func emptyHome(t *testing.T) (dataDir string) {
	t.Helper()
	home, err := os.MkdirTemp("", "tc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	t.Setenv("HOME", home)
	t.Setenv(datadir.EnvPath, filepath.Join(home, "data"))
	t.Setenv("TOOLCRIB_CONFIG", filepath.Join(home, "config.json"))
	return filepath.Join(home, "data")
}

// Every command works from an empty home, in a hub of its own, which leaves
// the data directory free.
func TestEmptyHome(t *testing.T) {
	dir := emptyHome(t)
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"server list", exitOK, "toolcrib server add"},
		{"tool list --server calculator", exitOK, "calculator__calculator"},
		{"tool show calculator", exitOK, "toolcrib call calculator__calculator expression=..."},
		{"call calculator__calculator expression=6*7", exitOK, "42\n"},
		{`call datetime__get_current_time {"timezone":"Mars/X"}`, exitToolError, "Mars/X"},
		{"call nothing__there", exitFailure, "nothing__there"},
		{"calls", exitOK, "calculator__calculator"},
		{"calls --outcome tool_error,failed --text NOTHING", exitOK, "nothing__there"},
		{"calls list --server calculator --since 1h --json", exitOK, `"outcome": "ok"`},
		{"calls --door mcp", exitOK, "No calls."},
		{"calls --since yesterday", exitFailure, "such as 24h or 7d"},
		{"--lang zh calls --since yesterday", exitFailure, "多久之前"},
		{"calls -n 0", exitUsage, "--limit must be 1 or more"},
		{"calls show nothing", exitFailure, "toolcrib calls"},
		{"calls top", exitOK, "calculator/calculator"},
		{"--lang zh calls top --hours", exitOK, "按小时"},
		{"calls top --until 1h", exitOK, "None has ended"},
		{"calls top -n 0", exitUsage, "--limit must be 1 or more"},
		{"audit head", exitOK, `"signature":`},
		{"audit verify", exitOK, "The record is what was written."},
		{"--lang zh audit verify", exitOK, "调用记录与写入时一致"},
		{"audit verify --json", exitOK, `"ok": true`},
		{"audit export --format csv --tool calculator", exitOK, ",calculator__calculator,calculator,calculator,"},
		{"audit export --since yesterday", exitFailure, "such as 24h or 7d"},
		{"audit verify --file /no/such/file", exitFailure, "/no/such/file"},
		{"audit verify --head /no/such/file", exitFailure, "/no/such/file"},
		{"secret list", exitOK, "toolcrib secret set"},
		{"config show", exitOK, "config.json"},
		{"token show", exitOK, filepath.Join(dir, "admin.token")},
		{"token show --reveal", exitOK, "tca_"},
		{"server log calculator", exitOK, "empty"},
		{"server list --json", exitOK, `"servers": [`},
		{"server add bad -- no-such-program", exitFailure, "--force"},
		{"server add bad --force -- no-such-program", exitOK, "server show bad"},
		{"server show bad", exitOK, "no-such-program"},
		{"server add slow http://127.0.0.1:1/mcp --no-test --pool p --retries 0 --concurrency 4 --rate 90/m --cache 30s", exitOK, "Added slow"},
		{"server show slow", exitOK, "Tried again        never"},
		{"server show slow", exitOK, "4, and 100 that wait"},
		{"server show slow", exitOK, "1.5 a second, up to 2 at once"},
		{"--lang zh server show slow", exitOK, "每秒 1.5 个，最多 2 个同时到来"},
		{"server add worse http://127.0.0.1:1/mcp --no-test --rate often", exitFailure, "10/s"},
		{"server remove slow", exitOK, "Removed slow"},
		{"doctor", exitFailure, "command_not_found"},
		{"server disable bad", exitOK, "disabled"},
		{"doctor", exitOK, "Everything works."},
		{"server remove bad", exitOK, "Removed bad"},
		{"group list", exitOK, "toolcrib group set NAME"},
		{"group set office --server datetime --tool calculator__* --description Daily", exitOK, "/mcp/office"},
		{"group set office --rename calculator__calculator=sum", exitOK, "group show office"},
		{"group show office", exitOK, "calculator__calculator=sum"},
		{"group show office", exitOK, "Offers tools   5"},
		{"tool list --server calculator --group office", exitOK, "sum"},
		{"tool list --group nothing", exitFailure, "toolcrib group list"},
		{"group set office --replace --server datetime --json", exitOK, `"rename": {}`},
		{"group list --json", exitOK, `"path": "/mcp/office"`},
		{"group set a.b --server datetime", exitFailure, "letters, digits"},
		{"group set office --rename x", exitUsage, "TOOL=NAME"},
		{"group set office --server datetim", exitOK, "Did you mean datetime?"},
		{"--lang zh group set office --server nobody", exitOK, "没有服务器 nobody"},
		{"group show offise", exitFailure, "Did you mean office?"},
		{"--lang zh group remove offise", exitFailure, "是否指 office？"},
		{"tool list --group offise", exitFailure, "Did you mean office?"},
		{"tool list --server calculato", exitFailure, "Did you mean calculator?"},
		{"tool show get_current_tim", exitFailure, "Did you mean datetime__get_current_time?"},
		{"call calculator__calculato expression=1", exitFailure, "Did you mean calculator__calculator?"},
		{"server show device1", exitFailure, "Did you mean device?"},
		{"server restart nobody", exitFailure, "toolcrib server list"},
		{"connect cursor --print --group office", exitOK, `"office",`},
		{"connect cursor --print --group offise", exitFailure, "Did you mean office?"},
		{"connect cursor --group office", exitOK, "offer what the group office has"},
		{"group remove offise office", exitFailure, "Removed office"},
		{"group set office", exitOK, "/mcp/office"},
		{"group remove office --json", exitOK, `"office"`},
		{"group remove office", exitFailure, "toolcrib group list"},
		{"resource list", exitOK, "No resources"},
		{"resource list --server nothing", exitFailure, "nothing"},
		{"resource read nothing://there", exitFailure, "nothing://there"},
		{"prompt list", exitOK, "No prompts"},
		{"prompt get nothing a=1", exitFailure, "nothing"},
		{"prompt get nothing a:=1", exitUsage, "NAME=VALUE"},
	} {
		code, out, errs := run(t, message.English, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%s: exit code %d, printed\n%s%s", test.args, code, out, errs)
		}
		if test.args != "token show --reveal" && strings.Contains(out+errs, "tca_") {
			t.Errorf("%s: shows the token", test.args)
		}
	}
	if held, pid, err := datadir.Peek(dir); held || err != nil {
		t.Errorf("held by %d, %v", pid, err)
	}
}

// Clients that start this program share one hub, which others find as well. Each
// sees all that there is, or what its group has.
func TestStdio(t *testing.T) {
	dir := emptyHome(t)
	if code, _, errs := run(t, message.English, "group", "set", "sums", "--server", "calculator"); code != exitOK {
		t.Fatal(errs)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"calculator__calculator","arguments":{"expression":"6*7"}}}` + "\n"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var leave []func()
	for _, args := range [][]string{{"stdio"}, {"stdio", "--group", "sums"}, {"stdio", "--lang", "zh"}} {
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.Env = append(os.Environ(), toolcribEnv+"=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		leave = append(leave, func() {
			in.Close()
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
		})
		if _, err := io.WriteString(in, hello); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		ended := false
		for !ended && lines.Scan() {
			var answer struct{ ID int }
			if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
				t.Fatalf("%v: %s", err, lines.Text())
			}
			switch answer.ID {
			case 2:
				if !strings.Contains(lines.Text(), "42") {
					t.Errorf("answered %s", lines.Text())
				}
				if code, _, errs := run(t, message.English, "server", "refresh", "datetime"); code != exitOK {
					t.Error(errs) // its tools are known then
				}
				if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`+"\n"); err != nil {
					t.Fatal(err)
				}
			case 3:
				if all := strings.Contains(lines.Text(), "datetime__"); all == slices.Contains(args, "--group") || !strings.Contains(lines.Text(), "calculator__") {
					t.Errorf("%q: the tools are %s", args, lines.Text())
				}
				if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"none"}}`+"\n"); err != nil {
					t.Fatal(err)
				}
			case 4:
				if strings.Contains(lines.Text(), "没有名为") != slices.Contains(args, "zh") {
					t.Errorf("%q: it is told %s", args, lines.Text())
				}
				ended = true
			}
		}
		if !ended {
			t.Fatalf("%q: it ended: %v", args, lines.Err())
		}
	}
	if code, out, errs := run(t, message.English, "stdio", "--group", "other"); code != exitFailure || out != "" || !strings.Contains(errs, "There is no group other") {
		t.Errorf("a group that is not there: exit code %d, %s%s", code, out, errs)
	}
	if code, out, errs := run(t, message.English, "status"); code != exitOK || !strings.Contains(out, "local socket only") {
		t.Errorf("status: exit code %d, %s%s", code, out, errs)
	}
	for _, client := range leave {
		client() // one that is attached would start another hub
	}
	if code, _, errs := run(t, message.English, "stop"); code != exitOK {
		t.Errorf("stop: exit code %d, %s", code, errs)
	}
	tick := time.NewTicker(servePoll)
	defer tick.Stop()
	for deadline := time.Now().Add(15 * time.Second); ; <-tick.C {
		held, pid, err := datadir.Peek(dir)
		if !held && err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still held by %d, %v", pid, err)
		}
	}
}

// A hub that cannot start is told of, with the place of its log.
func TestStdioWithoutAHub(t *testing.T) {
	dir := emptyHome(t)
	config := os.Getenv("TOOLCRIB_CONFIG")
	write(t, config, "{")
	t.Setenv(toolcribEnv, "1") // for the hub that is started
	s, _, _ := newTest(t, message.English, "")
	s.Config = config
	_, err := s.ensureHub(t.Context(), dir)
	if !hub.IsCode(err, message.HubStartFailed) {
		t.Fatalf("got %v", err)
	}
	if log, err := os.ReadFile(hubLog(dir)); err != nil || !strings.Contains(string(log), "config.json:1:") {
		t.Errorf("the log says %q, %v", log, err)
	}
}
