// Faultserver is an MCP server that goes wrong on request: the other side of
// the tests which show what the hub does with upstreams that crash, stall,
// lie or flood. Without -fault it is a correct server of the revisions with
// sessions (2024-11-05 to 2025-11-25); it rests on no MCP library, so that it
// shares no mistake with one.
//
// It speaks on standard input and output, or with -http on a loopback
// address, whose URL is then the first line of standard output. Faults are
// chosen by name with -fault (see the catalogue in fault.go); those which
// spoil an answer hit the messages that -on names. It ends by itself after
// -lifetime, whatever it was told to ignore.
//
// Exit codes: 0 stopped, 1 the crashstart and silentunknown faults, 2 wrong
// usage, 3 the crash tool and the crashafter fault, 4 end of the lifetime.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	exitFault    = 1
	exitUsage    = 2
	exitCrash    = 3
	exitLifetime = 4
)

// options is the command line.
type options struct {
	faults     faults
	httpAddr   string
	sse        bool
	delay      time.Duration
	size       int
	sessionFor int
	lifetime   time.Duration
	grandchild bool
	tally      string
	about      string
	wide       bool
	name       string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var (
		o         options
		names, on string
	)
	fs := flag.NewFlagSet("faultserver", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&names, "fault", "", "comma-separated faults: "+strings.Join(faultNames(), ", "))
	fs.StringVar(&on, "on", "tools/call",
		"comma-separated messages that the answer faults hit: METHOD, tools/call:TOOL, or * for every request")
	fs.StringVar(&o.httpAddr, "http", "", "serve streamable HTTP on this loopback address instead of stdio; port 0 picks one")
	fs.BoolVar(&o.sse, "sse", false, "answer every HTTP request with an event stream (default: only one that has notifications)")
	fs.DurationVar(&o.delay, "delay", time.Second, "how long slowlist and each byte of slowloris take")
	fs.IntVar(&o.size, "size", 100<<20, "bytes of text in a hugeline or hugejson reply")
	fs.IntVar(&o.sessionFor, "session-calls", 1, "tool calls after which status404session forgets the session")
	fs.DurationVar(&o.lifetime, "lifetime", 10*time.Minute, "end the process after this time, whatever happens")
	fs.StringVar(&o.tally, "tally", "", "append a line to this file for the start of the process and for every call of work, before it is worked at")
	fs.StringVar(&o.name, "name", "", "offer the risky tools as well, as the server of this name; it needs a -tally")
	fs.StringVar(&o.about, "about", "", "what echo says about itself, instead of the usual")
	fs.BoolVar(&o.wide, "wide", false, "offer resources, prompts, completion and questions as well, and answer with legal and unusual JSON")
	fs.BoolVar(&o.grandchild, "grandchild", false, "be what the fork tool starts: ignore everything and live for 1000 s")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	var err error
	o.faults, err = parseFaults(names, on, o.httpAddr != "")
	return o, err
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "faultserver:", err)
		}
		os.Exit(exitUsage)
	}
	if o.grandchild {
		beGrandchild()
		return
	}
	if o.faults.has("crashstart") {
		fmt.Fprintln(os.Stderr, "faultserver: cannot find the database, giving up")
		os.Exit(exitFault)
	}
	time.AfterFunc(o.lifetime, func() { os.Exit(exitLifetime) })
	if err := record(o.tally, "start "+strconv.Itoa(os.Getpid())); err != nil {
		fmt.Fprintln(os.Stderr, "faultserver:", err)
		os.Exit(exitUsage)
	}
	ctx := context.Background()
	if o.faults.has("nostop") {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	} else {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
		defer stop()
	}
	if o.faults.has("brood") {
		if err := beget(); err != nil {
			fmt.Fprintln(os.Stderr, "faultserver:", err)
			os.Exit(exitFault)
		}
	}
	s := newServer(o)
	if o.httpAddr != "" {
		err = s.serveHTTP(ctx, os.Stdout)
	} else {
		err = s.serveStdio(ctx, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultserver:", err)
		os.Exit(exitFault)
	}
}

// beGrandchild is a process that nothing but KILL ends within 1000 s. It
// inherits the standard streams and so holds the pipes open.
func beGrandchild() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, os.Interrupt)
	time.Sleep(1000 * time.Second)
}
