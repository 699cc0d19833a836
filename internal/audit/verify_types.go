package audit

import (
	"context"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/message"
)

// types tells of values in SQLite that are of another type than they were
// written with. A text that has become bytes reads the same and has the same
// hash, but is equal to no text, so that queries do not find it. If there are
// any it returns [errEnough]: what is no number has no place in a chain.
func (r *Report) types(ctx context.Context, q reader) error {
	for _, table := range [...]struct {
		code message.Code
		rows string
	}{
		{message.AuditEntryChanged, `seq, seq FROM audit_entry WHERE typeof(node) <> 'text' OR typeof(seq) <> 'integer' OR typeof(at) <> 'integer'
			OR typeof(kind) <> 'text' OR typeof(call) <> 'text' OR typeof(body) <> 'text' OR typeof(hash) <> 'text'`},
		{message.AuditIndexWrong, `first, last FROM audit_part WHERE typeof(node) <> 'text' OR typeof(first) <> 'integer' OR typeof(last) <> 'integer'
			OR typeof(since) <> 'integer' OR typeof(until) <> 'integer' OR typeof(pending) <> 'text' OR typeof(terms) <> 'text'`},
		{message.AuditFiguresWrong, `hour, hour FROM audit_hour WHERE typeof(node) <> 'text' OR typeof(hour) <> 'integer' OR typeof(figures) <> 'text'`},
	} {
		if err := r.rows(ctx, q, table.code, "SELECT node, "+table.rows+" LIMIT "+strconv.Itoa(maxProblems)); err != nil {
			return err
		}
	}
	if len(r.Problems) > 0 {
		return errEnough
	}
	return nil
}

// rows tells of each row of a query for the name of a chain and two numbers.
func (r *Report) rows(ctx context.Context, q reader, code message.Code, query string) error {
	return eachRow(ctx, q, "the types of values", func(scan func(...any) error) error {
		var node, first, last string // whatever they are
		if err := scan(&node, &first, &last); err != nil {
			return err
		}
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil || code == message.AuditFiguresWrong {
			n = 0 // no number of an entry
		}
		r.add(node, n, code, "first", first, "last", last, "hour", first)
		return nil
	}, query)
}
