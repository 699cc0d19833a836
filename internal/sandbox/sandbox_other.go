//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"runtime"
)

// self is never run.
const self = ""

func unavailable() string {
	return "there are sandboxes on Linux (amd64, arm64) only, and this is " + runtime.GOOS + "/" + runtime.GOARCH
}

func (o *order) launch([]string) error { return errors.New(unavailable()) }
