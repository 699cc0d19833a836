//go:build !linux

package proc

// system has nothing that trees have in common here: none depends on a thread,
// and control groups are Linux's.
type system struct{}

func (*system) confine(string, Limits) (*cgroup, []string) { return nil, nil }

// cgroup is always nil here.
type cgroup struct{}

func cgroupAt(string) *cgroup { return nil }

func (*cgroup) path() string { return "" }

func (*cgroup) limitsMemory() bool { return false }

func (*cgroup) members() []int { return nil }

func (*cgroup) kill() {}

func (*cgroup) remove() {}
