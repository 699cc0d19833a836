package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// Resolve returns the address with its placeholders filled in; the zero value if
// there is none. What is filled in for the user and the password is taken for what
// they are, without percent-encoding. The error is a [message.SettingUnresolved] and holds no secret.
func (s Store) Resolve(r *secret.Resolver) (secret.Value, *hub.Error) {
	f := filling{resolver: r}
	before, user, after := cutUser(s.URL)
	link := f.text(before) + f.escaped(user) + f.text(after)
	if link != s.URL && f.err == nil {
		if fault := storeFault(link); fault != "" {
			f.unfit(s.URL, message.Say("the address %s", message.Term(fault)))
		}
	}
	if e := f.unresolved("store.url"); e != nil {
		return secret.Value{}, e
	}
	return secret.NewValue(link), nil
}

// Resolve returns the address and the headers with their placeholders filled in;
// the address is "" if there is none. The error is a [message.SettingUnresolved]
// and holds no secret.
func (t Traces) Resolve(r *secret.Resolver) (endpoint string, headers map[string]secret.Value, _ *hub.Error) {
	f := filling{resolver: r}
	endpoint = f.text(t.Endpoint)
	if endpoint != t.Endpoint && f.err == nil {
		if fault := urlFault(endpoint, hub.KindHTTP); fault != "" {
			f.unfit(t.Endpoint, message.Say("the address %s", message.Term(fault)))
		}
	}
	if e := f.unresolved("telemetry.traces.endpoint"); e != nil {
		return "", nil, e
	}
	headers = make(map[string]secret.Value, len(t.Headers))
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		value := f.text(t.Headers[name])
		if hasControl(value) && f.err == nil {
			f.unfit(t.Headers[name], message.Say("the header has a control character"))
		}
		headers[name] = secret.NewValue(value)
	}
	if e := f.unresolved("telemetry.traces.headers"); e != nil {
		return "", nil, e
	}
	return endpoint, headers, nil
}

// cutUser cuts the user and the password out of an address, of which a
// placeholder may be any part.
func cutUser(link string) (before, user, after string) {
	plain := []byte(link) // with nothing in it that a placeholder may have
	for _, p := range secret.Placeholders(link) {
		for i := p.Start; i < p.End; i++ {
			plain[i] = 'x'
		}
	}
	from := strings.Index(string(plain), "://")
	if from < 0 {
		return link, "", ""
	}
	from += len("://")
	host := from + until(string(plain[from:]), "/?#")
	to := from + max(0, strings.LastIndexByte(string(plain[from:host]), '@'))
	return link[:from], link[from:to], link[to:]
}

// escaped fills in one text, and percent-encodes what is filled in.
func (f *filling) escaped(text string) string {
	var b strings.Builder
	at := 0
	for _, p := range secret.Placeholders(text) {
		b.WriteString(text[at:p.Start])
		b.WriteString(strings.ReplaceAll(url.QueryEscape(f.text(text[p.Start:p.End])), "+", "%20"))
		at = p.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// unresolved is the error about a member of the file, if there is one.
func (f *filling) unresolved(setting string) *hub.Error {
	if f.err == nil {
		return nil
	}
	return hub.E(message.SettingUnresolved, nil, "setting", setting,
		"placeholder", message.Quote(f.err.Placeholder)).With("reason", f.err.Reason)
}

// storeFault says what is wrong with the address of a database, without showing
// it: it may hold a password. It is "" if nothing is.
func storeFault(link string) string {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return "is not a valid URL"
	case !slices.Contains([]string{"postgres", "postgresql"}, u.Scheme):
		return "must begin with postgres:// or postgresql://"
	}
	return ""
}
