package hub

import "context"

// On whose behalf something is done is carried by its context, so that every
// line of the log can say it (package telemetry adds it). Keys are types of
// their own: no other package can set them.
type (
	requestKey struct{}
	callKey    struct{}
)

// WithRequest returns a context of what is done for the HTTP request with the
// id.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestOf returns the id of the HTTP request for which something is done; ""
// if it is for none.
func RequestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// WithCall returns a context of what is done for a call. ID, Session and Trace
// of the record are not changed any more; they may be read at any time.
func WithCall(ctx context.Context, record *CallRecord) context.Context {
	return context.WithValue(ctx, callKey{}, record)
}

// CallOf returns the record of the call for which something is done, of which
// only ID, Session and Trace may be read; nil if it is for none.
func CallOf(ctx context.Context) *CallRecord {
	record, _ := ctx.Value(callKey{}).(*CallRecord)
	return record
}
