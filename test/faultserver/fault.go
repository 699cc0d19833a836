package main

import (
	"fmt"
	"slices"
	"strings"
)

// carrier says on which transports a fault can happen.
type carrier uint8

const (
	onStdio carrier = 1 << iota
	onHTTP
	onBoth = onStdio | onHTTP
)

// fault is one way to go wrong.
type fault struct {
	name    string
	carrier carrier
	does    string
}

// catalogue returns every fault. The answer faults spoil the messages that
// -on names; the others say themselves when they happen.
func catalogue() []fault {
	return []fault{
		// The life of the process.
		{"crashstart", onBoth, "writes a line to stderr and exits 1 at once"},
		{"nostop", onBoth, "ignores the end of stdin and SIGTERM, SIGINT, SIGHUP"},
		{"brood", onBoth, "starts two grandchildren that ignore the same, one of them in a session of its own"},

		// The handshake.
		{"neverinit", onBoth, "never answers initialize"},
		{"garbage", onBoth, "answers initialize with a line that is not JSON"},
		{"badproto", onBoth, "initialize answers protocolVersion 1999-01-01"},
		{"modernonly", onBoth, "serves revision 2026-07-28 only: initialize is refused with -32022"},
		{"silentunknown", onBoth, "never answers a method it does not know; server/discover before initialize ends it with exit 1"},

		// The lists.
		{"slowlist", onBoth, "answers tools/list after -delay"},
		{"endlesspages", onBoth, "tools/list always answers the same page and the same nextCursor"},
		{"endlessnew", onBoth, "tools/list always answers a new page and a new nextCursor"},
		{"noping", onBoth, "never answers ping, nor tools/list once it was answered; everything else is"},
		{"notool", onBoth, "tools/list answers an error"},

		// Answer faults that any transport carries.
		{"wrongid", onBoth, "answers with an id that nobody asked with"},
		{"strid", onBoth, "answers with the id as a string"},
		{"dupreply", onBoth, "answers twice (over HTTP as an event stream)"},
		{"crashafter", onBoth, "answers, then exits 3"},
		{"noreply", onBoth, "does not answer; over HTTP the event stream ends without the answer"},

		// Answer faults of a byte stream.
		{"halfline", onStdio, "writes half of the answer without a line end, then nothing more, ever"},
		{"hugeline", onStdio, "answers with a line of -size bytes"},
		{"banner", onStdio, "writes lines that are not JSON at the start and around every message"},

		// Answer faults of HTTP.
		{"hugejson", onHTTP, "answers with a body of -size bytes"},
		{"wrongtype", onHTTP, "answers 200 with text/html"},
		{"status500", onHTTP, "answers 500"},
		{"status500once", onHTTP, "answers 500 the first time"},
		{"slowloris", onHTTP, "opens an event stream and sends a byte per -delay of an event that never ends"},
		{"truncated", onHTTP, "sends less than its Content-Length and closes the connection"},
		{"hang", onHTTP, "takes the request and never answers"},
		{"redirect", onHTTP, "answers 307 to another host name (same process; /stats counts who follows)"},

		// The way of serving HTTP.
		{"status404session", onHTTP, "forgets a session after -session-calls tool calls: 404 until a new initialize"},
		{"sseonly", onHTTP, "answers only with event streams: 406 for who does not take them"},
		{"jsononly", onHTTP, "answers only with JSON bodies: notifications are lost, GET is 405"},
	}
}

func faultNames() []string {
	var names []string
	for _, f := range catalogue() {
		names = append(names, f.name)
	}
	return names
}

// faults is the choice of one run. It does not change after parseFaults.
type faults struct {
	chosen []string
	on     []string
}

// parseFaults reads the values of -fault and -on. A fault that does not exist
// or cannot happen on the transport is an error: a test with a misspelt fault
// would pass for the wrong reason.
func parseFaults(names, on string, http bool) (faults, error) {
	here := onStdio
	if http {
		here = onHTTP
	}
	all := catalogue()
	f := faults{on: splitList(on)}
	for _, name := range splitList(names) {
		i := slices.IndexFunc(all, func(f fault) bool { return f.name == name })
		switch {
		case i < 0:
			return f, fmt.Errorf("unknown fault %q", name)
		case all[i].carrier&here == 0:
			return f, fmt.Errorf("fault %q cannot happen on this transport", name)
		}
		f.chosen = append(f.chosen, name)
	}
	return f, nil
}

func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// has reports whether the fault is chosen.
func (f faults) has(name string) bool { return slices.Contains(f.chosen, name) }

// hits reports whether the answer fault is chosen and m is a request that -on
// names.
func (f faults) hits(name string, m message) bool {
	if !f.has(name) || !m.isRequest() {
		return false
	}
	for _, on := range f.on {
		method, tool, one := strings.Cut(on, ":")
		if on == "*" || method == m.Method && (!one || tool == m.tool()) {
			return true
		}
	}
	return false
}
