package protocol

import (
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Leg is what the hub says about itself in every request to one server.
type Leg struct {
	Revision   Revision
	ClientInfo []byte // JSON object, the hub's own
}

// requestOwned tells whether a member of a request's _meta is for one leg only;
// those that say which span the request is of are so if the leg is traced.
func requestOwned(raw []byte, key wire.Span, traced bool) bool {
	for _, k := range [...]string{MetaVersion, MetaClientInfo, MetaCapabilities, MetaLogLevel, MetaProgressToken} {
		if wire.KeyIs(raw, key, k) {
			return true
		}
	}
	return traced && (wire.KeyIs(raw, key, MetaTraceparent) || wire.KeyIs(raw, key, MetaTracestate))
}

// RequestEdits appends to edits those that turn a caller's request, of either
// era, into one for the server at the other end of the leg, save for id and
// routing key. token replaces the caller's progress token, if there is one.
// level is the log level that the caller wants, "" for none; it matters to
// modern servers only. trace is the members of _meta, as JSON without braces,
// that say which span the request to the server is of: they take the place of
// traceparent and tracestate. Nil leaves the caller's as they are. The message's
// params and _meta must be objects where they exist.
//
// Capabilities that a modern caller declared go on to a modern server, because
// the server's questions come back in a result that is passed on to that
// caller; for everybody else none are declared.
func (l *Leg) RequestEdits(edits []wire.Edit, m *wire.Message, token []byte, level string, trace []byte) []wire.Edit {
	raw := m.Raw
	traced := trace != nil
	meta := m.Member("_meta")
	caps := []byte("{}")
	owned, hasToken := false, false
	if meta.Exists() {
		for member := range wire.Object(raw, meta) {
			if !requestOwned(raw, member.Key, traced) {
				continue
			}
			owned = true
			switch {
			case wire.KeyIs(raw, member.Key, MetaProgressToken):
				hasToken = true
			case wire.KeyIs(raw, member.Key, MetaCapabilities):
				caps = member.Value.Of(raw)
			}
		}
	}
	if !owned && !traced && l.Revision.Era() == Legacy {
		return edits
	}

	var add []byte
	if hasToken {
		add = append(add, `"progressToken":`...)
		add = append(add, token...)
	}
	if traced {
		add = append(comma(add), trace...)
	}
	if l.Revision.Era() == Modern {
		add = l.appendMeta(comma(add), caps, level)
	}
	switch {
	case meta.Exists():
		return wire.EditObject(edits, raw, meta, func(key wire.Span) bool { return requestOwned(raw, key, traced) }, add)
	case m.Params.Exists():
		return append(edits, wire.Insert(raw, m.Params, append(append([]byte(`"_meta":{`), add...), '}')))
	default:
		return append(edits, wire.Insert(raw, wire.Value(raw), append(append([]byte(`"params":{"_meta":{`), add...), `}}`...)))
	}
}

// comma ends the last member of an object that is being written.
func comma(members []byte) []byte {
	if len(members) == 0 {
		return members
	}
	return append(members, ',')
}

// Params returns the params object of a request of the hub's own on this leg;
// members are further ones such as `"cursor":"x"`, or none.
func (l *Leg) Params(members []byte) []byte {
	p := []byte{'{'}
	if l.Revision.Era() == Modern {
		p = append(p, `"_meta":{`...)
		p = l.appendMeta(p, []byte("{}"), "")
		p = append(p, '}')
		if len(members) > 0 {
			p = append(p, ',')
		}
	}
	p = append(p, members...)
	return append(p, '}')
}

func (l *Leg) appendMeta(dst, caps []byte, level string) []byte {
	dst = append(dst, `"`+MetaVersion+`":"`...)
	dst = append(dst, l.Revision...)
	dst = append(dst, `","`+MetaClientInfo+`":`...)
	dst = append(dst, l.ClientInfo...)
	dst = append(dst, `,"`+MetaCapabilities+`":`...)
	dst = append(dst, caps...)
	if level != "" {
		dst = append(dst, `,"`+MetaLogLevel+`":`...)
		dst = wire.AppendString(dst, level)
	}
	return dst
}

// ResultKind tells how a result of the modern era is to be taken.
type ResultKind uint8

// The kinds of result.
const (
	// ResultComplete is the answer.
	ResultComplete ResultKind = iota
	// ResultOther is a question or another intermediate answer, which only a
	// modern caller understands.
	ResultOther
)

// KindOf tells the kind of a successful response from a server of the era.
func KindOf(m *wire.Message, era Era) ResultKind {
	if era == Legacy {
		return ResultComplete
	}
	kind := m.Member("resultType")
	if !kind.Exists() || wire.KeyIs(m.Raw, kind, "complete") {
		return ResultComplete
	}
	return ResultOther
}

// ResultEdits appends to edits those that turn the successful response of a
// server of the era from, to a request of the method, into one for a caller of
// the era to. serverInfo is the hub's own, as a JSON object. The result must be
// an object.
//
// A legacy server does not say how long its answer holds and for whom, so that
// a modern caller is told not to keep it (2026-07-28, "Caching").
func ResultEdits(edits []wire.Edit, m *wire.Message, method string, from, to Era, serverInfo []byte) []wire.Edit {
	raw := m.Raw
	owned := func(key wire.Span) bool {
		return wire.KeyIs(raw, key, "resultType") ||
			Cacheable(method) && (wire.KeyIs(raw, key, "ttlMs") || wire.KeyIs(raw, key, "cacheScope"))
	}
	switch {
	case from == Legacy && to == Legacy:
		return edits
	case from == Legacy:
		own := `"resultType":"complete"`
		if Cacheable(method) {
			own += `,"ttlMs":0,"cacheScope":"private"`
		}
		return wire.EditObject(edits, raw, m.Result, owned, []byte(own))
	}

	meta := m.Member("_meta")
	info := wire.Lookup(raw, meta, MetaServerInfo)
	if to == Modern {
		if info.Exists() {
			edits = append(edits, wire.Replace(info, serverInfo))
		}
		return edits
	}
	if info.Exists() {
		if e, ok := wire.Remove(raw, meta, MetaServerInfo); ok {
			edits = append(edits, e)
		}
	}
	return wire.EditObject(edits, raw, m.Result, owned, nil)
}

// Untagged returns a notification without the member that names a modern
// server's subscription, for callers who know nothing of it: the bytes that it
// was given if there is none.
func Untagged(m *wire.Message) []byte {
	if e, ok := wire.Remove(m.Raw, m.Member("_meta"), MetaSubscriptionID); ok {
		return wire.Splice(m.Raw, e)
	}
	return m.Raw
}

// Cancelled returns the notification that ends a request, by the raw id that the
// receiver knows: the one that the other party has sent, all else in it as it is,
// or one with the reason if there is none.
func Cancelled(notice, id []byte, reason string) []byte {
	if m, err := wire.Scan(notice, wire.Limits{}); err == nil && m.Member("requestId").Exists() {
		return wire.Splice(notice, wire.Replace(m.Member("requestId"), id))
	}
	b := append([]byte(`{"jsonrpc":"2.0","method":"`+NotificationCancelled+`","params":{"requestId":`), id...)
	b = append(b, `,"reason":`...)
	b = wire.AppendString(b, reason)
	return append(b, "}}"...)
}
