package audit

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// maxProblems is how many problems are told. One is enough to know.
const maxProblems = 100

// Report is what a verification found.
type Report struct {
	Chains   []Chain
	Problems []Problem // the first hundred; none if all is as it was written
	Gaps     int       // of an export: how often entries were left out between two, or were not there
}

// Chain is what was seen of one chain.
type Chain struct {
	Node        string
	First, Last int64
	Entries     int64
	Checkpoints int64  // signatures that are right
	Signed      int64  // seq of the last entry that a signature covers; what comes after it can be written anew by whoever can write the database
	Hash        string // of the last entry
}

// Problem is something that is not as it was written.
type Problem struct {
	Node string
	Seq  int64      // of the entry, or of the first that is concerned; 0 if it is none's
	Err  *hub.Error // with a code of those that begin with audit_
}

// errEnough ends a verification early.
var errEnough = errors.New("enough problems")

func (r *Report) add(node string, seq int64, code message.Code, pairs ...string) {
	if len(r.Problems) >= maxProblems {
		return
	}
	r.Problems = append(r.Problems, Problem{node, seq, hub.E(code, nil, append(pairs, "node", node, "seq", strconv.FormatInt(seq, 10))...)})
}

// Verify reads all chains of the database and tells what is not as it was
// written: entries that were changed, removed or moved, signatures that are not
// those of the chain's key, and a chain that ends before the head that was
// exported of it, or otherwise. head may be nil; its signature is taken to have
// been checked, as [ParseHead] does.
//
// Without a head it cannot be seen that the end was cut off, except of this
// node's chain while it is being written.
func (l *Log) Verify(ctx context.Context, head *Head) (*Report, error) {
	where := l.flush(ctx)
	r := &Report{}
	err := l.db.View(ctx, func(tx *sql.Tx) error {
		if !l.db.Postgres() {
			if err := r.types(ctx, tx); err != nil {
				return err
			}
		}
		all, err := nodes(ctx, tx)
		if err != nil {
			return err
		}
		heads := make(map[string][]position)
		if where != nil {
			heads[l.node] = append(heads[l.node], *where)
		}
		if head != nil {
			heads[head.Node] = append(heads[head.Node], position{head.Seq, head.Hash})
		}
		// A chain that a head is of, and of which nothing is left, is looked at too.
		for _, node := range slices.Sorted(maps.Keys(heads)) {
			if !slices.Contains(all, node) {
				all = append(all, node)
			}
		}
		for _, node := range all {
			v := newVerifier(r, node, heads[node])
			if err := v.chain(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, unreadable(err)
	}
	return r, nil
}

// VerifyStore is [Log.Verify] for a database that no hub of this process uses. It
// writes nothing.
func VerifyStore(ctx context.Context, db *store.DB, head *Head) (*Report, error) {
	return (&Log{db: db}).Verify(ctx, head)
}

// verifier follows one chain.
type verifier struct {
	report *Report
	Chain
	heads []position

	first  *entry // whose hash cannot be checked before it is known what came before
	prev   string // the hash of the entry before, as it stands there
	other  string // what it ought to be if it does not
	anchor position

	open  map[string]int64
	block []entry
	parts map[int64]part // not seen yet, by first
	hours *hourVerifier  // nil of an export
}

func newVerifier(r *Report, node string, heads []position) *verifier {
	return &verifier{report: r, Chain: Chain{Node: node}, heads: heads, open: make(map[string]int64), parts: make(map[int64]part)}
}

// chain verifies a chain of the database.
func (v *verifier) chain(ctx context.Context, q reader) error {
	list, err := parts(ctx, q, "node = $1 ORDER BY first", v.Node)
	if err != nil {
		return err
	}
	for i := range list {
		v.parts[list[i].first] = list[i]
	}
	if v.hours, err = newHourVerifier(ctx, q, v, list); err != nil {
		return err
	}
	err = chunks(ctx, q, v.Node, -farEnd, func(list []entry) error {
		for i := range list {
			if v.entry(&list[i]); list[i].seq > 0 {
				v.index(&list[i])
			}
		}
		if len(v.report.Problems) >= maxProblems {
			return errEnough
		}
		return v.hours.compare(ctx, q, v.Last)
	})
	if err != nil {
		return err
	}
	v.finish()
	for _, first := range slices.Sorted(maps.Keys(v.parts)) {
		p := v.parts[first]
		v.wrong(&p)
	}
	return v.hours.finish(ctx, q)
}

// entry verifies the next entry of the chain.
func (v *verifier) entry(e *entry) {
	if e.seq < 1 {
		v.report.add(v.Node, e.seq, message.AuditEntryChanged) // no chain has it
		return
	}
	v.Entries++
	if v.Entries == 1 {
		v.First = e.seq
		if e.seq == 1 {
			v.prev = origin(v.Node)
		} else {
			kept := *e
			v.first = &kept // what came before it is known when the anchor was seen
		}
	} else if e.seq != v.Last+1 {
		v.report.add(v.Node, v.Last+1, message.AuditEntryMissing, "first", strconv.FormatInt(v.Last+1, 10), "last", strconv.FormatInt(e.seq-1, 10))
		v.prev, v.other = "", ""
	}
	right := true
	want := e.sum(v.prev)
	if v.prev != "" && want != e.hash && (v.other == "" || e.sum(v.other) != e.hash) {
		right = false
		v.report.add(v.Node, e.seq, message.AuditEntryChanged)
	}
	v.signature(e, right)
	v.head(e)
	// An entry whose hash was changed is told once, and not as well by the next.
	v.other = ""
	if !right {
		v.other = want
	}
	v.prev, v.Last, v.Hash = e.hash, e.seq, e.hash
}

// signature checks what an entry says that is signed.
func (v *verifier) signature(e *entry, right bool) {
	if e.kind != kindCheckpoint && e.kind != kindPruned {
		return
	}
	c, ok := readStatement(e)
	ok = ok && c.node == v.Node
	if e.kind == kindCheckpoint {
		ok = ok && c.seq == e.seq-1 && (v.prev == "" || c.hash == v.prev || c.hash == v.other)
	}
	switch {
	case ok && e.kind == kindPruned:
		v.anchor = position{c.seq, c.hash}
	case ok:
		v.Checkpoints++
		v.Signed = e.seq - 1
	case right: // else it was told already
		v.report.add(v.Node, e.seq, message.AuditUnsigned)
	}
}

// head checks an entry by the heads that are of it.
func (v *verifier) head(e *entry) {
	for _, h := range v.heads {
		if h.seq == e.seq && h.hash != e.hash {
			v.report.add(v.Node, e.seq, message.AuditHeadDiffers)
		}
	}
}

// finish checks what can be said only when the whole chain was seen.
func (v *verifier) finish() {
	if e := v.first; e != nil {
		switch {
		case v.anchor.seq != e.seq-1:
			v.report.add(v.Node, v.anchor.seq+1, message.AuditEntryMissing, "first", strconv.FormatInt(v.anchor.seq+1, 10), "last", strconv.FormatInt(e.seq-1, 10))
		case e.sum(v.anchor.hash) != e.hash:
			v.report.add(v.Node, e.seq, message.AuditEntryChanged)
		}
	}
	v.end()
}

// end puts the chain in the report, and tells of heads that lie behind its end.
func (v *verifier) end() {
	for _, h := range v.heads {
		if h.seq > v.Last {
			v.report.add(v.Node, h.seq, message.AuditTruncated, "last", strconv.FormatInt(v.Last, 10))
		}
	}
	v.report.Chains = append(v.report.Chains, v.Chain)
}

// index checks that what makes queries fast says what the entries say.
func (v *verifier) index(e *entry) {
	follow(v.open, e)
	v.block = append(v.block, *e)
	if e.seq%partSize != 0 {
		return
	}
	block := v.block
	v.block = nil
	first := e.seq - partSize + 1
	stored, there := v.parts[first]
	delete(v.parts, first)
	if len(block) < partSize {
		return // what is missing was told
	}
	for i := range block {
		v.hours.sums.add(&block[i])
	}
	want := partOf(block, slices.Sorted(maps.Values(v.open)))
	if v.First > 1 {
		// Intents that were dropped for their age are not seen here.
		kept := slices.DeleteFunc(splitSeqs(stored.pending), func(seq int64) bool { return seq < v.First })
		stored.pending = joinSeqs(kept)
	}
	if !there || stored != want {
		v.wrong(&want)
	}
}

func (v *verifier) wrong(p *part) {
	v.report.add(v.Node, p.first, message.AuditIndexWrong, "first", strconv.FormatInt(p.first, 10), "last", strconv.FormatInt(p.last, 10))
}
