package hub

import "context"

// Exchange is the way back to whoever made a call, for as long as the call
// runs. It is made at the door and handed down with the call.
//
// The messages are whole JSON-RPC messages. What Notify is given reaches the
// caller in that order, and before the call's response. A caller who does not
// read holds Notify up for the door's write limit at most, once; then nothing
// is sent to it any more. The bytes are not kept after Notify returns.
type Exchange interface {
	// Notify sends a notification to the caller.
	Notify(raw []byte)

	// Ask puts a server's question to the caller and returns the caller's
	// whole response message. An error means that the caller cannot be asked;
	// the server is then told so.
	Ask(ctx context.Context, raw []byte) ([]byte, error)
}
