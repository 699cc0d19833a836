package proc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// record is what a file of the ledger says about one tree.
//
// The file has two lines of JSON. The first is written before the child is
// forked, the second, with what is known only then, right after it. Each is
// one write, which a kill of this process cannot cut in two, and what was
// written is in the cache of the system: it outlives the process without being
// flushed to the disk. A loss of power takes the file and the processes alike.
type record struct {
	Version int    `json:"version"`
	Mark    string `json:"mark"`
	Key     string `json:"key,omitempty"`
	Command string `json:"command"`          // its arguments may be secrets
	Boot    string `json:"boot,omitempty"`   // of the machine; "" where it is not known
	Space   string `json:"space,omitempty"`  // in which process ids mean something, on Linux the PID namespace
	Cgroup  string `json:"cgroup,omitempty"` // the directory of the tree's own

	identity
}

// identity is the second line: with the boot and the space it names one process
// for ever.
type identity struct {
	PID   int    `json:"pid,omitempty"`   // and the id of its group; 0 if the hub died before it was written
	Start uint64 `json:"start,omitempty"` // in the units of the system, see entry
}

const recordVersion = 1

// birth is the first line.
func (r record) birth() []byte {
	r.Version, r.identity = recordVersion, identity{}
	return line(r)
}

func line(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings and numbers
	}
	return append(text, '\n')
}

// parseRecord reads the file of the tree with the given mark. Every value of a
// record that it returns can be relied upon to have the right form.
func parseRecord(mark string, data []byte) (record, error) {
	var r record
	first, second, ended := bytes.Cut(data, []byte{'\n'})
	if !ended {
		return r, errors.New("the file ends too early")
	}
	if err := json.Unmarshal(first, &r); err != nil {
		return r, fmt.Errorf("line 1: %w", err)
	}
	if r.Version != recordVersion {
		return r, fmt.Errorf("written by a version that is not known (format %d)", r.Version)
	}
	r.identity = identity{}
	if len(second) > 0 {
		if err := json.Unmarshal(second, &r.identity); err != nil {
			return r, fmt.Errorf("line 2: %w", err)
		}
		// 1 is init; and what was signalled at -1 is everything.
		if r.PID <= 1 || r.Start == 0 {
			return r, errors.New("line 2: no process has this id or start")
		}
	}
	if r.Mark != mark || runOf(mark) == "" {
		return r, errors.New("the file has another name than its mark")
	}
	if r.Cgroup != "" && (!filepath.IsAbs(r.Cgroup) || filepath.Base(r.Cgroup) != cgroupName(mark)) {
		return r, errors.New("the cgroup is not the tree's own")
	}
	return r, nil
}

// cgroupName is the name of a tree's own cgroup.
func cgroupName(mark string) string { return "toolcrib-" + mark }
