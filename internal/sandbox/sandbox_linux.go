//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is this very program for a process that it has just forked, also after
// its file was replaced by a newer one.
const self = "/proc/self/exe"

// launch confines this process and turns it into the program. It returns only
// if that cannot be done.
//
// What a thread gives up counts for the program that it becomes, whatever other
// threads this process has: so all is done on one.
func (o *order) launch(argv []string) error {
	runtime.LockOSThread()
	env := os.Environ()
	// Whatever else was inherited is not the program's.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited files: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if err := o.restrict(); err != nil {
		return err
	}
	if err := filterSockets(); err != nil {
		return fmt.Errorf("filter sockets: %w", err)
	}
	if err := endWith(o.Parent); err != nil {
		return err
	}
	if err := limit(syscall.RLIMIT_NOFILE, int64(o.Files)); err != nil {
		return fmt.Errorf("limit open files: %w", err)
	}
	// Last of all, as this process itself may have more.
	if err := limit(unix.RLIMIT_DATA, o.Memory); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	err := unix.Exec(o.Program, argv, env)
	if errors.Is(err, unix.EACCES) {
		return fmt.Errorf("start %s: %w; it may be no program, or its interpreter or libraries may lie outside of what it may read", o.Program, err)
	}
	return fmt.Errorf("start %s: %w", o.Program, err)
}

// endWith has the program asked to end when the thread of its parent that has
// started it ends. The launcher was told so too, but that holds for its first
// thread, and the program comes of this one.
func endWith(parent int) error {
	if parent == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("end with process %d: %w", parent, err)
	}
	if os.Getppid() != parent {
		return fmt.Errorf("process %d, which has started it, has ended", parent)
	}
	return nil
}

// limit sets a limit of resources, or leaves a lower one; 0 stands for none. Go
// has raised that of open files for this process and would put back what it
// found when another program starts, over what was set meanwhile from outside;
// not so after this.
func limit(resource int, n int64) error {
	if n == 0 {
		return nil
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	now.Max = min(now.Max, uint64(n))
	now.Cur = now.Max
	return syscall.Setrlimit(resource, &now)
}

// dropCapabilities leaves to a process of root, or with ambient capabilities,
// those that are about files, users and low ports. The others lead out of a
// sandbox: loading modules, raw network packets, devices, the clock.
func dropCapabilities() error {
	const keep = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
		1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		// EPERM: whoever may not drop it from the bounding set has no way to
		// gain it either, once there are no new privileges. EINVAL: the kernel
		// does not know it.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EPERM && err != unix.EINVAL {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	sets[0].Effective &= keep
	sets[0].Permitted &= keep
	sets[0].Inheritable &= keep
	sets[1] = unix.CapUserData{}
	return unix.Capset(&header, &sets[0])
}
