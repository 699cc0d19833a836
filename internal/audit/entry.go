package audit

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
)

// kind is what an entry tells.
type kind string

const (
	kindCall       kind = "call"       // a whole call: one that changes nothing, or was never sent
	kindIntent     kind = "intent"     // a call that may change something is about to be sent
	kindOutcome    kind = "outcome"    // how the call of an intent ended
	kindBegun      kind = "begun"      // an act is about to be done
	kindAct        kind = "act"        // an act, as it ended
	kindCheckpoint kind = "checkpoint" // the chain before it is signed
	kindLost       kind = "lost"       // so many records could not be written
	kindPruned     kind = "pruned"     // the beginning of a chain was dropped for its age; signed
)

// begins reports whether the entry tells of something that has not ended.
func (k kind) begins() bool { return k == kindIntent || k == kindBegun }

// isAct reports whether the entry tells of an act, and of no call.
func (k kind) isAct() bool { return k == kindBegun || k == kindAct }

// entry is a row of the record.
type entry struct {
	node string
	seq  int64 // from 1, without a gap
	at   int64 // when it was made, in microseconds since 1970
	kind kind
	call string // the call's id; "" for entries of the chain's own
	body string // JSON, compact
	hash string // hexadecimal
}

// origin stands in for the hash before a chain's first entry.
func origin(node string) string {
	sum := sha256.Sum256([]byte("toolcrib record of calls 1\n" + node))
	return hex.EncodeToString(sum[:])
}

// sum is the hash of the entry after the one whose hash is prev: SHA-256 of all
// columns, each text with its length before it, so that nothing can be moved
// from one to another.
func (e *entry) sum(prev string) string {
	buf := make([]byte, 0, 256+len(e.body))
	buf = appendColumn(buf, prev)
	buf = appendColumn(buf, e.node)
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.seq))
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.at))
	buf = appendColumn(buf, string(e.kind))
	buf = appendColumn(buf, e.call)
	buf = appendColumn(buf, e.body)
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:])
}

func appendColumn(dst []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// reader is what queries are put to: the database, or a transaction.
type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

const columns = "node, seq, at, kind, call, body, hash"

// entries reads entries; condition follows WHERE.
func entries(ctx context.Context, q reader, condition string, args ...any) ([]entry, error) {
	var all []entry
	err := eachEntry(ctx, q, func(e *entry) error {
		all = append(all, *e)
		return nil
	}, condition, args...)
	return all, err
}

// eachRow calls f for each row of a query, with what puts its columns into
// variables; what names in errors what is read.
func eachRow(ctx context.Context, q reader, what string, f func(scan func(...any) error) error, query string, args ...any) error {
	failed := func(err error) error { return fmt.Errorf("reading %s: %w", what, err) }
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = rows.Close() }() // Err tells what went wrong
	scan := func(columns ...any) error {
		if err := rows.Scan(columns...); err != nil {
			return failed(err)
		}
		return nil
	}
	for rows.Next() {
		if err := f(scan); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return failed(err)
	}
	return nil
}

// eachEntry gives f each entry, which f may not keep a pointer to.
func eachEntry(ctx context.Context, q reader, f func(*entry) error, condition string, args ...any) error {
	return eachRow(ctx, q, "entries", func(scan func(...any) error) error {
		var e entry
		if err := scan(&e.node, &e.seq, &e.at, &e.kind, &e.call, &e.body, &e.hash); err != nil {
			return err
		}
		return f(&e)
	}, "SELECT "+columns+" FROM audit_entry WHERE "+condition, args...)
}

// eachOfPart is [eachEntry] for the entries of a chain from first to last, in
// their order, and without their hashes: queries have no use for them. more is
// further conditions, whose parameters begin with $4.
func eachOfPart(ctx context.Context, q reader, f func(*entry), node string, first, last int64, more string, args ...any) error {
	return eachRow(ctx, q, "entries", func(scan func(...any) error) error {
		e := entry{node: node}
		if err := scan(&e.seq, &e.at, &e.kind, &e.call, &e.body); err != nil {
			return err
		}
		f(&e)
		return nil
	}, "SELECT seq, at, kind, call, body FROM audit_entry WHERE node = $1 AND seq >= $2 AND seq <= $3"+more+" ORDER BY seq",
		append([]any{node, first, last}, args...)...)
}

// chunkSize is how many entries of a chain are read at once where all are.
const chunkSize = 1000

// chunks gives f all entries of a chain after one, in their order, some at a
// time. f may ask other questions meanwhile.
func chunks(ctx context.Context, q reader, node string, after int64, f func([]entry) error) error {
	for {
		list, err := entries(ctx, q, "node = $1 AND seq > $2 ORDER BY seq LIMIT $3", node, after, chunkSize)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := f(list); err != nil {
			return err
		}
		after = list[len(list)-1].seq
	}
}

// nodes are the names of all chains, sorted. One question each: to ask for
// those that differ would read every entry.
func nodes(ctx context.Context, q reader) ([]string, error) {
	var all []string
	var next sql.NullString
	err := q.QueryRowContext(ctx, "SELECT MIN(node) FROM audit_entry").Scan(&next)
	// One that comes again is bytes, put there by a stranger: in SQLite they come
	// after every text.
	for err == nil && next.Valid && !slices.Contains(all, next.String) {
		all = append(all, next.String)
		err = q.QueryRowContext(ctx, "SELECT MIN(node) FROM audit_entry WHERE node > $1", next.String).Scan(&next)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the names of the chains: %w", err)
	}
	return all, nil
}
