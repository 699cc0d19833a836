package config

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/preset"
)

const (
	maxKey      = 128 // characters
	maxPriority = 1_000_000
	maxCallers  = 1000

	// A result of less is shorter than what is said in its place, and no answer
	// of a server is longer than the most.
	minSpill = 1 << 10
	maxSpill = 64 << 20
)

// What Lumi calls its built-in server, and what it is called here.
const (
	lumiDevice = "builtin_device_control"
	ourDevice  = "device"
)

// entry is one server while it is read.
type entry struct {
	*reader
	member
	where  message.Phrase // the beginning of every text about it
	among  string         // the member of the file in which it stands
	server hub.Server
	skip   bool // it is none of ours

	has       map[string]member // what it says, by our words
	unusable  bool              // what says how it is reached has a problem
	asked     []asked           // how it is to be reached, by "type" and "transport"
	lead      []string          // arguments that stand in "command"
	apiKey    string
	priority  *int
	enabled   *bool
	disabled  *bool
	overrides []override
	retry     retrying
}

// server reads one entry of a block.
func (r *reader) server(m member, block string) *entry {
	e := &entry{
		reader: r,
		member: m,
		among:  block,
		where:  message.Say("server %s: ", quoted(m.name)),
		has:    make(map[string]member),
		server: r.usual,
	}
	e.server.Key = m.name
	if e.name == lumiDevice {
		e.server.Key = ourDevice
	}
	e.checkKey()
	members, ok := r.object(m.value, message.Say("server %s", quoted(m.name)))
	if !ok {
		return e
	}
	var others []member // words of other programs, which give way to ours
	for _, m := range members {
		t, known := r.terms[m.name]
		switch {
		case !known:
			r.unknown(e.where, m, r.ours)
		case isNull(m.value): // files that programs write are full of them
		case t.like == "":
			e.take(t, m)
		default:
			others = append(others, m)
		}
	}
	for _, m := range others {
		t := r.terms[m.name]
		if said, again := e.has[t.like]; again && !t.adds {
			e.warn(m.at, "%s%s is ignored, since %s says the same", e.where, quoted(m.name), quoted(said.name))
			continue
		}
		e.take(t, m)
	}
	e.settle()
	return e
}

// ourMembers are the names of the members of ours.
func ourMembers() []string {
	terms := ownTerms()
	names := make([]string, len(terms))
	for i, t := range terms {
		names[i] = t.name
	}
	return names
}

func (e *entry) checkKey() {
	switch key := e.name; {
	case key == "":
		e.problem(e.at, "a server's name is empty")
	case utf8.RuneCountInString(key) > maxKey:
		e.problem(e.at, "a server's name is longer than %d characters", maxKey)
	case strings.ContainsFunc(key, unicode.IsControl):
		e.problem(e.at, "a server's name has a control character")
	case isDots(key): // which no address of the HTTP API can name
		e.problem(e.at, "a server cannot be named %s", quoted(key))
	}
}

func isDots(name string) bool { return name == "." || name == ".." }

// take reads one member. What several say together is settled when all are
// read.
func (e *entry) take(t term, m member) {
	as := t.name
	if t.like != "" {
		as = t.like
	}
	if _, again := e.has[as]; !again {
		e.has[as] = m
	}
	if t.note != "" && !isEmpty(m.value) {
		e.warn(m.at, "%s%s has no effect: %s", e.where, quoted(m.name), message.Term(t.note))
	}
	if t.read != nil {
		t.read(e, m)
	}
}

// readCommand reads a text; or, as opencode has it, an array with the
// arguments; or, as Zed had it, an object with "path", "args" and "env".
func (e *entry) readCommand(m member) {
	switch v := m.value.Value.(type) {
	case *hujson.Array:
		if len(v.Elements) == 0 {
			return
		}
		words := e.texts(m)
		e.server.Command, e.lead = words[0], words[1:]
	case *hujson.Object:
		members, _ := e.object(m.value, message.Say("%s%s", e.where, quoted(m.name)))
		for _, inner := range members {
			switch {
			case isNull(inner.value):
			case inner.name == "path":
				e.server.Command = e.text(m.name+"."+inner.name, inner.value)
			case inner.name == "args":
				e.lead = e.texts(inner)
			case inner.name == "env":
				e.readEnv(inner)
			default:
				e.unknown(message.Say("%s%s: ", e.where, quoted(m.name)), inner, []string{"path", "args", "env"})
			}
		}
	default:
		e.server.Command = e.text(m.name, m.value)
		e.unusable = e.unusable || !isString(m.value)
	}
}

