package audit

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// partSize is how many entries are a part. What a query has to read besides
// what it finds is at most one part for each call found; what a part costs is
// paid once for all its entries.
const partSize = 256

// part is what a query knows of partSize entries before it reads them. It is
// made from them and from nothing else.
type part struct {
	node         string
	first, last  int64 // seq
	since, until int64 // the earliest and the latest time of an entry
	pending      string
	terms        string // of termSize characters each, sorted
}

// partOf is the part of entries that follow one another. pending are the
// intents, in this part or before it, that have no outcome at its end.
func partOf(list []entry, pending []int64) part {
	p := part{
		node: list[0].node, first: list[0].seq, last: list[len(list)-1].seq,
		since: list[0].at, until: list[0].at, pending: joinSeqs(pending),
	}
	type value struct {
		dimension byte
		text      string
	}
	seen := make(map[value]struct{}, 64)
	for i := range list {
		e := &list[i]
		p.since, p.until = min(p.since, e.at), max(p.until, e.at)
		var r hub.CallRecord
		if e.call == "" {
			continue
		}
		decode(e.body, &r)
		for _, v := range [...]value{
			{'s', r.Session},
			{'u', r.Subject},
			{'d', string(r.Door)},
			{'v', r.Server},
			{'t', r.Tool},
			{'m', r.Method},
			{'o', string(r.Outcome)},
			{'c', r.Code},
			{'n', r.Tenant},
			{'k', kindTerm(e.kind)},
		} {
			if v.text != "" {
				seen[v] = struct{}{}
			}
		}
	}
	all := make([]string, 0, len(seen))
	for v := range seen {
		all = append(all, term(v.dimension, v.text))
	}
	slices.Sort(all)
	p.terms = strings.Join(slices.Compact(all), "") // two values may have the same
	return p
}

// termAct is the value of the entries that tell of acts.
const termAct = "act"

// kindTerm is by which value entries of a kind are found; "" for none.
func kindTerm(k kind) string {
	if k.isAct() {
		return termAct
	}
	return ""
}

// termSize is how many characters stand for a value: 24 bits of a hash. Two
// values may have the same, so what is found by a term is compared again; short
// ones are read sooner.
const termSize = 4

// term stands for a value; "" for none.
func term(dimension byte, value string) string {
	if value == "" {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte{dimension})
	h.Write([]byte(value))
	var sum [8]byte
	return base64.RawURLEncoding.EncodeToString(h.Sum(sum[:0]))[:termSize]
}

// has reports whether the terms have each of those asked for, which come from
// [term].
func (p *part) has(asked []string) bool {
	n := len(p.terms) / termSize
	for _, t := range asked {
		at := sort.Search(n, func(i int) bool { return p.terms[i*termSize:(i+1)*termSize] >= t })
		if at == n || p.terms[at*termSize:(at+1)*termSize] != t {
			return false
		}
	}
	return true
}

func (p *part) insert(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO audit_part (node, first, last, since, until, pending, terms) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		p.node, p.first, p.last, p.since, p.until, p.pending, p.terms)
	if err != nil {
		return fmt.Errorf("writing a part: %w", err)
	}
	return nil
}

// parts reads parts; condition follows WHERE.
func parts(ctx context.Context, q reader, condition string, args ...any) ([]part, error) {
	var all []part
	err := eachRow(ctx, q, "parts", func(scan func(...any) error) error {
		var p part
		err := scan(&p.node, &p.first, &p.last, &p.since, &p.until, &p.pending, &p.terms)
		all = append(all, p)
		return err
	}, "SELECT node, first, last, since, until, pending, terms FROM audit_part WHERE "+condition, args...)
	return all, err
}

func joinSeqs(seqs []int64) string {
	var b strings.Builder
	for i, s := range seqs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatInt(s, 10))
	}
	return b.String()
}

func splitSeqs(text string) []int64 {
	var seqs []int64
	for f := range strings.FieldsSeq(text) {
		if n, err := strconv.ParseInt(f, 10, 64); err == nil {
			seqs = append(seqs, n)
		}
	}
	return seqs
}
