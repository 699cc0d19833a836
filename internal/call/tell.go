package call

import (
	"strconv"
	"sync"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// rising is the exchange of a call whose caller wants to hear of its progress. The
// hub tells of progress too, and a second attempt begins anew: as progress has to
// increase with each notification (2025-11-25, "Progress"), what does not is left
// out from then on. Safe for concurrent use.
type rising struct {
	hub.Exchange
	token []byte // the caller's, as JSON

	mu    sync.Mutex
	heard bool    // of any progress
	last  float64 // the greatest
	told  bool    // by the hub
}

// Notify implements [hub.Exchange].
func (x *rising) Notify(raw []byte) {
	if n, ok := progressOf(raw); ok && !x.passes(n) {
		return
	}
	x.Exchange.Notify(raw)
}

// passes reports whether a server's progress is told.
func (x *rising) passes(n float64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.told && n <= x.last {
		return false
	}
	if !x.heard || n > x.last {
		x.heard, x.last = true, n
	}
	return true
}

// step is a progress that is told next.
func (x *rising) step() float64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.heard {
		x.last += whisper
	}
	x.heard, x.told = true, true
	return x.last
}

// progressOf is what a notification of progress says.
func progressOf(raw []byte) (n float64, ok bool) {
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil || m.MethodName() != protocol.NotificationProgress {
		return 0, false
	}
	n, err = strconv.ParseFloat(string(m.Member("progress").Of(raw)), 64)
	return n, err == nil
}

// whisper is the share of a step by which what the hub tells goes beyond what was
// told before, so that the server's own progress still does after it.
const whisper = 1.0 / 1024

// tell tells the caller how the call gets on, if it wants to hear of progress: by
// the text of the code, in its language.
func (r *run) tell(code message.Code, pairs ...string) { r.report(hub.E(code, nil, pairs...)) }

// report is tell of what has values in both languages.
func (r *run) report(what *hub.Error) {
	x := r.rising
	if x == nil {
		return
	}
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"`+protocol.NotificationProgress+`","params":{"progressToken":`...)
	b = append(b, x.token...)
	b = append(b, `,"progress":`...)
	b = strconv.AppendFloat(b, x.step(), 'f', -1, 64)
	b = append(b, `,"message":`...)
	b = wire.AppendString(b, what.In(r.Lang))
	x.Exchange.Notify(append(b, `}}`...))
}

// listen has the exchange of a call fit for what [run.tell] tells, if its caller
// gave a token.
func (r *run) listen() {
	token := r.said(protocol.MetaProgressToken)
	if !token.Exists() {
		return
	}
	r.rising = &rising{Exchange: r.Exchange, token: token.Of(r.Message.Raw)}
	r.Exchange = r.rising
}
