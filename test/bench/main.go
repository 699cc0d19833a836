//go:build linux

// Command bench measures what toolcrib adds to a call, against a yardstick that stands for the least a hub can do.
//
//	go run ./test/bench                   every scenario: direct, yardstick and bin/toolcrib
//	go run ./test/bench -quick -only a,c  a first look
//
// One binary plays every part but toolcrib itself, by re-executing itself:
//
//	echo       an upstream MCP server that costs next to nothing
//	yardstick  a hub of net/http, a session map and a prefix, and nothing else
//	load       a closed-loop load generator that checks every byte of every reply
//	(none)     the runner, which starts the others, measures, and prints a table
//
// Everything listens on loopback, every step is bounded in time, and what the runner starts it ends. Because load,
// upstream and hub share the machine, absolute figures are those of that machine; the goals are ratios. All targets
// are up at once, load goes to one at a time, and their order rotates from round to round (ABC, BCA, CAB), so that
// whatever else the machine does falls on all alike; a ratio is taken within a round, and its median over the rounds
// is what counts. CPU time and memory are those of a target's process tree, which is why this needs Linux's /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp): // The flag package has printed the help.
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// dispatch runs the part that the first argument names until it is done or ctx ends.
func dispatch(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	part := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		part, args = args[0], args[1:]
	}
	switch part {
	case "":
		return benchMain(ctx, args, stdout)
	case "echo":
		return echoMain(ctx, args, stdin, stdout)
	case "yardstick":
		return yardstickMain(ctx, args)
	case "load":
		return loadMain(ctx, args, stdout)
	default:
		return fmt.Errorf("unknown part %q: want echo, yardstick, load, or flags for the runner", part)
	}
}

// serveLoopback serves handler on addr until ctx ends, then drops every connection. An address that other machines
// could reach is refused.
func serveLoopback(ctx context.Context, addr string, handler http.Handler) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if bound, ok := listener.Addr().(*net.TCPAddr); !ok || !bound.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s is not a loopback address", addr), listener.Close())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
