package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// entry is what the configuration says about a server while it is changed.
type entry struct {
	names  []string // in the order in which they are written
	values map[string]json.RawMessage
}

// newEntry reads an object, which may be nil.
func newEntry(raw []byte) *entry {
	e := &entry{values: make(map[string]json.RawMessage)}
	if raw == nil {
		return e
	}
	for m := range wire.Object(raw, wire.Value(raw)) {
		if name, ok := wire.String(raw, m.Key); ok {
			e.put(name, json.RawMessage(m.Value.Of(raw)))
		}
	}
	return e
}

func (e *entry) put(name string, raw json.RawMessage) {
	if _, there := e.values[name]; !there {
		e.names = append(e.names, name)
	}
	e.values[name] = raw
}

// set sets a member, under the name that the entry has for it already: there are
// several in files of other programs.
func (e *entry) set(value any, name string, others ...string) {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts, lists and maps of texts
	}
	for _, other := range others {
		if _, there := e.values[other]; there {
			name = other
		}
	}
	e.put(name, raw)
}

func (e *entry) drop(names ...string) {
	for _, name := range names {
		delete(e.values, name)
	}
	e.names = slices.DeleteFunc(e.names, func(name string) bool { return slices.Contains(names, name) })
}

// json is the entry as it is written.
func (e *entry) json() []byte {
	b := []byte{'{'}
	for i, name := range e.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, name)
		b = append(append(b, ':'), e.values[name]...)
	}
	return append(b, '}')
}

// saysEnabled reports whether it says if the server is enabled.
func (e *entry) saysEnabled() bool {
	return slices.ContainsFunc([]string{"enabled", "disabled", "isActive"}, func(name string) bool { return e.values[name] != nil })
}

// changeOf is change of what may be a preset, of which what it runs stays what it
// is.
func (e *entry) changeOf(k *known, row *api.CompatServer, set *api.CompatServerSet) error {
	if k.preset != nil && (differs(set.Transport, row.Transport) || differs(set.ServerURL, row.ServerURL) || differs(set.Command, row.Command) ||
		set.Args != nil && !slices.Equal(set.Args, row.Args)) {
		return hub.E(message.PresetFixed, nil, "server", message.Quote(k.key))
	}
	return e.change(row, set)
}

// differs reports whether a text is said and is another one than before.
func differs(want *string, was string) bool { return want != nil && *want != was }

// change makes the entry say what is to be said, and touches only what is
// otherwise in the row that was read before.
func (e *entry) change(row *api.CompatServer, set *api.CompatServerSet) error {
	if err := e.reach(row, set); err != nil {
		return err
	}
	e.text(set.Name, row.Name, "name")
	e.text(set.Description, row.Description, "description")
	e.text(set.HealthCheckPath, row.HealthCheckPath, "healthCheckPath", "health_check_path")
	if set.Env != nil && !maps.Equal(set.Env, row.Env) {
		e.set(set.Env, "env", "environment")
	}
	if said := firstSaid(set.Status); said != "" && said != row.Status && said != statusError {
		if said != statusEnabled && said != statusDisabled {
			return wrongWord("status", "enabled, disabled")
		}
		e.drop("disabled", "isActive")
		e.set(said == statusEnabled, "enabled")
	}
	return e.authorise(row, set)
}

// text sets a member that is a text; the empty one takes it out.
func (e *entry) text(want *string, was, name string, others ...string) {
	switch {
	case want == nil || *want == was:
	case *want == "":
		e.drop(append(others, name)...)
	default:
		e.set(*want, name, others...)
	}
}

// reach is about how the server is reached.
func (e *entry) reach(row *api.CompatServer, set *api.CompatServerSet) error {
	if said := firstSaid(set.Transport); said != "" && said != row.Transport {
		switch hub.Kind(said) {
		case hub.KindStdio:
			e.drop("type", "transport", "transportType", "url", "serverUrl", "httpUrl", "headers", "apiKey", "oauth", "healthCheckPath", "health_check_path")
		case hub.KindHTTP, hub.KindSSE, hub.KindWebSocket:
			e.drop("transport", "transportType", "command", "args", "env", "environment", "envFile", "cwd")
			e.set(said, "type")
		default:
			return wrongWord("transport", "stdio, http, sse, ws")
		}
	}
	e.text(set.ServerURL, row.ServerURL, "url", "serverUrl", "httpUrl")
	e.text(set.Command, row.Command, "command")
	if set.Args != nil && !slices.Equal(set.Args, row.Args) {
		e.set(set.Args, "args")
	}
	return nil
}

