package proc

// Usage is what the processes of some trees use at one moment.
type Usage struct {
	Processes int
	RSS       int64   // bytes of memory in use; what processes share counts for each
	CPU       float64 // seconds of processor time so far, with that of children that have ended
}

// Measure says what trees use. groups has, by any name, the trees that are
// measured together, each by the PID of its [Process]; the result has every
// name, with the zero Usage where nothing runs.
//
// On Linux it reads /proc once, however many trees there are, and counts what
// has left the group of its tree too. Elsewhere a tree is what descends from
// its leader.
func Measure(groups map[string][]int) map[string]Usage {
	usage := make(map[string]Usage, len(groups))
	owners := make(map[int]string)
	for name, pids := range groups {
		usage[name] = Usage{}
		for _, pid := range pids {
			owners[pid] = name
		}
	}
	if len(owners) > 0 {
		measure(owners, func(name string, u Usage) {
			sum := usage[name]
			sum.Processes += u.Processes
			sum.RSS += u.RSS
			sum.CPU += u.CPU
			usage[name] = sum
		})
	}
	return usage
}
