package config

import (
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/preset"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// asked is what "type" or "transport" asks for: a kind; or, if that is empty,
// any remote kind, or any but the built-in one.
type asked struct {
	member
	kind   hub.Kind
	remote bool
}

// kindOfType is what a "type" stands for. Case, hyphens and underscores make
// no difference.
func kindOfType(name string) (kind hub.Kind, remote, ok bool) {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "stdio", "local":
		return hub.KindStdio, false, true
	case "http", "streamablehttp":
		return hub.KindHTTP, true, true
	case "sse":
		return hub.KindSSE, true, true
	case "ws", "websocket":
		return hub.KindWebSocket, true, true
	case "embedded":
		return hub.KindBuiltin, false, true
	case "remote":
		return "", true, true
	case "external":
		return "", false, true
	}
	return "", false, false
}

func (e *entry) readType(m member) {
	name := e.plain(m.name, m.value)
	if !isString(m.value) {
		e.unusable = true
		return
	}
	if name == "" { // files that programs write have it
		return
	}
	kind, remote, ok := kindOfType(name)
	if !ok {
		e.problem(m.value.StartOffset, `%sthe %s %s is not known; it is "stdio", "http", "sse" or "ws"`, e.where, quoted(m.name), quoted(name))
		e.unusable = true
		return
	}
	e.asked = append(e.asked, asked{m, kind, remote})
}

func (e *entry) readTransport(m member) { e.readType(m) }

// settle makes a server of what the members say together.
func (e *entry) settle() {
	e.settleKind()
	e.settleLife()
	e.server.Retry = e.retry.over(e.server.Retry, e)
	e.settleRules()
	if e.priority != nil {
		e.server.Priority = *e.priority
	} else {
		e.server.Priority = usualPriority(e.server.Kind)
	}
	switch {
	case e.enabled != nil && e.disabled != nil && *e.enabled == *e.disabled:
		e.problem(max(e.has["enabled"].at, e.has["disabled"].at), `%s"enabled" and "disabled" contradict each other`, e.where)
	case e.enabled != nil:
		e.server.Enabled = *e.enabled
	case e.disabled != nil:
		e.server.Enabled = !*e.disabled
	}
}

// usualPriority is the priority of a server that has none of its own.
func usualPriority(kind hub.Kind) int {
	switch {
	case kind == hub.KindBuiltin:
		return hub.PriorityBuiltin
	case kind.Remote():
		return hub.PriorityRemote
	}
	return hub.PriorityLocal
}

// settleKind finds out how the server is reached, and reports what does not
// go together.
func (e *entry) settleKind() {
	ask, ok := e.wish()
	if e.unusable || !ok {
		return // reported already; what the rest should be is not known
	}
	s := &e.server
	command, hasCommand := e.has["command"]
	link, hasURL := e.has["url"]
	// Files that programs write have both, and the one that is not meant is
	// empty.
	if hasCommand && hasURL {
		hasCommand, hasURL = !blank(s.Command) || blank(s.URL), !blank(s.URL)
	}
	if hasCommand && !hasURL && isLink(s.Command) {
		s.URL, s.Command = s.Command, ""
		link, hasCommand, hasURL = command, false, true
	}
	switch {
	case ask.kind == hub.KindBuiltin || e.name == lumiDevice && !hasCommand && !hasURL:
		e.embedded()
	case hasCommand && hasURL:
		e.problem(max(command.at, link.at), `%sit has both %s and %s; a server is either run or reached over the network`, e.where, quoted(command.name), quoted(link.name))
	case hasCommand && (ask.kind == hub.KindStdio || ask.kind == "" && !ask.remote):
		e.run(command)
	case hasURL && ask.kind != hub.KindStdio:
		e.reach(link, ask.kind)
	case hasCommand:
		e.problem(ask.value.StartOffset, `%sthis %s goes with "url", but the server has "command"`, e.where, quoted(ask.name))
	case hasURL:
		e.problem(ask.value.StartOffset, `%sthis %s goes with a program, but the server has an address in %s`, e.where, quoted(ask.name), quoted(link.name))
	case e.isBuiltin(e.server.Key) && ask.name == "":
		e.builtin()
	case e.among == "context_servers":
		e.skip = true
		e.warn(e.at, "%sit is ignored, since only an extension of Zed knows how it is run", e.where)
	default:
		e.problem(e.at, `%sit needs "command" (a program to run) or "url" (a server to reach)`, e.where)
	}
}

// wish is what "type" and "transport" ask for together. It is false if they
// contradict each other.
func (e *entry) wish() (asked, bool) {
	var one asked
	for _, a := range e.asked {
		remote := one.remote || a.remote
		switch {
		case one.kind == "":
			one = a
		case a.kind != "" && a.kind != one.kind:
			e.problem(a.value.StartOffset, "%s%s contradicts %s", e.where, quoted(a.name), quoted(one.name))
			return one, false
		}
		if one.remote = remote; remote && one.kind == hub.KindStdio {
			e.problem(a.value.StartOffset, `%sa server of this %s is not run but reached over the network`, e.where, quoted(a.name))
			return one, false
		}
	}
	return one, true
}

// run is a server that is a program.
func (e *entry) run(command member) {
	s := &e.server
	s.Kind = hub.KindStdio
	if blank(s.Command) {
		e.problem(command.value.StartOffset, `%s"command" is empty`, e.where)
	}
	s.Args = slices.Concat(e.lead, s.Args)
	if s.Dir == "" {
		s.Dir = e.dir
	}
	e.useless(`a server with "command"`, "headers", "apiKey", "oauth", "maxReconnectAttempts", "healthCheckPath", "simulated")
	e.leaveOutOurselves()
}

