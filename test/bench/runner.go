//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// defaultHub is where `make build` puts toolcrib.
const defaultHub = "bin/toolcrib"

// options are those of the runner.
type options struct {
	hub      string // path of toolcrib; empty to measure without it
	before   string // path of an earlier one, to be measured beside it; empty for none
	rounds   int
	slot     time.Duration
	requests int64     // if positive, a slot ends after that many, however long they take
	only     []string  // keys of the scenarios to run; empty for all
	sessions int       // how many idle sessions tell what one holds
	openings int       // sessions opened on a target in a round, one after the other
	crowd    int       // callers that are there beside the load, each with an open stream
	large    int64     // results of 1 MiB that show what a hub keeps of them
	progress io.Writer // told what is being measured
}

func benchMain(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	hubPath := flags.String("toolcrib", defaultHub, "the binary to measure; empty for direct and yardstick alone")
	before := flags.String("before", "", "an earlier toolcrib, to be measured beside it where load goes to hubs")
	rounds := flags.Int("rounds", 5, "rounds, each loading every target once")
	slot := flags.Duration("d", 2*time.Second, "measured time of a target in a round")
	only := flags.String("only", "", "scenarios to run, like a,c (see the table below); default: all")
	quick := flags.Bool("quick", false, "a first look: 2 rounds of 0.5 s")
	output := flags.String("o", "", "file to write the report to as well")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: bench [flags], or bench echo|yardstick|load -help")
		flags.PrintDefaults()
		for _, s := range scenarios() {
			fmt.Fprintf(flags.Output(), "  %s: %s\n", s.key, s.title)
		}
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := options{hub: *hubPath, before: *before, rounds: *rounds, slot: *slot, sessions: 1000, openings: 200, crowd: 1000, large: 200, progress: os.Stderr}
	if *quick {
		o.rounds, o.slot = 2, 500*time.Millisecond
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	if o.hub != "" {
		_, err := os.Stat(o.hub)
		chosen := false
		flags.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "toolcrib" })
		switch {
		case errors.Is(err, fs.ErrNotExist) && !chosen:
			fmt.Fprintf(o.progress, "no %s: measuring direct and yardstick alone\n", o.hub)
			o.hub = ""
		case err != nil:
			return fmt.Errorf("find toolcrib: %w", err)
		}
	}
	result, err := runBench(ctx, o)
	if result != nil {
		text := result.markdown()
		fmt.Fprint(stdout, text)
		if *output != "" {
			err = errors.Join(err, os.WriteFile(*output, []byte(text), 0o644))
		}
	}
	return err
}

