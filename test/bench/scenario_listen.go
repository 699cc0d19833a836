//go:build linux

package main

import (
	"context"
)

func listeners(ctx context.Context, t *trial) error { return nil }
