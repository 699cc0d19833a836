package audit

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// hour is the microseconds of an hour.
const hour = int64(time.Hour / time.Microsecond)

// floorHour is the beginning of the hour in which a time is.
func floorHour(at int64) int64 {
	n := at % hour
	if n < 0 {
		n += hour
	}
	return at - n
}

// group is what the figures of an hour are told apart by.
type group struct {
	Tenant  string      `json:"e,omitempty"`
	Server  string      `json:"v,omitempty"`
	Tool    string      `json:"t,omitempty"`
	Method  string      `json:"m,omitempty"`
	Outcome hub.Outcome `json:"o,omitempty"`
	Code    string      `json:"c,omitempty"`
}

// tally is what calls of a group add up to.
type tally struct {
	Calls   int64           `json:"n"`
	Cached  int64           `json:"k,omitempty"`
	Bytes   int64           `json:"b,omitempty"`
	Took    int64           `json:"u,omitempty"` // microseconds of those that were not cached
	Slowest int64           `json:"x,omitempty"`
	Buckets map[uint8]int64 `json:"h,omitempty"` // of those that were not cached, by [bucket]
}

// tallies are the figures of some time.
type tallies map[group]*tally

// add counts an entry that tells how a call ended; others are none.
func (t tallies) add(e *entry) {
	if e.kind != kindCall && e.kind != kindOutcome {
		return
	}
	var r hub.CallRecord
	decode(e.body, &r)
	t.count(&r)
}

// count counts a call that has ended.
func (t tallies) count(r *hub.CallRecord) {
	g := group{Tenant: r.Tenant, Server: r.Server, Tool: r.Tool, Method: r.Method, Outcome: r.Outcome, Code: r.Code}
	one := tally{Calls: 1, Bytes: int64(r.Bytes)}
	if r.Cached {
		one.Cached = 1
	} else {
		us := max(0, r.Duration.Microseconds())
		one.Took, one.Slowest = us, us
		one.Buckets = map[uint8]int64{bucket(us): 1}
	}
	t.merge(g, &one)
}

func (t tallies) merge(g group, other *tally) {
	have := t[g]
	if have == nil {
		have = &tally{Buckets: make(map[uint8]int64, len(other.Buckets))}
		t[g] = have
	}
	have.take(other)
}

func (t *tally) take(other *tally) {
	t.Calls += other.Calls
	t.Cached += other.Cached
	t.Bytes += other.Bytes
	t.Took += other.Took
	t.Slowest = max(t.Slowest, other.Slowest)
	for b, n := range other.Buckets {
		t.Buckets[b] += n
	}
}

func (t tallies) mergeAll(other tallies) {
	for g, o := range other {
		t.merge(g, o)
	}
}

// hours are figures by the beginning of the hour.
type hours map[int64]tallies

func (h hours) of(at int64) tallies {
	if h[at] == nil {
		h[at] = make(tallies)
	}
	return h[at]
}

// add counts an entry in its hour, which is there from then on whatever it tells.
func (h hours) add(e *entry) { h.of(floorHour(e.at)).add(e) }

// row is how tallies stand in the database.
type row struct {
	group
	tally
}

func (t tallies) encode() (string, error) {
	rows := make([]row, 0, len(t))
	for g, v := range t {
		rows = append(rows, row{g, *v})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Method, b.Method),
			cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Code, b.Code))
	})
	text, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("encoding figures: %w", err)
	}
	return string(text), nil
}

func decodeTallies(text string) (tallies, error) {
	var rows []row
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("reading figures: %w", err)
	}
	t := make(tallies, len(rows))
	for i := range rows {
		t.merge(rows[i].group, &rows[i].tally)
	}
	return t, nil
}

// writeHour adds figures to those of an hour.
func writeHour(ctx context.Context, tx *sql.Tx, node string, at int64, more tallies) error {
	sum := make(tallies)
	var text string
	err := tx.QueryRowContext(ctx, "SELECT figures FROM audit_hour WHERE node = $1 AND hour = $2", node, at).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return fmt.Errorf("reading figures: %w", err)
	default:
		if sum, err = decodeTallies(text); err != nil {
			return err
		}
	}
	sum.mergeAll(more)
	if text, err = sum.encode(); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO audit_hour (node, hour, figures) VALUES ($1, $2, $3) ON CONFLICT (node, hour) DO UPDATE SET figures = excluded.figures", node, at, text)
	if err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	return nil
}

// bucket is the number of the range that a duration is in. Each doubling has
// four of the same width, so that a value is off by an eighth at most.
func bucket(us int64) uint8 {
	if us < 4 {
		return uint8(max(0, us))
	}
	n := bits.Len64(uint64(us)) // at least 3
	return uint8(min(4*(n-2)+int(us>>(n-3))&3, 255))
}

// middle is the duration that stands for a bucket.
func middle(b uint8) int64 {
	if b < 4 {
		return int64(b)
	}
	n := int(b)/4 + 2
	width := int64(1) << (n - 3)
	return (4+int64(b)&3)*width + width/2
}

// quantile is the duration that the share q of the calls did not take longer
// than.
func (t *tally) quantile(q float64) time.Duration {
	var all int64
	for _, n := range t.Buckets {
		all += n
	}
	if all == 0 {
		return 0
	}
	rank := max(1, int64(q*float64(all)+0.999999))
	for b := range 256 {
		if rank -= t.Buckets[uint8(b)]; rank <= 0 {
			return micros(min(middle(uint8(b)), t.Slowest))
		}
	}
	return micros(t.Slowest)
}
