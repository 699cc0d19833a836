package audit

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// mostOfOne is how many entries are read for the figures of one subject.
const mostOfOne = 4 * most

// Analysis is the figures of the calls that ended in a time.
type Analysis struct {
	Since, Until time.Time // Since is later than asked for if it is Cut
	Cut          bool      // calls before Since were left out, since there are too many entries
	Total        Figures
	Tools        []ToolFigures   // the most called first
	Servers      []ServerFigures // the most called first
	Failures     []Failure       // the most frequent first
	Hours        []HourFigures   // in the order of time; hours without calls are left out
}

// Figures are what is known of some calls together. The quantiles are off by
// an eighth at most.
type Figures struct {
	Calls    int64
	Outcomes map[hub.Outcome]int64
	Cached   int64
	Bytes    int64
	Mean     time.Duration // how long those took that were not answered from the cache
	P50      time.Duration
	P95      time.Duration
	Max      time.Duration
}

// ToolFigures are those of a tool, or of another method.
type ToolFigures struct {
	Server, Tool, Method string
	Share                float64 // of all calls, from 0 to 1
	Figures
}

// ServerFigures are those of a server.
type ServerFigures struct {
	Server string
	Share  float64
	Figures
}

// HourFigures are those of an hour.
type HourFigures struct {
	Hour time.Time
	Figures
}

// Failure is how often a tool failed for a reason.
type Failure struct {
	Outcome      hub.Outcome
	Code         string // "" where the server answered with an error
	Server, Tool string
	Method       string
	Calls        int64
}

