//go:build linux

package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// stock is what a hub has at a moment of rest.
type stock struct {
	files      []string // what is open, the database aside
	goroutines int
	memory     int64 // KiB that are its own; with the race detector, of the Go heap and the stacks only
}

func (s stock) String() string {
	return fmt.Sprintf("%d descriptors, %d goroutines, %d KiB", len(s.files), s.goroutines, s.memory)
}

// within reports whether there is no more open and under way than in the other.
func (s stock) within(other stock) bool {
	return len(s.files) <= len(other.files) && s.goroutines <= other.goroutines
}

// takeStock counts what the hub has, as the system and the hub itself say.
func takeStock(hub *rig.Hub) (stock, error) {
	files, err := descriptors(hub.PID())
	if err != nil {
		return stock{}, err
	}
	// Connections to the database are kept, a few at most, and made as needed.
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasPrefix(filepath.Base(f), "toolcrib.db") })
	now := stock{files: files}
	if now.goroutines, err = goroutines(hub); err != nil {
		return stock{}, err
	}
	// Last, as asking for it leaves something behind for a moment.
	if rig.RaceEnabled { // which keeps much of its own that the hub has long let go of
		now.memory, err = goMemory(hub)
	} else {
		now.memory, err = ownMemory(hub.PID())
	}
	return now, err
}

// descriptors says what each descriptor of a process is of.
func descriptors(pid int) ([]string, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil { // else it was closed meanwhile
			all = append(all, to)
		}
	}
	slices.Sort(all)
	return all, nil
}

// ownMemory is the memory of a process, in KiB, that is not a part of a file
// (proc(5), RssAnon).
func ownMemory(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			return strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		}
	}
	return 0, fmt.Errorf("process %d has no RssAnon", pid)
}

// goMemory is what the hub's Go heap and stacks take, in KiB, as it says itself.
func goMemory(hub *rig.Hub) (int64, error) {
	raw, err := get(hub, "/metrics")
	if err != nil {
		return 0, err
	}
	var sum float64
	for _, name := range []string{"go_memstats_heap_inuse_bytes ", "go_memstats_stack_inuse_bytes "} {
		_, rest, _ := strings.Cut(string(raw), "\n"+name)
		value, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("GET /metrics: %s%q: %w", name, value, err)
		}
		sum += n
	}
	return int64(sum) >> 10, nil
}

// goroutines is how many the hub says that it has.
func goroutines(hub *rig.Hub) (int, error) {
	raw, err := get(hub, "/api/v1/stats")
	if err != nil {
		return 0, err
	}
	var stats struct {
		Resources struct {
			Goroutines int `json:"goroutines"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(raw, &stats); err != nil {
		return 0, fmt.Errorf("GET /api/v1/stats: %w", err)
	}
	if stats.Resources.Goroutines == 0 {
		return 0, fmt.Errorf("GET /api/v1/stats: %s", raw)
	}
	return stats.Resources.Goroutines, nil
}

// get asks the hub for something, by a connection that does not stay.
func get(hub *rig.Hub, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, hub.URL+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %d: %.200s", resp.StatusCode, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return raw, nil
}

// running returns the processes that run the program, wherever they are in the
// tree.
func running(program string) []rig.Proc {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	var all []rig.Proc
	for _, link := range links {
		// The end of a program whose file is gone meanwhile is " (deleted)".
		if path, err := os.Readlink(link); err != nil || strings.TrimSuffix(path, " (deleted)") != program {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			if p, ok := identify(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// identify names the process that has the id now, if there is one.
func identify(pid int) (rig.Proc, bool) {
	fields, name, ok := readStat(pid)
	if !ok || fields[0] == "Z" || fields[0] == "X" {
		return rig.Proc{}, false
	}
	return rig.Proc{PID: pid, Start: fields[startField], Name: name}, true
}

// children returns every child of a process, also those that have ended and
// were not waited for; each with its state.
func children(parent int) []string {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	var all []string
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if fields, name, ok := readStat(pid); ok && fields[1] == strconv.Itoa(parent) {
			all = append(all, fmt.Sprintf("%d %s %s", pid, fields[0], name))
		}
	}
	return all
}

// startField is where the start of a process is among the fields of readStat.
const startField = 19

// readStat returns the fields of /proc/pid/stat from the state on, and the
// command's name before them.
func readStat(pid int) (fields []string, name string, ok bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, "", false // it has ended meanwhile
	}
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || end < open {
		return nil, "", false
	}
	fields = strings.Fields(string(raw[end+1:]))
	return fields, string(raw[open+1 : end]), len(fields) > startField
}

// awaitGone waits until nothing runs the program any more, save what is spared.
func awaitGone(t *testing.T, program string, spared ...rig.Proc) {
	t.Helper()
	rig.Await(t, "every process of the servers has ended", func() bool {
		for _, p := range running(program) {
			if !slices.Contains(spared, p) {
				return false
			}
		}
		return true
	})
}
