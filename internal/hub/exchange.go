package hub

import "context"

// Exchange is the way back to whoever made a call, for as long as the call
// runs. It is made at the door and handed down with the call.
//
// The messages are whole JSON-RPC messages. What Notify and Ask are given
// reaches the caller in that order, and before the call's response. A caller who
// does not read holds them up for the door's write limit at most, once; then
// nothing is sent to it any more. The bytes are not kept after the method
// returns.
type Exchange interface {
	// Notify sends a notification to the caller.
	Notify(raw []byte)

	// Ask puts a server's question to the caller. It returns when the question
	// is on its way, and not when it is answered: Answer of the question is
	// called once for each Ask, from any goroutine and perhaps before Ask
	// returns. When ctx ends first, which may be after the call has ended, the
	// caller is told that its answer is not wanted any more, and the question is
	// answered with an error.
	Ask(ctx context.Context, q Question)
}

// Question is a request of a server's to a caller: sampling/createMessage,
// elicitation/create or roots/list.
type Question struct {
	Server string // that asks, by its key
	Raw    []byte // the whole request, with the id that the server gave it

	// Answer takes the caller's whole response, with an id of no meaning to the
	// server. An error, which is a [*Error], means that the caller cannot be
	// asked or has not answered; the server is then told so.
	Answer func(reply []byte, err error)

	// Progress takes each progress notification of the caller's that belongs to
	// the question, whole and with the server's own token in it, until Answer is
	// called. Nil if the server wants none.
	Progress func(raw []byte)
}

// Cancellation is the cause of an [Error] with the code message.Cancelled, where
// the request has ended by a notifications/cancelled of the party that made it.
// What that says besides the id, such as the reason, is for the other party.
type Cancellation struct {
	Raw []byte // the whole notification; not to be changed
}

func (*Cancellation) Error() string { return "by a notification" }

// Caller is in whose conversation a call is made, as far as it matters to the
// servers: it may have connections of its own to them.
type Caller struct {
	ID string // of the conversation; names the caller in subscriptions; "" for one that is over with the request

	// Principal is who it is, for servers at which everybody has credentials of his
	// own.
	Principal Principal

	// Capabilities is the JSON object that the caller declared when its
	// conversation began; nil for a caller that cannot be asked outside of a
	// call, and so has no connections of its own.
	Capabilities []byte

	// Exchange reaches the caller outside of any call, as long as its
	// conversation lasts. Nil together with Capabilities.
	Exchange Exchange
}

// Own reports whether the caller may have connections of its own.
func (c *Caller) Own() bool { return c != nil && c.Capabilities != nil }
