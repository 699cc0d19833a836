//go:build unix

package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

func TestLease(t *testing.T) {
	emptyHome(t)
	write(t, os.Getenv("TOOLCRIB_CONFIG"), "{}")
	if code, _, errs := run(t, message.English, "lease", "list"); code != exitNoHub {
		t.Errorf("without a hub: exit code %d, %s", code, errs)
	}
	hubProcess(t, func(*exec.Cmd) {})
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"lease list", exitOK, "No leases."},
		{"lease hold robot calculator datetime --ttl 90s", exitOK, "calculator, datetime"},
		{"lease list", exitOK, "robot"},
		{"lease hold robot calculator nothing__there", exitFailure, "nothing__there"},
		{"lease list --json", exitOK, `"holder": "robot"`},
		{"lease hold robot calculator --ttl 1ms", exitFailure, "ttl"},
		{"lease release robot", exitOK, "Released robot"},
		{"lease release robot", exitFailure, "toolcrib lease list"},
	} {
		code, out, errs := run(t, message.English, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%s: exit code %d, printed\n%s%s", test.args, code, out, errs)
		}
	}
}
