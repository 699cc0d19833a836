package call

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// What a call sends besides its name and its arguments, such as the answers to
// questions that a tool has asked (2026-07-28, "Multi Round-Trip Requests"). A person
// agrees to that as well, and what is sent by an agreement is what they have seen.

// ofLeg reports whether a member of _meta says nothing of what the call is to do: it
// is for one leg only, or says of which trace the request is part, and is another one
// each time.
func ofLeg(raw []byte, key wire.Span) bool {
	for _, name := range [...]string{
		protocol.MetaVersion, protocol.MetaClientInfo, protocol.MetaCapabilities, protocol.MetaLogLevel, protocol.MetaProgressToken,
		protocol.MetaTraceparent, protocol.MetaTracestate, protocol.MetaBaggage,
	} {
		if wire.KeyIs(raw, key, name) {
			return true
		}
	}
	return false
}

// appendMember appends a member to an object that is being written.
func appendMember(b, key, value []byte) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, key...), ':'), value...)
}

// metaOf is what of a _meta is of the leg, or what is not; nil for nothing.
func metaOf(raw []byte, meta wire.Span, leg bool) []byte {
	if !meta.Exists() {
		return nil
	}
	if raw[meta.Start] != '{' {
		if leg {
			return nil
		}
		return meta.Of(raw)
	}
	b := []byte{'{'}
	for one := range wire.Object(raw, meta) {
		if ofLeg(raw, one.Key) == leg {
			b = appendMember(b, one.Key.Of(raw), one.Value.Of(raw))
		}
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// extra is what the call sends besides its name and its arguments: a JSON object;
// nil for nothing. What only tools and prompts have is extra for a resource.
func (r *run) extra() []byte {
	m, b := r.Message, []byte{'{'}
	for one := range m.Members() {
		value := one.Value.Of(m.Raw)
		switch {
		case wire.KeyIs(m.Raw, one.Key, r.verb.naming):
			continue
		case wire.KeyIs(m.Raw, one.Key, "arguments") && r.verb.method != protocol.MethodResourcesRead:
			continue
		case wire.KeyIs(m.Raw, one.Key, "_meta"):
			if value = metaOf(m.Raw, one.Value, false); value == nil {
				continue
			}
		}
		b = appendMember(b, one.Key.Of(m.Raw), value)
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// become has the call be another one of the same verb, to which a person has agreed:
// with that one's name, arguments and extra. Of what came with this request there
// only stays what is of its leg.
func (r *run) become(q *approval.Request, arguments []byte) error {
	m := r.Message
	b := appendMember([]byte{'{'}, wire.AppendString(nil, r.verb.naming), wire.AppendString(nil, q.Name))
	b = appendMember(b, []byte(`"arguments"`), arguments)
	var agreed []byte // of _meta
	if q.Extra != nil {
		for one := range wire.Object(q.Extra, wire.Value(q.Extra)) {
			if wire.KeyIs(q.Extra, one.Key, "_meta") {
				agreed = one.Value.Of(q.Extra)
				continue
			}
			b = appendMember(b, one.Key.Of(q.Extra), one.Value.Of(q.Extra))
		}
	}
	if meta := joined(metaOf(m.Raw, m.Member("_meta"), true), agreed); meta != nil {
		b = appendMember(b, []byte(`"_meta"`), meta)
	}
	return r.rewrite(wire.Replace(m.Params, append(b, '}')))
}

// joined is one object of two that have no member in common, either of which may be
// nil; what is no object stays alone.
func joined(a, b []byte) []byte {
	switch {
	case b == nil:
		return a
	case a == nil, b[0] != '{':
		return b
	}
	return append(append(append([]byte(nil), a[:len(a)-1]...), ','), b[1:]...)
}

// rewrite edits the call's message.
func (r *run) rewrite(edits ...wire.Edit) error {
	next, err := wire.Scan(wire.Splice(r.Message.Raw, edits...), wire.Limits{MaxBytes: 2 * wire.DefaultMaxBytes, UniqueKeys: true})
	if err != nil {
		return hub.E(message.Internal, err)
	}
	r.Message, r.Mirrored = &next, nil
	r.argued = false // the record has those that are sent
	r.read()
	return nil
}

// withExtra names arguments, of which the hash is given, together with what is sent
// besides them. What has nothing besides has the arguments' own hash.
func withExtra(hash string, extra []byte) string {
	if extra == nil {
		return hash
	}
	sum := sha256.Sum256(appendCanonical(append([]byte("extra\x00"), hash...), extra, wire.Value(extra)))
	return hex.EncodeToString(sum[:])
}

// EditedHash names arguments that a person puts in the place of those of a request,
// with what else the request sends, as [approval.Deciding] wants it. The error is a
// [*hub.Error]; see [Pipeline.Digest].
func (p *Pipeline) EditedHash(q *approval.Request, arguments []byte) (string, error) {
	hash, err := p.Digest(arguments)
	if err != nil {
		return "", err
	}
	return withExtra(hash, q.Extra), nil
}

// GrantHash names the arguments of a request that would be sent now as grants for
// exactly these know them. It is one that no call has where only another hub can
// tell.
func GrantHash(q *approval.Request) string {
	switch {
	case q.PlainHash == "":
		return q.Hash
	case q.Edited != nil:
		return ArgumentsHash(q.Edited)
	case q.Hash != q.ArgumentsHash: // edited, and sealed by another hub
		return q.Hash
	}
	return q.PlainHash
}
