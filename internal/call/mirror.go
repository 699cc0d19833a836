package call

import (
	"context"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// compare checks that the arguments which the tool wants mirrored into headers
// say the same there (2026-07-28, "Server Behavior for Custom Headers"): who
// judged the call by its headers must have judged this very call.
func (p *Pipeline) compare(_ context.Context, r *run) error {
	if r.Mirrored == nil {
		return nil
	}
	m := r.Message
	for _, h := range r.entry.Tool.Headers {
		name := protocol.HeaderParam + h.Name
		values := r.Mirrored(name)
		arg := protocol.ArgumentAt(m.Raw, m.Member("arguments"), h.Path)
		switch {
		case len(values) > 1:
			return mismatch(name, "it is there more than once")
		case !arg.Exists() && len(values) == 0:
			continue
		case !arg.Exists():
			return mismatch(name, "the body has no %s", message.Quote(strings.Join(h.Path, ".")))
		case len(values) == 0:
			return mismatch(name, "it is missing")
		}
		text, ok := protocol.DecodeHeader(strings.Trim(values[0], " \t"))
		if !ok {
			return mismatch(name, "it is not valid Base64")
		}
		if !protocol.HeaderMatches(text, m.Raw, arg) {
			return mismatch(name, "the body says something else")
		}
	}
	return nil
}

func mismatch(header, format string, args ...any) *hub.Error {
	return hub.E(message.HeaderMismatch, nil, "header", header).With("detail", message.Say(format, args...))
}
