package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/proc"
)

// Limits of stopping.
const (
	drainLimit  = 10 * time.Second // for calls under way to end by themselves
	answerLimit = 2 * time.Second  // for the answers to those that were cancelled
	closeLimit  = 5 * time.Second  // for connections to close after that
)

// sweepLimit is how long what an earlier hub has left behind may take to end by
// itself. It has lost its input already, and servers wait for it.
const sweepLimit = 500 * time.Millisecond

// step is one thing to undo when the hub stops.
type step struct {
	name string
	undo func(ctx context.Context) error
}

// Start begins to serve. It does not wait for any server: what is known of
// them from before is listed at once. The error is a [*hub.Error].
func (a *App) Start() error {
	a.run("record of calls", a.audit.Run)
	a.run("events", a.events.Run)
	a.run("states of calls", a.states.Run)
	a.run("catalog", a.catalog.Run)
	a.run("approvals", a.desk.Run)
	a.run("tokens", a.gate.Book().Run)
	a.run("figures", a.stats.Run)
	a.run("traces", a.traces.Run)
	a.run("memory", tidy)
	a.run("orphans", proc.ReapOrphans)
	a.run("servers", a.keepServers)
	a.run("logins", a.logins.Run)
	a.run("leases", a.control.ExpireLeases)
	if !a.opt.OnDemand { // a hub for one command reads the file once
		a.run("configuration file", a.control.Watch)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := a.http.Run(); err != nil {
			a.failed <- fmt.Errorf("serve HTTP: %w", err)
		}
	}()
	a.onStop("http", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, closeLimit)
		defer cancel()
		a.rest.Close()
		streams := make(chan error, 1)
		go func() { streams <- a.mcp.Close(ctx) }()
		err := a.http.Shutdown(ctx)
		<-served
		return errors.Join(err, <-streams)
	})
	a.run("gateway", a.gateway.Run)
	if !a.opt.OnDemand {
		a.startVoice()
	}
	a.onStop("calls", a.drain)
	if a.opt.Linger {
		a.run("linger", a.linger)
	}
	err := a.dir.WriteHub(datadir.HubInfo{
		PID: os.Getpid(), URL: a.URL(), Socket: a.socket.Addr().String(), Version: a.opt.Version, Started: a.started,
	})
	if err != nil {
		return hub.E(message.DataDirUnusable, err, "path", a.dir.Path()).With("detail", message.Cause(err))
	}
	a.onStop("address", func(context.Context) error { return a.dir.RemoveHub() })
	a.phases.done("doors")
	a.tellPolicy()
	a.log.Info("started", "took", time.Since(a.started), "phases", a.phases.String())
	return nil
}

// keepServers ends what an earlier hub has left behind, which may hold what
// servers need, such as a port or a lock, and then keeps the servers. Lists are
// answered from the index meanwhile.
func (a *App) keepServers(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, sweepLimit)
	swept, err := a.trees.Sweep(patient)
	cancel()
	if err != nil {
		a.log.Warn("what an earlier hub has left behind could not all be ended", "error", err)
	}
	for _, one := range swept {
		switch {
		case one.Err != nil:
			a.log.Warn("what an earlier hub has left behind was not ended", "server", one.Key, "file", one.File, "error", one.Err)
		case one.Processes > 0:
			a.log.Warn("ended what an earlier hub has left behind", "server", one.Key, "pid", one.PID, "processes", one.Processes)
		}
	}
	return a.fleet.Run(ctx)
}

// drain lets the calls under way end, and then has them end.
func (a *App) drain(ctx context.Context) error {
	calls := a.call.Calls()
	patient, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	if calls.Drain(patient) == nil {
		return nil
	}
	// Their callers get an answer, if not the one they hoped for.
	a.log.Warn("calls that did not end in time are cancelled")
	calls.CancelAll(hub.E(message.ShuttingDown, nil))
	last, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return calls.Drain(last)
}

// run starts a part that runs until its context ends, and has it end when its
// turn comes.
func (a *App) run(name string, part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := part(ctx)
		if err != nil && ctx.Err() == nil {
			a.failed <- fmt.Errorf("%s: %w", name, err)
		}
		done <- err
	}()
	a.onStop(name, func(context.Context) error {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
}

func (a *App) onStop(name string, undo func(context.Context) error) {
	a.steps = append(a.steps, step{name, undo})
}

// Failed tells of a part that ended by itself; the hub is then to be stopped.
func (a *App) Failed() <-chan error { return a.failed }

// Stop ends everything in the opposite order of the start: calls under way may
// end, then connections, processes, and what is saved. New calls are refused
// with [message.ShuttingDown] from its beginning. It may be called more than
// once and returns when all is done; each step is bounded in time. When
// Options.Hurry is closed it kills the processes of the servers and returns
// [ErrHurried], with the rest undone: the program is then to end.
func (a *App) Stop(ctx context.Context) error {
	a.once.Do(func() { go a.stop(context.WithoutCancel(ctx)) })
	select {
	case <-a.stopped:
		return a.stopErr
	case <-a.opt.Hurry:
		if a.trees != nil {
			a.trees.Kill()
		}
		return ErrHurried
	}
}

// ErrHurried is the error of a stop that was cut short.
var ErrHurried = errors.New("stopped at once: calls under way got no answer")

func (a *App) stop(ctx context.Context) {
	defer close(a.stopped)
	for _, s := range slices.Backward(a.steps) {
		began := time.Now()
		if err := s.undo(ctx); err != nil {
			a.stopErr = errors.Join(a.stopErr, fmt.Errorf("stop %s: %w", s.name, err))
		}
		if took := time.Since(began); took > time.Second {
			a.log.Info("stopped", "part", s.name, "took", took.Round(time.Millisecond))
		}
	}
}

// End asks for the end of the hub: Ended is closed. It may be called more than
// once, and does not wait.
func (a *App) End() { a.end.Do(func() { close(a.over) }) }

// Ended is closed when somebody has asked for the end of the hub from within;
// it is then to be stopped.
func (a *App) Ended() <-chan struct{} { return a.over }

// Run makes a hub, calls ready once it serves, keeps it until ctx ends, it is
// asked to end or a part of it fails, and stops it.
func Run(ctx context.Context, opt Options, ready func(*App)) error {
	a, err := New(ctx, opt)
	if err != nil {
		return err
	}
	if err := a.Start(); err != nil {
		return errors.Join(err, a.Stop(ctx))
	}
	ready(a)
	select {
	case <-ctx.Done():
	case <-a.Ended():
	case err := <-a.Failed():
		return errors.Join(err, a.Stop(ctx))
	}
	opt.Log.Info("stopping")
	return a.Stop(ctx)
}
