//go:build !linux

package proc

import "github.com/shirou/gopsutil/v4/process"

// measure gives each process that is a leader, or descends from one, to add.
func measure(owners map[int]string, add func(name string, u Usage)) {
	all, err := process.Processes()
	if err != nil {
		return
	}
	parents := make(map[int]int, len(all))
	for _, p := range all {
		if parent, err := p.Ppid(); err == nil {
			parents[int(p.Pid)] = int(parent)
		}
	}
	for _, p := range all {
		name, ok := ownerOf(int(p.Pid), parents, owners)
		if !ok {
			continue
		}
		u := Usage{Processes: 1}
		if memory, err := p.MemoryInfo(); err == nil {
			u.RSS = int64(memory.RSS)
		}
		if times, err := p.Times(); err == nil {
			u.CPU = times.User + times.System
		}
		add(name, u)
	}
}

// ownerOf follows the parents of a process up to a leader. A parent that was
// found before its own id went to another process could lead in a circle.
func ownerOf(pid int, parents map[int]int, owners map[int]string) (string, bool) {
	for range len(parents) {
		if name, ok := owners[pid]; ok {
			return name, true
		}
		parent, ok := parents[pid]
		if !ok || parent == pid {
			break
		}
		pid = parent
	}
	return "", false
}
