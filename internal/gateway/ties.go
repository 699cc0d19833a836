package gateway

import (
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// ties are what servers have to do with a session beyond its single requests.
// The zero value is ready for use.
type ties struct {
	gone      atomic.Bool // nothing new is tied
	caller    atomic.Pointer[hub.Caller]
	questions questions
	watched   watched
}

// forget unties a session that has ended: its open questions are answered, and
// no server knows of it any more. It may be called more than once.
func (g *Gateway) forget(s *Session) {
	s.gone.Store(true)
	s.questions.end()
	s.watched.end()
	g.elicitations.forget(s)
	g.opt.Call.Leave(s.id)
}

// hubCaller is the session as servers know it. Only who declared that it can be
// asked is anybody in particular to them.
func (g *Gateway) hubCaller(s *Session) *hub.Caller {
	if c := s.caller.Load(); c != nil {
		return c
	}
	c := &hub.Caller{ID: s.id, Principal: s.principal}
	if declared := declared(s.capabilities); declared != nil {
		c.Capabilities = declared
		c.Exchange = &exchange{gateway: g, caller: s.Caller(), out: aside{s}}
	}
	s.caller.CompareAndSwap(nil, c)
	return s.caller.Load()
}

// declared is what a server is told of a caller's capabilities; nil if it cannot
// be asked anything. Tasks are taken out: a question that became one would be
// followed by requests that the hub has no way for.
func declared(capabilities []byte) []byte {
	all := wire.Value(capabilities)
	for _, name := range [...]string{"sampling", "elicitation", "roots"} {
		if at := wire.Lookup(capabilities, all, name); !at.Exists() || capabilities[at.Start] != '{' {
			continue // some clients write null for what they do not have
		}
		if tasks, ok := wire.Remove(capabilities, all, "tasks"); ok {
			return wire.Splice(capabilities, tasks)
		}
		return capabilities
	}
	return nil
}
