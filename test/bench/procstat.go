//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc: USER_HZ is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// usage is what a process tree has used so far and holds now.
type usage struct {
	cpu       time.Duration // user and system, to 10 ms; includes descendants that ended and were waited for
	rssKiB    int64
	processes int
}

// process is one line of /proc/PID/stat.
type process struct {
	parent int
	cpu    time.Duration
	rssKiB int64
}

// treeUsage adds up a process and its living descendants. It fails if there is no such process.
func treeUsage(root int) (usage, error) {
	if _, err := readProcess(root); err != nil {
		return usage{}, fmt.Errorf("read the usage of process %d: %w", root, err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return usage{}, fmt.Errorf("read the usage of process %d: %w", root, err)
	}
	all, children := map[int]process{}, map[int][]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil { // Others may end while we look.
			all[pid] = p
			children[p.parent] = append(children[p.parent], pid)
		}
	}
	var sum usage
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		p, alive := all[queue[0]]
		if !alive {
			continue
		}
		sum.cpu += p.cpu
		sum.rssKiB += p.rssKiB
		sum.processes++
		queue = append(queue, children[queue[0]]...)
	}
	return sum, nil
}

func readProcess(pid int) (process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	// The second field is the command in parentheses, which may hold anything; proc_pid_stat(5) counts from one.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const first, parent, utime, cstime, rss = 3, 4, 14, 17, 24
	if len(fields) <= rss-first {
		return process{}, fmt.Errorf("short line %q", stat)
	}
	var p process
	if p.parent, err = strconv.Atoi(fields[parent-first]); err != nil {
		return process{}, err
	}
	for field := utime; field <= cstime; field++ { // utime, stime, cutime, cstime
		ticks, err := strconv.ParseInt(fields[field-first], 10, 64)
		if err != nil {
			return process{}, err
		}
		p.cpu += time.Duration(ticks) * clockTick
	}
	pages, err := strconv.ParseInt(fields[rss-first], 10, 64)
	if err != nil {
		return process{}, err
	}
	p.rssKiB = pages * int64(os.Getpagesize()) >> 10
	return p, nil
}

// machineBusy is the CPU time that the whole machine has spent so far, over all cores, idling and waiting apart.
func machineBusy() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read the machine's CPU time: %w", err)
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal ...
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0, fmt.Errorf("read the machine's CPU time: odd line %q", line)
	}
	var busy time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the machine's CPU time: %w", err)
		}
		busy += time.Duration(ticks) * clockTick
	}
	return busy, nil
}
