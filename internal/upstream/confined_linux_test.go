package upstream_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/sandbox"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// confined is the fault-injecting server in a sandbox.
func confined(t *testing.T, box hub.Sandbox) hub.Server {
	t.Helper()
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	s := stdio(t)
	s.Dir, s.Sandbox, s.Limits = t.TempDir(), &box, hub.Limits{Files: 64}
	return s
}

func TestConfinedServer(t *testing.T) {
	s := confined(t, hub.Sandbox{})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n, _ := strconv.ParseUint(strings.TrimPrefix(l.Addr().String(), "127.0.0.1:"), 10, 16)
	for _, name := range []string{"named", "other"} {
		if err := os.Mkdir(filepath.Join(s.Dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir, name, "f"), []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Sandbox.Write, s.Sandbox.Connect = []string{"named"}, []uint16{uint16(n)}
	c := dial(t, options(s))
	// The launcher is a Go program, which sets this limit for itself.
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(c.Health().PID) + "/limits")
	if fields := strings.Fields(string(limits)); err != nil || !strings.Contains(strings.Join(fields, " "), "Max open files 64 64 files") {
		t.Errorf("%v: %s", err, limits)
	}
	const denied = "permission denied"
	for _, test := range []struct{ how, what, want string }{
		{"read", "named/f", "content of named"},
		{"read", s.Dir + "/other/f", denied},
		{"write", "named/new", ""},
		{"write", "other/new", denied},
		{"connect", l.Addr().String(), ""},
		{"connect", "127.0.0.1:1", denied},
	} {
		got := do(t, c, "reach", `{"how":"`+test.how+`","text":"`+test.what+`"}`)
		if got != test.want && (test.want != denied || !strings.Contains(got, denied)) {
			t.Errorf("%s %s: %s", test.how, test.what, got)
		}
	}
}

func TestSandboxThatCannotBe(t *testing.T) {
	missing := confined(t, hub.Sandbox{Read: []string{"no/such"}})
	_, err := upstream.Dial(t.Context(), options(missing))
	if e := hub.AsError(err); e.Code != message.SandboxUnusable || !strings.Contains(e.Error(), "no/such: no such file or directory") {
		t.Errorf("a path that is not there: %v", err)
	}

	lost := confined(t, hub.Sandbox{})
	lost.Command = filepath.Join(lost.Dir, "script")
	if err := os.WriteFile(lost.Command, []byte("#!/no/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = upstream.Dial(t.Context(), options(lost))
	if e := hub.AsError(err); e.Code != message.SandboxUnusable || !strings.Contains(e.Error(), lost.Command+": no such file") {
		t.Errorf("an interpreter that is not there: %v", err)
	}
}

// Where npx has put the package is read without being named.
func TestConfinedWithoutNPX(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	s := packaged(t, "SERVE")
	s.Sandbox = &hub.Sandbox{Read: []string{rig.FaultServer(t)}}
	hears(t, s, "hub: The package is there: node is started without npx.")
}
