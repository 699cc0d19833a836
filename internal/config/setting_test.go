package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// variables is a resolver that knows these only.
func variables(values map[string]string) *secret.Resolver {
	return secret.New(secret.Options{Dir: "/", Home: "/home", Getenv: func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}})
}

// TestStoreResolve fills the address of the database in. A password may have any
// characters.
func TestStoreResolve(t *testing.T) {
	r := variables(map[string]string{
		"PW": "a/b@c:d?e#f%g +SECRET", "USER": "ünï", "HOST": "db:5432", "ALL": "postgres://u:p@h/d", "OTHER": "mysql://u:SECRET@h/d",
	})
	for url, want := range map[string]string{
		"":                                      "",
		"postgres://u:p%40w@h/d":                "postgres://u:p%40w@h/d",
		"postgres://u:${env:PW}@h/d?x=y":        "postgres://u:a%2Fb%40c%3Ad%3Fe%23f%25g%20%2BSECRET@h/d?x=y",
		"postgres://${USER}:x@${HOST}/${NO:-d}": "postgres://%C3%BCn%C3%AF:x@db:5432/d",
		"${env:ALL}":                            "postgres://u:p@h/d",
		"postgres://${HOST}/d":                  "postgres://db:5432/d",
		"postgres:///d?host=/run/${NO:-pg}":     "postgres:///d?host=/run/pg",
	} {
		got, err := Store{url}.Resolve(r)
		if err != nil || got.Reveal() != want {
			t.Errorf("%s is %s, want %s; %v", url, got.Reveal(), want, err)
		}
		if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "SECRET") {
			t.Errorf("it is shown: %s", text)
		}
	}
	for url, want := range map[string][2]string{
		"postgres://u:${env:NONE}@h/d": {"${env:NONE}", "the environment variable NONE of Toolcrib is not set"},
		"$${x}://h":                    {"$${", "with it, the address is not a valid URL"},
		"${env:OTHER}":                 {"${env:OTHER}", "with it, the address must begin with postgres:// or postgresql://"},
	} {
		got, err := Store{url}.Resolve(r)
		wanted := message.Args{"setting": "store.url", "placeholder": want[0], "reason": want[1]}
		if err == nil || err.Code != message.SettingUnresolved || got.Reveal() != "" {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if diff := cmp.Diff(wanted, err.Args); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", url, diff)
		}
		if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%v", err)
		}
	}
}

func TestTracesResolve(t *testing.T) {
	r := variables(map[string]string{"HOST": "otel", "KEY": "SECRET", "BAD": "a\nSECRET", "FTP": "ftp://SECRET"})
	traces := Traces{Endpoint: "http://${HOST}:4318", Headers: map[string]string{"Authorization": "Bearer ${env:KEY}", "X": "plain"}}
	endpoint, headers, err := traces.Resolve(r)
	if err != nil || endpoint != "http://otel:4318" || headers["Authorization"].Reveal() != "Bearer SECRET" || headers["X"].Reveal() != "plain" {
		t.Errorf("%q, %v, %v", endpoint, headers, err)
	}
	if text := fmt.Sprint(headers); strings.Contains(text, "SECRET") {
		t.Errorf("they are shown: %s", text)
	}
	if endpoint, headers, err := (Traces{}).Resolve(r); endpoint != "" || len(headers) != 0 || err != nil {
		t.Errorf("%q, %v, %v", endpoint, headers, err)
	}
	for setting, traces := range map[string]Traces{
		"telemetry.traces.endpoint":  {Endpoint: "${FTP}"},
		"telemetry.traces.headers":   {Headers: map[string]string{"K": "${BAD}"}},
		"telemetry.traces.headers ":  {Headers: map[string]string{"K": "${NONE}"}},
		"telemetry.traces.endpoint ": {Endpoint: "http://h/${NONE}"},
	} {
		_, headers, err := traces.Resolve(r)
		if err == nil || err.Code != message.SettingUnresolved || err.Args["setting"] != strings.TrimSpace(setting) || headers != nil {
			t.Errorf("%s: %v, %v", setting, headers, err)
			continue
		}
		if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%v", err)
		}
	}
}

