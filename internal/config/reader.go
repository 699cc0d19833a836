package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// reader reads one file. If it adds a problem, what it has read is of no use.
type reader struct {
	*document
	builtins []string
	terms    map[string]term // of a server
	ours     []string        // those of them that are ours
	form     Form
	foreign  bool // most of the file is another program's settings

	unit  time.Duration // that a bare number of a server's "timeout" counts
	usual hub.Server    // what holds for one that does not say otherwise
	dir   string        // "cwd" of a server that has none

	cacheTTL     time.Duration
	forceRefresh bool
	preloads     []preload

	groups   []hub.Group
	grouped  []groupMember
	profiles []hub.Profile
	pools    []pooled
	settings settings
	policy   policyReading

	servers  []hub.Server
	seen     map[string]int // where each key was first
	switches []toolSwitch
	voice    voice
}

// read reads the outermost object.
func (r *reader) read(root hujson.Value) {
	members, ok := r.object(root, message.Say("the file"))
	if !ok {
		return
	}
	r.form = formOf(members)
	r.terms = make(map[string]term)
	for _, t := range serverTerms() {
		r.terms[t.name] = t
	}
	r.ours = ourMembers()
	r.seen = make(map[string]int)
	r.unit, r.usual, r.cacheTTL = time.Millisecond, usualServer(), defaultCacheTTL
	if r.form == FormController {
		r.unit, r.usual.Timeout = time.Second, controllerTimeout
	}
	r.dir = r.projectDir()
	r.settings = usualSettings()
	r.foreign = r.settingsOfEditor(members) || find(root, "projects") != nil

	// What holds for all servers comes first, wherever it stands.
	var rest, unknown []member
	for _, m := range members {
		if !r.setting(m) {
			rest = append(rest, m)
		}
	}
	for _, m := range rest {
		if !r.block(m) {
			unknown = append(unknown, m)
		}
	}
	r.checkPools()
	r.checkNames()
	r.readVoice()
	if !r.settingsOfEditor(members) {
		r.unknownTop(unknown)
	}
}

// projectDir is the directory in which the program that the file is written
// for runs its servers. It is empty if that is not known, or does not matter.
func (r *reader) projectDir() string {
	dir, err := filepath.Abs(filepath.Dir(r.path))
	if err != nil {
		return ""
	}
	project := secret.Workspace(dir)
	if project != dir || r.form == FormXiaozhi || filepath.Base(r.path) == ".mcp.json" {
		return project
	}
	return ""
}

// setting reads a member of the file that is not about single servers. It
// reports whether m is one.
func (r *reader) setting(m member) bool {
	switch m.name {
	case "$schema": // for editors
		return true
	case "projects":
		return r.projects(m)
	case "inputs": // resolved by their ids, see package secret
		return r.form == FormVSCode
	case "cache_ttl_seconds", "force_refresh_on_init", "mcpServiceManager", groupsMember, "clients":
		if !isNull(m.value) {
			r.general(m)
		}
		return true
	case "language", "callers", "store", "audit", "events", "telemetry", "policy", "approval", "auth":
		if r.foreign { // which has some of these words, too
			return false
		}
		if !isNull(m.value) {
			r.readSetting(m)
		}
		return true
	case voiceMember, devicesMember:
		if r.foreign {
			return false
		}
		switch {
		case isNull(m.value):
		case m.name == voiceMember:
			r.voice.xiaozhi = m
		default:
			r.voice.devices = m
		}
		return true
	}
	return r.form == FormXiaozhi && r.xiaozhi(m)
}

// block reads a member of the file that holds servers. It reports whether m is
// one.
func (r *reader) block(m member) bool {
	switch m.name {
	case "mcpServers", "servers", "mcp.servers", "context_servers":
		entries, _ := r.object(m.value, message.Verbatim(quoted(m.name)))
		for _, entry := range entries {
			r.add(entry, m.name)
		}
	case "mcp":
		if find(m.value, "servers") == nil {
			return false
		}
		inner, _ := r.object(m.value, message.Verbatim(quoted(m.name)))
		for _, m := range inner {
			if m.name == "servers" {
				r.block(m)
			}
		}
	case "mcp_servers":
		r.controllers(m)
	default:
		return false
	}
	return true
}

