package config

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
)

// OwnKey is the key by which other programs know Toolcrib once it has been
// entered in their files ("toolcrib connect"), and the name of its program.
const OwnKey = "toolcrib"

// isOurselves reports whether the entry is Toolcrib itself, as "connect"
// writes it into files that are then read here. A hub that has itself for a
// server would offer its tools once more each time it lists them. What leads
// to another hub stays: a program with --data-dir or --url but without the
// --client that "connect" gives, and an address of another machine.
func (e *entry) isOurselves() bool {
	s := &e.server
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		return err == nil && s.Key == OwnKey && strings.TrimSuffix(u.Path, "/") == "/mcp" && isLoopback(u.Hostname())
	}
	// Files may come from another system.
	program := path.Base(strings.ReplaceAll(s.Command, `\`, "/"))
	if program, _ = strings.CutSuffix(strings.ToLower(program), ".exe"); program != OwnKey {
		return false
	}
	if len(s.Args) == 0 || s.Args[0] != "stdio" {
		return false
	}
	gives := func(flag string) bool {
		return slices.ContainsFunc(s.Args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
	}
	return gives("--client") && !gives("--url") || !gives("--data-dir") && !gives("--url")
}

func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// leaveOutOurselves skips the entry if it is Toolcrib itself.
func (e *entry) leaveOutOurselves() {
	if e.isOurselves() {
		e.skip = true
		e.warn(e.at, "%sit is ignored, since it is Toolcrib itself", e.where)
	}
}
