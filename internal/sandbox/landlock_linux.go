//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// abi is the version of Landlock that a policy needs, since Linux 6.7: the
// first with TCP ports. Whatever an older one does not know it would allow, so
// that there is no making do with it.
const abi = 4

// Access to files and directories. To make devices is nobody's: for root that
// would be a way to disks.
const (
	readFile = landlock.AccessFSSet(ll.AccessFSExecute | ll.AccessFSReadFile)
	readDir  = readFile | ll.AccessFSReadDir

	writeFile = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeDir  = writeFile | readDir | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSRefer |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym | ll.AccessFSMakeSock | ll.AccessFSMakeFifo
)

func unavailable() string {
	version, err := ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return "the kernel has no Landlock"
	case errors.Is(err, unix.EOPNOTSUPP):
		return `Landlock is switched off in the kernel; its parameter "lsm" does not name it`
	case err != nil:
		return fmt.Sprintf("the kernel's Landlock cannot be used: %v", err)
	case version < abi:
		return fmt.Sprintf("the kernel's Landlock knows no TCP ports (its version is %d, and %d is needed)", version, abi)
	}
	if _, err := os.Stat(self); err != nil {
		return "/proc is not there, through which Toolcrib starts itself once more"
	}
	return ""
}

// restrict has this process give up all that the order does not allow, and any
// way to gain privileges.
func (o *order) restrict() error {
	rules, err := o.rules()
	if err != nil {
		return err
	}
	if err := landlock.V4.Restrict(rules...); err != nil {
		return fmt.Errorf("give up access: %w", err)
	}
	// This is no part of the policy: signals, such as to the hub itself, and
	// abstract Unix sockets are kept in where the kernel can.
	if err := landlock.V6.BestEffort().RestrictScoped(); err != nil {
		return fmt.Errorf("keep signals in: %w", err)
	}
	return nil
}

// rules are all that the program may reach.
func (o *order) rules() ([]landlock.Rule, error) {
	rules := baseRules()
	for _, path := range o.Read {
		r, err := allow(path, readFile, readDir)
		if err != nil {
			return nil, &PolicyError{Path: path, Err: cause(err)}
		}
		rules = append(rules, r)
	}
	for _, path := range o.Write {
		r, err := allow(path, writeFile, writeDir)
		if err != nil {
			return nil, &PolicyError{Path: path, Err: cause(err)}
		}
		rules = append(rules, r)
	}
	for _, port := range o.Connect {
		rules = append(rules, landlock.ConnectTCP(port))
	}
	for _, port := range o.Bind {
		rules = append(rules, landlock.BindTCP(port))
	}
	return rules, nil
}

// baseRules are what every program needs to start; the package comment lists
// them. No machine has all of it.
func baseRules() []landlock.Rule {
	var rules []landlock.Rule
	add := func(file, dir landlock.AccessFSSet, paths ...string) {
		for _, path := range paths {
			if r, err := allow(path, file, dir); err == nil {
				rules = append(rules, r)
			}
		}
	}
	add(readFile, readDir,
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/etc",
		"/etc/resolv.conf", "/run/systemd/resolve", "/run/resolvconf", "/sys/devices/system/cpu")
	add(writeFile, writeFile, "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
	return rules
}

// allow is the rule for a path: of two kinds of access, the one that fits what
// is there. A link stands for what it leads to.
func allow(path string, file, dir landlock.AccessFSSet) (landlock.Rule, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return landlock.PathAccess(dir, path), nil
	}
	return landlock.PathAccess(file, path), nil
}
