package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// The members of a file that are about voice assistants and devices.
const (
	voiceMember   = "xiaozhi"
	devicesMember = "devices"
)

// Dialled is a kind of voice assistants' backends that the hub dials, by the name
// of the member of "xiaozhi" that has them.
type Dialled string

// The kinds.
const (
	Endpoints Dialled = "endpoints" // at which the hub is an MCP server
	Backends  Dialled = "backends"  // to which it is a device
)

// What holds if nothing is said, and the bounds of what may be.
const (
	usualDeadline    = 25 * time.Second
	usualMaxTools    = 64
	usualMaxList     = 64 << 10
	usualMaxMessage  = 4 << 20
	usualConcurrency = 16
	usualQueue       = 64
	usualPing        = 25 * time.Second
	usualPingTimeout = 15 * time.Second
	usualDelay       = time.Second
	usualMaxDelay    = time.Minute
	usualDialTimeout = 10 * time.Second

	usualBackendDelay = 2 * time.Second
	usualBackendList  = 8000 // what the firmware has room for

	usualKeep          = 10 * time.Minute
	usualDeviceTimeout = 30 * time.Second
	usualDeviceQueue   = 16

	minDeadline   = time.Second
	minMaxResult  = 512
	maxMaxResult  = 1<<20 - 4<<10 // a peer's limit of a frame is 1 MiB
	minMaxList    = 1 << 10
	maxMaxList    = 900 << 10
	minMaxMessage = 64 << 10
	maxMaxMessage = 64 << 20
	maxAtOnce     = 1000
	minPing       = time.Second
	minDelay      = 100 * time.Millisecond
	maxMaxDelay   = time.Hour
)

func usualEndpoint() hub.Endpoint {
	return profiled(hub.Endpoint{
		Enabled: true, MaxTools: usualMaxTools, MaxList: usualMaxList, MaxMessage: usualMaxMessage,
		Concurrency: usualConcurrency, Queue: usualQueue,
		Ping: usualPing, PingTimeout: usualPingTimeout,
		Delay: usualDelay, MaxDelay: usualMaxDelay, DialTimeout: usualDialTimeout,
	}, hub.ProfileXiaoZhi)
}

// profiled is an endpoint for which holds what a profile says.
func profiled(e hub.Endpoint, p hub.EndpointProfile) hub.Endpoint {
	usual := p.Usual()
	e.Profile, e.Deadline, e.MaxResult, e.Refresh = usual.Profile, usual.Deadline, usual.MaxResult, usual.Refresh
	return e
}

func usualBackend() hub.Backend {
	return hub.Backend{
		Enabled: true, Deadline: usualDeadline, MaxList: usualBackendList,
		Delay: usualBackendDelay, MaxDelay: usualMaxDelay, DialTimeout: usualDialTimeout,
	}
}

func usualDevices() hub.Devices {
	return hub.Devices{Keep: usualKeep, Timeout: usualDeviceTimeout, Queue: usualDeviceQueue}
}

// voice is what a file says about voice assistants and devices. What holds for all
// endpoints may come after them, so that nothing is read before all is there.
type voice struct {
	mcpEndpoint, connection, xiaozhi, devices member

	usual  hub.Endpoint   // what holds for one that does not say otherwise
	given  []hub.Endpoint // those of "mcpEndpoint"
	groups []mention
	named  []mention // the names of the backends

	endpoints []hub.Endpoint
	backends  []hub.Backend
	settings  hub.Devices
}

