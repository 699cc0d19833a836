//go:build unix

package cli

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

func TestStateAndEvents(t *testing.T) {
	emptyHome(t)
	write(t, os.Getenv("TOOLCRIB_CONFIG"), "{}")
	for _, command := range []string{"state", "events"} {
		if code, _, errs := run(t, message.English, command); code != exitNoHub {
			t.Errorf("%s without a hub: exit code %d, %s", command, code, errs)
		}
	}
	hubProcess(t, func(*exec.Cmd) {})
	for _, test := range []struct {
		lang message.Lang
		args string
		code int
		want string
	}{
		{message.English, "state", exitOK, "All sessions are idle."},
		{message.Chinese, "state", exitOK, "所有会话均空闲。"},
		{message.English, "state show rest:caller", exitOK, "idle"},
		{message.English, "state retry rest:caller", exitFailure, "nothing to retry"},
		{message.English, "call calculator__calculator expression=2+3", exitOK, "5"},
		{message.English, "state", exitOK, "calculator__calculator succeeded"},
		{message.Chinese, "state show rest:caller", exitOK, "成功"},
		{message.English, "state show rest:caller --json", exitOK, `"isCompleted": true`},
		{message.English, "state retry rest:caller", exitFailure, "nothing to retry"},
		{message.English, `call datetime__get_current_time {"timezone":"Mars/X"}`, exitToolError, "Mars/X"},
		{message.English, "state show rest:caller", exitOK, "Outcome    tool error"},
		{message.English, "state clear rest:caller", exitOK, "Cleared rest:caller."},
		{message.English, "state clear rest:caller", exitOK, "Cleared"},
	} {
		code, out, errs := run(t, test.lang, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%s: exit code %d, printed\n%s%s", test.args, code, out, errs)
		}
	}
	if out := followed(t, "events", "--after", "1", "--kind", "call.ended,call.state"); !strings.Contains(out, "success rest:caller calculator__calculator succeeded") ||
		!strings.Contains(out, "events are missing (expired)") {
		t.Errorf("events printed\n%s", out)
	}
	if out := followed(t, "events", "--after", "1", "--json"); !strings.Contains(out, `"kind":"server.changed"`) || !strings.Contains(out, `"currentTool":"calculator__calculator"`) {
		t.Errorf("events printed\n%s", out)
	}
}

// followed is what a command prints up to a call's end, after which it is
// killed.
func followed(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), toolcribEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	// The end of the call and what its session shows come in any order.
	ended, lines := false, bufio.NewScanner(out)
	for (!ended || !strings.Contains(text.String(), "succeeded")) && lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		ended = ended || strings.Contains(lines.Text(), "call.ended")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	return text.String()
}
