package bridge

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// topics are the resources that the client has subscribed to: the requests, as it
// sent them, by URI.
type topics map[string][]byte

func newTopics() topics { return make(topics) }

func (t topics) subscribed(raw []byte) {
	if uri, ok := topicOf(raw); ok {
		t[uri] = raw
	}
}

func (t topics) unsubscribed(raw []byte) {
	if uri, ok := topicOf(raw); ok {
		delete(t, uri)
	}
}

// topicOf is the URI of a request; raw is nil for one in a batch, which is not
// repeated.
func topicOf(raw []byte) (string, bool) {
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		return "", false
	}
	return wire.String(m.Raw, m.Member("uri"))
}

// again returns the requests as they are sent to another hub, under ids of the
// bridge's own.
func (t topics) again() [][]byte {
	var all [][]byte
	for i, uri := range slices.Sorted(maps.Keys(t)) {
		m, err := wire.Scan(t[uri], wire.Limits{})
		if err != nil {
			continue // it was read before
		}
		id := wire.AppendString(nil, topicID+strconv.Itoa(i))
		all = append(all, wire.Splice(m.Raw, wire.Replace(m.ID, id)))
	}
	return all
}

// topicID is the beginning of the ids of repeated subscriptions.
const topicID = ownID + " subscription "

// answered reports whether an answer is that to a repeated subscription, of which
// the client hears nothing. One that is refused, as by a server that is gone, is
// kept for the next hub.
func (topics) answered(m *wire.Message) bool {
	id, ok := wire.String(m.Raw, m.ID)
	return ok && strings.HasPrefix(id, topicID)
}
