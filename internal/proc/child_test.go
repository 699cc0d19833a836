//go:build unix

package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childMode is the variable by which the test binary is told to be a child.
const childMode = "PROC_TEST_CHILD"

// runAsChild makes this process a child of the named behaviour, if it was
// started as one. Every child that lives on says "ready" first.
func runAsChild() {
	mode, arg, _ := strings.Cut(os.Getenv(childMode), ":")
	switch mode {
	case "":
		return
	case "exit": // at once, with the given status
		status, _ := strconv.Atoi(arg)
		os.Exit(status)
	case "cat": // until its input ends
		fmt.Println("ready")
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "deaf": // to the end of its input
		fmt.Println("ready")
		forever()
	case "stubborn": // ends by no wish of others
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready", os.Getpid())
		forever()
	case "parent": // of a stubborn child that shares all pipes; ends with its input
		startChild("stubborn", false)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "runaway": // leaves a stubborn child behind
		startChild("stubborn", false)
		os.Exit(3)
	case "escape": // leaves a child behind that has left the group
		startChild("stubborn", true)
		os.Exit(4)
	case "leave": // as before, and does not want to be found
		if err := os.Unsetenv(MarkVariable); err != nil {
			panic(err)
		}
		startChild("stubborn", true)
		os.Exit(4)
	case "litter": // has children within and without its group; all ignore every wish
		startChild("stubborn", false)
		startChild("stubborn", true)
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready", os.Getpid())
		forever()
	case "use": // the given number of MiB and some processor time
		size, _ := strconv.Atoi(arg)
		useUp(size << 20)
	case "hub": // with the ledger in the given directory, and children of all kinds
		standIn(arg)
	case "flood": // writes the given number of bytes, and ends
		size, _ := strconv.Atoi(arg)
		_, _ = os.Stdout.WriteString(strings.Repeat("x", size))
		_, _ = os.Stderr.WriteString("the last words")
	case "say": // the argument on standard error, and ends
		_, _ = os.Stderr.WriteString(arg)
	}
	os.Exit(0)
}

// standIn is a hub that does nothing but run servers. It names their processes
// once all of them ignore what they can.
func standIn(dir string) {
	ledger, err := OpenLedger(dir)
	if err != nil {
		panic(err)
	}
	for key, processes := range map[string]int{"litter": 3, "escape": 1, "deaf": 0} {
		p, err := Start(Spec{
			Command: os.Args[0], Args: []string{"-token=secret"}, Env: map[string]string{childMode: key},
			Ledger: ledger, Key: key, StopGrace: time.Hour, KillGrace: time.Hour,
		})
		if err != nil {
			panic(err)
		}
		out := bufio.NewReader(p.Stdout())
		for range processes {
			line, err := out.ReadString('\n')
			if err != nil {
				panic(err)
			}
			fmt.Print(line)
		}
		if key == "escape" { // the sweep is to find what it left, not itself
			<-p.exited
		}
	}
	fmt.Println("up")
	forever()
}

// useUp takes memory and 300 ms of processor time, says so and waits for the
// end of its input.
func useUp(size int) {
	memory := make([]byte, size)
	for sum, limit := byte(0), 300*time.Millisecond; processorTime() < limit; {
		for i := range memory {
			memory[i] += sum + 1
			sum += memory[i]
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(memory)
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// forever does not return. It waits for a signal, as Go ends a program that
// waits for nothing at all.
func forever() {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	for {
		<-hangup
	}
}

// startChild starts a child of this child, and passes its first line on once
// it is ready.
func startChild(mode string, ownSession bool) {
	out, theirs, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, theirs, os.Stderr
	cmd.ExtraFiles = []*os.File{os.Stdout} // held open, never written
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: ownSession}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		panic(err)
	}
	fmt.Print(line)
}
