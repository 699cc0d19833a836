//go:build unix

package proc

import (
	"context"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// endLeft ends what is left of the trees.
func (l *Ledger) endLeft(ctx context.Context, trees []*leftover) error {
	var failed error
	self := entry{pid: os.Getpid(), group: unix.Getpgrp()}
	look := func() []entry {
		all, err := processes()
		if err != nil {
			failed = err
			return nil
		}
		var found []entry
		for _, tree := range trees {
			found = append(found, tree.look(all, l.place, self)...)
		}
		return found
	}
	kill := func() {
		for _, tree := range trees {
			if tree.left > 0 {
				tree.cgroup.kill()
			}
		}
	}
	hunt{find: look, kill: kill, grace: l.grace, cut: ctx.Done()}.run()
	return failed
}

// look finds the processes of the tree among all that there are, of which
// this one is never part.
func (t *leftover) look(all []entry, at place, self entry) []entry {
	cgroup := t.cgroup.members()
	group := t.ownsGroup(all, at) && t.PID != self.group
	var found []entry
	for _, e := range all {
		if e.zombie || e.pid == self.pid {
			continue
		}
		if group && e.group == t.PID || slices.Contains(e.marks, t.Mark) || slices.Contains(cgroup, e.pid) {
			found = append(found, e)
			t.seen[e.identity()] = true
		}
	}
	t.left = len(found)
	return found
}

// ownsGroup reports whether the group of the recorded id is still the tree's.
// The system gives no id to a new process while a group has it. So the group is
// the tree's if its leader is still the same, or any of its processes is known
// by its mark.
func (t *leftover) ownsGroup(all []entry, at place) bool {
	if t.PID == 0 || at.boot == "" || t.Boot != at.boot || t.Space != at.space {
		return false
	}
	return slices.ContainsFunc(all, func(e entry) bool {
		return e.identity() == t.identity || e.group == t.PID && slices.Contains(e.marks, t.Mark)
	})
}