// reach is a server that is reached over the network.
func (e *entry) reach(link member, kind hub.Kind) {
	s := &e.server
	s.Kind = kind
	if kind == "" {
		s.Kind = kindOfURL(s.URL, link.name != "httpUrl")
	}
	e.checkURL(link)
	e.useless(`a server with "url"`, "args", "env", "envFile", "cwd", "limits", "sandbox", "directNode", "simulated")
	e.leaveOutOurselves()
	defer e.settleOAuth()
	if e.apiKey == "" {
		return
	}
	const name = "Authorization"
	for header := range maps.Keys(s.Headers) {
		if textproto.CanonicalMIMEHeaderKey(header) == name {
			e.warn(e.has["apiKey"].at, `%s"apiKey" has no effect, since "headers" has an Authorization of its own`, e.where)
			return
		}
	}
	if s.Headers == nil {
		s.Headers = make(map[string]string)
	}
	s.Headers[name] = "Bearer " + strings.TrimPrefix(e.apiKey, "Bearer ")
}

// kindOfURL is how a server is reached of which only the address is known.
func kindOfURL(link string, maySSE bool) hub.Kind {
	scheme, rest, _ := strings.Cut(link, "://")
	if scheme = strings.ToLower(scheme); scheme == "ws" || scheme == "wss" {
		return hub.KindWebSocket
	}
	path, _, _ := strings.Cut(rest, "?")
	if maySSE && strings.HasSuffix(strings.TrimRight(path, "/"), "/sse") {
		return hub.KindSSE
	}
	return hub.KindHTTP
}

// embedded is an entry that says of itself that it is about a built-in server.
func (e *entry) embedded() {
	if !e.isBuiltin(e.server.Key) {
		e.skip = true
		e.warn(e.at, "%sit is ignored, since no built-in server has this name", e.where)
		return
	}
	e.builtin()
}

// builtin is an entry that changes the settings of a built-in server.
func (e *entry) builtin() {
	e.server.Kind = hub.KindBuiltin
	useless := append(lifeMembers(), "command", "url", "args", "envFile", "cwd", "headers", "apiKey", "oauth")
	if !preset.IsBuiltin(e.server.Key) { // those that may reach others have keys and addresses in it
		useless = append(useless, "env")
	}
	e.useless("a built-in server", useless...)
}

// useless warns about members that have no effect on such a server, and drops
// what they say.
func (e *entry) useless(such string, names ...string) {
	for _, name := range names {
		if m, ok := e.has[name]; ok && !isEmpty(m.value) {
			e.warn(m.at, "%s%s has no effect on %s", e.where, quoted(m.name), message.Term(such))
		}
	}
	s := &e.server
	if s.Kind != hub.KindStdio {
		s.Command, s.Args, s.EnvFile, s.Dir = "", nil, "", ""
		if s.Kind != hub.KindBuiltin || !preset.IsBuiltin(s.Key) {
			s.Env = nil
		}
	}
	if !s.Kind.Remote() {
		s.URL, s.Headers, s.OAuth = "", nil, nil
	}
	if s.Kind != hub.KindBuiltin {
		s.Simulated = false
	}
}

// checkURL reports an address that cannot be used. Placeholders in it may
// stand for anything.
func (e *entry) checkURL(m member) {
	link, open := withoutPlaceholders(e.server.URL)
	if open {
		return
	}
	if fault := urlFault(link, e.server.Kind); fault != "" {
		e.problem(m.value.StartOffset, "%s%s %s", e.where, quoted(m.name), message.Term(fault))
	}
}

// urlFault says what is wrong with an address, without showing it: it may hold
// a key. It is empty if nothing is.
func urlFault(link string, kind hub.Kind) string {
	u, err := url.Parse(link)
	if err != nil {
		return "is not a valid URL"
	}
	schemes := []string{"http", "https"}
	if kind == hub.KindWebSocket {
		schemes = []string{"ws", "wss"}
	}
	switch {
	case !slices.Contains(schemes, u.Scheme):
		return "must begin with " + schemes[0] + ":// or " + schemes[1] + "://"
	case u.Hostname() == "":
		return "names no host"
	case u.User != nil:
		return `must not hold a user name or password; put them into "headers" (Authorization)`
	case u.Port() != "":
		if port, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 {
			return "has no valid port"
		}
	}
	return ""
}

// withoutPlaceholders puts a digit, which fits everywhere in an address, in
// place of each placeholder. A text that begins with one is open: it may
// become any address.
func withoutPlaceholders(text string) (closed string, open bool) {
	var b strings.Builder
	end := 0
	for _, p := range secret.Placeholders(text) {
		if p.Start == 0 {
			return "", true
		}
		b.WriteString(text[end:p.Start])
		b.WriteByte('1')
		end = p.End
	}
	b.WriteString(text[end:])
	return b.String(), false
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// isEmpty reports whether v is a text, an array or an object without anything
// in it.
func isEmpty(v hujson.Value) bool {
	switch t := v.Value.(type) {
	case *hujson.Object:
		return len(t.Members) == 0
	case *hujson.Array:
		return len(t.Elements) == 0
	case hujson.Literal:
		return t.String() == "" || t.Kind() == 'f'
	}
	return false
}
