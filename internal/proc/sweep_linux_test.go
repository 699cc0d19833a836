package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// killedHub runs a hub with children until all of them are there, and kills it.
// It returns the ids of the children that are left, all of which ignore
// SIGTERM.
func killedHub(t *testing.T, dir string) []int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=hub:"+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
		var pid int
		if _, err := fmt.Sscanf(lines.Text(), "ready %d", &pid); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		pids = append(pids, pid)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if len(pids) != 4 {
		t.Fatalf("children %v", pids)
	}
	return pids
}

func openLedger(t *testing.T, dir string) *Ledger {
	t.Helper()
	l, err := OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.grace = time.Millisecond
	return l
}

func wantFiles(t *testing.T, dir string, want int) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != want {
		t.Errorf("%d files instead of %d: %v, %v", len(files), want, files, err)
	}
}

func TestSweepAfterKill(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), "processes")
		pids := killedHub(t, dir)
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, file := range files {
			if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "secret") {
				t.Errorf("%s: %s, %v", file, text, err)
			}
		}
		swept, err := openLedger(t, dir).Sweep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]Swept)
		for _, s := range swept {
			if s.Err != nil || s.Command != filepath.Base(os.Args[0]) || s.PID == 0 {
				t.Errorf("%+v", s)
			}
			found[s.Key] = s
		}
		if found["litter"].Processes != 3 || found["escape"].Processes != 1 {
			t.Errorf("%+v", found)
		}
		for _, pid := range pids {
			wantGone(t, pid)
		}
		wantFiles(t, dir, 0)
	}
}