func (e *entry) readArgs(m member) { e.server.Args = e.texts(m) }

func (e *entry) readEnv(m member) {
	e.server.Env = e.env(m)
}

func (e *entry) readEnvFile(m member) { e.server.EnvFile = e.text(m.name, m.value) }

func (e *entry) readDir(m member) {
	e.server.Dir = e.text(m.name, m.value)
	if isString(m.value) && e.server.Dir == "" {
		e.problem(m.value.StartOffset, `%s"cwd" is empty`, e.where)
	}
}

func (e *entry) readURL(m member) {
	e.server.URL = e.text(m.name, m.value)
	e.unusable = e.unusable || !isString(m.value)
}

func (e *entry) readHeaders(m member) { e.server.Headers = e.headers(m) }

func (e *entry) readAPIKey(m member) {
	e.apiKey = e.text(m.name, m.value)
	if hasControl(e.apiKey) {
		e.problem(m.value.StartOffset, "%s%s has a control character", e.where, quoted(m.name))
	}
}

func (e *entry) readName(m member) {
	e.server.Name = e.plain(m.name, m.value)
	if strings.ContainsFunc(e.server.Name, unicode.IsControl) {
		e.problem(m.value.StartOffset, "%s%s has a control character", e.where, quoted(m.name))
	}
}

func (e *entry) readEnabled(m member)  { e.enabled = e.flag(m) }
func (e *entry) readDisabled(m member) { e.disabled = e.flag(m) }

func (e *entry) readAutoStart(m member)     { e.set(&e.server.AutoStart, m) }
func (e *entry) readAutoRestart(m member)   { e.set(&e.server.AutoRestart, m) }
func (e *entry) readAutoReconnect(m member) { e.set(&e.server.AutoReconnect, m) }
func (e *entry) readBareNames(m member)     { e.set(&e.server.BareNames, m) }
func (e *entry) readSimulated(m member)     { e.set(&e.server.Simulated, m) }

func (e *entry) set(to *bool, m member) {
	if v := e.flag(m); v != nil {
		*to = *v
	}
}

func (e *entry) readTimeout(m member) {
	if limit := e.duration(m, e.where, e.timeoutUnit(m), ""); limit > 0 {
		e.server.Timeout = limit
	}
}

func (e *entry) readPriority(m member) {
	n := maxPriority + 1
	if e.whole(&n, m, -maxPriority, maxPriority); n <= maxPriority {
		e.priority = &n
	}
}

func (e *entry) readResources(m member) {
	switch text := e.plain(m.name, m.value); text {
	case "prefixed":
		e.server.PrefixURIs = true
	case "verbatim", "":
	default:
		e.problem(m.value.StartOffset, `%s"resources" must be "prefixed" or "verbatim", not %s`, e.where, quoted(text))
	}
}

func (e *entry) readConnection(m member) {
	switch c := hub.Connection(e.plain(m.name, m.value)); c {
	case hub.ConnectionShared, hub.ConnectionPerCaller:
		e.server.Connection = c
	case hub.ConnectionAuto, "": // which is the same
	default:
		e.problem(m.value.StartOffset, `%s"connection" must be "auto", "shared" or "perCaller", not %s`, e.where, quoted(string(c)))
	}
}

func (e *entry) readMaxCallers(m member) { e.whole(&e.server.MaxCallers, m, 1, maxCallers) }

func (e *entry) readResourceCache(m member) { e.interval(&e.server.ResourceCache, m) }
func (e *entry) readToolCache(m member)     { e.interval(&e.server.ToolCache, m) }

func (e *entry) readCallLimits(m member) { e.gate(&e.server.Gate, m) }

func (e *entry) readValidate(m member) {
	if on := e.flag(m); on != nil {
		e.server.NoValidate = !*on
	}
}

// readSpill reads from which size on results are kept.
func (e *entry) readSpill(m member) {
	if lit, ok := m.value.Value.(hujson.Literal); ok && (lit.String() == "0" || lit.String() == "off") {
		e.server.Spill = 0
		return
	}
	e.size(m, `a text such as "256KiB", a number of bytes, or "off"`, minSpill, maxSpill, func(n int64) { e.server.Spill = int(n) })
}

// isBuiltin reports whether a built-in server has the key, be it part of every
// configuration or only of those with an entry for it.
func (r *reader) isBuiltin(key string) bool {
	return slices.Contains(r.builtins, key) || preset.IsBuiltin(key)
}
