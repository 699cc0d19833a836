package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// here names this boot of the machine. What cannot be read stays empty.
func here() place {
	boot, _ := unix.Sysctl("kern.bootsessionuuid")
	return place{boot: boot, space: "machine"}
}

// find returns the process with an id, which may be a zombie.
func find(pid int) (entry, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return entry{}, false
	}
	return entryOf(info), true
}

// processes returns all processes, zombies included. The environment of others
// is not shown here, so that no marks are known.
func processes() ([]entry, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]entry, len(infos))
	for i := range infos {
		all[i] = entryOf(&infos[i])
	}
	return all, nil
}

func entryOf(info *unix.KinfoProc) entry {
	const zombie = 5 // SZOMB of sys/proc.h
	return entry{
		pid:    int(info.Proc.P_pid),
		parent: int(info.Eproc.Ppid),
		group:  int(info.Eproc.Pgid),
		start:  uint64(info.Proc.P_starttime.Nano()) / 1000,
		zombie: info.Proc.P_stat == zombie,
	}
}
