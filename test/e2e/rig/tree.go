package rig

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Proc names a process for good: a process id alone may be used again.
type Proc struct {
	PID   int
	Start string // when it started, in ticks since the boot
	Name  string
}

// Tree returns the living descendants of the process, parents before their
// children. It needs /proc, and skips the test where there is none.
func Tree(tb testing.TB, pid int) []Proc {
	tb.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		tb.Skip("NOT RUN: looking for children needs /proc")
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		tb.Fatal(err)
	}
	children := make(map[int][]Proc)
	for _, path := range stats {
		if p, parent, ok := readStat(path); ok {
			children[parent] = append(children[parent], p)
		}
	}
	var all []Proc
	for next := []int{pid}; len(next) > 0; {
		var below []int
		for _, parent := range next {
			for _, c := range children[parent] {
				all = append(all, c)
				below = append(below, c.PID)
			}
		}
		next = below
	}
	return all
}

// Find names the process that has the id now.
func Find(tb testing.TB, pid int) Proc {
	tb.Helper()
	p, _, ok := readStat("/proc/" + strconv.Itoa(pid) + "/stat")
	if !ok {
		tb.Fatalf("there is no process %d", pid)
	}
	return p
}

// Signal sends the process a signal, if it still runs.
func (p Proc) Signal(tb testing.TB, sig os.Signal) {
	tb.Helper()
	if !p.Alive() {
		return
	}
	process, err := os.FindProcess(p.PID)
	if err == nil {
		err = process.Signal(sig)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Errorf("send %v to %s (process %d): %v", sig, p.Name, p.PID, err)
	}
}

// Alive reports whether the process still runs; one that has ended and was not
// waited for does not.
func (p Proc) Alive() bool {
	now, _, ok := readStat("/proc/" + strconv.Itoa(p.PID) + "/stat")
	return ok && now.Start == p.Start
}

// readStat reads the name, the parent and the start of a process that is not a
// zombie (proc(5), /proc/pid/stat).
func readStat(path string) (p Proc, parent int, ok bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Proc{}, 0, false // it has ended meanwhile
	}
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || end < open {
		return Proc{}, 0, false
	}
	fields := bytes.Fields(raw[end+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return Proc{}, 0, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(raw[:open])))
	if err != nil {
		return Proc{}, 0, false
	}
	if parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return Proc{}, 0, false
	}
	return Proc{PID: pid, Start: string(fields[19]), Name: string(raw[open+1 : end])}, parent, true
}
