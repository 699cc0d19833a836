package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// here names this boot of the machine and the PID namespace of this process.
// What cannot be read stays empty.
func here() place {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return place{boot: strings.TrimSpace(string(boot)), space: space}
}

// find returns the process with an id, which may be a zombie.
func find(pid int) (entry, bool) {
	s, ok := new(procfs).stat(pid)
	return s.entry, ok
}

// processes returns all processes with their marks, zombies included. Those
// that come or go meanwhile may be missing.
func processes() ([]entry, error) {
	var fs procfs
	var all []entry
	err := fs.each(func(pid int) {
		if s, ok := fs.stat(pid); ok {
			s.marks = fs.marks(pid)
			all = append(all, s.entry)
		}
	})
	return all, err
}

// bearers returns the processes that have a mark, by mark.
func bearers() map[string][]entry {
	var fs procfs
	found := make(map[string][]entry)
	_ = fs.each(func(pid int) { // without /proc nobody is found
		marks := fs.marks(pid)
		if len(marks) == 0 {
			return
		}
		if s, ok := fs.stat(pid); ok && !s.zombie {
			for _, mark := range marks {
				found[mark] = append(found[mark], s.entry)
			}
		}
	})
	return found
}

// procfs reads /proc. It keeps one buffer, so that a pass over a thousand
// processes makes no garbage to speak of; the zero procfs is ready.
type procfs struct{ buf []byte }

// each calls f with the id of each process.
func (fs *procfs) each(f func(pid int)) error {
	dir, err := os.Open("/proc")
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			f(pid)
		}
	}
	return nil
}

// marks returns the marks in the environment with which a process was started,
// none if that may not be read.
func (fs *procfs) marks(pid int) []string { return marksIn(fs.read(pid, "environ")) }

// stat is what proc_pid_stat(5) has.
type stat struct {
	entry
	kernel bool    // a thread of the kernel
	cpu    float64 // seconds, with those of children that were reaped
	rss    int64   // bytes
}

// stat reads a process. It reports false if there is none of this id.
func (fs *procfs) stat(pid int) (stat, bool) { return parseStat(fs.read(pid, "stat")) }

// ticksPerSecond is USER_HZ, which is the same on all that Go runs on.
const ticksPerSecond = 100

func parseStat(text []byte) (stat, bool) {
	// pid (name) state ppid pgrp ..., where the name may hold anything.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	// Numbered as in the manual, from 1; fields[0] is number 3.
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 22 {
		return stat{}, false
	}
	ok := true
	number := func(field string) int64 {
		n, err := strconv.ParseInt(field, 10, 64)
		ok = ok && err == nil
		return n
	}
	s := stat{
		entry: entry{
			pid:    int(number(strings.TrimSpace(string(text[:open])))),
			parent: int(number(fields[4-3])),
			group:  int(number(fields[5-3])),
			zombie: fields[0] == "Z" || fields[0] == "X",
		},
		kernel: fields[23-3] == "0", // it has no memory of its own
		rss:    number(fields[24-3]) * int64(os.Getpagesize()),
	}
	for _, field := range fields[14-3 : 17-3+1] { // utime, stime, cutime, cstime
		s.cpu += float64(number(field)) / ticksPerSecond
	}
	start, err := strconv.ParseUint(fields[22-3], 10, 64)
	s.start = start
	return s, ok && err == nil
}

// read returns a file of a process, valid until the next call; nothing if it
// cannot be read. It asks the system directly: a file of package os costs
// several times as much, and a pass opens hundreds.
func (fs *procfs) read(pid int, name string) []byte {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	if fs.buf == nil {
		fs.buf = make([]byte, 16<<10)
	}
	for n := 0; ; {
		m, err := unix.Read(fd, fs.buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil
		case m == 0:
			return fs.buf[:n]
		}
		if n += m; n == len(fs.buf) {
			fs.buf = append(fs.buf, make([]byte, len(fs.buf))...)
		}
	}
}