// readVoice reads what the file says about voice assistants and devices.
func (r *reader) readVoice() {
	v := &r.voice
	v.usual, v.settings = usualEndpoint(), usualDevices()
	if v.connection.value.Value != nil {
		r.readConnection(v.connection)
	}
	if v.mcpEndpoint.value.Value != nil {
		r.readMCPEndpoint(v.mcpEndpoint)
	}
	if v.xiaozhi.value.Value != nil {
		e := &entry{reader: r}
		e.parts(v.xiaozhi,
			part{string(Endpoints), func(m member) { r.eachDialled(m, endpointNamed, r.readEndpoint) }},
			part{string(Backends), func(m member) { r.eachDialled(m, backendNamed, r.readBackend) }},
		)
	}
	if v.devices.value.Value != nil {
		(&entry{reader: r}).readDevices(&v.settings, v.devices)
	}
	// Those of "mcpEndpoint" come first, with what "xiaozhi" says about them.
	var rest []hub.Endpoint
	for _, e := range v.endpoints {
		if i := v.of(e.Name); i >= 0 {
			v.given[i] = e
		} else {
			rest = append(rest, e)
		}
	}
	v.endpoints = slices.Concat(v.given, rest)
	// Calls are counted, and rules are written, by the name alone.
	for _, b := range v.named {
		if slices.ContainsFunc(v.endpoints, func(e hub.Endpoint) bool { return e.Name == b.name }) {
			r.problem(b.at, "%san endpoint has this name already", b.where)
		}
	}
}

// of is the place among those of "mcpEndpoint", or -1.
func (v *voice) of(name string) int {
	return slices.IndexFunc(v.given, func(e hub.Endpoint) bool { return e.Name == name })
}

// givenName is the name of an endpoint by its place in "mcpEndpoint". It does not
// depend on the others, so that each keeps its name when one of them is emptied.
func givenName(i int) string {
	if i == 0 {
		return "endpoint"
	}
	return fmt.Sprintf("endpoint-%d", i+1)
}

// readMCPEndpoint reads "mcpEndpoint" of xiaozhi.config.json, a string or an array
// of them. An empty one says that there is none. They hold tokens, and stand in no
// text.
func (r *reader) readMCPEndpoint(m member) {
	values := []hujson.Value{m.value}
	if arr, ok := m.value.Value.(*hujson.Array); ok {
		values = arr.Elements
	}
	for i, v := range values {
		lit, ok := v.Value.(hujson.Literal)
		if !ok || lit.Kind() != '"' {
			r.problem(v.StartOffset, `"mcpEndpoint" must be a string or an array of strings, but has %s`, kindOf(v))
			continue
		}
		e := r.voice.usual
		e.Name, e.URL = givenName(i), lit.String()
		again := slices.ContainsFunc(r.voice.given, func(other hub.Endpoint) bool { return other.URL == e.URL })
		link, open := withoutPlaceholders(e.URL)
		switch fault := urlFault(link, hub.KindWebSocket); {
		case e.URL == "":
		case again:
			r.warn(v.StartOffset, `"mcpEndpoint" has the same address twice; it is connected once`)
		case !open && fault != "": // templates have a text for people there
			r.warn(v.StartOffset, `an address in "mcpEndpoint" %s, and is ignored`, message.Term(fault))
		default:
			r.voice.given = append(r.voice.given, e)
		}
	}
}

// readConnection reads "connection" of xiaozhi.config.json, which holds for all
// endpoints of the file that do not say otherwise.
func (r *reader) readConnection(m member) {
	e, u := &entry{reader: r}, &r.voice.usual
	e.parts(m,
		part{"heartbeatInterval", func(m member) { e.within(&u.Ping, m, minPing, 0) }},
		part{"heartbeatTimeout", func(m member) { e.within(&u.PingTimeout, m, minPing, 0) }},
		part{"reconnectInterval", func(m member) { e.within(&u.Delay, m, minDelay, maxMaxDelay) }},
		part{"connectionTimeout", func(m member) { e.within(&u.DialTimeout, m, minPing, 0) }},
		part{"maxReconnectAttempts", func(m member) {
			e.warn(m.at, "%s has no effect: an endpoint is dialled until it is reached", quoted(m.name))
		}},
		part{"autoReconnect", func(m member) {
			if on := e.flag(m); on != nil && !*on {
				e.warn(m.at, `%s has no effect: an endpoint is dialled until it is reached, unless it has "enabled": false`, quoted(m.name))
			}
		}},
	)
	u.MaxDelay = max(u.MaxDelay, u.Delay)
}

