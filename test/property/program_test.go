package property_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// program is what a run does. It follows from its seed; in which order things
// happen that are under way at the same time does not.
type program struct {
	seed    uint64
	servers []serverPlan
	callers []callerPlan
	steps   []step
	abrupt  bool // the callers leave before what is under way has ended
	polite  bool // and say so
}

type serverPlan struct {
	modern, remote, auto bool
	idle                 time.Duration
	connection           hub.Connection
	callers              int
}

type callerPlan struct {
	door, rev, able string
	modern, stands  bool
}

// step is one step of a program. What its numbers stand for is found when it is
// carried out.
type step struct {
	do             string
	who, server, n int
	verb           string
	script         []string
	token          bool
	level          string
	wait           time.Duration
}

func (s step) String() string {
	b := fmt.Sprintf("%s c%d s%d %d", s.do, s.who, s.server, s.n)
	if s.do == "call" {
		b += fmt.Sprintf(" %s token=%t level=%q [%s]", s.verb, s.token, s.level, strings.Join(s.script, "; "))
	}
	if s.do == "level" {
		b += " " + s.level
	}
	if s.wait > 0 {
		b += " " + s.wait.String()
	}
	return b
}

func (p *program) String() string {
	var b strings.Builder
	for i, s := range p.servers {
		fmt.Fprintf(&b, "server s%d %+v\n", i, s)
	}
	for i, c := range p.callers {
		fmt.Fprintf(&b, "caller c%d %+v\n", i, c)
	}
	for _, s := range p.steps {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	fmt.Fprintf(&b, "  end abrupt=%t polite=%t\n", p.abrupt, p.polite)
	return b.String()
}

// kinds are the kinds of steps, each as often as it is to come.
var kinds = strings.Fields(strings.Repeat("call ", 16) + `
	settle settle settle settle pass pass pass release release cancel cancel cancel
	cut cut unstand stand stand leave vanish join join join crash crashone
	subscribe subscribe subscribe unsubscribe update update rogue change change
	level level ambient ambient ambient roots probe probe`)

func newProgram(seed uint64) *program {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &program{seed: seed, abrupt: rng.IntN(2) == 0, polite: rng.IntN(2) == 0}
	for range 1 + rng.IntN(3) {
		p.servers = append(p.servers, serverPlan{
			modern: rng.IntN(4) == 0, remote: rng.IntN(2) == 0, auto: rng.IntN(2) == 0,
			idle:       choose(rng, 0, 0, 10*time.Second),
			connection: choose(rng, hub.ConnectionAuto, hub.ConnectionAuto, hub.ConnectionShared, hub.ConnectionPerCaller),
			callers:    choose(rng, 0, 0, 1),
		})
	}
	for range 2 + rng.IntN(3) {
		c := callerPlan{
			door: choose(rng, "http", "http", "ws", "sse"), modern: rng.IntN(4) == 0, stands: rng.IntN(3) > 0,
			rev:  choose(rng, "2025-11-25", "2025-11-25", "2025-06-18", "2025-03-26"),
			able: choose(rng, "seur", "seur", "r", "s", "e", "eu", ""),
		}
		if c.door == "sse" {
			c.modern, c.rev = false, choose(rng, "2024-11-05", "2025-11-25")
		}
		p.callers = append(p.callers, c)
	}
	for range 20 + rng.IntN(41) {
		s := step{
			do: choose(rng, kinds...), who: rng.IntN(len(p.callers)), server: rng.IntN(len(p.servers)), n: rng.IntN(100),
			level: choose(rng, levels[:]...),
			wait:  choose(rng, 0, time.Millisecond, 200*time.Millisecond, 3*time.Second, 15*time.Second),
		}
		if s.do == "call" {
			s.verb = choose(rng, "tools/call", "tools/call", "tools/call", "resources/read", "prompts/get", "completion/complete")
			s.script, s.token, s.wait = script(rng), rng.IntN(3) > 0, 0
			if rng.IntN(2) == 0 {
				s.level = ""
			}
		}
		p.steps = append(p.steps, s)
	}
	return p
}

// script is what a server does in a call.
func script(rng *rand.Rand) []string {
	var all []string
	how := func() string { return choose(rng, "now", "now", "now", "slow", "never", "twice", "error", "progress") }
	kind := func() string { return choose(rng, "s", "e", "u", "r") }
	for range rng.IntN(7) {
		switch rng.IntN(22) {
		case 0, 1, 2, 3, 4:
			all = append(all, "p")
		case 5, 6, 7, 8:
			all = append(all, "l "+choose(rng, levels[:]...))
		case 9, 10, 11:
			all = append(all, "q "+kind()+" "+how())
		case 12:
			all = append(all, "a "+kind()+" "+how())
		case 13:
			all = append(all, "w "+kind())
		case 14:
			all = append(all, "c")
		case 15, 16:
			all = append(all, "d "+choose(rng, "1", "50", "150", "1000", "5000"))
		case 17, 18:
			all = append(all, "h")
		case 19:
			all = append(all, "u")
		case 20:
			if rng.IntN(4) == 0 {
				all = append(all, "x")
			}
		case 21:
			all = append(all, "stubborn")
		}
	}
	return append(all, choose(rng, "ok", "ok", "ok", "ok", "ok", "ok", "err", "url", "input", "mute"))
}
