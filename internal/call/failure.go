package call

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// sequel is what follows from the failure of an attempt.
type sequel uint8

const (
	final sequel = iota // nothing: it is the call's
	next                // another server may carry the call out, and this one not even later
	again               // this one may later, and another one now
)

// unsent reports whether a request provably did not leave.
func unsent(err error) bool { return errors.Is(err, transport.ErrNotSent) }

// Spared reports whether an error is that of a call that no server has carried out,
// and that an equal tool of another server might. The list is closed on purpose, as
// that of neverLeft is.
func Spared(err error) bool {
	e := hub.AsError(err)
	switch e.Code {
	case message.ServerDown, message.ServerBroken, message.ServerDisabled, message.ServerStopped, message.ServerUnknown, message.DeviceOffline,
		message.Limited, message.QueueFull, message.QueueExpired, message.CallersTooMany, message.NotOffered, message.ToolUnknown,
		message.ServerUnauthorized, message.UpstreamLoginNeeded, message.UpstreamScopeNeeded, message.UpstreamLoginFailed, message.AllFailed:
		return e.Args[message.ValueOutcome] != string(hub.OutcomeUnknown)
	}
	return false
}

// neverLeft reports whether the call of which an attempt failed provably never
// left for the server. The list is closed on purpose: an error that is not on it
// may hide a call that was carried out.
func neverLeft(err error, reached bool) bool {
	switch {
	case !reached:
		return true // there was no connection, or the call was not to be sent on it any more
	case unsent(err):
		return true // no byte of it was written; package transport says what counts
	case hub.IsCode(err, message.NotOffered):
		return true // the server has not declared the method, and is then not asked
	}
	return false
}

// shutOut reports whether the server does not let the hub in: nothing is known of a
// tool that runs before it does. That is enough for another server to be tried, and
// not for an agreement to be used again: a person has agreed to one call, and this one
// may have been read by the server.
func shutOut(err error) bool {
	return hub.IsCode(err, message.UpstreamLoginNeeded) || hub.IsCode(err, message.UpstreamScopeNeeded) || hub.IsCode(err, message.UpstreamLoginFailed)
}

// afterFailure is what may be done after an error, if that repeats nothing. What
// is not on the list is final: nobody knows whether another attempt would help.
func afterFailure(err error) sequel {
	if unsent(err) && !shutOut(err) {
		return again // the connection has ended, or was not to be had
	}
	switch e := hub.AsError(err); e.Code {
	case message.ServerDown:
		return again // the server is not reached, or does not come up
	case message.OutcomeUnknown:
		return again // the connection has ended before the answer
	case message.ServerHTTPStatus:
		return afterStatus(e.Args["status"])
	case message.Timeout:
		return next // it would take as long once more
	case message.ServerBroken:
		return next // its breaker lets no call through
	case message.ServerDisabled, message.ServerStopped, message.ServerUnknown:
		return next // a person has seen to that
	case message.Limited, message.QueueFull, message.QueueExpired:
		return next // its limits keep the call away
	case message.CallersTooMany:
		return next // it has no connection left for one more caller
	case message.NotOffered, message.ToolUnknown:
		return next // it does not have what is asked for, or not any more
	case message.ServerUnauthorized, message.UpstreamLoginNeeded, message.UpstreamScopeNeeded, message.UpstreamLoginFailed:
		return next // the credentials are the same a moment later
	case message.ServerBadReply, message.ServerReplyTooBig, message.ServerEndpoint:
		return next // it has answered, and would do so again
	case message.ServerRefused:
		return final // that is an answer
	case message.ToolChanged:
		return final // what is meant for a pinned tool goes to no other
	case message.Cancelled, message.ShuttingDown:
		return final // nobody waits for it any more
	}
	return final
}

// afterStatus is what follows from a status of HTTP.
func afterStatus(status string) sequel {
	switch n, _ := strconv.Atoi(status); {
	case n == http.StatusRequestTimeout, n == http.StatusTooManyRequests, n >= http.StatusInternalServerError:
		return again
	}
	return next
}

// weigh says what follows from the failure of an attempt. What may have reached a
// tool that changes something, and must not reach it twice, is over; so is what may
// have reached any tool by a person's agreement, which is good for once, whatever the
// tool says of itself.
func (r *run) weigh(ctx context.Context, c *candidate, err error) sequel {
	d := &r.plan
	if !neverLeft(err, d.reached) {
		if r.claim != "" && shutOut(err) {
			return final
		}
		if !shutOut(err) {
			if !c.harmless() {
				d.loose = err
			}
			if !c.repeatable() || r.claim != "" {
				return final
			}
		}
	}
	if ctx.Err() != nil {
		return final
	}
	return afterFailure(err)
}
