package call

import (
	"maps"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// veiled is an error as the caller may know it: why a server does not run, and where it
// is, is nothing to a tenant that shares it: its status tells that to whoever looks
// after it.
func (p *Pipeline) veiled(r *run, err error) error {
	if err == nil || r.Principal.Hubwide() {
		return err
	}
	e := hub.AsError(err)
	switch e.Code {
	case message.ServerDown, message.ServerHTTPStatus, message.ServerUnauthorized, message.ServerEndpoint:
	default:
		return err
	}
	key := e.Args["server"]
	if key == "" && r.server != nil {
		key = r.server.Key
	}
	if s, ok := p.fleet.Server(key); ok && catalog.BelongsAlone(&s, r.Principal.Tenant) {
		return err
	}
	if e.Code == message.ServerDown {
		down := catalog.SharedDown(key)
		if e.Args[message.ValueOutcome] == string(hub.OutcomeUnknown) {
			return doubtful(down)
		}
		return down
	}
	told := *e
	told.Err, told.Args = nil, maps.Clone(e.Args)
	for _, where := range [...]string{"url", "origin"} {
		if _, said := told.Args[where]; said {
			told.Args[where] = key
		}
	}
	return &told
}
