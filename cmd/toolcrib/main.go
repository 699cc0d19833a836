// Toolcrib is one process between everyone who calls MCP tools and every MCP
// server they use.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/toolcrib/toolcrib/internal/cli"
)

// version is set when the program is built.
var version = "dev"

func main() {
	// The live heap is a few MiB, so that by default the collector would run
	// for every few MiB of messages. Under large messages the process takes up
	// to twice the memory for that. GOGC and GOMEMLIMIT still have their say.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal stops in order; a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, os.Args[1:], cli.System(version)))
}
