//go:build unix

package proc

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// hunt says how to end processes that stand in no group of ours.
type hunt struct {
	find  func() []entry  // those that live, found afresh
	kill  func()          // ends them at once where there is a way to; may be nil
	grace time.Duration   // between asking and killing
	cut   <-chan struct{} // closed to kill without a grace
}

// run asks what find finds to end, by SIGTERM, and kills what is left after the
// grace. It reports whether nothing is left, killWait later at the latest.
func (h hunt) run() bool {
	const longestPause = 100 * time.Millisecond

	seen := make(map[identity]bool)
	found := h.look(seen)
	if len(found) == 0 {
		return true
	}
	defer func() {
		for id := range seen {
			id.reap()
		}
	}()
	limit, killing := time.NewTimer(h.grace), false
	defer limit.Stop()
	for pause := time.Millisecond; len(found) > 0; pause = min(2*pause, longestPause) {
		for _, e := range found {
			if id := e.identity(); killing {
				id.signal(unix.SIGKILL)
			} else if !seen[id] {
				id.signal(unix.SIGTERM)
			}
			seen[e.identity()] = true
		}
		over := false
		select {
		case <-time.After(pause):
		case <-limit.C:
			over = true
		case <-h.cut:
			over = true
		}
		if over && killing {
			return len(h.look(seen)) == 0
		}
		if over {
			killing, h.cut, pause = true, nil, time.Millisecond
			limit.Reset(killWait)
			if h.kill != nil {
				h.kill()
			}
		}
		found = h.look(seen)
	}
	return true
}

// look returns those that live, among them all that were seen before: whoever is
// about to end, or runs another program by now, may show its mark no more.
func (h hunt) look(seen map[identity]bool) []entry {
	found := slices.Clip(h.find())
	for id := range seen {
		if now, ok := find(id.PID); ok && now.start == id.Start && !now.zombie &&
			!slices.ContainsFunc(found, func(e entry) bool { return e.pid == id.PID }) {
			found = append(found, now)
		}
	}
	return found
}

// signal sends a signal to this very process. On Linux the process is held by
// a descriptor before its start is compared, so that the signal cannot reach
// another that got its id meanwhile.
func (id identity) signal(sig unix.Signal) {
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if now, ok := find(id.PID); ok && now.start == id.Start {
		_ = p.Signal(sig) // if it has ended, find tells
	}
}

// reap takes leave of the process if it has become a child of this one, as
// orphans do where this process is the init of a container or a subreaper.
func (id identity) reap() {
	now, ok := find(id.PID)
	if !ok || now.start != id.Start || !now.zombie || now.parent != os.Getpid() {
		return
	}
	// A zombie some of whose threads still end cannot be waited for yet.
	for range 100 {
		if pid, err := unix.Wait4(id.PID, nil, unix.WNOHANG, nil); pid != 0 || err != nil && err != unix.EINTR {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