// innocent starts a process that no hub has started.
func innocent(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// Ids come back: a record may name a process that has nothing to do with it.
func TestSweepSparesTheInnocent(t *testing.T) {
	dir := t.TempDir()
	l := openLedger(t, dir)
	pid := innocent(t)
	e, ok := find(pid)
	if !ok || l.place.boot == "" || l.place.space == "" {
		t.Fatal(e, l.place)
	}
	records := map[string]record{
		"an earlier process of this id": {Boot: l.place.boot, Space: l.place.space, identity: identity{pid, e.start - 1}},
		"another boot":                  {Boot: "other", Space: l.place.space, identity: e.identity()},
		"another container":             {Boot: l.place.boot, Space: "pid:[1]", identity: e.identity()},
		"nowhere":                       {identity: e.identity()},
		"a cgroup that is gone":         {Cgroup: "/sys/fs/cgroup/none/"},
		"what is no cgroup":             {Cgroup: t.TempDir() + "/"},
	}
	for name, r := range records {
		r.Mark, r.Key = newMark(randomHex()), name
		if r.Cgroup != "" {
			r.Cgroup += cgroupName(r.Mark)
			if os.Mkdir(r.Cgroup, 0o700) == nil {
				writeFile(t, filepath.Join(r.Cgroup, "cgroup.procs"), strconv.Itoa(pid), 0o600)
			}
		}
		text := r.birth()
		if r.PID != 0 {
			text = append(text, line(r.identity)...)
		}
		if err := os.WriteFile(filepath.Join(dir, r.Mark+recordSuffix), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	swept, err := l.Sweep(t.Context())
	if err != nil || len(swept) != len(records) {
		t.Error(swept, err)
	}
	for _, s := range swept {
		if s.Err != nil || s.Processes != 0 {
			t.Errorf("%+v", s)
		}
	}
	if now, ok := find(pid); !ok || now.zombie || now.start != e.start {
		t.Error("the innocent process has ended")
	}
	wantFiles(t, dir, 0)
}

// Whatever a record says, the sweeper and its group live.
func TestSweepSparesItself(t *testing.T) {
	at := place{boot: "b", space: "s"}
	self := entry{pid: 7, group: 5, start: 1}
	shell := entry{pid: 5, group: 5, start: 1}
	stray := entry{pid: 6, group: 5, start: 1, marks: []string{someMark}}
	tree := leftover{
		record: record{Mark: someMark, Boot: "b", Space: "s", identity: shell.identity()},
		seen:   make(map[identity]bool),
	}
	found := tree.look([]entry{self, shell, stray}, at, self)
	if len(found) != 1 || found[0].pid != stray.pid || tree.left != 1 {
		t.Errorf("%+v", found)
	}
	self.group, self.marks = 7, []string{someMark}
	if found := tree.look([]entry{self, shell, stray}, at, self); len(found) != 2 {
		t.Errorf("%+v", found)
	}
}

// The leader is known by its start also when its environment shows no mark.
func TestSweepKnowsTheLeader(t *testing.T) {
	dir := t.TempDir()
	l := openLedger(t, dir)
	pid := innocent(t)
	e, _ := find(pid)
	r := record{Mark: newMark(randomHex()), Boot: l.place.boot, Space: l.place.space}
	text := append(r.birth(), line(e.identity())...)
	if err := os.WriteFile(filepath.Join(dir, r.Mark+recordSuffix), text, 0o600); err != nil {
		t.Fatal(err)
	}
	swept, err := l.Sweep(t.Context())
	if err != nil || len(swept) != 1 || swept[0].Processes != 1 || swept[0].Err != nil {
		t.Error(swept, err)
	}
	wantGone(t, pid)
}

func TestSweepPutsAside(t *testing.T) {
	dir := t.TempDir()
	name := newMark(randomHex()) + recordSuffix
	for file, text := range map[string]string{
		name:                                 "no record",
		someMark + recordSuffix + ".damaged": "of an earlier sweep",
		"notes.txt":                          "mine",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	born := newMark(randomHex()) + recordSuffix // whose hub died before it could write
	if err := os.WriteFile(filepath.Join(dir, born), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	large := newMark(randomHex()) + recordSuffix
	if err := os.WriteFile(filepath.Join(dir, large), make([]byte, maxRecord+1), 0o600); err != nil {
		t.Fatal(err)
	}
	link := newMark(randomHex()) + recordSuffix
	if err := os.Symlink("/dev/zero", filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	pids := killedHub(t, dir)
	for range 2 { // what was put aside is left alone
		if _, err := openLedger(t, dir).Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		for _, file := range []string{name, large, link, "notes.txt", someMark + recordSuffix} {
			if _, err := os.Lstat(filepath.Join(dir, file+asideSuffix)); err != nil {
				t.Error(err)
			}
		}
		wantFiles(t, dir, 5)
	}
	for _, pid := range pids {
		wantGone(t, pid)
	}
}

func TestSweepOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	l := openLedger(t, dir)
	if swept, err := l.Sweep(t.Context()); err != nil || len(swept) != 0 {
		t.Error(swept, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Sweep(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A hub that was started in a tree, as from a server that offers a shell, does
// not end what it stands on.
func TestSweepSparesItsOwnTree(t *testing.T) {
	dir := t.TempDir()
	p := child(t, "deaf", func(s *Spec) { s.Ledger = openLedger(t, dir) })
	ready(t, p)
	t.Setenv(MarkVariable, "x:"+p.tree.mark)
	if swept, err := openLedger(t, dir).Sweep(t.Context()); err != nil || len(swept) != 0 {
		t.Error(swept, err)
	}
	wantFiles(t, dir, 1)
	if p.Exit() != "" {
		t.Error("the tree was ended")
	}
}

func TestSweepWhileOthersStart(t *testing.T) {
	dir := t.TempDir()
	pids := killedHub(t, dir)
	l := openLedger(t, dir)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := l.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			for range 5 {
				p, err := Start(Spec{Command: "cat", Ledger: l, Key: "cat"})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := p.Stdin().Write([]byte("x")); err != nil {
					t.Error(err)
				}
				if _, err := p.Stdout().Read(make([]byte, 1)); err != nil {
					t.Errorf("it was ended: %v, %s", err, p.Exit())
				}
				if len(p.Notes()) > 0 {
					t.Error(p.Notes())
				}
				stop(t, p)
			}
		})
	}
	all.Wait()
	for _, pid := range pids {
		wantGone(t, pid)
	}
	wantFiles(t, dir, 0)
}

func TestSweepIsCutShort(t *testing.T) {
	dir := t.TempDir()
	pids := killedHub(t, dir)
	l := openLedger(t, dir)
	l.grace = never
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Sweep(ctx); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		wantGone(t, pid)
	}
}
