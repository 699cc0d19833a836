package config

import (
	"reflect"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// settings is what a file says about the hub itself, and about no single server;
// see [Config].
type settings struct {
	Language message.Lang
	Callers  hub.Gate
	Store    Store
	Audit    Audit
	Events   Events
	Traces   Traces
	Policy   hub.Policy
	Approval hub.Approval
	Auth     hub.Auth
}

// Store says where the hub keeps what it writes down. It holds for the next
// start.
type Store struct {
	// URL is the address of a PostgreSQL database; "" for a file in the data
	// directory. It may have placeholders, and hold a password: [Store.Resolve]
	// fills them in.
	URL string
}

// Audit says what is kept of calls.
type Audit struct {
	Retention    time.Duration // 0 for ever
	Arguments    bool          // what was called with is kept, but for what may be a secret
	MaxArguments int           // bytes of them that are kept of one call
}

// Events says how long events are kept, so that whoever was away learns what it
// has missed.
type Events struct {
	Retention time.Duration
}

// Traces says where traces are sent. It holds for the next start.
type Traces struct {
	Endpoint string            // of a collector that speaks OTLP over HTTP; "" for none. It may have placeholders
	Headers  map[string]string // that are sent with them; they may have placeholders, and hold secrets
	Sample   float64           // share of the calls, from 0 to 1, that are traced
}

// What holds if nothing is said, and the bounds of what may be.
const (
	usualAuditRetention = 90 * day
	usualMaxArguments   = 4 << 10
	usualEventRetention = day

	minAuditRetention = time.Hour
	maxAuditRetention = 3650 * day
	minMaxArguments   = 256
	maxMaxArguments   = 1 << 20
	minEventRetention = time.Minute
	maxEventRetention = 30 * day
)

func usualSettings() settings {
	return settings{
		Language: message.English,
		Audit:    Audit{Retention: usualAuditRetention, Arguments: true, MaxArguments: usualMaxArguments},
		Events:   Events{Retention: usualEventRetention},
		Traces:   Traces{Sample: 1},
		Approval: usualApproval(),
	}
}

// readSetting reads a member of the file that is about the hub itself.
func (r *reader) readSetting(m member) {
	e := &entry{reader: r}
	s := &r.settings
	switch m.name {
	case "language":
		e.language(&s.Language, m)
	case "callers":
		e.parts(m, part{"callLimits", func(m member) { e.gate(&s.Callers, m) }})
	case "store":
		e.parts(m, part{"url", func(m member) { e.readStoreURL(&s.Store, m) }})
	case "audit":
		e.parts(m,
			part{"retention", func(m member) {
				e.keep(&s.Audit.Retention, m, keeping{minAuditRetention, maxAuditRetention, true, `a text such as "90d" or "36h", or "never"`})
			}},
			part{"arguments", func(m member) { e.set(&s.Audit.Arguments, m) }},
			part{"maxArguments", func(m member) {
				e.size(m, `a text such as "4KiB", or a number of bytes`, minMaxArguments, maxMaxArguments, func(n int64) { s.Audit.MaxArguments = int(n) })
			}},
		)
	case "events":
		e.parts(m, part{"retention", func(m member) {
			e.keep(&s.Events.Retention, m, keeping{minEventRetention, maxEventRetention, false, `a text such as "24h" or "7d"`})
		}})
	case "telemetry":
		e.telemetry(&s.Traces, m)
	case "policy":
		r.readPolicy(m)
	case "approval":
		e.readApproval(&s.Approval, m)
	case "auth":
		e.readAuth(&s.Auth, m)
	}
}

// language reads a language of the hub's.
func (e *entry) language(to *message.Lang, m member) {
	text := e.plain(m.name, m.value)
	switch l := message.Lang(text); {
	case l == message.English, l == message.Chinese:
		*to = l
	case isString(m.value):
		e.problem(m.value.StartOffset, `%s%s must be "en" or "zh", not %s`, e.where, quoted(m.name), quoted(text))
	}
}

func (e *entry) readStoreURL(to *Store, m member) {
	to.URL = e.text(m.name, m.value)
	link, open := withoutPlaceholders(to.URL)
	if open || link == "" {
		return
	}
	if fault := storeFault(link); fault != "" {
		e.problem(m.value.StartOffset, "%s%s %s", e.where, quoted(m.name), message.Term(fault))
	}
}

// telemetry reads "telemetry". Gemini CLI has that as well, with other members.
func (e *entry) telemetry(to *Traces, m member) {
	if find(m.value, "traces") == nil {
		e.warn(m.at, `"telemetry" is ignored, since it has no "traces"`)
		return
	}
	e.parts(m, part{"traces", func(m member) {
		e.parts(m,
			part{"endpoint", func(m member) {
				to.Endpoint = e.text(m.name, m.value)
				link, open := withoutPlaceholders(to.Endpoint)
				if open || link == "" {
					return
				}
				if fault := urlFault(link, hub.KindHTTP); fault != "" {
					e.problem(m.value.StartOffset, "%s%s %s", e.where, quoted(m.name), message.Term(fault))
				}
			}},
			part{"headers", func(m member) { to.Headers = e.headers(m) }},
			part{"sample", func(m member) { e.share(&to.Sample, m) }},
		)
	}})
}

// atStart are the members of the file that hold from the next start on, and in
// which two configurations differ.
func atStart(a, b *Config) []string {
	var names []string
	if a.Store != b.Store {
		names = append(names, "store")
	}
	if !reflect.DeepEqual(a.Traces, b.Traces) {
		names = append(names, "telemetry")
	}
	return names
}

// sameSettings reports whether two configurations say the same about the hub
// itself, but for what holds from the next start on.
func sameSettings(a, b *Config) bool {
	return a.Language == b.Language && a.Callers == b.Callers && a.Audit == b.Audit && a.Events == b.Events && samePolicy(a, b) && sameAuth(a, b) && sameVoice(a, b)
}
