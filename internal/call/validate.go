package call

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxSchemas is how many bytes of descriptions are kept together whose schemas are
// ready.
const maxSchemas = 8 << 20

// maxUnjudged is of how many tools it is remembered that the log has told of them.
const maxUnjudged = 10_000

// validators has the schemas of the tools that were called last, ready to judge
// arguments. Safe for concurrent use.
type validators struct {
	log     *slog.Logger
	figures validationCounts

	mu   sync.Mutex
	kept *lru[*byte, *schema] // by the description, which it holds: its bytes are the same as long as the server says nothing new
	told map[[2]string]bool   // servers and tools of which the log has told
}

// validationCounts counts what was judged since the start.
type validationCounts struct{ judged, refused, unjudged atomic.Uint64 }

// Validations says how many calls had their arguments judged by the tool's schema
// since the start, how many of them were refused, and how many more could not be
// judged.
type Validations struct{ Judged, Refused, Unjudged uint64 }

func newValidators(log *slog.Logger) *validators {
	return &validators{log: log, kept: newLRU[*byte, *schema](maxSchemas, nil), told: make(map[[2]string]bool)}
}

// counts are the figures as they are now.
func (v *validators) counts() Validations {
	f := &v.figures
	return Validations{Judged: f.judged.Load(), Refused: f.refused.Load(), Unjudged: f.unjudged.Load()}
}

// Validations tells how many calls had their arguments judged since the start.
func (p *Pipeline) Validations() Validations { return p.schemas.counts() }

// validate judges the arguments of a call of a tool by the schema that the server
// gave for them. What is wrong is said in a result with isError, as the tool itself
// would say it (2025-11-25, "Tools", "Error Handling"), and the server gets no
// call.
//
// A call is never refused for want of a schema that can be judged by. What is null
// is the server's to judge, and so is what is called by a schema that may be out
// of date.
func (v *validators) validate(_ context.Context, r *run) error {
	m := r.Message
	span, raw := m.Member("arguments"), m.Raw
	switch {
	case !span.Exists():
		raw = []byte("{}")
		span = wire.Value(raw)
	case raw[span.Start] != '{':
		return nil
	}
	if problems := v.problems(r.entry, raw, span); len(problems) > 0 {
		return r.refuse(misfit(r.name, problems))
	}
	return nil
}

// problems are what is wrong with arguments, an object, by the schema that the
// tool's server gave for them; none if they cannot be judged.
func (v *validators) problems(e *catalog.Entry, raw []byte, args wire.Span) []problem {
	if e.Server.NoValidate || e.Imported || !e.Live && e.Stale() {
		return nil
	}
	s := v.schema(e)
	if s == nil || s.trivial {
		return nil
	}
	v.figures.judged.Add(1)
	if s.surely(raw, args) {
		return nil
	}
	problems, err := s.judge(args.Of(raw))
	if err != nil {
		v.figures.unjudged.Add(1)
		v.tell(e, err)
		return nil
	}
	if len(problems) > 0 {
		v.figures.refused.Add(1)
	}
	return problems
}

// misfit is the error of arguments that a tool does not take.
func misfit(tool string, problems []problem) *hub.Error {
	return hub.E(message.ArgumentsInvalid, nil, "tool", message.Quote(tool), "path", message.Quote(problems[0].path)).
		With("detail", together(problems))
}

// schema is that of a tool's arguments; nil if there is none.
func (v *validators) schema(e *catalog.Entry) *schema {
	raw := e.Tool.Raw
	if len(raw) == 0 {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if s, ok := v.kept.get(&raw[0]); ok {
		return s
	}
	span := wire.Lookup(raw, wire.Value(raw), "inputSchema")
	if !span.Exists() {
		return nil
	}
	s := newSchema(raw, span)
	v.kept.put(&raw[0], s, len(raw)+overhead)
	return s
}

// tell tells the log, once for each tool, that arguments are not judged.
func (v *validators) tell(e *catalog.Entry, why error) {
	v.mu.Lock()
	key := [2]string{e.Server.Key, e.Tool.Name}
	before := v.told[key]
	if len(v.told) >= maxUnjudged {
		clear(v.told)
	}
	v.told[key] = true
	v.mu.Unlock()
	if !before {
		v.log.Warn("the arguments of a tool are sent without being judged by its schema",
			"server", e.Server.Key, "tool", message.Quote(e.Tool.Name), "error", why)
	}
}
