//go:build !linux

package audit

import "os"

// dataSync makes what a file holds outlast a loss of power.
func dataSync(f *os.File) error { return f.Sync() }
