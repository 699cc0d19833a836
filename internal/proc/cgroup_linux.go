package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// leafName is the cgroup into which the hub itself moves.
const leafName = "toolcrib-hub"

// cgroups is the part of the hierarchy (version 2) in which this process makes
// cgroups, one for each tree that has limits. It is looked for when the first
// such tree starts; the zero cgroups is ready.
//
// A cgroup whose members are to be limited may hold no process itself (the "no
// internal processes" rule of cgroups(7)). So the hub, with all it has started
// so far, moves into a leaf below its own cgroup. It does so only in a subtree
// that was delegated to it and in which nobody else's processes are.
type cgroups struct {
	once        sync.Once
	base        string   // the delegated cgroup's directory; "" if there is none
	controllers []string // that limit what is below it
	why         error    // there is no base, or not all controllers
}

// make makes a cgroup with limits. Notes say what is not limited by it, and
// why.
func (c *cgroups) make(name string, limits Limits) (*cgroup, []string) {
	c.once.Do(func() {
		if c.base, c.why = delegated(); c.base != "" {
			c.controllers, c.why = enable(c.base)
		}
	})
	if c.base == "" {
		return nil, unlimited(limits, c.why)
	}
	return makeCgroup(filepath.Join(c.base, name), limits, c.controllers, c.why)
}

// makeCgroup makes a cgroup and limits it by the controllers that are there;
// why says what is wrong with the others.
func makeCgroup(dir string, limits Limits, controllers []string, why error) (*cgroup, []string) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, unlimited(limits, err)
	}
	g := &cgroup{dir: dir}
	left := limits
	var failed error
	set := func(controller, file, value string) bool {
		if !slices.Contains(controllers, controller) {
			return false
		}
		err := write(filepath.Join(dir, file), value)
		failed = errors.Join(failed, err)
		return err == nil
	}
	if limits.Memory > 0 && set("memory", "memory.max", strconv.FormatInt(limits.Memory, 10)) {
		left.Memory = 0
		// All or nothing: a server that lost one of its processes is of no use.
		set("memory", "memory.oom.group", "1")
	}
	if limits.Processes > 0 && set("pids", "pids.max", strconv.Itoa(limits.Processes)) {
		left.Processes = 0
	}
	if limits.CPU > 0 && set("cpu", "cpu.max", cpuMax(limits.CPU)) {
		left.CPU = 0
	}
	g.memory = limits.Memory > 0 && left.Memory == 0
	return g, unlimited(left, errors.Join(failed, why))
}

// cpuMax is the processor time in each tenth of a second, in microseconds.
func cpuMax(processors float64) string {
	const period, least = 100_000, 1000
	return fmt.Sprintf("%d %d", max(int64(processors*period), least), period)
}

// unlimited says of each limit that a cgroup would have to keep that it does
// not.
func unlimited(l Limits, why error) []string {
	if why == nil {
		why = errors.New("the system does not offer it")
	}
	var notes []string
	note := func(wanted bool, text string) {
		if wanted {
			notes = append(notes, fmt.Sprintf("%s: %v", text, why))
		}
	}
	note(l.Memory > 0, "memory is limited for each process, not for all together")
	note(l.CPU > 0, "the use of processors is not limited")
	note(l.Processes > 0, "the number of processes is not limited")
	return notes
}

// delegated finds the cgroup of this process, if it may make others in it.
func delegated() (string, error) {
	dir, root, err := ownCgroup()
	if err != nil {
		return "", err
	}
	refuse := errors.New(`no control group is delegated to Toolcrib (with systemd, by "Delegate=yes")`)
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if unix.Access(filepath.Join(dir, name), unix.W_OK) != nil {
			return "", refuse
		}
	}
	// To root everything is writable. systemd marks what it has given away; at
	// the top, such as a container's, nobody else is to be asked.
	if os.Geteuid() == 0 && dir != root {
		if _, err := unix.Getxattr(dir, "trusted.delegate", nil); err != nil {
			return "", refuse
		}
	}
	return dir, nil
}

// ownCgroup finds the directory of the cgroup of this process, and of the
// topmost that is mounted.
func ownCgroup() (dir, root string, err error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", err
	}
	return locateCgroup(string(own), string(mounts))
}

// locateCgroup is ownCgroup, of the texts of cgroups(7) and of
// proc_pid_mountinfo(5).
func locateCgroup(own, mounts string) (dir, root string, err error) {
	path := ""
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(rest, "\n")
		}
	}
	if path == "" {
		return "", "", errors.New("the system has no control groups of version 2")
	}
	for line := range strings.Lines(mounts) {
		// id parent device root point options ... - type source options
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		below, err := filepath.Rel(fields[3], path)
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		return filepath.Join(fields[4], below), fields[4], nil
	}
	return "", "", errors.New("control groups of version 2 are not mounted")
}

