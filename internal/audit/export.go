package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Format is the form of an export.
type Format string

// The formats.
const (
	JSONL Format = "jsonl" // every entry as it is, to be verified by [VerifyExport]
	CSV   Format = "csv"   // a line for every call, for spreadsheets
)

// Export writes what the filter wants to w, the oldest first, chain by chain.
// What is recorded meanwhile is not in it. An error of w is returned as it is.
//
// JSONL has entries, those of the chain itself among them unless the filter
// asks for something else than a time or a chain, and a signed last line by
// which a change of any byte of the export is found. A filter by outcome or
// code leaves intents out, which have none.
func (l *Log) Export(ctx context.Context, w io.Writer, format Format, f Filter) error {
	l.flush(ctx)
	out := bufio.NewWriterSize(w, 64<<10)
	x := &exporter{Log: l, filter: &f, out: out}
	err := l.db.View(ctx, func(tx *sql.Tx) error {
		x.tx = tx
		if format == CSV {
			return x.csv(ctx)
		}
		return x.jsonl(ctx)
	})
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
		return nil
	case x.failed != nil:
		return x.failed
	}
	return unreadable(err)
}

type exporter struct {
	*Log
	tx     *sql.Tx
	filter *Filter
	out    *bufio.Writer
	failed error // of out
}

