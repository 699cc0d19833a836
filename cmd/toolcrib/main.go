// Toolcrib is one process between everyone who calls MCP tools and every MCP
// server they use.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

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
	env := cli.System(version)
	ctx, hurry := signals()
	env.Hurry = hurry
	os.Exit(cli.Main(ctx, os.Args[1:], env))
}

// signals returns what the signals to end mean: the first ends ctx, and all is
// stopped in order; the second closes hurry, and the servers' processes are
// killed. With a third, or if that does not end the program within a second, it
// just ends.
func signals() (ctx context.Context, hurry <-chan struct{}) {
	ctx, stop := context.WithCancel(context.Background())
	again := make(chan struct{})
	ask := make(chan os.Signal, 3)
	signal.Notify(ask, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ask
		stop()
		<-ask
		close(again)
		select {
		case <-ask:
		case <-time.After(time.Second):
		}
		os.Exit(exitSignalled)
	}()
	return ctx, again
}

// exitSignalled is the exit code of a program that a signal has ended, as shells
// have it for SIGINT.
const exitSignalled = 130
