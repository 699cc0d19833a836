//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// loadOptions says what to ask of which endpoint.
type loadOptions struct {
	url     string
	workers int // each with a TCP connection and a session of its own
	warm    time.Duration
	last    time.Duration // measured time
	count   int64         // if positive, measured requests in all; whichever is first ends the load
	every   time.Duration // a worker begins no request sooner after the one before; 0 for as soon as that is answered
	timeout time.Duration // of one exchange
	pid     int           // whose tree's CPU time and memory are reported; 0 for none

	// What is asked: the first that is set of list, args and kib; else the tool is echo.
	list    int    // tools/list, which must have that many tools named prefix and a number
	prefix  string // see list
	args    string // arguments of the tool, as JSON
	expect  string // with args: what the reply's text must contain
	kib     int    // the tool is blob, asked for that many KiB
	size    int    // length of echo's text
	tool    string // name of the tool; %d in it is replaced by 1 ... servers in turn
	servers int    // see tool
}

// loadResult is what the load generator prints, as one line of JSON.
type loadResult struct {
	Requests   int64   `json:"requests"` // good ones, within the measured time
	Errors     int64   `json:"errors"`
	Mismatches int64   `json:"mismatches"` // answers that were not the right ones
	FirstError string  `json:"first_error,omitempty"`
	Seconds    float64 `json:"seconds"`
	RPS        float64 `json:"rps"`
	P50        float64 `json:"p50_us"`
	P99        float64 `json:"p99_us"`
	P999       float64 `json:"p999_us"`
	CPUPer10k  float64 `json:"cpu_s_per_10k"` // CPU seconds of the target's process tree for 10,000 good requests
	RSSKiB     int64   `json:"rss_kib"`       // of the target's process tree, at the end
}

// good tells whether all requests, and at least one, were answered rightly.
func (r loadResult) good() bool { return r.Requests > 0 && r.Errors == 0 && r.Mismatches == 0 }

func (o *loadOptions) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.StringVar(&o.url, "url", "http://127.0.0.1:9100/mcp", "the endpoint")
	flags.IntVar(&o.workers, "c", 1, "workers, each with a connection and a session of its own")
	flags.DurationVar(&o.warm, "warm", 200*time.Millisecond, "load before the measured time")
	flags.DurationVar(&o.last, "d", time.Second, "measured time")
	flags.Int64Var(&o.count, "n", 0, "end after that many measured requests")
	flags.DurationVar(&o.every, "every", 0, "time between the beginnings of a worker's requests; 0 for none")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "for one exchange")
	flags.IntVar(&o.pid, "pid", 0, "process whose tree's CPU time and memory are reported")
	flags.IntVar(&o.list, "list", 0, "measure tools/list, which must have that many tools")
	flags.StringVar(&o.prefix, "prefix", "", "with -list: count the tools whose names begin so, followed by a number")
	flags.StringVar(&o.tool, "tool", "echo", "tool to call; %d in it is replaced by 1 to -servers in turn")
	flags.IntVar(&o.servers, "servers", 1, "how many servers %d in -tool stands for")
	flags.StringVar(&o.args, "args", "", "arguments as JSON, for a tool that is neither echo nor blob")
	flags.StringVar(&o.expect, "expect", "", "with -args: what the reply's text must contain")
	flags.IntVar(&o.kib, "kib", 0, "the tool is blob: size of the reply in KiB")
	flags.IntVar(&o.size, "size", minEchoText, "length of echo's text")
	return flags
}

// arguments gives the options as the command line that loadMain reads.
func (o *loadOptions) arguments() []string {
	return []string{
		"load", "-url", o.url, "-c", strconv.Itoa(o.workers), "-warm", o.warm.String(), "-d", o.last.String(),
		"-n", strconv.FormatInt(o.count, 10), "-timeout", o.timeout.String(), "-every", o.every.String(), "-pid", strconv.Itoa(o.pid),
		"-list", strconv.Itoa(o.list), "-prefix", o.prefix, "-tool", o.tool, "-servers", strconv.Itoa(o.servers),
		"-args", o.args, "-expect", o.expect, "-kib", strconv.Itoa(o.kib), "-size", strconv.Itoa(o.size),
	}
}

func loadMain(ctx context.Context, args []string, stdout io.Writer) error {
	var options loadOptions
	if err := options.flags().Parse(args); err != nil {
		return err
	}
	result, err := runLoad(ctx, options)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result)
}

// maxFailures is how often a worker fails before it gives up: a load that goes wrong need not go on.
const maxFailures = 10

// gauge is what the workers of a load share.
type gauge struct {
	measuring atomic.Bool
	done      atomic.Bool
	left      atomic.Int64 // measured requests still to begin, if the load is bounded by count
	counted   bool
}

