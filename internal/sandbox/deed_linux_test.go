//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deedsWord is the first argument by which the test binary is told to be a
// child, which tries what the other ones say and reports how that went.
const deedsWord = "deeds"

func TestMain(m *testing.M) {
	if handled, code := Launch(os.Args[1:]); handled {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == deedsWord {
		for _, what := range os.Args[2:] {
			verb, object, _ := strings.Cut(what, " ")
			fmt.Printf("%s: %s\n", what, outcome(deed(verb, object)))
		}
		// At once: what ends a program with the race detector takes a second,
		// since in a sandbox it does not find its settings in /proc.
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

// outcome is the error of the system, without paths.
func outcome(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return unix.ErrnoName(errno)
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

func deed(verb, object string) error {
	switch verb {
	case "read":
		_, err := os.ReadFile(object)
		return err
	case "list":
		_, err := os.ReadDir(object)
		return err
	case "write":
		return os.WriteFile(object, []byte("x"), 0o600)
	case "truncate":
		return os.Truncate(object, 0)
	case "remove":
		return os.Remove(object)
	case "device":
		return unix.Mknod(object, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
	case "move":
		from, to, _ := strings.Cut(object, " ")
		return os.Rename(from, to)
	case "run":
		return exec.Command(object).Run()
	case "grandchild":
		out, err := exec.Command(os.Args[0], deedsWord, object).CombinedOutput()
		if err != nil {
			return err
		}
		return errors.New(strings.TrimPrefix(strings.TrimSpace(string(out)), object+": "))
	case "connect", "multipath":
		d := net.Dialer{}
		d.SetMultipathTCP(verb == "multipath")
		c, err := d.Dial("tcp", object)
		if err == nil {
			c.Close()
		}
		return err
	case "listen", "multilisten":
		l := net.ListenConfig{}
		l.SetMultipathTCP(verb == "multilisten")
		at, err := l.Listen(context.Background(), "tcp", object)
		if err == nil {
			at.Close()
		}
		return err
	case "fastopen":
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		port, _ := strconv.Atoi(object)
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	case "socket":
		var family, kind, protocol int
		if _, err := fmt.Sscan(object, &family, &kind, &protocol); err != nil {
			return err
		}
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	case "uring":
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		return errno
	case "signal":
		pid, _ := strconv.Atoi(object)
		return unix.Kill(pid, 0)
	case "status": // a line of /proc/self/status
		text, err := os.ReadFile("/proc/self/status")
		_, rest, _ := strings.Cut(string(text), "\n"+object+":\t")
		value, _, _ := strings.Cut(rest, "\n")
		return errors.Join(err, errors.New(value))
	case "file": // whether a descriptor is open
		fd, _ := strconv.Atoi(object)
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err
	case "files":
		// The syscall package would show what it raised for this process.
		var limit unix.Rlimit
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
			return err
		}
		return fmt.Errorf("%d", limit.Max)
	case "memory":
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_DATA, &limit); err != nil {
			return err
		}
		return fmt.Errorf("%d", limit.Max)
	case "orphan": // the signal for when the parent dies
		var sig int32
		if err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&sig)), 0, 0, 0); err != nil {
			return err
		}
		return errors.New(unix.SignalName(syscall.Signal(sig)))
	case "variable":
		return errors.New(os.Getenv(object))
	case "directory":
		dir, err := os.Getwd()
		return errors.Join(err, errors.New(filepath.Base(dir)))
	case "name":
		return errors.New(os.Args[0])
	case "forget": // makes this kernel one without Landlock
		return forget()
	case "available":
		return Available()
	}
	return errors.New("no such deed")
}

// forget installs a filter as that of the sandbox, on all threads.
func forget() error {
	var f filter
	f.load(dataCall)
	f.refuseIf(unix.BPF_JEQ, unix.ENOSYS, unix.SYS_LANDLOCK_CREATE_RULESET)
	f.answer(unix.SECCOMP_RET_ALLOW)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}

// try starts a child under a policy and checks what comes of its deeds, which
// are pairs of a deed and an outcome.
func try(t *testing.T, p Policy, pairs ...string) {
	t.Helper()
	var args []string
	for i := 0; i < len(pairs); i += 2 {
		args = append(args, pairs[i])
	}
	out := start(t, p, nil, args...)
	got := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := 0, 0; want < len(pairs); i, want = i+1, want+2 {
		if line := pairs[want] + ": " + pairs[want+1]; i >= len(got) || got[i] != line {
			t.Errorf("want %s\nin:\n%s", line, out)
		}
	}
}

// start returns what a child under a policy says of its deeds.
func start(t *testing.T, p Policy, adapt func(*exec.Cmd), deeds ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	launcher, argv, err := Command(p, self, append([]string{self, deedsWord}, deeds...))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(launcher)
	cmd.Args = argv
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0", "TEST_VALUE=kept"}
	if adapt != nil {
		adapt(cmd)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