func endpointNamed(name string) message.Phrase { return message.Say("endpoint %s", quoted(name)) }
func backendNamed(name string) message.Phrase  { return message.Say("backend %s", quoted(name)) }

// eachDialled reads an object of endpoints, or of backends, by their names.
func (r *reader) eachDialled(m member, named func(string) message.Phrase, read func(*entry, member)) {
	all, _ := r.object(m.value, message.Verbatim(quoted(m.name)))
	for _, one := range all {
		here := named(one.name)
		if !isGroupName(one.name) {
			r.problem(one.at, `%s must be named by 1 to %d letters, digits, "_" and "-"`, here, maxGroupName)
			continue
		}
		read(&entry{reader: r, member: one, where: message.Say("%s: ", here)}, one)
	}
}

func (r *reader) readEndpoint(e *entry, m member) {
	v := &r.voice
	to := v.usual
	to.Name = m.name
	if i := v.of(m.name); i >= 0 {
		to.URL = v.given[i].URL
	}
	if p := find(m.value, "profile"); p != nil { // before all that beats it, wherever it stands
		lit, _ := p.Value.(hujson.Literal)
		to = profiled(to, hub.EndpointProfile(lit.String()))
	}
	e.members(m, endpointNamed(m.name), slices.Concat(e.reached(&to.URL, &to.Enabled), e.offered(&to.Group, &to.Allow, &to.Deny), []part{
		{"requiredTools", func(m member) {
			for _, el := range e.elements(m, "an array of names of tools or servers") {
				e.listed(el, &to.RequiredTools)
			}
		}},
		{"profile", func(m member) { e.choice(m, profiles()...) }},
		{"deadline", func(m member) { e.within(&to.Deadline, m, minDeadline, maxTimeout) }},
		{"cancelLate", func(m member) { e.set(&to.CancelLate, m) }},
		{"maxResult", func(m member) { e.amount(&to.MaxResult, m, minMaxResult, maxMaxResult) }},
		{"maxTools", func(m member) { e.whole(&to.MaxTools, m, 1, maxToolCap) }},
		{"maxList", func(m member) { e.amount(&to.MaxList, m, minMaxList, maxMaxList) }},
		{"pages", func(m member) { e.set(&to.Pages, m) }},
		{"maxMessage", func(m member) { e.amount(&to.MaxMessage, m, minMaxMessage, maxMaxMessage) }},
		{"concurrency", func(m member) { e.whole(&to.Concurrency, m, 1, maxAtOnce) }},
		{"queue", func(m member) { e.whole(&to.Queue, m, 1, maxQueue) }},
		{"keepActions", func(m member) { e.set(&to.KeepActions, m) }},
		{"refresh", func(m member) {
			switch word, ok := e.choice(m, refreshAuto, string(hub.RefreshAlways), string(hub.RefreshNever)); {
			case !ok:
			case word == refreshAuto:
				to.Refresh = hub.RefreshAuto
			default:
				to.Refresh = hub.Refresh(word)
			}
		}},
		{"ping", func(m member) { e.within(&to.Ping, m, minPing, maxTimeout) }},
		{"pingTimeout", func(m member) { e.within(&to.PingTimeout, m, minPing, maxTimeout) }},
		{"language", func(m member) { e.language(&to.Language, m) }},
	}, e.dialled(&to.Delay, &to.MaxDelay, &to.DialTimeout))...)
	e.checkDelays(m, to.Delay, to.MaxDelay)
	if to.URL == "" && e.lacks("url") {
		e.problem(m.at, `%sit needs "url"`, e.where)
	}
	v.endpoints = append(v.endpoints, to)
}

// profiles are the words for what an endpoint's backend is.
func profiles() []string {
	all := make([]string, 0, 4)
	for _, p := range hub.EndpointProfiles() {
		all = append(all, string(p))
	}
	return all
}

// refreshAuto is how [hub.RefreshAuto] is written.
const refreshAuto = "auto"

