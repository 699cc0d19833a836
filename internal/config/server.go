package config

import (
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
)

const (
	maxKey      = 128 // characters
	maxPriority = 1_000_000
	maxTimeout  = 24 * time.Hour
)

// entry is one member of "mcpServers" while it is read.
type entry struct {
	*document
	member
	where  string // the beginning of every text about it
	server hub.Server

	kind     *hub.Kind // what "type" says
	has      map[string]member
	priority *int
	enabled  *bool
	disabled *bool
}

// server reads one entry.
func (d *document) server(m member) hub.Server {
	e := &entry{
		document: d,
		member:   m,
		where:    "server " + quoted(m.name) + ": ",
		has:      make(map[string]member),
		server: hub.Server{
			Key:       m.name,
			Enabled:   true,
			AutoStart: true,
			Timeout:   hub.DefaultTimeout,
		},
	}
	e.checkKey()
	members, ok := d.object(m.value, "server "+quoted(m.name))
	if !ok {
		return e.server
	}
	for _, m := range members {
		e.has[m.name] = m
		e.read(m)
	}
	e.settleKind()
	e.settlePriority()
	e.settleEnabled()
	return e.server
}

func (e *entry) checkKey() {
	switch key := e.name; {
	case key == "":
		e.problem(e.at, "a server's name is empty")
	case utf8.RuneCountInString(key) > maxKey:
		e.problem(e.at, "a server's name is longer than %d characters", maxKey)
	case strings.ContainsFunc(key, unicode.IsControl):
		e.problem(e.at, "a server's name has a control character")
	}
}

// topMembers and serverMembers are the names that have a meaning.
func topMembers() []string { return []string{"mcpServers", "$schema"} }

func serverMembers() []string {
	return []string{
		"type", "command", "args", "env", "cwd", "url", "headers",
		"autoStart", "enabled", "disabled", "priority", "timeout", "bareNames",
	}
}

// read takes one member over. What several members say together is settled
// when all are read.
func (e *entry) read(m member) {
	s := &e.server
	switch m.name {
	case "type":
		e.kind = e.typeOf(m)
	case "command":
		s.Command = e.text(m.name, m.value)
		if e.isString(m) && strings.TrimSpace(s.Command) == "" {
			e.problem(m.value.StartOffset, `%s"command" is empty`, e.where)
		}
	case "args":
		s.Args = e.texts(m)
	case "env":
		s.Env = e.env(m)
	case "cwd":
		s.Dir = e.text(m.name, m.value)
		if e.isString(m) && s.Dir == "" {
			e.problem(m.value.StartOffset, `%s"cwd" is empty`, e.where)
		}
	case "url":
		s.URL = e.text(m.name, m.value)
	case "headers":
		s.Headers = e.headers(m)
	case "autoStart":
		if v := e.truth(m); v != nil {
			s.AutoStart = *v
		}
	case "bareNames":
		if v := e.truth(m); v != nil {
			s.BareNames = *v
		}
	case "enabled":
		e.enabled = e.truth(m)
	case "disabled":
		e.disabled = e.truth(m)
	case "priority":
		e.priority = e.priorityOf(m)
	case "timeout":
		if v := e.timeout(m); v > 0 {
			s.Timeout = v
		}
	default:
		e.unknown(e.where, m, serverMembers())
	}
}

// settleKind finds out how the server is reached, and reports what does not
// go together.
func (e *entry) settleKind() {
	command, hasCommand := e.has["command"]
	link, hasURL := e.has["url"]
	_, hasType := e.has["type"]
	isBuiltin := slices.Contains(e.builtins, e.name)
	switch {
	case hasType && e.kind == nil:
		return // reported already; what the rest should be is not known
	case hasCommand && hasURL:
		e.problem(max(command.at, link.at), `%sit has both "command" and "url"; a server is either run or reached over the network`, e.where)
		return
	case hasCommand:
		e.server.Kind = hub.KindStdio
		e.useless(`a server with "command"`, "headers")
	case hasURL:
		e.server.Kind = hub.KindHTTP
		e.checkURL(link)
		e.useless(`a server with "url"`, "args", "env", "cwd")
	case isBuiltin && !hasType:
		e.server.Kind = hub.KindBuiltin
		e.useless("a built-in server", "args", "env", "cwd", "headers")
	default:
		e.problem(e.at, `%sit needs "command" (a program to run) or "url" (a server to reach)`, e.where)
		return
	}
	if e.kind != nil && *e.kind != e.server.Kind {
		want, has := "command", "url"
		if *e.kind == hub.KindHTTP {
			want, has = has, want
		}
		e.problem(e.has["type"].value.StartOffset, `%sthis "type" goes with %q, but the server has %q`, e.where, want, has)
	}
}

