package proc

// Limits bound what the processes of a tree may use. Zero stands for no limit.
//
// They are a cgroup's for the whole tree where Linux has one to give: version
// 2, and this process in a subtree that was delegated to it, as by
// "Delegate=yes" of systemd. Elsewhere on Linux Files and Memory hold for each
// process by its own, as rlimits, and on Windows Memory and Processes hold for
// the tree, by its job. [Process.Notes] says what could not be applied.
type Limits struct {
	Memory    int64   // bytes; as an rlimit, of the data of each process (RLIMIT_DATA)
	CPU       float64 // processors, such as 0.5
	Processes int     // and threads, as Linux counts them
	Files     int     // open at once, of each process
}

// grouped reports whether there is something to limit that only a cgroup can
// limit, or can limit better.
func (l Limits) grouped() bool { return l.Memory > 0 || l.CPU > 0 || l.Processes > 0 }