// Analyse returns the figures of the calls that ended from since to before
// until, and that a filter asks for by their tenant, subject and servers; it is
// asked for nothing else. Whole hours are read from the figures of hours, and only
// what is left at both ends from the entries; but those of one subject, whom the
// figures do not tell apart, from the entries, the newest first and no more of them
// than a bound; what is older is cut.
func (l *Log) Analyse(ctx context.Context, since, until time.Time, whose Filter) (*Analysis, error) {
	l.flush(ctx)
	if whose.Subject != "" {
		return l.analyseOne(ctx, since, until, whose, mostOfOne)
	}
	from, to := since.UnixMicro(), until.UnixMicro()
	sums := make(hours)
	err := l.db.View(ctx, func(tx *sql.Tx) error {
		all, err := nodes(ctx, tx)
		if err != nil {
			return err
		}
		first, last := floorHour(from+hour-1), floorHour(to) // the whole hours
		for _, node := range all {
			if first >= last {
				err = endings(ctx, tx, node, from, to, sums.add)
			} else {
				err = eachHour(ctx, tx, node, first, last, sums)
				for _, end := range [][2]int64{{from, first}, {last, to}} {
					if err == nil {
						err = endings(ctx, tx, node, end[0], end[1], sums.add)
					}
				}
			}
			if err != nil {
				return err
			}
			t, err := readTail(ctx, tx, node)
			if err != nil {
				return err
			}
			for i := range t.entries {
				if e := &t.entries[i]; from <= e.at && e.at < to {
					sums.add(e)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, unreadable(err)
	}
	return analysis(since, until, sums, &whose), nil
}

// analyseOne is Analyse for one subject, for which no more than so many entries are
// read, and the rest of a part of the record.
func (l *Log) analyseOne(ctx context.Context, since, until time.Time, whose Filter, bound int) (*Analysis, error) {
	whose.Since, whose.Until = since, until
	sums := make(hours)
	oldest, cut := until, false // of those that were counted
	err := l.db.View(ctx, func(tx *sql.Tx) error {
		m, err := newMerge(ctx, tx, l.position(), &whose, nil)
		if err != nil {
			return err
		}
		m.left = bound
		for {
			c, err := m.next(ctx)
			if err != nil {
				return err
			}
			if c == nil {
				cut = m.cursor() != ""
				return nil
			}
			if c.Outcome != UnderWay {
				oldest = c.Ended
				sums.of(floorHour(c.Ended.UnixMicro())).count(&c.CallRecord)
			}
		}
	})
	if err != nil {
		return nil, unreadable(err)
	}
	if cut {
		since = oldest
	}
	a := analysis(since, until, sums, &whose)
	a.Cut = cut
	return a, nil
}

// eachHour adds the figures of hours of a chain.
func eachHour(ctx context.Context, q reader, node string, first, last int64, sums hours) error {
	return eachRow(ctx, q, "figures", func(scan func(...any) error) error {
		var at int64
		var text string
		if err := scan(&at, &text); err != nil {
			return err
		}
		t, err := decodeTallies(text)
		if err != nil {
			return err
		}
		sums.of(at).mergeAll(t)
		return nil
	}, "SELECT hour, figures FROM audit_hour WHERE node = $1 AND hour >= $2 AND hour < $3", node, first, last)
}

// sum is figures that are being added up.
type sum struct {
	tally
	outcomes map[hub.Outcome]int64
}

func sums[K comparable](m map[K]*sum, key K) *sum {
	s := m[key]
	if s == nil {
		s = newSum()
		m[key] = s
	}
	return s
}

func newSum() *sum {
	return &sum{tally: tally{Buckets: make(map[uint8]int64)}, outcomes: make(map[hub.Outcome]int64)}
}

func (s *sum) add(o hub.Outcome, t *tally) {
	s.take(t)
	s.outcomes[o] += t.Calls
}

func (s *sum) figures() Figures {
	f := Figures{
		Calls: s.Calls, Outcomes: s.outcomes, Cached: s.Cached, Bytes: s.Bytes,
		P50: s.quantile(0.5), P95: s.quantile(0.95), Max: micros(s.Slowest),
	}
	if n := s.Calls - s.Cached; n > 0 {
		f.Mean = micros(s.Took / n)
	}
	return f
}

// analysis puts the figures of hours together in each way.
func analysis(since, until time.Time, all hours, whose *Filter) *Analysis {
	type tool struct{ server, tool, method string }
	total, tools, servers := newSum(), make(map[tool]*sum), make(map[string]*sum)
	failures := make(map[Failure]int64)
	a := &Analysis{Since: since, Until: until}
	for at, t := range all {
		whole := newSum()
		for g, v := range t {
			if whose.Tenant != nil && g.Tenant != *whose.Tenant || whose.Servers != nil && !slices.Contains(whose.Servers, g.Server) {
				continue
			}
			whole.add(g.Outcome, v)
			total.add(g.Outcome, v)
			sums(tools, tool{g.Server, g.Tool, g.Method}).add(g.Outcome, v)
			sums(servers, g.Server).add(g.Outcome, v)
			if g.Outcome != hub.OutcomeOK {
				failures[Failure{Outcome: g.Outcome, Code: g.Code, Server: g.Server, Tool: g.Tool, Method: g.Method}] += v.Calls
			}
		}
		if whole.Calls > 0 {
			a.Hours = append(a.Hours, HourFigures{Hour: micro(at), Figures: whole.figures()})
		}
	}
	a.Total = total.figures()
	share := func(n int64) float64 { return float64(n) / float64(max(1, total.Calls)) }
	for k, s := range tools {
		a.Tools = append(a.Tools, ToolFigures{Server: k.server, Tool: k.tool, Method: k.method, Share: share(s.Calls), Figures: s.figures()})
	}
	for k, s := range servers {
		a.Servers = append(a.Servers, ServerFigures{Server: k, Share: share(s.Calls), Figures: s.figures()})
	}
	for f, n := range failures {
		f.Calls = n
		a.Failures = append(a.Failures, f)
	}
	slices.SortFunc(a.Hours, func(x, y HourFigures) int { return x.Hour.Compare(y.Hour) })
	slices.SortFunc(a.Tools, func(x, y ToolFigures) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Tool, y.Tool), cmp.Compare(x.Method, y.Method))
	})
	slices.SortFunc(a.Servers, func(x, y ServerFigures) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Server, y.Server))
	})
	slices.SortFunc(a.Failures, func(x, y Failure) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Tool, y.Tool),
			cmp.Compare(x.Method, y.Method), cmp.Compare(x.Outcome, y.Outcome), cmp.Compare(x.Code, y.Code))
	})
	return a
}
