package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// recordSuffix ends the name of a record, which begins with its mark.
const recordSuffix = ".tree"

// Ledger is what one hub keeps of its children: a directory with a small file
// for each tree that runs, the thread that forks them, and the place for their
// cgroups. The files outlive a hub that was killed, so that the next one can
// end what was left behind ([Ledger.Sweep]).
//
// One hub at a time may use a directory; the lock of the data directory sees
// to that. All methods may be called at the same time. There is nothing to
// close: what a Ledger runs ends with the last [Process] that was started with
// it.
type Ledger struct {
	dir   string
	run   string        // this life of the hub, in the marks of its trees
	grace time.Duration // of a sweep

	place  place
	system system
}

// place is where process ids mean something.
type place struct{ boot, space string }

// OpenLedger makes the directory if it is missing, for its owner only, and
// leaves what is in it to [Ledger.Sweep]. The Ledger can be used also with an
// error: its children run, but are not recorded, which [Process.Notes] says of
// each.
func OpenLedger(dir string) (*Ledger, error) {
	l := &Ledger{dir: dir, run: randomHex(), grace: defaultGrace, place: here()}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return l, fmt.Errorf("open ledger of processes: %w", err)
	}
	return l, nil
}

// account is a tree as the ledger knows it, from before its birth until it is
// gone. Without a ledger it is no more than a mark and a cgroup.
type account struct {
	ledger  *Ledger
	mark    string
	system  *system
	limits  Limits
	cgroup  *cgroup // nil for none
	file    string  // that records the tree; "" for none
	notes   []string
	release func() // of the thread that forked it; nil if there is none

	enclosed int64 // the limit of data that the launcher of a sandbox sets; 0 for none
}

// data is the limit of the data of each process, where memory is not limited
// for all together; 0 for none.
func (a *account) data() int64 {
	if a.cgroup.limitsMemory() {
		return 0
	}
	return a.limits.Memory
}

// open begins an account before the child is there. It never fails: what could
// not be done is in the notes. Whoever opens it calls settle.
func (l *Ledger) open(spec Spec) *account {
	a := &account{ledger: l, limits: spec.Limits}
	if l == nil {
		a.mark, a.system = newMark(randomHex()), new(system)
	} else {
		a.mark, a.system = newMark(l.run), &l.system
	}
	if a.limits.grouped() {
		a.cgroup, a.notes = a.system.confine(cgroupName(a.mark), a.limits)
	}
	if l != nil {
		if err := a.record(spec); err != nil {
			a.unrecorded(err)
		}
	}
	return a
}

// record writes what is known before the birth.
func (a *account) record(spec Spec) error {
	r := record{
		Mark: a.mark, Key: spec.Key, Command: filepath.Base(spec.Command),
		Boot: a.ledger.place.boot, Space: a.ledger.place.space, Cgroup: a.cgroup.path(),
	}
	path := filepath.Join(a.ledger.dir, a.mark+recordSuffix)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(r.birth())
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	a.file = path
	return nil
}

// born completes the record.
func (a *account) born(pid int) {
	if a.file == "" {
		return
	}
	leader, ok := find(pid)
	if !ok {
		return // nothing tells it from another of this id
	}
	if err := appendLine(a.file, line(identity{PID: pid, Start: leader.start})); err != nil {
		a.unrecorded(err)
	}
}

// appendLine adds a whole line to a file, or nothing.
func appendLine(path string, line []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		if _, err = file.Write(line); err != nil {
			err = errors.Join(err, file.Truncate(info.Size()))
		}
	}
	return errors.Join(err, file.Close())
}

func (a *account) unrecorded(err error) {
	a.notes = append(a.notes, fmt.Sprintf("its process is not recorded, and may be left behind if Toolcrib is killed: %v", err))
}

// settle ends the account. The file and the cgroup of a tree that is gone, or
// never was, are removed; those of one that outlived being killed stay for the
// next sweep.
func (a *account) settle(gone bool) {
	if gone {
		a.cgroup.remove()
		if a.file != "" {
			_ = os.Remove(a.file) // one that stays is removed by the next sweep, which finds nobody
		}
	}
	if a.release != nil {
		a.release()
	}
}