func (r *reader) readBackend(e *entry, m member) {
	v := &r.voice
	to := usualBackend()
	to.Name = m.name
	e.members(m, backendNamed(m.name), slices.Concat(e.reached(&to.URL, &to.Enabled), e.offered(&to.Group, &to.Allow, &to.Deny), []part{
		{"ota", func(m member) { to.OTA = e.link(m, hub.KindHTTP) }},
		{"token", func(m member) { to.Token = e.text(m.name, m.value) }},
		{"deviceId", func(m member) { to.DeviceID = e.header(m) }},
		{"clientId", func(m member) { to.ClientID = e.header(m) }},
		{"query", func(m member) { e.set(&to.Query, m) }},
		{"prefix", func(m member) { e.set(&to.Prefix, m) }},
		{"deadline", func(m member) { e.within(&to.Deadline, m, minDeadline, maxTimeout) }},
		{"maxList", func(m member) { e.amount(&to.MaxList, m, minMaxList, maxMaxList) }},
		{"keepAlive", func(m member) { e.interval(&to.KeepAlive, m) }},
		{"language", func(m member) { e.language(&to.Language, m) }},
	}, e.dialled(&to.Delay, &to.MaxDelay, &to.DialTimeout))...)
	e.checkDelays(m, to.Delay, to.MaxDelay)
	if to.URL == "" && to.OTA == "" && e.lacks("url") && e.lacks("ota") {
		e.problem(m.at, `%sit needs "url", or "ota" to ask for it`, e.where)
	}
	v.backends, v.named = append(v.backends, to), append(v.named, mention{e.where, m.name, m.at})
}

// readDevices reads "devices".
func (e *entry) readDevices(to *hub.Devices, m member) {
	e.parts(m,
		part{"aliases", func(m member) {
			first := make(map[string]string)
			to.Aliases = e.byDevice(m, func(m member) string {
				alias := e.plain(m.name, m.value)
				switch other, again := first[alias]; {
				case !isString(m.value): // reported already
				case !isGroupName(alias):
					e.problem(m.value.StartOffset, `%s must be 1 to %d letters, digits, "_" and "-"`, quoted(m.name), maxGroupName)
				case strings.HasPrefix(alias, "tools-"), strings.HasPrefix(alias, "device-"):
					e.problem(m.value.StartOffset, `%s cannot begin with "tools-" or "device-": so begin the names that the hub gives itself`, quoted(m.name))
				case again:
					e.problem(m.value.StartOffset, "%s is the name of %s already", quoted(alias), quoted(other))
				}
				first[alias] = m.name
				return alias
			})
		}},
		part{"allow", func(m member) {
			for _, el := range e.elements(m, "an array of devices' ids") {
				e.listed(el, &to.Allow)
			}
		}},
		part{"keep", func(m member) { e.interval(&to.Keep, m) }},
		part{"websocket", func(m member) { to.Websocket = e.link(m, hub.KindWebSocket) }},
		part{"vision", func(m member) { to.Vision = e.link(m, hub.KindHTTP) }},
		part{"relay", func(m member) {
			to.Relay = e.byDevice(m, func(m member) string { return e.link(m, hub.KindWebSocket) })
		}},
		part{"timeout", func(m member) { e.within(&to.Timeout, m, minDeadline, maxTimeout) }},
		part{"queue", func(m member) { e.whole(&to.Queue, m, 1, maxQueue) }},
	)
}

// byDevice reads an object of texts by the ids of devices.
func (e *entry) byDevice(m member, read func(member) string) map[string]string {
	pairs, _ := e.object(m.value, message.Verbatim(quoted(m.name)))
	texts := make(map[string]string, len(pairs))
	for _, p := range pairs {
		id := p.name
		p.name = m.name + "." + p.name
		switch {
		case blank(id) || hasControl(id):
			e.problem(p.at, "%s is no id of a device", quoted(p.name))
		case !isNull(p.value):
			texts[id] = read(p)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return texts
}

// sameVoice reports whether two configurations say the same about voice
// assistants and devices.
func sameVoice(a, b *Config) bool {
	return reflect.DeepEqual(a.Endpoints, b.Endpoints) && reflect.DeepEqual(a.Backends, b.Backends) && reflect.DeepEqual(a.Devices, b.Devices)
}
