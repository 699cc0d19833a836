//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// operator does deeds to servers of its own, one after another, and looks after
// each whether the server can be called again.
type operator struct {
	hub     *rig.Hub
	api     *apiclient.Client
	file    *configFile
	book    *book
	caller  caller
	servers []*server
	chance  *rand.Rand
	done    []string // the last deeds, for people
}

// deed is one thing that happens to a server.
type deed struct {
	name   string
	weight int
	local  bool // only to servers that the hub starts
	do     func(o *operator, ctx context.Context, s *server) error
}

func deeds() []deed {
	return []deed{
		{"call", 2, false, (*operator).callIt},
		{"stop", 2, false, (*operator).stop},
		{"restart", 2, false, (*operator).restart},
		{"kill", 4, true, (*operator).kill},
		{"crash", 3, true, (*operator).crash},
		{"change", 2, true, (*operator).change},
		{"change what applies live", 1, true, (*operator).changeLive},
		{"edit and reload", 2, true, (*operator).edit},
		{"disable", 1, false, (*operator).disable},
		{"remove", 1, false, (*operator).remove},
		{"leave idle", 2, true, (*operator).leaveIdle},
		{"lose", 3, false, (*operator).lose},
	}
}

// work does n deeds. The error says what went wrong in which.
func (o *operator) work(ctx context.Context, n int) error {
	all := deeds()
	sum := 0
	for _, d := range all {
		sum += d.weight
	}
	for i := range n {
		s := o.servers[o.chance.IntN(len(o.servers))]
		d := pick(all, o.chance.IntN(sum))
		if d.local && s.remote != nil || d.name == "lose" && s.remote == nil || d.name == "leave idle" && !s.idles {
			d = all[0]
		}
		begun := time.Now()
		limited, cancel := context.WithTimeout(ctx, 2*soon)
		err := d.do(o, limited, s)
		cancel()
		o.note(fmt.Sprintf("%s %s: %v (%v)", d.name, s.key, err, time.Since(begun).Round(time.Millisecond)))
		if err == nil {
			err = o.callIt(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("deed %d, %s %s: %w", i, d.name, s.key, err)
		}
		s.deeds.Add(1)
	}
	return nil
}

func pick(all []deed, n int) deed {
	for _, d := range all {
		if n -= d.weight; n < 0 {
			return d
		}
	}
	return all[0]
}

func (o *operator) note(line string) {
	const kept = 12
	o.done = append(o.done, time.Now().Format("15:04:05.000 ")+line)
	o.done = o.done[max(0, len(o.done)-kept):]
}

// callIt calls the server. Nobody else does anything to it, so that the call has
// to succeed, whether it runs or has to be started for it.
func (o *operator) callIt(ctx context.Context, s *server) error {
	return o.told(ctx, s, "ok")
}

// told calls the server and compares what the caller is told.
func (o *operator) told(ctx context.Context, s *server, want ...string) error {
	got, err := o.book.call(ctx, o.caller, s.key, 0)
	if err == nil && !slices.Contains(want, got) {
		err = fmt.Errorf("a call was told %q, want one of %q", got, want)
	}
	return err
}

func (o *operator) act(ctx context.Context, s *server, action string) error {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	_, err := o.api.ServerAction(ctx, s.key, action)
	return err
}

func (o *operator) stop(ctx context.Context, s *server) error {
	if err := o.act(ctx, s, api.ActionStop); err != nil {
		return err
	}
	view, err := o.api.Server(ctx, s.key)
	if err != nil {
		return err
	}
	if view.State != "stopped" || view.PID != 0 {
		return fmt.Errorf("it is %s, with process %d", view.State, view.PID)
	}
	if err := o.told(ctx, s, "server_stopped"); err != nil {
		return err
	}
	return o.act(ctx, s, api.ActionStart)
}

func (o *operator) restart(ctx context.Context, s *server) error {
	before, err := pid(ctx, o.api, s.key)
	if err != nil {
		return err
	}
	if err := o.act(ctx, s, api.ActionRestart); err != nil {
		return err
	}
	after, err := pid(ctx, o.api, s.key)
	if err == nil && s.remote == nil && !s.idles && (after == 0 || after == before) {
		err = fmt.Errorf("its process was %d and is %d", before, after)
	}
	return err
}

// started is the process of the server, which runs for as long as it is called.
func (o *operator) started(ctx context.Context, s *server) (int, error) {
	if err := o.act(ctx, s, api.ActionStart); err != nil {
		return 0, err
	}
	return pid(ctx, o.api, s.key)
}

func (o *operator) kill(ctx context.Context, s *server) error {
	before, err := o.started(ctx, s)
	if err != nil || before == 0 { // it has ended again for want of use
		return err
	}
	if err := kill(before); err != nil {
		return err
	}
	return o.mend(ctx, s, before)
}

// mend waits until the hub knows that the process has ended, and starts the
// server without waiting for the time between two attempts; now and then it is
// left to come back by itself.
func (o *operator) mend(ctx context.Context, s *server, before int) error {
	err := eventually(ctx, "the hub knows of the end of its process", func() (bool, error) {
		now, err := pid(ctx, o.api, s.key)
		return now != before, err
	})
	if err != nil || o.chance.IntN(40) == 0 {
		return err
	}
	return o.act(ctx, s, api.ActionStart)
}

func (o *operator) crash(ctx context.Context, s *server) error {
	before, err := o.started(ctx, s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	a, err := o.caller.call(ctx, s.key+"__crash", `{}`)
	if err != nil {
		return err
	}
	if a.code() != "outcome_unknown" {
		return fmt.Errorf("the call that ended its server was answered with %v", a)
	}
	return o.mend(ctx, s, before)
}

// change defines the server otherwise by the API, so that it is started anew.
func (o *operator) change(ctx context.Context, s *server) error {
	before, err := o.started(ctx, s)
	if err != nil {
		return err
	}
	s.version++
	err = o.file.change(func() error {
		_, err := o.api.ChangeServer(ctx, s.key, api.ServerChange{Entry: keyed(s.entry())})
		return err
	})
	if err != nil {
		return err
	}
	return o.replaced(ctx, s, before)
}

// replaced waits until the server's process is another one than before, or there
// is none.
func (o *operator) replaced(ctx context.Context, s *server, before int) error {
	if err := o.callIt(ctx, s); err != nil {
		return err
	}
	return eventually(ctx, "its process is another one", func() (bool, error) {
		now, err := pid(ctx, o.api, s.key)
		return now != before, err
	})
}

// changeLive changes what needs no other process.
func (o *operator) changeLive(ctx context.Context, s *server) error {
	if s.idles {
		return nil // it may end at any time
	}
	before, err := o.started(ctx, s)
	if err != nil {
		return err
	}
	entry := s.entry()
	entry["priority"] = o.chance.IntN(100)
	err = o.file.change(func() error {
		_, err := o.api.ChangeServer(ctx, s.key, api.ServerChange{Entry: keyed(entry)})
		return err
	})
	if err != nil {
		return err
	}
	after, err := pid(ctx, o.api, s.key)
	if err == nil && after != before {
		err = fmt.Errorf("its process was %d and is %d", before, after)
	}
	return err
}

// edit changes the file by hand, and tells the hub by one of the ways there are.
func (o *operator) edit(ctx context.Context, s *server) error {
	before, err := o.started(ctx, s)
	if err != nil {
		return err
	}
	old := s.about()
	s.version++
	if err := o.file.write(old, s.about(), o.chance.IntN(2) == 0); err != nil {
		return err
	}
	switch o.chance.IntN(3) {
	case 0:
		err = o.file.change(func() error {
			_, err := o.api.ReloadConfig(ctx)
			return err
		})
	case 1:
		err = syscall.Kill(o.hub.PID(), syscall.SIGHUP)
	default: // it watches the file
	}
	if err != nil {
		return err
	}
	err = eventually(ctx, "the file is in force", func() (bool, error) {
		view, err := o.api.Server(ctx, s.key)
		return slices.Contains(view.Args, s.about()), err
	})
	if err != nil {
		return err
	}
	return o.replaced(ctx, s, before)
}

func (o *operator) disable(ctx context.Context, s *server) error {
	if err := o.file.change(func() error { return o.act(ctx, s, api.ActionDisable) }); err != nil {
		return err
	}
	if err := o.told(ctx, s, "server_disabled", "tool_unknown"); err != nil {
		return err
	}
	return o.file.change(func() error { return o.act(ctx, s, api.ActionEnable) })
}

func (o *operator) remove(ctx context.Context, s *server) error {
	if err := o.file.change(func() error { return o.api.RemoveServer(ctx, s.key) }); err != nil {
		return err
	}
	if err := o.told(ctx, s, "tool_unknown"); err != nil {
		return err
	}
	return o.file.change(func() error {
		_, err := o.api.AddServer(ctx, api.ServerAdd{Key: s.key, Entry: keyed(s.entry())})
		return err
	})
}

// leaveIdle leaves the server alone until it is ended for want of use.
func (o *operator) leaveIdle(ctx context.Context, s *server) error {
	s.quiet.Store(true)
	defer s.quiet.Store(false)
	return eventually(ctx, "it has ended for want of use", func() (bool, error) {
		view, err := o.api.Server(ctx, s.key)
		return view.State == "idle" && view.PID == 0, err
	})
}

// lose takes a remote server away and brings it back.
func (o *operator) lose(ctx context.Context, s *server) error {
	if s.remote == nil {
		return errors.New("it is not remote")
	}
	s.remote.kill()
	if err := o.told(ctx, s, "server_down", "outcome_unknown", "ok"); err != nil {
		return err
	}
	if err := s.remote.start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return o.act(ctx, s, api.ActionStart)
}