// add reads one server of a block.
func (r *reader) add(m member, block string) {
	e := r.server(m, block)
	if e.skip {
		return
	}
	if first, again := r.seen[e.server.Key]; again {
		r.twice(message.Say("the file"), member{name: e.server.Key, at: m.at}, first)
		return
	}
	r.seen[e.server.Key] = m.at
	r.servers = append(r.servers, e.server)
}

// settingsOfEditor reports whether the file is the settings of a whole editor,
// most of which is not for us.
func (r *reader) settingsOfEditor(members []member) bool {
	return slices.ContainsFunc(members, func(m member) bool {
		return m.name == "mcp.servers" || m.name == "context_servers" || m.name == "mcp" && find(m.value, "servers") != nil
	})
}

// unknownTop warns about members of the file that have no meaning. Those of a
// program that keeps all its settings in one file are told as one.
func (r *reader) unknownTop(unknown []member) {
	const most = 5 // that are told one by one
	var foreign []member
	for _, m := range unknown {
		if nearest(m.name, topMembers()) != "" && !slices.Contains(topMembers(), m.name) {
			r.unknown(message.Phrase{}, m, topMembers())
		} else {
			foreign = append(foreign, m)
		}
	}
	if len(foreign) > most {
		r.warn(foreign[0].at, "%s and %d more members of the file are not known and ignored", quoted(foreign[0].name), len(foreign)-1)
		return
	}
	for _, m := range foreign {
		r.unknown(message.Phrase{}, m, nil)
	}
}

// topMembers are the names with a meaning at the top of a file of ours.
func topMembers() []string {
	return []string{
		"mcpServers", groupsMember, "clients", "callers", "language", "auth", "policy", "approval", "store", "audit", "events", "telemetry",
		voiceMember, devicesMember, "mcpServiceManager", "cache_ttl_seconds", "force_refresh_on_init", "$schema",
	}
}

// find is the value of a member of v, or nil.
func find(v hujson.Value, name string) *hujson.Value {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for i := range obj.Members {
		if lit, _ := obj.Members[i].Name.Value.(hujson.Literal); lit.String() == name {
			return &obj.Members[i].Value
		}
	}
	return nil
}

// config is what the file says, with the built-in servers.
func (r *reader) config() *Config {
	c := &Config{
		Path: r.path, Form: r.form, CacheTTL: r.cacheTTL, ForceRefresh: r.forceRefresh,
		Groups: r.groups, Profiles: r.profiles,
		Endpoints: r.voice.endpoints, Backends: r.voice.backends, Devices: r.voice.settings,
	}
	c.set(r.settings)
	own := make(map[string]hub.Server) // built-ins with the file's settings
	var rest []hub.Server
	for _, s := range r.servers {
		if s.Kind == hub.KindBuiltin && slices.Contains(r.builtins, s.Key) {
			own[s.Key] = s
		} else {
			rest = append(rest, s)
		}
	}
	for _, key := range r.builtins {
		s, ok := own[key]
		if _, entry := r.seen[key]; entry && !ok {
			continue // replaced
		}
		if !ok {
			s = builtin(key)
		}
		c.Servers = append(c.Servers, s)
	}
	c.Servers = append(c.Servers, rest...)
	c.number()
	r.preload(c.Servers)
	r.flip(c.Servers)
	r.missing(c.Servers)
	r.absent(c.Servers)
	return c
}

// sorted returns the warnings in the order of the file.
func (r *reader) sorted() []Warning {
	slices.SortStableFunc(r.warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.warnings
}

// isLink reports whether a text is the address of a remote server.
func isLink(text string) bool {
	for _, scheme := range []string{"http://", "https://", "ws://", "wss://"} {
		if len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
			return true
		}
	}
	return false
}
