package audit

import "context"

// Sent reports whether the record knows of a call with the id: that it was about to
// be sent, or how it ended. What the journal holds of this node's earlier life is
// in the record once [Open] has returned, so that a call of that life for which
// Sent is false was never sent.
func (l *Log) Sent(ctx context.Context, call string) (bool, error) {
	if call == "" {
		return false, nil
	}
	l.flush(ctx)
	var n int
	// Only what says that no call is "" may use the index of calls.
	err := l.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM audit_entry WHERE call <> '' AND call = $1", clip(call, longestCall)).Scan(&n)
	if err != nil {
		return false, unreadable(l.db.Err(err))
	}
	return n > 0, nil
}