// TestSettingsAreDifferent shows what of a change holds at once, and what from
// the next start on, and that none of it is a change of a server.
func TestSettingsAreDifferent(t *testing.T) {
	const base = `{"mcpServers":{"a":{"command":"x"}},"language":"en","callers":{"callLimits":{"rate":1}},"store":{"url":"postgres://h/d"},` +
		`"audit":{"retention":"9d"},"events":{"retention":"9h"},"telemetry":{"traces":{"endpoint":"http://h","headers":{"K":"v"}}}}`
	parse := func(text string) *Config {
		c, _, err := Parse("f", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, change := range []struct {
		old, new  string
		settings  bool
		nextStart string
	}{
		{`"en"`, `"en"`, false, "[]"},
		{`"en"`, `"zh"`, true, "[]"},
		{`"rate":1`, `"rate":2`, true, "[]"},
		{`"9d"`, `"8d"`, true, "[]"},
		{`"9d"`, `"9d","arguments":false`, true, "[]"},
		{`"9d"`, `"9d","maxArguments":"1KB"`, true, "[]"},
		{`"9h"`, `"8h"`, true, "[]"},
		{`"9h"}`, `"9h"},"xiaozhi":{"endpoints":{"a":{"url":"ws://h"}}}`, true, "[]"},
		{`"9h"}`, `"9h"},"xiaozhi":{"backends":{"a":{"url":"ws://h"}}}`, true, "[]"},
		{`"9h"}`, `"9h"},"xiaozhi":{},"devices":{"keep":"10m"}`, false, "[]"},
		{`"9h"}`, `"9h"},"devices":{"queue":1}`, true, "[]"},
		{`//h/d`, `//h/e`, false, "[store]"},
		{`"http://h"`, `"http://i"`, false, "[telemetry]"},
		{`"v"`, `"w"`, false, "[telemetry]"},
		{`"v"}`, `"v"},"sample":0.5`, false, "[telemetry]"},
	} {
		before, after := parse(base), parse(strings.Replace(base, change.old, change.new, 1))
		d := Diff(before, after)
		if d.Settings != change.settings || fmt.Sprint(d.NextStart) != change.nextStart || d.Views || d.Added != nil || d.Changed != nil || d.Removed != nil {
			t.Errorf("%s: %+v", change.new, d)
		}
		if pending := Pending(before, after); fmt.Sprint(pending) != change.nextStart {
			t.Errorf("%s: pending is %v", change.new, pending)
		}
	}
	if d := Diff(parse(base), nil); !d.Settings || len(d.NextStart) != 2 {
		t.Errorf("without a file: %+v", d)
	}
}

// TestCallSettingsRestartNothing shows that how calls are sent is no way of
// reaching a server.
func TestCallSettingsRestartNothing(t *testing.T) {
	parse := func(more string) *Config {
		c, _, err := Parse("f", []byte(`{"mcpServers":{"a":{"command":"x"`+more+`}}}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, more := range []string{
		`"pool":"p"`, `"retries":1`, `"retryDelay":"1s"`, `"maxRetryDelay":"1m"`, `"retryJitter":1`, `"callLimits":{"rate":1}`, `"toolCache":"1s"`,
		`"validate":false`, `"toolOverrides":{"t":{"timeout":"1s"}}`, `"toolOverrides":{"t":{"retries":2}}`, `"toolOverrides":{"t":{"cache":0}}`,
		`"toolOverrides":{"t":{"callLimits":{"rate":1}}}`, `"toolOverrides":{"t":{"messages":{"failed":"x"}}}`,
	} {
		d := Diff(parse(""), parse(","+more))
		if fmt.Sprint(d.Changed, d.Restarted, d.Settings, d.NextStart) != "[a] [] false []" {
			t.Errorf("%s: %+v", more, d)
		}
	}
}

// TestForeignSettings keeps members of other programs' files, which have the
// names of ours by chance, from making the files useless.
func TestForeignSettings(t *testing.T) {
	for name, text := range map[string]string{
		"Zed":         `{"context_servers":{},"language":5,"telemetry":{"traces":1},"audit":7}`,
		"VS Code":     `{"mcp":{"servers":{}},"store":"x","events":[]}`,
		"Claude Code": `{"mcpServers":{},"projects":{},"language":"japanese","callers":1}`,
		"Gemini CLI":  `{"mcpServers":{},"telemetry":{"enabled":true,"target":"gcp"}}`,
		"Gemini CLI ": `{"mcpServers":{},"telemetry":true}`,
	} {
		c, _, err := Parse("f", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !sameSettings(c, Default(nil)) || len(Pending(c, Default(nil))) > 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestSettingsAreMasked shows nothing of what may be a secret, be it well-formed
// or not.
func TestSettingsAreMasked(t *testing.T) {
	const text = `{
  "store": { "url": "postgres://u:SECRET@h/d?password=SECRET" },
  "telemetry": { "traces": { "endpoint": "https://u:SECRET@h/?k=SECRET", "headers": { "Authorization": "Bearer SECRET", "X": "SECRET" } } }
}`
	masked, err := Masked([]byte(text))
	if err != nil || strings.Contains(string(masked), "SECRET") || !strings.Contains(string(masked), "@h/d") {
		t.Errorf("%v:\n%s", err, masked)
	}
	if back, err := Unmask(masked, []byte(text)); err != nil || string(back) != text {
		t.Errorf("%v:\n%s", err, back)
	}
	_, warnings, err := Parse("f", []byte(text), nil)
	if _, ok := errors.AsType[Problems](err); !ok || strings.Contains(fmt.Sprint(warnings, err), "SECRET") {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestSealedBy(t *testing.T) {
	const text = `{"mcpServers":{"a":{"command":"x","env":{"K":"${secret:a}"}}},"store":{"url":"postgres://u:${secret:db}@h/d"}}`
	for member, want := range map[string]string{"store": "[db]", "telemetry": "[]", "mcpServers": "[a]"} {
		if got := fmt.Sprint(SealedBy([]byte(text), member)); got != want {
			t.Errorf("%s: %s, want %s", member, got, want)
		}
	}
	if got := SealedBy([]byte("{"), "store"); got != nil {
		t.Errorf("of no JSON: %v", got)
	}
}

// FuzzStoreResolve shows that an address without placeholders stays as it is,
// whatever it is like, and that the parts of one are the whole.
func FuzzStoreResolve(f *testing.F) {
	for _, url := range []string{"postgres://u:${env:PW}@h/d", "${env:ALL}", "a@b://${X}@", "postgres://h/d?x=@", "$${x}://@", "postgres://${unclosed"} {
		f.Add(url)
	}
	r := variables(map[string]string{"PW": "p@/:", "ALL": "postgres://h/d"})
	f.Fuzz(func(t *testing.T, url string) {
		before, user, after := cutUser(url)
		if before+user+after != url {
			t.Errorf("%q is cut into %q, %q, %q", url, before, user, after)
		}
		got, err := Store{url}.Resolve(r)
		if err == nil && !strings.Contains(url, "${") && got.Reveal() != url {
			t.Errorf("%q becomes %q", url, got.Reveal())
		}
	})
}
