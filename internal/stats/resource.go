package stats

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// fresh is how long a measurement stands for the next ones: looking at every
// process of the machine costs something, and several may ask at once. It is a
// little less than the second at which somebody may ask again and again.
const fresh = 900 * time.Millisecond

// Usage is what one process tree takes.
type Usage struct {
	Processes int     // 0 if nothing of it is left
	RSS       int64   // bytes of memory in use
	CPU       float64 // seconds of processor time so far
}

// Tree is a server's processes, those of all its instances together.
type Tree struct {
	Server string
	PIDs   []int // of the leaders
	Usage
	Spent float64 // CPU since it was measured first: unlike Usage.CPU it does not fall when a process ends
}

// Resources is what the hub takes, and what it has.
type Resources struct {
	Servers, Running int           // that are configured, and those to which calls are sent
	Processes        int           // of all trees
	Embedded, Known  int           // tools of built-in servers, and tools in the index
	Uptime           time.Duration // of the hub

	// Of the hub itself.
	RSS        int64   // bytes of memory in use
	CPU        float64 // seconds of processor time so far
	Goroutines int
	OpenFiles  int // -1 where that cannot be told
}

// Resources measures what the hub and its servers' processes take, and returns
// the trees in the order of the configuration. What was measured less than a
// second ago is not measured again.
func (s *Stats) Resources() (Resources, []Tree) {
	statuses := s.opt.Servers()
	r, trees := s.usage.read(statuses)
	r.Uptime = time.Since(s.opt.Started)
	r.Known, r.Embedded = s.opt.Tools()
	r.Servers, r.Goroutines = len(statuses), runtime.NumGoroutine()
	for _, st := range statuses {
		if st.State.Running() {
			r.Running++
		}
	}
	return r, trees
}

// usage is the last measurement. Whoever asks while one is under way waits for
// it.
type usage struct {
	measure func(map[string][]int) map[string]Usage

	mu    sync.Mutex
	at    time.Time
	hub   Resources // its figures of the hub itself, and of processes
	trees []Tree
}

// read returns the last measurement, or a new one of these servers.
func (u *usage) read(servers []hub.Status) (Resources, []Tree) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at.IsZero() || time.Since(u.at) >= fresh {
		u.hub = ourselves()
		u.trees = u.renewed(servers)
		for _, t := range u.trees {
			u.hub.Processes += t.Processes
		}
		u.at = time.Now()
	}
	return u.hub, slices.Clone(u.trees)
}

// renewed measures the trees of the servers.
func (u *usage) renewed(servers []hub.Status) []Tree {
	leaders := map[string][]int{}
	for _, st := range servers {
		if len(st.PIDs) > 0 {
			leaders[st.Key] = st.PIDs
		}
	}
	if len(leaders) == 0 {
		return nil
	}
	var trees []Tree
	measured := u.measure(leaders)
	for _, st := range servers {
		if now := measured[st.Key]; now.Processes > 0 {
			trees = append(trees, u.grown(Tree{Server: st.Key, PIDs: st.PIDs, Usage: now}))
		}
	}
	return trees
}

// grown is the tree with what it has spent altogether. When a process ends,
// what it spent is gone from the measurement: that counts as nothing spent, and
// not as all of it spent anew.
func (u *usage) grown(t Tree) Tree {
	t.Spent = t.CPU
	i := slices.IndexFunc(u.trees, func(old Tree) bool { return old.Server == t.Server })
	if i < 0 {
		return t
	}
	old := u.trees[i]
	t.Spent += old.Spent
	if slices.ContainsFunc(old.PIDs, func(pid int) bool { return slices.Contains(t.PIDs, pid) }) {
		t.Spent = old.Spent + max(0, t.CPU-old.CPU)
	}
	return t
}

// ourselves measures this process. What cannot be told is 0.
func ourselves() Resources {
	r := Resources{OpenFiles: -1}
	self := &process.Process{Pid: int32(os.Getpid())}
	if m, err := self.MemoryInfo(); err == nil {
		r.RSS = int64(m.RSS)
	}
	if t, err := self.Times(); err == nil {
		r.CPU = t.User + t.System
	}
	if n, err := self.NumFDs(); err == nil {
		r.OpenFiles = int(n)
	}
	return r
}