// useless warns about members that have no effect on such a server, and drops
// what they say.
func (e *entry) useless(such string, names ...string) {
	for _, name := range names {
		if m, ok := e.has[name]; ok {
			e.warn(m.at, "%s%q has no effect on %s", e.where, name, such)
		}
	}
	if e.server.Kind != hub.KindStdio {
		e.server.Args, e.server.Env, e.server.Dir = nil, nil, ""
	}
	if e.server.Kind != hub.KindHTTP {
		e.server.Headers = nil
	}
}

func (e *entry) settlePriority() {
	switch {
	case e.priority != nil:
		e.server.Priority = *e.priority
	case e.server.Kind == hub.KindBuiltin:
		e.server.Priority = hub.PriorityBuiltin
	case e.server.Kind == hub.KindHTTP:
		e.server.Priority = hub.PriorityRemote
	default:
		e.server.Priority = hub.PriorityLocal
	}
}

func (e *entry) settleEnabled() {
	switch {
	case e.enabled != nil && e.disabled != nil && *e.enabled == *e.disabled:
		e.problem(max(e.has["enabled"].at, e.has["disabled"].at), `%s"enabled" and "disabled" contradict each other`, e.where)
	case e.enabled != nil:
		e.server.Enabled = *e.enabled
	case e.disabled != nil:
		e.server.Enabled = !*e.disabled
	}
}

// typeOf reads "type". It is nil if the type is of no use.
func (e *entry) typeOf(m member) *hub.Kind {
	if !e.isString(m) {
		e.wrong(m.name, m.value, "a string")
		return nil
	}
	kind := hub.KindHTTP
	switch name := m.value.Value.(hujson.Literal).String(); name {
	case "http", "streamable-http", "streamableHttp":
	case "stdio":
		kind = hub.KindStdio
	case "sse", "ws", "websocket", "embedded":
		e.problem(m.value.StartOffset, `%sthis version cannot reach servers of "type" %q, only "stdio" and "http"`, e.where, name)
		return nil
	default:
		e.problem(m.value.StartOffset, `%sthe "type" %s is not known; it is "stdio" or "http"`, e.where, quoted(name))
		return nil
	}
	return &kind
}

func (e *entry) checkURL(m member) {
	if !e.isString(m) {
		return // reported already
	}
	bad := func(detail string) {
		e.problem(m.value.StartOffset, `%s"url" %s`, e.where, detail)
	}
	// The parser's error quotes the text, which may hold a key.
	u, err := url.Parse(e.server.URL)
	switch {
	case err != nil:
		bad("is not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		bad("must begin with http:// or https://")
	case u.Hostname() == "":
		bad("names no host")
	case u.User != nil:
		bad(`must not hold a user name or password; put them into "headers" (Authorization)`)
	case u.Port() != "":
		if port, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 {
			bad("has no valid port")
		}
	}
}

func (e *entry) priorityOf(m member) *int {
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' {
		e.wrong(m.name, m.value, "a whole number")
		return nil
	}
	n, err := strconv.Atoi(string(lit))
	if err != nil || n < -maxPriority || n > maxPriority {
		e.problem(m.value.StartOffset, `%s"priority" must be a whole number from %d to %d`, e.where, -maxPriority, maxPriority)
		return nil
	}
	return &n
}

// timeout reads a number of milliseconds or a duration with units; 0 if it is
// of no use.
func (e *entry) timeout(m member) time.Duration {
	const form = `whole milliseconds, such as 30000, or a duration, such as "30s"`
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' && lit.Kind() != '"' {
		e.wrong(m.name, m.value, form)
		return 0
	}
	timeout, err := time.ParseDuration(lit.String())
	if lit.Kind() == '0' {
		timeout, err = milliseconds(string(lit))
	}
	if err != nil {
		e.problem(m.value.StartOffset, `%s"timeout" must be %s`, e.where, form)
		return 0
	}
	if ms := timeout.Milliseconds(); lit.Kind() == '0' && 0 < ms && ms < 1000 {
		e.warn(m.value.StartOffset, `%s"timeout" is in milliseconds; write "%ds" if seconds are meant`, e.where, ms)
	}
	switch {
	case timeout <= 0:
		e.problem(m.value.StartOffset, `%s"timeout" must be more than 0`, e.where)
		return 0
	case timeout > maxTimeout:
		e.problem(m.value.StartOffset, `%s"timeout" must be at most 24h`, e.where)
		return 0
	}
	return timeout
}

// milliseconds is the duration that a whole number stands for. One that no
// duration can hold becomes the longest or shortest.
func milliseconds(lit string) (time.Duration, error) {
	ms, err := strconv.ParseInt(lit, 10, 64) // nearest to lit if that is out of range
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, err
	}
	const limit = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(ms, -limit), limit)) * time.Millisecond, nil
}
