package proc

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolcrib/toolcrib/internal/sandbox"
)

func TestRlimits(t *testing.T) {
	l := openLedger(t, t.TempDir())
	p, err := Start(Spec{
		// It looks once it is told to, which is after Start.
		Command: "sh", Args: []string{"-c", "read go; ulimit -n; ulimit -Hn; ulimit -d; (ulimit -n)"},
		Ledger: l, Limits: Limits{Files: 100, Memory: 1 << 30, CPU: 0.5, Processes: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, p)
	if _, err := p.Stdin().WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	out := make([]byte, 100)
	n, _ := p.Stdout().Read(out)
	lines := strings.Fields(string(out[:n]))
	want := []string{"100", "100", "1048576", "100"}
	if p.tree.cgroup != nil && p.tree.cgroup.memory && len(lines) == 4 {
		want[2] = lines[2] // the cgroup limits it
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	t.Logf("%q", p.Notes())
	if p.tree.cgroup == nil && len(p.Notes()) != 3 {
		t.Errorf("what was not applied: %q", p.Notes())
	}
}

func TestLimitsAreKept(t *testing.T) {
	p := child(t, "use:64", func(s *Spec) { s.Limits = Limits{Memory: 1 << 20} })
	if n, err := p.Stdout().Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error("it got what it may not have")
	}
	<-p.Done()
}

// A limit that this program itself could not live with is the child's alone.
func TestLimitsInSandbox(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	p, err := Start(Spec{
		Command: "sh", Args: []string{"-c", "ulimit -d; ulimit -n"}, Sandbox: new(sandbox.Policy),
		Ledger: openLedger(t, t.TempDir()), Limits: Limits{Memory: 2 << 20, Files: 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, p)
	<-p.Done()
	out, _ := io.ReadAll(p.Stdout())
	if want := "2048\n20\n"; string(out) != want && p.tree.data() > 0 {
		t.Errorf("%q; %s", out, p.Stderr())
	}
}

func TestNoLimitsNoNotes(t *testing.T) {
	p := child(t, "cat", func(s *Spec) { s.Ledger, s.Limits = openLedger(t, t.TempDir()), Limits{Files: 1 << 40} })
	if len(p.Notes()) > 0 || p.tree.cgroup != nil {
		t.Errorf("%q, %v", p.Notes(), p.tree.cgroup)
	}
}

func TestLocateCgroup(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	const hybrid = "20 19 0:17 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	const part = "30 23 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
	for _, test := range []struct{ name, own, mounts, dir, root string }{
		{"systemd", "0::/system.slice/toolcrib.service\n", v2, "/sys/fs/cgroup/system.slice/toolcrib.service", "/sys/fs/cgroup"},
		{"hybrid", "4:memory:/a\n0::/b\n", hybrid, "/sys/fs/cgroup/unified/b", "/sys/fs/cgroup/unified"},
		{"container", "0::/\n", v2, "/sys/fs/cgroup", "/sys/fs/cgroup"},
		{"part of it", "0::/docker/1/x\n", part, "/sys/fs/cgroup/x", "/sys/fs/cgroup"},
		{"elsewhere", "0::/docker/2\n", part, "", ""},
		{"version 1", "4:memory:/a\n", hybrid, "", ""},
		{"not mounted", "0::/a\n", "", "", ""},
	} {
		dir, root, err := locateCgroup(test.own, test.mounts)
		if dir != test.dir || root != test.root || (err == nil) != (test.dir != "") {
			t.Errorf("%s: %q in %q, %v", test.name, dir, root, err)
		}
	}
}

func FuzzLocateCgroup(f *testing.F) {
	f.Add("0::/a/b\n", "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n")
	f.Fuzz(func(t *testing.T, own, mounts string) {
		dir, root, err := locateCgroup(own, mounts)
		if rel, relErr := filepath.Rel(root, dir); err == nil && (relErr != nil || !filepath.IsLocal(rel)) {
			t.Errorf("%q is not in %q", dir, root)
		}
	})
}

func TestCPUMax(t *testing.T) {
	for processors, want := range map[float64]string{0.5: "50000 100000", 2: "200000 100000", 0.000001: "1000 100000"} {
		if got := cpuMax(processors); got != want {
			t.Errorf("%v: %s", processors, got)
		}
	}
}

// The files are the kernel's where controllers are there; here they stand for
// any that can be written to.
func TestMakeCgroupSetsLimits(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "tree")
	_, notes := makeCgroup(dir, Limits{Memory: 1, CPU: 1, Processes: 1}, []string{"memory", "pids"}, errors.New("no cpu"))
	if len(notes) != 3 { // nothing makes the files here
		t.Errorf("%q", notes)
	}
	if _, notes := makeCgroup(dir, Limits{Memory: 1}, nil, nil); len(notes) != 1 || !strings.Contains(notes[0], "exists") {
		t.Errorf("%q", notes)
	}
}

// cgroupBase makes a cgroup in which others can be made, or skips the test.
func cgroupBase(t *testing.T) string {
	t.Helper()
	own, _, err := ownCgroup()
	if err != nil {
		t.Skip("no control groups:", err)
	}
	base := filepath.Join(own, "toolcrib-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Skip("control groups cannot be made here:", err)
	}
	t.Cleanup(func() {
		if err := unix.Rmdir(base); err != nil {
			t.Error(err)
		}
	})
	return base
}

// confined is a ledger whose trees with limits get cgroups below base.
func confined(t *testing.T, base string) *Ledger {
	t.Helper()
	l := openLedger(t, t.TempDir())
	l.system.cgroups.once.Do(func() {
		l.system.cgroups.base = base
		l.system.cgroups.controllers, l.system.cgroups.why = enable(base)
	})
	return l
}

func TestCgroupHoldsTheTree(t *testing.T) {
	base := cgroupBase(t)
	l := confined(t, base)
	limited := func(s *Spec) { s.Ledger, s.Limits = l, Limits{Processes: 1000} }

	p := child(t, "leave", graces(never, time.Millisecond), limited)
	pid := ready(t, p)
	<-p.Done()
	wantGone(t, pid) // although it bears no mark

	p = child(t, "stubborn", graces(time.Millisecond, time.Millisecond), limited)
	pid = ready(t, p)
	if got := p.tree.cgroup.members(); !slices.Equal(got, []int{pid}) {
		t.Errorf("members %v, not %d", got, pid)
	}
	stop(t, p)
	wantGone(t, pid)
	// What was moved out of the cgroup, and has left the group, bears the mark.
	p = child(t, "litter", graces(time.Millisecond, time.Millisecond), limited)
	waitForLitter(t, p)
	outside := filepath.Join(filepath.Dir(base), "cgroup.procs")
	members := p.tree.cgroup.members()
	for _, pid := range members {
		if err := write(outside, strconv.Itoa(pid)); err != nil {
			t.Skip("nothing can be moved:", err)
		}
	}
	stop(t, p)
	if len(members) != 3 {
		t.Errorf("members %v", members)
	}
	for _, pid := range members {
		wantGone(t, pid)
	}
	if left, _ := filepath.Glob(filepath.Join(base, "toolcrib-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A cgroup that cannot be entered keeps no server from running.
func TestCgroupIsNotVital(t *testing.T) {
	a := &account{mark: newMark(randomHex()), limits: Limits{Memory: 1 << 40}, cgroup: &cgroup{dir: t.TempDir()}}
	p, err := a.launch("/bin/true", []string{"true"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
	if a.cgroup != nil || len(a.notes) != 1 {
		t.Errorf("%v, %q", a.cgroup, a.notes)
	}
}

// A hub that was killed leaves cgroups behind, whose members are its own
// whatever they have done to their marks.
func TestSweepOfCgroups(t *testing.T) {
	base := cgroupBase(t)
	l := confined(t, base)
	p := child(t, "leave", graces(never, never), func(s *Spec) { s.Ledger, s.Limits = l, Limits{Processes: 1000} })
	pid := ready(t, p)
	next := openLedger(t, l.dir)
	swept, err := next.Sweep(t.Context())
	if err != nil || len(swept) != 1 || swept[0].Err != nil || swept[0].Processes == 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	wantGone(t, pid)
	<-p.Done()
}

// The hub leaves the cgroup that it divides, if it has it for itself.
func TestVacate(t *testing.T) {
	base := cgroupBase(t)
	p := child(t, "parent", graces(time.Millisecond, time.Millisecond), func(s *Spec) {
		s.Ledger, s.Limits = confined(t, base), Limits{Processes: 1000}
	})
	pid := ready(t, p)
	dir := p.tree.cgroup.dir
	leaf := &cgroup{dir: filepath.Join(dir, leafName)}
	t.Cleanup(func() { leaf.remove(); p.tree.cgroup.remove() })

	if err := vacate(dir, pid); err == nil || !strings.Contains(err.Error(), "shares its control group") {
		t.Errorf("it is not alone: %v", err)
	}
	if err := vacate(dir, p.PID()); err != nil {
		t.Error(err)
	}
	if in, moved := members(dir), leaf.members(); len(in) != 0 || len(moved) != 2 {
		t.Errorf("%v, and in the leaf %v instead of %d and %d", in, moved, p.PID(), pid)
	}
	stop(t, p)
}
