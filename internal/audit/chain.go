package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
)

// checkpointEvery is after how many entries, or after which time if there were
// any, the chain is signed.
const (
	checkpointEvery = 1000
	checkpointAfter = 10 * time.Minute
)

// chain is where this node's chain ends. It is one goroutine's.
type chain struct {
	db   *store.DB
	keys Keys
	node string

	seq    int64            // of the last entry
	hash   string           // of the last entry
	tail   []entry          // the last ones, which are in no part yet
	open   map[string]int64 // intents without an outcome, by call
	signed int64            // seq of the last checkpoint, or from where they are counted
	at     time.Time        // of the last checkpoint, or of the beginning

	inserts [chunk + 1]string
	tried   *extension // that may or may not have been committed; nil if none
}

// extension is what is to be added to a chain: what is known before it is
// committed.
type extension struct {
	seq     int64
	hash    string
	entries []entry
	tail    []entry
	parts   []part
	hours   hours
	open    map[string]int64
	signed  int64
	at      time.Time
	ops     []*op
}

// head reads the last entry's number and hash.
func (c *chain) head(ctx context.Context) (seq int64, hash string, err error) {
	err = c.db.QueryRowContext(ctx, "SELECT seq, hash FROM audit_entry WHERE node = $1 ORDER BY seq DESC LIMIT 1", c.node).Scan(&seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, origin(c.node), nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("reading the end of the chain: %w", err)
	}
	return seq, hash, nil
}

// begin is an extension with nothing in it. Its tail may stand in the memory
// behind that of the chain: there is one extension at a time.
func (c *chain) begin() *extension {
	return &extension{
		seq: c.seq, hash: c.hash, tail: c.tail, hours: make(hours), open: maps.Clone(c.open), signed: c.signed, at: c.at,
	}
}

// add appends an entry.
func (x *extension) add(node string, at int64, k kind, call, body string) {
	x.seq++
	e := entry{node: node, seq: x.seq, at: at, kind: k, call: call, body: body}
	e.hash = e.sum(x.hash)
	x.hash = e.hash
	x.entries = append(x.entries, e)
	x.tail = append(x.tail, e)
	follow(x.open, &e)
	if len(x.tail) == partSize {
		x.seal()
	}
}

// seal makes a part of what is in none yet.
func (x *extension) seal() {
	x.parts = append(x.parts, partOf(x.tail, slices.Sorted(maps.Values(x.open))))
	for i := range x.tail {
		x.hours.add(&x.tail[i])
	}
	x.tail = nil
}

// op adds what is asked for.
func (x *extension) op(node string, o *op) {
	k := o.kind
	body := o.head
	seq, begun := x.open[o.call]
	switch {
	case k.begins() || k == kindLost || !begun:
		body = append(body, o.tail...)
	default:
		body = strconv.AppendInt(append(body, `,"intent":`...), seq, 10)
		if k == kindCall {
			k = kindOutcome
		}
	}
	x.add(node, o.at, k, o.call, string(append(body, '}')))
	x.ops = append(x.ops, o)
}

// sign appends a checkpoint.
func (x *extension) sign(keys Keys, now time.Time) error {
	body, err := statement(keys, claim{what: "checkpoint", node: keys.Node(), seq: x.seq, hash: x.hash, at: now.UnixMicro()})
	if err != nil {
		return err
	}
	x.add(keys.Node(), now.UnixMicro(), kindCheckpoint, "", body)
	x.signed, x.at = x.seq, now
	return nil
}

// commit writes an extension, and takes it over if that succeeds; also does in
// the same transaction. After an error it may be that it was written all the
// same: the next commit finds out.
func (c *chain) commit(ctx context.Context, x *extension, d store.Durability, also func(*sql.Tx) error) error {
	c.tried = x
	if c.db.Postgres() {
		// A server that crashes forgets what was committed without waiting for its
		// disk; the hub lives on, and would add to what is not there any more.
		d = store.Disk
	}
	err := c.db.Tx(ctx, d, func(tx *sql.Tx) error {
		if err := c.insert(ctx, tx, x.entries); err != nil {
			return err
		}
		for i := range x.parts {
			if err := x.parts[i].insert(ctx, tx); err != nil {
				return err
			}
		}
		for _, at := range slices.Sorted(maps.Keys(x.hours)) {
			if err := writeHour(ctx, tx, c.node, at, x.hours[at]); err != nil {
				return err
			}
		}
		if also != nil {
			return also(tx)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.adopt(x)
	return nil
}

func (c *chain) adopt(x *extension) {
	c.seq, c.hash, c.tail, c.open, c.signed, c.at = x.seq, x.hash, x.tail, x.open, x.signed, x.at
	c.tried = nil
}

// settle finds out, after a commit that failed, whether it was written. done is
// what was, nil if nothing.
func (c *chain) settle(ctx context.Context) (done *extension, err error) {
	x := c.tried
	if x == nil {
		return nil, nil
	}
	if err := c.await(ctx, x); err != nil {
		return nil, err
	}
	seq, hash, err := c.head(ctx)
	switch {
	case err != nil:
		return nil, c.db.Err(err)
	case seq == c.seq && hash == c.hash:
		c.tried = nil
		return nil, nil
	case seq == x.seq && hash == x.hash:
		c.adopt(x)
		return x, nil
	}
	return nil, hub.E(message.AuditNodeTaken, nil, "node", c.node)
}

// errUndo undoes a transaction that has done what it was for.
var errUndo = errors.New("undone on purpose")

// await waits until a commit is over whose connection was lost. PostgreSQL may
// be at it for long after that, as where it waits for a replica, and nobody sees
// its entries meanwhile; but whoever writes one of the same number waits for it.
func (c *chain) await(ctx context.Context, x *extension) error {
	if !c.db.Postgres() {
		return nil
	}
	err := c.db.Tx(ctx, store.Process, func(tx *sql.Tx) error {
		e := &x.entries[0]
		_, err := tx.ExecContext(ctx, c.statement(1)+" ON CONFLICT DO NOTHING", e.node, e.seq, e.at, string(e.kind), e.call, e.body, e.hash)
		if err != nil {
			return fmt.Errorf("waiting for a commit: %w", err)
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

// chunk is how many rows one statement writes.
const chunk = 16

// insert writes rows.
func (c *chain) insert(ctx context.Context, tx *sql.Tx, list []entry) error {
	args := make([]any, 0, 7*min(len(list), chunk))
	for len(list) > 0 {
		n := min(len(list), chunk)
		args = args[:0]
		for i := range list[:n] {
			e := &list[i]
			args = append(args, e.node, e.seq, e.at, string(e.kind), e.call, e.body, e.hash)
		}
		if _, err := tx.ExecContext(ctx, c.statement(n), args...); err != nil {
			return fmt.Errorf("writing entries: %w", err)
		}
		list = list[n:]
	}
	return nil
}

// statement is the one that writes n rows.
func (c *chain) statement(n int) string {
	if c.inserts[n] == "" {
		var b strings.Builder
		b.WriteString("INSERT INTO audit_entry (" + columns + ") VALUES ")
		for i := range n {
			if i > 0 {
				b.WriteString(", ")
			}
			if at := 7 * i; c.db.Postgres() {
				fmt.Fprintf(&b, "($%d, $%d, $%d, $%d, $%d, $%d, $%d)", at+1, at+2, at+3, at+4, at+5, at+6, at+7)
			} else {
				b.WriteString("(?, ?, ?, ?, ?, ?, ?)") // it looks for the names of parameters one by one
			}
		}
		c.inserts[n] = b.String()
	}
	return c.inserts[n]
}
