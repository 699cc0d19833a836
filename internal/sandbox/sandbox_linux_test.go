//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

func needSandbox(t *testing.T) {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
}

// folders makes directories, each with a file f in it.
func folders(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "f"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFiles(t *testing.T) {
	needSandbox(t)
	dir := folders(t, "none", "read", "write", "linked")
	if err := os.Symlink(filepath.Join(dir, "linked"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("one"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// Relative, absolute, a link and a single file.
	policy := Policy{Dir: dir, Read: []string{"read", at("link")}, Write: []string{at("write"), "./one"}}
	try(
		t, policy,
		"read "+at("none/f"), "EACCES",
		"list "+at("none"), "EACCES",
		"run "+at("none/f"), "EACCES",
		"write "+at("none/f"), "EACCES",
		"write "+at("none/new"), "EACCES",
		"truncate "+at("none/f"), "EACCES",
		"remove "+at("none/f"), "EACCES",
		"list "+dir, "EACCES",

		"read "+at("read/f"), "ok",
		"list "+at("read"), "ok",
		"run "+at("read/f"), "ok",
		"write "+at("read/f"), "EACCES",
		"write "+at("read/new"), "EACCES",
		"truncate "+at("read/f"), "EACCES",
		"remove "+at("read/f"), "EACCES",
		"read "+at("linked/f"), "ok",
		"read "+at("link/f"), "ok",

		"write "+at("write/new"), "ok",
		"truncate "+at("write/new"), "ok",
		"read "+at("write/new"), "ok",
		"move "+at("write/new")+" "+at("write/newer"), "ok",
		"remove "+at("write/newer"), "ok",
		"move "+at("read/f")+" "+at("write/g"), "EACCES",
		"move "+at("write/f")+" "+at("none/g"), "EACCES",
		"write "+at("one"), "ok",
		"write "+at("two"), "EACCES",

		"write /dev/null", "ok",
		"read /etc/passwd", "ok",
		"run /bin/true", "ok",
		"read /proc/self/status", "EACCES",
		"read /proc/1/cmdline", "EACCES",
		"list /tmp", "EACCES",
		"list "+filepath.Dir(os.Args[0]), "EACCES",
		"grandchild read "+at("none/f"), "EACCES",
		"grandchild read "+at("read/f"), "ok",
		"grandchild write "+at("read/f"), "EACCES",
	)
	if os.Getuid() == 0 {
		try(t, policy, "device "+at("write/null"), "EACCES")
	}
}

func TestHome(t *testing.T) {
	needSandbox(t)
	dir := folders(t, "read")
	t.Setenv("HOME", dir)
	try(t, Policy{Read: []string{"~/read"}}, "read "+dir+"/read/f", "ok", "list "+dir, "EACCES")
	try(t, Policy{Read: []string{"~"}}, "list "+dir, "ok")
}

// A port of 127.0.0.1 that is taken is free at 127.0.0.2.
func TestPorts(t *testing.T) {
	needSandbox(t)
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, ports[i], _ = net.SplitHostPort(l.Addr().String())
	}
	named, other := ports[0], ports[1]
	n, _ := strconv.ParseUint(named, 10, 16)
	port := []uint16{uint16(n)}

	try(
		t, Policy{Connect: port},
		"connect 127.0.0.1:"+named, "ok",
		"multipath 127.0.0.1:"+named, "ok", // Go does without, since it is refused
		"connect 127.0.0.1:"+other, "EACCES",
		"multipath 127.0.0.1:"+other, "EACCES",
		"fastopen "+other, "ENOTSUP",
		"listen 127.0.0.2:"+named, "EACCES",
		"grandchild connect 127.0.0.1:"+other, "EACCES",
	)
	try(
		t, Policy{Bind: port},
		"listen 127.0.0.2:"+named, "ok",
		"multilisten 127.0.0.2:"+named, "ok",
		"listen 127.0.0.2:"+other, "EACCES",
		"multilisten 127.0.0.2:"+other, "EACCES",
		"listen 127.0.0.1:0", "EACCES",
		"connect 127.0.0.1:"+named, "EACCES",
	)
	try(t, Policy{Bind: []uint16{0}}, "listen 127.0.0.1:0", "ok", "listen 127.0.0.2:"+named, "EACCES")
	try(
		t, Policy{},
		"connect 127.0.0.1:"+named, "EACCES",
		"listen 127.0.0.1:0", "EACCES",
	)
}

func TestSockets(t *testing.T) {
	needSandbox(t)
	try(
		t, Policy{},
		"socket 1 1 0", "ok", // Unix
		"socket 2 1 0", "ok", // TCP
		"socket 2 1 6", "ok",
		"socket 10 526337 0", "ok", // the same, with SOCK_CLOEXEC and SOCK_NONBLOCK
		"socket 2 2 0", "ok", // UDP
		"socket 16 3 0", "ok", // netlink
		"socket 2 1 262", "EPROTONOSUPPORT", // Multipath TCP
		"socket 2 1 132", "EPROTONOSUPPORT", // SCTP
		"socket 2 5 0", "ESOCKTNOSUPPORT", // SCTP, by its kind
		"socket 2 3 1", "ESOCKTNOSUPPORT", // raw
		"socket 43 1 0", "EAFNOSUPPORT", // SMC
		"socket 40 1 0", "EAFNOSUPPORT", // vsock
		"socket 17 3 0", "EAFNOSUPPORT", // packet
		"uring", "ENOSYS",
	)
}

// What the program is given is what it would have without the launcher.
func TestStartedAsItIs(t *testing.T) {
	needSandbox(t)
	inherited, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	dir := folders(t, "here")
	policy := Policy{Files: 77, Memory: 1 << 45, Parent: os.Getpid()}
	out := start(t, policy, func(c *exec.Cmd) {
		c.ExtraFiles = []*os.File{inherited}
		c.Dir = filepath.Join(dir, "here")
	}, "file 3", "files", "memory", "orphan", "variable TEST_VALUE", "directory", "name")
	self, _ := os.Executable()
	want := "file 3: EBADF\nfiles: 77\nmemory: 35184372088832\norphan: SIGTERM\nvariable TEST_VALUE: kept\ndirectory: here\nname: " + self + "\n"
	if out != want {
		t.Errorf("got:\n%swant:\n%s", out, want)
	}
}

func TestPrivileges(t *testing.T) {
	needSandbox(t)
	try(
		t, Policy{Read: []string{"/proc"}},
		"status NoNewPrivs", "1",
		"status Seccomp", "2",
		"read /proc/"+strconv.Itoa(os.Getpid())+"/environ", "EACCES",
	)
	if version, err := ll.LandlockGetABIVersion(); err == nil && version >= 6 {
		try(t, Policy{}, "signal "+strconv.Itoa(os.Getpid()), "EPERM")
	}
	if os.Getuid() == 0 {
		const kept = "00000000000004fb"
		try(t, Policy{Read: []string{"/proc"}}, "status CapEff", kept, "status CapPrm", kept, "status CapBnd", kept)
	}
}

func TestPathsThatCannotBe(t *testing.T) {
	needSandbox(t)
	dir := folders(t, "read")
	for path, want := range map[string]string{
		"missing":         "missing: no such file or directory",
		"~nobody/else":    "~nobody/else: no such file or directory",
		"":                ": a path is empty",
		"read/f/deeper":   "read/f/deeper: not a directory",
		dir + "/none/new": dir + "/none/new: no such file or directory",
	} {
		for _, p := range []Policy{{Dir: dir, Read: []string{"read", path}}, {Dir: dir, Write: []string{path}}} {
			_, _, err := Command(p, "/bin/true", []string{"true"})
			if _, ok := errors.AsType[*PolicyError](err); !ok || err.Error() != want {
				t.Errorf("%q: %v", path, err)
			}
		}
	}
}

// refusal returns how a launcher ended that could not start the program, and
// the reason found in what it said.
func refusal(t *testing.T, args ...string) (code int, reason string) {
	t.Helper()
	cmd := exec.Command(self, args...)
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("%v: %s", err, out)
	}
	reason, ok = Refused("noise\n" + string(out))
	if !ok || strings.Count(string(out), "\n") != 1 {
		t.Errorf("it said %q", out)
	}
	return exit.ExitCode(), reason
}

func TestRefusals(t *testing.T) {
	needSandbox(t)
	dir := folders(t, "read")
	script := filepath.Join(dir, "read", "broken")
	if err := os.WriteFile(script, []byte("#!"+dir+"/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   []string
		code   int
		reason string
	}{
		{[]string{launchWord}, 126, "without a program"},
		{[]string{launchWord, "nonsense", "x"}, 126, "cannot read"},
		{[]string{launchWord, `{"program":"/nowhere/at/all"}`, "x"}, 127, "/nowhere/at/all: no such file"},
		{[]string{launchWord, `{"program":"` + script + `","read":["` + script + `"]}`, "x"}, 127, "no such file"},
		{[]string{launchWord, `{"program":"` + script + `"}`, "x"}, 126, "may lie outside"},
		{[]string{launchWord, `{"program":"` + plain + `","read":["` + plain + `"]}`, "x"}, 126, "permission denied"},
		{[]string{launchWord, `{"program":"/bin/true","read":["` + dir + `/gone"]}`, "x"}, 127, dir + "/gone: no such file"},
		{[]string{launchWord, `{"program":"/bin/true","parent":1}`, "x"}, 126, "has ended"},
	} {
		if code, reason := refusal(t, test.args...); code != test.code || !strings.Contains(reason, test.reason) {
			t.Errorf("%q: exit status %d, %s", test.args, code, reason)
		}
	}
	if _, ok := Refused("toolcrib: something else\n"); ok {
		t.Error("a refusal was found where there is none")
	}
}

// A kernel without Landlock is one that answers so.
func TestNoLandlock(t *testing.T) {
	needSandbox(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, deedsWord, "forget", "available")
	out, err := cmd.CombinedOutput()
	if want := "forget: ok\navailable: the kernel has no Landlock\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}

func TestInterpreters(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	last := write("last", "\x7fELF")
	second := write("second", "#! \t"+last+"\t-x y\n")
	first := write("first", "#!"+second+" arg\nrest")
	if got, want := programFiles(first), []string{first, second, last}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	loop := write("loop", "#!"+filepath.Join(dir, "loop"))
	if got := programFiles(loop); len(got) > 5 {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"", "#", "#!", "#!\n", "#!node\n", "#!/none/such\n"} {
		path := write("odd", text)
		if got := programFiles(path); len(got) != 1 {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := programFiles(filepath.Join(dir, "missing")); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func FuzzInterpreter(f *testing.F) {
	f.Add([]byte("#!/usr/bin/env node\n"))
	f.Add([]byte("#! \t/bin/sh\t-e"))
	path := filepath.Join(f.TempDir(), "script")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if name := interpreter(path); strings.ContainsAny(name, " \t\n") {
			t.Errorf("%q", name)
		}
	})
}

func TestLaunchIsNotAskedFor(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}, {"call", launchWord}} {
		if handled, _ := Launch(args); handled {
			t.Errorf("%q", args)
		}
	}
}

// BenchmarkLaunch is what a sandbox adds to the start of a program.
func BenchmarkLaunch(b *testing.B) {
	launcher, argv, err := Command(Policy{}, "/bin/true", []string{"true"})
	if err != nil {
		b.Skip(err)
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("confined", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(launcher)
			cmd.Args = argv
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