// loadWorker is one connection with its session, used by one goroutine.
type loadWorker struct {
	conn      *conn
	requester requester

	latencies          []time.Duration
	failed, mismatched int64
	firstError         error
}

// runLoad opens the sessions, warms up, measures, and ends the sessions. An error means that there is nothing
// to report; requests that fail are part of the report.
func runLoad(ctx context.Context, options loadOptions) (result loadResult, err error) {
	workers := make([]*loadWorker, 0, options.workers)
	defer func() {
		for _, worker := range workers {
			err = errors.Join(err, worker.conn.end())
		}
	}()
	for i := range options.workers {
		c, err := dialConn(ctx, options.url, options.timeout)
		if err != nil {
			return result, fmt.Errorf("connect worker %d: %w", i, err)
		}
		workers = append(workers, &loadWorker{conn: c, requester: options.requester(i)})
		if err := c.open(); err != nil {
			return result, fmt.Errorf("open the session of worker %d: %w", i, err)
		}
	}
	shared := &gauge{counted: options.count > 0}
	shared.left.Store(options.count)
	var running sync.WaitGroup
	for i, worker := range workers {
		first := options.every * time.Duration(i) / time.Duration(len(workers)) // one after the other
		running.Go(func() {
			time.Sleep(first)
			worker.run(shared, options.every)
		})
	}
	finished := make(chan struct{})
	go func() { running.Wait(); close(finished) }()

	wait(ctx, finished, options.warm)
	before, usageErr := options.usage()
	begin := time.Now()
	shared.measuring.Store(true)
	wait(ctx, finished, options.last)
	took := time.Since(begin)
	after, err := options.usage()
	shared.done.Store(true)
	<-finished // Each exchange has a deadline.
	if err := errors.Join(usageErr, err, context.Cause(ctx)); err != nil {
		return result, err
	}
	return summarize(workers, took, after.cpu-before.cpu, after.rssKiB), nil
}

// wait returns after d, or sooner when finished is closed or ctx ends.
func wait(ctx context.Context, finished <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-finished:
	case <-ctx.Done():
	}
}

func (o *loadOptions) usage() (usage, error) {
	if o.pid == 0 {
		return usage{}, nil
	}
	return treeUsage(o.pid)
}

func (o *loadOptions) requester(worker int) requester {
	tools := expandTool(o.tool, max(o.servers, 1))
	switch {
	case o.list > 0:
		return &listRequester{prefix: o.prefix, want: o.list}
	case o.args != "":
		return newConstantRequester(tools[0], o.args, acceptContaining(o.expect))
	case o.kib > 0:
		return newConstantRequester(tools[0], fmt.Sprintf(`{"kib":%d}`, o.kib), acceptBlob(o.kib))
	default:
		return newEchoRequester(tools, worker, o.size)
	}
}

// run makes requests until the load is done or goes wrong.
func (w *loadWorker) run(shared *gauge, every time.Duration) {
	for !shared.done.Load() && !w.conn.broken && w.failed+w.mismatched < maxFailures {
		measured := shared.measuring.Load()
		if measured && shared.counted && shared.left.Add(-1) < 0 {
			return
		}
		begin := time.Now()
		arrived, err := w.requester.request(w.conn)
		switch {
		case err != nil:
			w.fail(err)
		case measured && !shared.done.Load():
			w.latencies = append(w.latencies, arrived.Sub(begin))
		}
		if every > 0 {
			time.Sleep(every - time.Since(begin))
		}
	}
}

// fail counts a failure, whether it falls into the measured time or not.
func (w *loadWorker) fail(err error) {
	if w.firstError == nil {
		w.firstError = err
	}
	if wrong := (*mismatch)(nil); errors.As(err, &wrong) {
		w.mismatched++
	} else {
		w.failed++
	}
}

func summarize(workers []*loadWorker, took, cpu time.Duration, rssKiB int64) loadResult {
	result := loadResult{Seconds: took.Seconds(), RSSKiB: rssKiB}
	var latencies []time.Duration
	for _, worker := range workers {
		latencies = append(latencies, worker.latencies...)
		result.Errors += worker.failed
		result.Mismatches += worker.mismatched
		if worker.firstError != nil && result.FirstError == "" {
			result.FirstError = worker.firstError.Error()
		}
	}
	result.Requests = int64(len(latencies))
	if result.Requests == 0 {
		return result
	}
	slices.Sort(latencies)
	result.RPS = float64(result.Requests) / result.Seconds
	result.CPUPer10k = cpu.Seconds() / float64(result.Requests) * 10_000
	result.P50 = micros(quantile(latencies, 0.5))
	result.P99 = micros(quantile(latencies, 0.99))
	result.P999 = micros(quantile(latencies, 0.999))
	return result
}

// quantile returns the smallest of the sorted values that at least the share q of them do not exceed.
func quantile(sorted []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
