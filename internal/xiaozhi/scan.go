package xiaozhi

import (
	"errors"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// Scan reads a message of a peer, as [wire.Scan] does, but for what peers are known
// to write otherwise: it takes params that are null for none, an id that is null in
// a request for none, and a version of JSON-RPC that is left out for 2.0. Raw of the
// message is then another one than raw.
//
// On an error the ID of the message is that with which it can be answered, if it
// has one, and its Method says whether it wanted an answer.
func Scan(raw []byte, max int) (wire.Message, error) {
	limits := wire.Limits{MaxBytes: max, UniqueKeys: true}
	m, err := wire.Scan(raw, limits)
	for range 3 { // each fault is mended once at most
		fault, ok := errors.AsType[*wire.Error](err)
		if !ok || fault.Reason != wire.NotMessage {
			return m, err
		}
		mended, ok := mend(&m, fault.Name)
		if !ok {
			return m, err
		}
		m, err = wire.Scan(mended, limits)
	}
	return m, err
}

// mend is the message without the fault that stands in the member.
func mend(m *wire.Message, name string) ([]byte, bool) {
	all := wire.Value(m.Raw)
	if !all.Exists() || m.Raw[all.Start] != '{' {
		return nil, false
	}
	at := wire.Lookup(m.Raw, all, name)
	switch name {
	case "jsonrpc":
		if at.Exists() {
			return nil, false
		}
		return wire.Splice(m.Raw, wire.Insert(m.Raw, all, []byte(`"jsonrpc":"2.0"`))), true
	case "params", "id":
		if string(at.Of(m.Raw)) != "null" {
			return nil, false
		}
		edit, ok := wire.Remove(m.Raw, all, name)
		if !ok {
			return nil, false
		}
		return wire.Splice(m.Raw, edit), true
	}
	return nil, false
}
