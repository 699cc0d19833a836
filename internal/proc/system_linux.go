package proc

// system is what the trees of a hub have in common. The zero system is ready.
type system struct {
	launcher launcher
	census   census
	cgroups  cgroups
}

// confine makes the cgroup of a tree. Notes say what is not limited by it.
func (s *system) confine(name string, limits Limits) (*cgroup, []string) {
	return s.cgroups.make(name, limits)
}
