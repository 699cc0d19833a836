// Package transport carries messages between this program and its peers, as
// bytes. It knows how each carrier frames a message and how it ends, and leaves
// what a message says to others.
//
// Duplex streams are [Lines]: child processes ([StartStdio]), servers in this
// process ([Pipe]), and this program's own standard input and output; [SSE],
// which is HTTP with server-sent events; and [WebSocket]. Streamable HTTP is a
// request and its answer at a time. [Network] says how all that goes over a
// network gets there.
package transport
