package call

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Limited is how a server's limits stand.
type Limited struct {
	Server  string // its key; "" for the limits of callers, all together
	Running int    // calls that passed a limit and have not ended
	Waiting int    // for their turn
	Refused uint64 // since the start
}

// Limits tells how the limits stand, in the order of the servers' keys. Servers
// without limits are not among them.
func (p *Pipeline) Limits() []Limited { return p.gates.counts() }

// counts is how all limits stand, in the order of the servers' keys.
func (g *gates) counts() []Limited {
	g.mu.Lock()
	defer g.mu.Unlock()
	by := make(map[string]*Limited)
	at := func(server string) *Limited {
		if by[server] == nil {
			by[server] = &Limited{Server: server, Refused: g.refused[server]}
		}
		return by[server]
	}
	for server := range g.refused {
		at(server)
	}
	for key, one := range g.all {
		l := at(key.server)
		l.Waiting += one.waiting
		if key.server == "" || key.name == "" {
			l.Running += one.running
		}
	}
	all := make([]Limited, 0, len(by))
	for _, l := range by {
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b Limited) int { return cmp.Compare(a.Server, b.Server) })
	return all
}

// refused reports whether an error says that limits keep a call away.
func refused(err error) bool {
	return hub.IsCode(err, message.Limited) || hub.IsCode(err, message.QueueFull) || hub.IsCode(err, message.QueueExpired)
}

// refusal is the error for a call that a gate keeps out.
func refusal(code message.Code, key gateKey, wait time.Duration) *hub.Error {
	seconds := max(int(math.Ceil(wait.Seconds())), 1)
	e := hub.E(code, nil, "retry_after", strconv.Itoa(seconds))
	if key.server == "" {
		return e.With("what", message.Say("of this caller"))
	}
	e.Args["server"] = key.server
	if key.name != "" {
		return e.With("what", message.Say(`of the tool "%s"`, message.Quote(key.name)))
	}
	return e.With("what", message.Say(`of the server "%s"`, message.Quote(key.server)))
}

// rateText is a rate in the unit in which it is one call or more.
func rateText(rate float64) message.Phrase {
	number := func(n float64) string { return strconv.FormatFloat(n, 'g', 4, 64) }
	switch {
	case rate >= 1:
		return message.Say("%s a second", number(rate))
	case rate*60 >= 1:
		return message.Say("%s a minute", number(rate*60))
	}
	return message.Say("%s an hour", number(rate*3600))
}