// enable has the controllers that limits need divide among the children of a
// cgroup, and returns those that do. The error says why some do not.
func enable(base string) ([]string, error) {
	wanted := []string{"memory", "pids", "cpu"}
	offered := words(filepath.Join(base, "cgroup.controllers"))
	var why error
	for _, controller := range wanted {
		if !slices.Contains(offered, controller) {
			why = errors.New("the control group of Toolcrib has no controller for it")
			continue
		}
		err := write(filepath.Join(base, "cgroup.subtree_control"), "+"+controller)
		if errors.Is(err, unix.EBUSY) {
			if err = vacate(base, os.Getpid()); err == nil {
				err = write(filepath.Join(base, "cgroup.subtree_control"), "+"+controller)
			}
		}
		if err != nil {
			return words(filepath.Join(base, "cgroup.subtree_control")), err
		}
	}
	return words(filepath.Join(base, "cgroup.subtree_control")), why
}

// vacate moves a process and what descends from it into the leaf, if nothing
// else is in the cgroup.
func vacate(base string, self int) error {
	leaf := filepath.Join(base, leafName)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	const rounds = 10 // for what is forked meanwhile
	for range rounds {
		all, err := processes()
		if err != nil {
			return err
		}
		parents := make(map[int]int, len(all))
		for _, e := range all {
			parents[e.pid] = e.parent
		}
		members := members(base)
		if len(members) == 0 {
			return nil
		}
		for _, pid := range members {
			if !descends(pid, self, parents) {
				return fmt.Errorf("process %d, which Toolcrib has not started, shares its control group", pid)
			}
		}
		for _, pid := range members {
			err := write(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(pid))
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return errors.New("the control group of Toolcrib does not become empty")
}

func descends(pid, from int, parents map[int]int) bool {
	for range len(parents) {
		if pid == from {
			return true
		}
		pid = parents[pid]
	}
	return false
}

// cgroup is one that holds a tree. What is in it may be moved elsewhere by those
// who may write to both places, as systemd does with a scope. A nil cgroup holds
// none.
type cgroup struct {
	dir    string
	memory bool // is limited by it
}

// cgroupAt is the one in a directory, nil if it is not there: what lies elsewhere
// under its name says nothing about any process.
func cgroupAt(dir string) *cgroup {
	var fs unix.Statfs_t
	if dir == "" || unix.Statfs(dir, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil
	}
	return &cgroup{dir: dir}
}

// limitsMemory reports whether it does so for all processes together.
func (g *cgroup) limitsMemory() bool { return g != nil && g.memory }

func (g *cgroup) path() string {
	if g == nil {
		return ""
	}
	return g.dir
}

// open returns the directory, for a child to be born in it.
func (g *cgroup) open() (*os.File, error) { return os.Open(g.dir) }

// members returns the ids of the processes in the cgroup.
func (g *cgroup) members() []int {
	if g == nil {
		return nil
	}
	return members(g.dir)
}

// living returns the processes in the cgroup, without zombies.
func (g *cgroup) living() []entry {
	var found []entry
	for _, pid := range g.members() {
		if e, ok := find(pid); ok && !e.zombie {
			found = append(found, e)
		}
	}
	return found
}

// kill kills all processes in the cgroup at once, also those that are just
// being forked.
func (g *cgroup) kill() {
	if g != nil {
		_ = write(filepath.Join(g.dir, "cgroup.kill"), "1") // since Linux 5.14; else by signals
	}
}

// remove removes the cgroup of a tree that is gone. A process that has ended
// may still be on its way out of it.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	for pause := time.Millisecond; pause < 100*time.Millisecond; pause *= 2 {
		if err := unix.Rmdir(g.dir); err != unix.EBUSY {
			return
		}
		time.Sleep(pause)
	}
}

// members returns the ids of the processes in a cgroup that are seen from here.
func members(dir string) []int {
	var pids []int
	for _, word := range words(filepath.Join(dir, "cgroup.procs")) {
		// 0 stands for a process of another PID namespace.
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// words reads a file of a cgroup; of one that cannot be read there are none.
func words(path string) []string {
	text, _ := os.ReadFile(path)
	return strings.Fields(string(text))
}

// write writes to a file of a cgroup, which it does not make.
func write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
