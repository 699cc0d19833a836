package e2e

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// withoutLandlock has the thread of the test, and what that starts, see a kernel
// that has no Landlock.
func withoutLandlock(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		t.Fatal(err)
	}
}

// TestNoSandbox: where the system has no sandbox to give, a server that is to
// run in one is not started, and says why; others are none the worse.
func TestNoSandbox(t *testing.T) {
	t.Parallel()
	rig.HubBinary(t) // made before anything is forbidden
	well := rig.Stdio("well", rig.FaultServer(t))
	boxed, starts := tallied(t, "boxed")
	config := rig.WriteConfig(t, boxed.With("sandbox", map[string]any{}), well)
	withoutLandlock(t)
	hub := rig.Serve(t, nil, "--config", config, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	hub.AwaitState("boxed", "failed")
	for _, s := range hub.Health().Servers {
		if s.Key == "boxed" && (s.Code != "sandbox_unavailable" || !strings.Contains(s.Reason, "the kernel has no Landlock") || !strings.Contains(s.Remedy, `"sandbox"`)) {
			t.Errorf("/readyz says %+v", s)
		}
	}
	c := connect(t, hub.MCP(), modernRevision)
	if m := c.call("boxed__echo", map[string]any{"text": "x"}); m.Error.reason() != "server_down" || !strings.Contains(m.Error.Message, "Landlock") {
		t.Errorf("a call was answered with %s", m)
	}
	if got := c.text("well__echo", map[string]any{"text": "fine"}); got != "fine" {
		t.Errorf("the server that is to run in none answers %q", got)
	}
	if n := starts(); n != 0 {
		t.Errorf("the server was started %d times without its sandbox", n)
	}
}
