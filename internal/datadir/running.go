package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
)

// HubInfo says how to reach the hub that holds a data directory.
type HubInfo struct {
	PID     int       `json:"pid"`
	URL     string    `json:"url,omitempty"`    // of the listener, without a path; "" if there is none
	Socket  string    `json:"socket,omitempty"` // path of the local socket; "" if there is none
	Version string    `json:"version"`          // of the program
	Started time.Time `json:"started"`
}

// WriteHub says how to reach the hub that holds the directory. It is called
// once the hub serves; who reads sees the whole file or none.
func (d *Dir) WriteHub(info HubInfo) error {
	raw, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", d.HubFile(), err)
	}
	if err := atomicfile.WriteBytes(d.HubFile(), append(raw, '\n')); err != nil {
		return fmt.Errorf("saying how to reach the hub: %w", err)
	}
	return nil
}

// RemoveHub takes back what WriteHub has said. It is called before the hub
// stops to serve. That there is nothing to take back is no error.
func (d *Dir) RemoveHub() error {
	if err := os.Remove(d.HubFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing what says how to reach the hub: %w", err)
	}
	return nil
}

// ReadHub returns how to reach the hub that holds the directory at path. The
// error wraps [fs.ErrNotExist] if none serves. A hub that was killed leaves
// its file behind; [Peek] tells whether the directory is held. A directory
// that others may write is refused, for they could have a token shown to them.
func ReadHub(path string) (HubInfo, error) {
	info, err := readHub(path)
	if err != nil {
		return HubInfo{}, fmt.Errorf("looking for a running hub: %w", err)
	}
	return info, nil
}

func readHub(path string) (info HubInfo, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return info, err
	}
	if err := checkAccess(abs); err != nil {
		return info, err
	}
	name := Layout(abs).HubFile()
	raw, err := readSmall(name)
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return info, fmt.Errorf("%s: %w", name, err)
	}
	if info.PID <= 0 || info.URL == "" && info.Socket == "" {
		return info, fmt.Errorf("%s does not say how to reach the hub", name)
	}
	return info, nil
}
