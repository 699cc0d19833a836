// Package transport carries messages between this program and its peers, and
// looks into them no further than their framing asks for.
//
// Line-framed streams ([Lines]) serve child processes ([StartStdio]), servers
// in this process ([Pipe]) and this program's own standard input and output.
package transport
