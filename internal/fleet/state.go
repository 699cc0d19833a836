package fleet

import (
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Transition is one row of the table of states: what leads a server from one
// state to another.
type Transition struct {
	From, To hub.State
	Event    string // as [hub.Status.Event] has it
	Doc      string // a clause
}

// The events.
const (
	byCall     = "call"
	byLease    = "lease"
	byRefresh  = "refresh"
	byStart    = "start"
	byRestart  = "restart"
	byStop     = "stop"
	byConfig   = "configured"
	byEnabling = "enabled"
	byDisable  = "disabled"
	byRemoval  = "removed"
	byShutdown = "shutdown"

	onConnected = "connected"
	onUnreached = "unreached"
	onLost      = "lost"
	onMisses    = "probes missed"
	onAnswer    = "probe answered"
	onUnhealthy = "unhealthy"
	onGivenUp   = "given up"
	onRetry     = "retry"
	onUnused    = "unused"
	onEnded     = "ended"
)

// Transitions is the table of states: a server never goes another way. A server
// begins disabled, idle or starting, as its definition says, without an event.
// The rows of a state stand together, in the order of its life.
func Transitions() []Transition {
	const (
		disabled, idle, stopped  = hub.StateDisabled, hub.StateIdle, hub.StateStopped
		starting, ready          = hub.StateStarting, hub.StateReady
		degraded, reconnecting   = hub.StateDegraded, hub.StateReconnecting
		crashed, failed, stoping = hub.StateCrashed, hub.StateFailed, hub.StateStopping
	)
	rows := []Transition{
		{disabled, starting, byEnabling, "it is enabled, and runs with the hub or has never told its tools"},
		{disabled, idle, byEnabling, "it is enabled, and waits for the first call"},
		{disabled, stopped, byRemoval, "it is taken out of the configuration"},

		{idle, starting, byCall, "a call needs it"},
		{idle, starting, byLease, "somebody takes a lease on it"},
		{idle, starting, byRefresh, "its tools are to be asked for again"},
		{idle, starting, byStart, "a person starts it"},
		{idle, starting, byRestart, "a person restarts it"},
		{idle, starting, byConfig, "by its new definition it runs with the hub, or has never told its tools"},
		{idle, stopped, byStop, "a person stops it"},
		{idle, disabled, byDisable, "it is disabled"},
		{idle, stopped, byRemoval, "it is taken out of the configuration"},
		{idle, stopped, byShutdown, "the hub stops"},

		{stopped, starting, byStart, "a person starts it"},
		{stopped, starting, byRestart, "a person restarts it"},
		{stopped, disabled, byDisable, "it is disabled"},

		{starting, ready, onConnected, "it is connected and has told its tools"},
		{starting, crashed, onUnreached, "its process has ended before that, or could not be used"},
		{starting, reconnecting, onUnreached, "a remote server is not reached; it is tried again"},
		{starting, failed, onGivenUp, "it was tried often enough, or a person has to mend something first"},
		{starting, idle, byConfig, "before the hub runs: by its new definition it waits for the first call"},
		{starting, stopped, byStop, "before the hub runs: a person stops it"},
		{starting, disabled, byDisable, "before the hub runs: it is disabled"},
		{starting, stopped, byRemoval, "before the hub runs: it is taken out of the configuration"},
		{starting, stopped, byShutdown, "the hub stops before anything was started"},

		{ready, degraded, onMisses, "it does not answer probes"},
		{ready, reconnecting, onLost, "a remote server has ended the connection"},
		{ready, crashed, onLost, "its process has ended"},
		{ready, failed, onGivenUp, "the connection has ended, once too often or not to be made again"},

		{degraded, ready, onAnswer, "it answers probes again"},
		{degraded, reconnecting, onUnhealthy, "a remote server has not answered as many probes again"},
		{degraded, crashed, onUnhealthy, "its process has not answered as many probes again, and is ended"},
		{degraded, reconnecting, onLost, "a remote server has ended the connection"},
		{degraded, crashed, onLost, "its process has ended"},
		{degraded, failed, onGivenUp, "the connection has ended, once too often or not to be made again"},

		{reconnecting, ready, onConnected, "it is reached again and has told its tools"},
		{reconnecting, reconnecting, onUnreached, "it is not reached again; it is tried once more"},
		{reconnecting, failed, onGivenUp, "it was tried often enough, or a person has to mend something first"},

		{crashed, starting, onRetry, "its pause is over"},
		{crashed, starting, byStart, "a person starts it"},
		{crashed, starting, byRestart, "a person restarts it that is not started again by itself"},

		{failed, starting, byStart, "a person starts it"},
		{failed, starting, byRestart, "a person restarts it"},
	}
	for _, from := range [...]hub.State{crashed, failed} {
		again := ""
		if from == crashed {
			again = " that is not started again by itself"
		}
		rows = append(rows,
			Transition{from, starting, byConfig, "another definition is another chance for one" + again},
			Transition{from, idle, byConfig, "another definition is another chance for one" + again + ", once a call needs it"},
			Transition{from, stopped, byStop, "a person stops one" + again},
			Transition{from, disabled, byDisable, "one" + again + " is disabled"},
			Transition{from, stopped, byRemoval, "one" + again + " is taken out of the configuration"},
			Transition{from, stopped, byShutdown, "the hub stops"},
		)
	}
	rows = append(rows, Transition{ready, stoping, onUnused, "nobody has called it for as long as it may be idle, and nobody holds a lease"},
		Transition{degraded, stoping, onUnused, "nobody has called it for as long as it may be idle, and nobody holds a lease"})
	for _, from := range [...]hub.State{starting, ready, degraded, reconnecting, crashed} {
		rows = append(rows,
			Transition{from, stoping, byStop, "a person stops it"},
			Transition{from, stoping, byRestart, "a person restarts it"},
			Transition{from, stoping, byConfig, "by its new definition it is reached otherwise"},
			Transition{from, stoping, byDisable, "it is disabled"},
			Transition{from, stoping, byRemoval, "it is taken out of the configuration"},
			Transition{from, stoping, byShutdown, "the hub stops"},
		)
	}
	return append(rows,
		Transition{stoping, starting, onEnded, "nothing is left of it, and it is to run again"},
		Transition{stoping, idle, onEnded, "nothing is left of it, and it waits for the next call"},
		Transition{stoping, stopped, onEnded, "nothing is left of it"},
		Transition{stoping, disabled, onEnded, "nothing is left of it, and it is disabled"},
	)
}

// StateDoc says what a state stands for, and what others call it.
type StateDoc struct {
	State hub.State
	Doc   string

	Lumi    string // of Lumi's servers: running, crashed, stopped, disabled or disconnected
	Entry   string // of an entry in a list of servers: enabled, disabled or error
	Session string // of a connection: DISCONNECTED, CONNECTING, CONNECTED, READY, RECONNECTING or ERROR
}

// States is every state, in the order of the table.
func States() []StateDoc {
	return []StateDoc{
		{hub.StateDisabled, "by configuration: not listed, never started", "disabled", "disabled", "DISCONNECTED"},
		{hub.StateIdle, "listed, not running; a call starts it", "stopped", "enabled", "DISCONNECTED"},
		{hub.StateStopped, "ended by a person, or with the hub: not listed, a call does not start it", "stopped", "enabled", "DISCONNECTED"},
		{hub.StateStarting, "being started or connected; connected, but its tools are not known yet", "stopped", "enabled", "CONNECTING, CONNECTED"},
		{hub.StateReady, "connected, its tools are known", "running", "enabled", "READY"},
		{hub.StateDegraded, "connected, but it does not answer probes; calls are still sent to it", "running", "error", "READY"},
		{hub.StateReconnecting, "a remote server was lost or not reached; it is tried again by itself", "disconnected", "error", "RECONNECTING"},
		{hub.StateCrashed, "its process has ended or could not be used; it is started again by itself, unless \"autoRestart\" is false", "crashed", "error", "ERROR"},
		{hub.StateFailed, "given up; its reason says what to do", "crashed, disconnected", "error", "ERROR"},
		{hub.StateStopping, "being ended", "stopped", "enabled", "DISCONNECTED"},
	}
}

// way is a row of the table, without what it says to people.
type way struct {
	from, to hub.State
	event    string
}

// ways is the table as it is looked up at every change of state.
func ways() map[way]bool {
	all := make(map[way]bool)
	for _, t := range Transitions() {
		all[way{t.From, t.To, t.Event}] = true
	}
	return all
}

// become moves the server to another state and tells everybody. The caller
// holds mu, so that all hear of the states in their order.
func (s *server) become(state hub.State, event string, reason *hub.Error, retry time.Time) {
	if !s.fleet.ways[way{s.state, state, event}] {
		s.log.Error("a change of state that the table does not have", "from", s.state, "to", state, "event", event)
	}
	now := time.Now()
	if state != s.state { // else it is in it since before
		s.since = now
	}
	s.state, s.event, s.reason, s.retry = state, event, reason, retry
	s.notify()
	withhold := state == hub.StateStopped && reason != nil
	if tell := s.fleet.opt.Withhold; tell != nil && withhold != s.withheld {
		tell(s.key, withhold)
	}
	s.withheld = withhold
	if state != hub.StateStarting { // which is noted when it is so
		s.book.add(s.says(now))
	}
	s.tellAll()
}

// tellAll publishes how the server is. The caller holds mu.
func (s *server) tellAll() { s.fleet.opt.Bus.Publish(hub.ServerChanged{Status: s.statusNow()}) }

// notify wakes whoever waits for a change. The caller holds mu.
func (s *server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// says is the line in the server's log about the state that it has come into
// now. The caller holds mu.
func (s *server) says(now time.Time) string {
	because := ""
	if s.reason != nil {
		because = ": " + s.reason.Text(message.English).String()
	}
	after := ""
	if !s.retry.IsZero() {
		after = fmt.Sprintf(" Tried again in %v.", s.retry.Sub(now).Round(time.Millisecond))
	}
	switch {
	case s.state == hub.StateReady:
		return fmt.Sprintf("ready, %d tools", s.tools)
	case s.state == hub.StateReconnecting:
		return "away" + because + after
	case s.state == hub.StateFailed && s.reason != nil && s.reason.Code == message.DeviceOffline:
		return "gone" + because
	case s.state == hub.StateFailed:
		return "given up" + because
	case s.state == hub.StateIdle && s.event == onEnded:
		return "idle, until it is needed again"
	}
	return string(s.state) + because + after
}