// each gives f the entries of all chains that are asked for, some at a time.
func (x *exporter) each(ctx context.Context, f func([]linked) error) error {
	all, err := nodes(ctx, x.tx)
	if err != nil {
		return err
	}
	plain := x.filter.isPlain()
	for _, node := range all {
		if x.filter.Node != "" && x.filter.Node != node {
			continue
		}
		after, err := x.before(ctx, node)
		if err != nil {
			return err
		}
		last := entry{hash: origin(node)}
		err = chunks(ctx, x.tx, node, after, func(list []entry) error {
			var some []linked
			for i := range list {
				e := &list[i]
				one := linked{entry: e}
				if e.seq == last.seq+1 {
					one.prev = last.hash
				}
				last = entry{seq: e.seq, hash: e.hash}
				if x.wants(e, plain) {
					some = append(some, one)
				}
			}
			return f(some)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// linked is an entry with the hash of the one before; "" if that is not there.
type linked struct {
	*entry
	prev string
}

func (x *exporter) wants(e *entry, plain bool) bool {
	switch {
	case !x.filter.during(e.at, e.at):
		return false
	case plain:
		return true
	case e.call == "":
		return false
	}
	c := callOf(e)
	return x.filter.wants(&c, e.at)
}

// before is the number of an entry before all of a chain that are asked for,
// but for the one right before them.
func (x *exporter) before(ctx context.Context, node string) (int64, error) {
	if x.filter.Since.IsZero() {
		return 0, nil
	}
	var first sql.NullInt64
	since := x.filter.Since.UnixMicro()
	err := x.tx.QueryRowContext(ctx, "SELECT MIN(first) FROM audit_part WHERE node = $1 AND until >= $2", node, since).Scan(&first)
	if err == nil && !first.Valid {
		err = x.tx.QueryRowContext(ctx, "SELECT MAX(last) + 1 FROM audit_part WHERE node = $1", node).Scan(&first)
	}
	if err != nil {
		return 0, fmt.Errorf("looking for the first entry: %w", err)
	}
	return max(0, first.Int64-2), nil
}

// isPlain reports whether nothing is asked for but a time and a chain.
func (f *Filter) isPlain() bool {
	return f.Tenant == nil && f.Session == "" && f.Subject == "" && f.Door == "" && f.Server == "" && f.Servers == nil && f.Tool == "" && f.Method == "" &&
		len(f.Outcomes) == 0 && f.Code == "" && f.Call == "" && f.Text == "" && f.Verdict == "" && f.Risk == ""
}

// line is an entry in an export. Its members are in this order, and without
// spaces.
type line struct {
	Node string          `json:"node"`
	Seq  int64           `json:"seq"`
	At   int64           `json:"at"`
	Kind kind            `json:"kind"`
	Call string          `json:"call"`
	Prev string          `json:"prev"` // the hash of the entry before; "" if it was dropped for its age
	Hash string          `json:"hash"`
	Body json.RawMessage `json:"body"`
}

// seal is the last line of an export.
type seal struct {
	Export sealed `json:"export"`
}

type sealed struct {
	Node      string `json:"node"`
	Entries   int64  `json:"entries"`
	SHA256    string `json:"sha256"` // of all bytes before this line
	At        int64  `json:"at"`
	Key       []byte `json:"key"`
	Signature []byte `json:"signature"`
}

func (s *sealed) claim() claim {
	return claim{what: "export", node: s.Node, seq: s.Entries, hash: s.SHA256, at: s.At}
}

func (x *exporter) jsonl(ctx context.Context) error {
	all := sha256.New()
	write := func(v any) error {
		text, err := encodeLine(v)
		if err != nil {
			return err
		}
		all.Write(text)
		_, x.failed = x.out.Write(text)
		return x.failed
	}
	s := sealed{Node: x.node, At: time.Now().UnixMicro(), Key: x.keys.public()}
	err := x.each(ctx, func(list []linked) error {
		for _, e := range list {
			s.Entries++
			body := json.RawMessage(e.body)
			if !json.Valid(body) {
				body = appendQuoted(nil, e.body) // somebody spoilt it, which its hash tells
			}
			if err := write(&line{e.node, e.seq, e.at, e.kind, e.call, e.prev, e.hash, body}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.SHA256 = hex.EncodeToString(all.Sum(nil))
	s.Signature = x.keys.signature(s.claim())
	return write(&seal{s})
}

// encodeLine is the JSON of a line, with its end.
func encodeLine(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // bodies stand in it as they are in the database
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a line: %w", err)
	}
	return buf.Bytes(), nil
}

// csvHead names the columns.
func csvHead() []string {
	return []string{
		"began", "ended", "node", "seq", "call", "method", "subject", "door", "session", "client", "group", "name", "server", "tool",
		"changing", "verdict", "outcome", "code", "reason", "attempts", "cached", "queued_ms", "duration_ms", "bytes", "trace", "arguments", "digest",
		"mode", "risk", "rule", "policy", "approval", "grant", "tenant", "held_ms",
	}
}

func (x *exporter) csv(ctx context.Context) error {
	out := csv.NewWriter(x.out)
	write := func(record []string) error {
		if x.failed = out.Write(record); x.failed == nil {
			return nil
		}
		return x.failed
	}
	if err := write(csvHead()); err != nil {
		return err
	}
	err := x.each(ctx, func(list []linked) error {
		var calls []Call // a call under way has no line: it gets one when it has ended
		for _, e := range list {
			if e.kind == kindCall || e.kind == kindOutcome {
				calls = append(calls, callOf(e.entry))
			}
		}
		if err := withIntents(ctx, x.tx, calls); err != nil {
			return err
		}
		for i := range calls {
			if err := write(csvLine(&calls[i])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.Flush()
	x.failed = out.Error()
	return x.failed
}

func csvLine(c *Call) []string {
	ms := func(d time.Duration) string {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
	}
	fields := []string{
		c.Time.UTC().Format(time.RFC3339Nano), c.Ended.UTC().Format(time.RFC3339Nano), c.Node, strconv.FormatInt(c.Seq, 10), c.ID, c.Method,
		c.Subject, string(c.Door), c.Session, c.Client, c.Group, c.Name, c.Server, c.Tool,
		strconv.FormatBool(c.Changing), c.Verdict, string(c.Outcome), c.Code, c.Reason, tries(c.Attempts), strconv.FormatBool(c.Cached),
		ms(c.Queued), ms(c.Duration), strconv.Itoa(c.Bytes), c.Trace, c.Arguments, c.Digest,
		string(c.Mode), c.Risk, c.Rule, c.Policy, c.Approval, c.Grant, c.Tenant, ms(c.Held),
	}
	for i, text := range fields {
		fields[i] = tame(text)
	}
	return fields
}

// tries tells the attempts of a call in one field.
func tries(all []hub.Attempt) string {
	var b strings.Builder
	for i, a := range all {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(a.Server)
		if a.Code != "" {
			b.WriteString(" " + a.Code)
		}
		b.WriteString(" " + a.Duration.String())
	}
	return b.String()
}

// tame puts an apostrophe before what a spreadsheet would take for a formula:
// names and arguments are what anybody wrote.
func tame(text string) string {
	if at := strings.TrimLeft(text, " \t\r\n"); at != "" && strings.ContainsRune("=+-@", rune(at[0])) || text != "" && strings.ContainsRune("\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
