package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
)

// hourVerifier adds the figures of hours up again, and compares them with those
// that stand there: each as soon as no part that follows has a time in it, so
// that there are few at once.
type hourVerifier struct {
	*verifier
	told   int            // problems that are none of this chain's entries
	list   []part         // of the chain, in order
	least  []int64        // by the index of a part: the earliest time in it or after it
	sums   hours          // of the parts that were seen, not compared yet
	stored map[int64]bool // hours that stand there, not compared yet
	begins int64          // the hour in which the first part ends: if parts were dropped, there may have been entries in them of it and of the ones before
}

func newHourVerifier(ctx context.Context, q reader, v *verifier, list []part) (*hourVerifier, error) {
	h := &hourVerifier{verifier: v, told: len(v.report.Problems), list: list, least: make([]int64, len(list)+1), sums: make(hours), stored: make(map[int64]bool), begins: farEnd}
	h.least[len(list)] = farEnd
	for i := range slices.Backward(list) {
		h.least[i] = min(h.least[i+1], list[i].since)
	}
	if len(list) > 0 {
		h.begins = floorHour(list[0].until)
	}
	err := eachRow(ctx, q, "the hours of figures", func(scan func(...any) error) error {
		var at int64
		err := scan(&at)
		h.stored[at] = true
		return err
	}, "SELECT hour FROM audit_hour WHERE node = $1", v.Node)
	return h, err
}

// compare compares the hours that are complete once the entries up to seq were
// seen.
func (h *hourVerifier) compare(ctx context.Context, q reader, seq int64) error {
	next := sort.Search(len(h.list), func(i int) bool { return h.list[i].last > seq })
	for _, at := range slices.Sorted(maps.Keys(h.sums)) {
		if at+hour > h.least[next] {
			break
		}
		if err := h.one(ctx, q, at); err != nil {
			return err
		}
		delete(h.sums, at)
		delete(h.stored, at)
	}
	return nil
}

// finish compares what is left. Figures of an hour without entries are wrong.
func (h *hourVerifier) finish(ctx context.Context, q reader) error {
	for at := range h.stored {
		h.sums.of(at)
	}
	return h.compare(ctx, q, farEnd)
}

// one compares an hour.
func (h *hourVerifier) one(ctx context.Context, q reader, at int64) error {
	dropped := h.First > 1 && at <= h.begins // entries of it, or their figures too
	if len(h.report.Problems) > h.told || dropped {
		return nil // the entries are not those that were added up
	}
	if !h.stored[at] {
		h.odd(at)
		return nil
	}
	var text string
	err := q.QueryRowContext(ctx, "SELECT figures FROM audit_hour WHERE node = $1 AND hour = $2", h.Node, at).Scan(&text)
	if err != nil {
		return fmt.Errorf("reading figures: %w", err)
	}
	stored, err := decodeTallies(text)
	if err != nil {
		h.odd(at)
		return nil
	}
	want, err := h.sums[at].encode()
	if err != nil {
		return err
	}
	got, err := stored.encode()
	if err != nil {
		return err
	}
	if got != want {
		h.odd(at)
	}
	return nil
}

func (h *hourVerifier) odd(at int64) {
	h.report.add(h.Node, 0, message.AuditFiguresWrong, "hour", micro(at).Format(time.RFC3339))
	h.told = len(h.report.Problems)
}
