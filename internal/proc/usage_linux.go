package proc

// measure gives each process of the groups in owners to add, and each that
// bears the mark of one of them.
func measure(owners map[int]string, add func(name string, u Usage)) {
	var fs procfs
	marks := make(map[string]string) // to names
	known := make(map[int]bool)      // the groups whose mark is known
	var strangers []stat
	_ = fs.each(func(pid int) { // without /proc nothing is known
		s, ok := fs.stat(pid)
		if !ok || s.zombie || s.kernel {
			return
		}
		name, ours := owners[s.group]
		if !ours {
			strangers = append(strangers, s)
			return
		}
		add(name, s.usage())
		if !known[s.group] {
			if of := fs.marks(pid); len(of) > 0 {
				known[s.group] = true
				marks[of[len(of)-1]] = name // before it stand those of the trees around
			}
		}
	})
	for _, s := range strangers {
		for _, mark := range fs.marks(s.pid) {
			if name, ok := marks[mark]; ok {
				add(name, s.usage())
				break
			}
		}
	}
}

func (s stat) usage() Usage { return Usage{Processes: 1, RSS: s.rss, CPU: s.cpu} }