// runBench runs the scenarios one after the other. The error says that one could not be measured, or that replies were
// lost or wrong; the report then holds what was measured, and is nil only if nothing could be.
func runBench(ctx context.Context, o options) (*report, error) {
	chosen, err := choose(o.only)
	if err != nil {
		return nil, err
	}
	if o.rounds < 1 || o.slot <= 0 {
		return nil, fmt.Errorf("%d rounds of %v: want at least one, of some time", o.rounds, o.slot)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	for _, path := range []*string{&o.hub, &o.before} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, fmt.Errorf("find toolcrib: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "toolcrib-bench-")
	if err != nil {
		return nil, err
	}
	result := newReport(o)
	var failures []error
	for _, s := range chosen {
		if s.needsSubject && o.hub == "" {
			fmt.Fprintf(o.progress, "%s: %s: left out, it needs toolcrib\n", s.key, s.title)
			continue
		}
		fmt.Fprintf(o.progress, "%s: %s\n", s.key, s.title)
		t := &trial{options: o, lab: lab{self: self, hubPath: o.hub, before: o.before, dir: filepath.Join(dir, s.key)}, report: result.section(s)}
		if err := t.play(ctx, s); err != nil {
			failures = append(failures, fmt.Errorf("scenario %s: %w", s.key, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return result, errors.Join(errors.Join(failures...), os.RemoveAll(dir))
}

// play runs the scenario in a folder of its own and ends what it started.
func (t *trial) play(ctx context.Context, s scenario) error {
	if err := os.Mkdir(t.lab.dir, 0o700); err != nil {
		return err
	}
	defer t.lab.stopAll()
	return errors.Join(s.run(ctx, t), t.failure())
}

func choose(keys []string) ([]scenario, error) {
	all := scenarios()
	if len(keys) == 0 {
		return all, nil
	}
	chosen := make([]scenario, 0, len(keys))
	for _, key := range keys {
		i := slices.IndexFunc(all, func(s scenario) bool { return s.key == strings.TrimSpace(key) })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q", key)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// trial is one run of a scenario.
type trial struct {
	options

	lab    lab
	report *section

	wrong      int64 // requests that failed, or were answered wrongly
	firstWrong string
}

// slot is one kind of load within a scenario.
type slot struct {
	name string
	load loadOptions
}

// countedPatience is how long a load that is bounded by count may last.
const countedPatience = time.Minute

// exchangeTimeout is what one request may take at most.
const exchangeTimeout = 10 * time.Second

// timed is a load with the times of the run.
func (t *trial) timed(load loadOptions) loadOptions {
	load.timeout = exchangeTimeout
	load.warm, load.last, load.count = min(t.slot/5, 300*time.Millisecond), t.slot, t.requests
	if t.requests > 0 {
		load.last = countedPatience
	}
	return load
}

// interleave puts the load on one target after the other, round by round, in rotating order.
func (t *trial) interleave(ctx context.Context, s slot, targets []target) (*series, error) {
	load := t.timed(s.load)
	measured := newSeries(s.name, targets)
	for round := range t.rounds {
		for i := range targets {
			one := targets[(round+i)%len(targets)]
			result, err := t.quietest(ctx, s.name, one, load)
			if err != nil {
				return nil, err
			}
			measured.add(one.name, result)
		}
	}
	fmt.Fprintf(t.progress, "   %s\n", s.name)
	return measured, nil
}

// noiseLimit is how many cores others may take before a load is repeated.
const noiseLimit = 0.25

// quietest loads the target, once more if other processes took much of the machine meanwhile, and returns the result
// of the quieter time. What went wrong counts in both.
func (t *trial) quietest(ctx context.Context, slot string, on target, load loadOptions) (loadResult, error) {
	return t.quietestOf(slot, on, func() (loadResult, error) { return t.lab.load(ctx, on, load) })
}

// quietestOf is quietest for a load with something that goes on beside it.
func (t *trial) quietestOf(slot string, on target, run func() (loadResult, error)) (best loadResult, err error) {
	tries := 2
	if t.requests > 0 {
		tries = 1 // Too short to tell.
	}
	var least share
	for try := range tries {
		before, err := startNoise()
		if err != nil {
			return best, err
		}
		result, err := run()
		if err != nil {
			return best, err
		}
		others, err := before.stop()
		if err != nil {
			return best, err
		}
		t.account(slot, on, result)
		if try == 0 || others.cores() < least.cores() {
			best, least = result, others
		}
		if least.cores() <= noiseLimit {
			break
		}
	}
	t.report.others.add(least)
	return best, nil
}

// account remembers what went wrong in a load.
func (t *trial) account(slot string, on target, result loadResult) {
	if result.good() {
		return
	}
	if t.wrong == 0 {
		t.firstWrong = fmt.Sprintf("%s, %s: %s", slot, on.name, cmp.Or(result.FirstError, "nothing was answered in time"))
	}
	t.wrong += max(result.Errors+result.Mismatches, 1)
}

// failure is the error if a request of the trial failed or was answered wrongly.
func (t *trial) failure() error {
	if t.wrong == 0 {
		return nil
	}
	return fmt.Errorf("%d requests failed or got a wrong reply, first: %s", t.wrong, t.firstWrong)
}

// noise measures how much of the machine others take meanwhile: CPU time that is not that of our own tree.
type noise struct {
	begin       time.Time
	busy, spent time.Duration
}

// share is the CPU time that somebody took of a time that passed.
type share struct{ taken, passed time.Duration }

func (s *share) add(more share) { s.taken, s.passed = s.taken+more.taken, s.passed+more.passed }

// cores is how many cores were taken on average. CPU time comes in ticks, hence the difference can be negative.
func (s share) cores() float64 {
	return max(0, s.taken.Seconds()/max(s.passed, time.Nanosecond).Seconds())
}

func startNoise() (noise, error) {
	busy, err := machineBusy()
	if err != nil {
		return noise{}, err
	}
	own, err := treeUsage(os.Getpid())
	return noise{begin: time.Now(), busy: busy, spent: own.cpu}, err
}

// stop returns what others took since the start.
func (n noise) stop() (share, error) {
	now, err := startNoise()
	return share{taken: (now.busy - n.busy) - (now.spent - n.spent), passed: now.begin.Sub(n.begin)}, err
}
