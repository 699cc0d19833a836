package telemetry

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// mostServers is how many servers a [Tally] counts apart. There are as many as
// have ever been configured while the hub runs.
const mostServers = 10_000

// Tally counts what the records of calls say of errors, of attempts, of waiting and
// of verdicts. The zero value is ready. Safe for concurrent use.
type Tally struct {
	verdicts [len(verdicts)][len(modes)]atomic.Int64

	mu  sync.Mutex
	all Errors
}

var (
	verdicts = [...]hub.Verdict{hub.VerdictAllow, hub.VerdictAsk, hub.VerdictDeny} //nolint:gochecknoglobals // a table
	modes    = [...]hub.PolicyMode{hub.PolicyObserve, hub.PolicyEnforce}           //nolint:gochecknoglobals // a table
)

// Observe counts a call that ended. It is to be called once for each of them,
// and keeps nothing of the record.
func (t *Tally) Observe(r *hub.CallRecord) {
	v, m := slices.Index(verdicts[:], r.Verdict), slices.Index(modes[:], r.Mode)
	if v >= 0 && m >= 0 {
		t.verdicts[v][m].Add(1)
	}
	if r.Code == "" && r.Queued == 0 && len(r.Attempts) < 2 {
		return // as almost all do
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Code != "" {
		code := message.Code(r.Code)
		if !message.Known(code) {
			code = message.Internal // a code that nobody has written a text for is a fault of ours
		}
		add(&t.all.Codes, code, 1)
	}
	if r.Server != "" && r.Outcome == hub.OutcomeFailed && refusal(message.Code(r.Code)) {
		add(&t.all.Refused, r.Server, 1)
	}
	if r.Queued > 0 && r.Server != "" {
		add(&t.all.Waited, r.Server, r.Queued)
	}
	for i := 1; i < len(r.Attempts); i++ {
		before, now := r.Attempts[i-1], r.Attempts[i]
		if before.Server != now.Server {
			add(&t.all.Failovers, before.Server, 1)
		}
		same := func(a hub.Attempt) bool { return a.Server == now.Server }
		if now.Duration > 0 && slices.ContainsFunc(r.Attempts[:i], same) {
			add(&t.all.Retries, now.Server, 1)
		}
	}
}

// Errors returns what was counted.
func (t *Tally) Errors() Errors {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Errors{
		Codes: maps.Clone(t.all.Codes), Refused: maps.Clone(t.all.Refused), Retries: maps.Clone(t.all.Retries),
		Failovers: maps.Clone(t.all.Failovers), Waited: maps.Clone(t.all.Waited),
	}
}

// Verdicts returns what the rules said, also where there was no such call yet.
func (t *Tally) Verdicts() map[Verdict]int64 {
	all := make(map[Verdict]int64, len(verdicts)*len(modes))
	for i, v := range verdicts {
		for j, m := range modes {
			all[Verdict{v, m}] = t.verdicts[i][j].Load()
		}
	}
	return all
}

// refusal reports whether a call with this code has failed by what its caller gave,
// by what a person has set or by the hub's own doing, so that it says nothing of
// its server.
func refusal(code message.Code) bool {
	switch code {
	case message.ToolChanged, message.ServerStopped, message.ServerDisabled, message.AuditUnwritable, message.ShuttingDown,
		message.PolicyDenied, message.ApprovalRejected, message.ApprovalUnknown, message.RoleRefused, message.ScopeRefused:
		return true
	}
	switch message.ClassOf(code) {
	case message.ClassParams, message.ClassRequest, message.ClassQuestion, message.ClassLimit:
		return true
	}
	return false
}

// add adds to a count, of which there are not more than mostServers.
func add[K comparable, N int64 | time.Duration](counts *map[K]N, key K, n N) {
	if *counts == nil {
		*counts = map[K]N{}
	}
	if _, there := (*counts)[key]; there || len(*counts) < mostServers {
		(*counts)[key] += n
	}
}