// authorise is about how the hub shows who it is.
func (e *entry) authorise(row *api.CompatServer, set *api.CompatServerSet) error {
	kind := firstSaid(set.AuthType)
	if kind == "" {
		kind = row.AuthType
	}
	if kind == row.AuthType && (set.AuthConfig == nil || maps.Equal(set.AuthConfig, row.AuthConfig)) {
		return nil
	}
	allowed, needed := []string{}, ""
	switch kind {
	case authAPIKey:
		allowed, needed = []string{authAPIKey, "header"}, authAPIKey
	case authOAuth:
		allowed = []string{"authorizationServer", "clientId", "clientSecret", "scope"}
	case authNone, "":
	default:
		return wrongWord("auth_type", "none, api_key, oauth")
	}
	for _, name := range slices.Sorted(maps.Keys(set.AuthConfig)) {
		if !slices.Contains(allowed, name) {
			return unfit(message.Say(`body: "auth_config" has no use for %s`, message.Quote(name)))
		}
	}
	if needed != "" && set.AuthConfig[needed] == "" {
		return unfit(message.Say(`body: "auth_config" must have %s`, needed))
	}
	if kind != row.AuthType || kind == authAPIKey {
		if set.AuthConfig[authAPIKey] == config.Unchanged {
			return unfit(message.Say(`body: "auth_config" must have %s`, authAPIKey)) // in full: it is to be elsewhere than it was
		}
		e.forget(row)
	}
	switch header := set.AuthConfig["header"]; {
	case kind == authOAuth:
		said := maps.Clone(set.AuthConfig)
		if server := row.AuthConfig["authorizationServer"]; server != "" && kind == row.AuthType && len(said) > 0 {
			if _, there := said["authorizationServer"]; !there { // the secret would go nowhere without
				said["authorizationServer"] = server
			}
		}
		e.logIn(said)
	case kind == authAPIKey && header == "":
		e.set(set.AuthConfig[authAPIKey], "apiKey")
	case kind == authAPIKey:
		headers := e.headers()
		headers[header] = set.AuthConfig[authAPIKey]
		e.set(headers, "headers")
	}
	return nil
}

// logIn says how the hub logs in. What there is no word for in "auth_config" stays.
func (e *entry) logIn(said map[string]string) {
	was := e.values["oauth"]
	if was == nil {
		was = e.values["auth"]
	}
	login := newEntry(was)
	login.drop("type", "enabled", "authorizationServer", "clientId", "CLIENT_ID", "clientSecret", "CLIENT_SECRET", "scope", "scopes")
	for _, name := range slices.Sorted(maps.Keys(said)) {
		login.set(said[name], name)
	}
	if len(login.names) == 0 {
		e.set(true, "oauth", "auth")
		return
	}
	e.set(json.RawMessage(login.json()), "oauth", "auth")
}

// forget takes out how the hub has shown who it is.
func (e *entry) forget(row *api.CompatServer) {
	e.drop("apiKey", "oauth", "auth")
	headers := e.headers()
	maps.DeleteFunc(headers, func(name, _ string) bool {
		return strings.EqualFold(name, "Authorization") || strings.EqualFold(name, row.AuthConfig["header"])
	})
	if e.drop("headers"); len(headers) > 0 {
		e.set(headers, "headers")
	}
}

func (e *entry) headers() map[string]string {
	headers := make(map[string]string)
	_ = json.Unmarshal(e.values["headers"], &headers) // else the configuration would not be in force
	return headers
}

func wrongWord(member, words string) error {
	return unfit(message.Say(`body: "%s" must be %s`, member, words))
}

// unsaid reports whether a text is not there.
func unsaid(text *string) bool { return text == nil || *text == "" }

// firstSaid is the first text that is there.
func firstSaid(texts ...*string) string {
	for _, text := range texts {
		if !unsaid(text) {
			return *text
		}
	}
	return ""
}

// keyOfSet is the key of a new server.
func keyOfSet(set *api.CompatServerSet) (string, error) {
	key, other := firstSaid(set.Key), firstSaid(set.PresetKey)
	switch {
	case key != "" && other != "" && key != other:
		return "", unfit(message.Say(`body: "server_key" and "preset_key" contradict each other`))
	case key != "":
		return key, nil
	case other != "":
		return other, nil
	case unsaid(set.Name):
		return "", unfit(message.Say(`body: "name" or "server_key" is needed`))
	}
	return keyOfName(*set.Name), nil
}

// keyOfName is a key made of a name for people: what of it can be in the names of
// tools or, if that is nothing, something of its own.
func keyOfName(name string) string {
	const most = 40
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		plain := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-'
		switch {
		case plain && b.Len() < most:
			b.WriteRune(r)
		case !plain && b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if key := strings.Trim(b.String(), "-_"); key != "" {
		return key
	}
	sum := sha256.Sum256([]byte(name))
	return "server-" + hex.EncodeToString(sum[:4])
}
