package bridge

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// questions are what the hub has asked the client and what was not answered. Hubs
// number their questions alike, so that those of every hub but the first get ids
// that no other one's have: an answer that comes late must not be taken for that
// to another question.
type questions struct {
	hubs int // before this one
	n    int
	open map[string]question // by the id that the client has been given
}

// question is a request of the hub's to the client.
type question struct {
	n     int
	asked []byte // the id, as the hub gave it
	given []byte // as the client has it
}

// next says that what comes from now on is another hub's.
func (qs *questions) next() { qs.hubs++ }

// note takes a request or notification of the hub's, and returns it as the client
// is to get it.
func (qs *questions) note(m *wire.Message) []byte {
	switch {
	case m.Kind == wire.Request:
		qs.n++
		q := question{n: qs.n, asked: m.ID.Of(m.Raw), given: qs.given(m.Raw, m.ID)}
		qs.open[key(q.given, wire.Value(q.given))] = q
		return qs.as(m.Raw, m.ID, q.given)
	case m.MethodName() == protocol.NotificationCancelled:
		id := m.Member("requestId")
		if !id.Exists() {
			return m.Raw
		}
		given := qs.given(m.Raw, id)
		delete(qs.open, key(given, wire.Value(given)))
		return qs.as(m.Raw, id, given)
	}
	return m.Raw
}

// given is the id under which the client gets a question.
func (qs *questions) given(raw []byte, id wire.Span) []byte {
	if qs.hubs == 0 {
		return id.Of(raw)
	}
	return wire.AppendString(nil, strconv.Itoa(qs.hubs)+":"+key(raw, id))
}

func (qs *questions) as(raw []byte, id wire.Span, given []byte) []byte {
	if qs.hubs == 0 {
		return raw
	}
	return wire.Splice(raw, wire.Replace(id, given))
}

// answer is the client's answer as it is to be sent over a connection, which is
// false if nobody waits there for it. It is given out once.
func (b *book) answer(conn *Conn, m *wire.Message) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := key(m.Raw, m.ID)
	q, open := b.questions.open[k]
	if !open || b.conn != conn {
		return nil, false
	}
	delete(b.questions.open, k)
	return wire.Splice(m.Raw, wire.Replace(m.ID, q.asked)), true
}

// unanswerable forgets the open questions if the client can answer no more, and
// returns their ids as the hub gave them, and the connection on which it has asked.
func (b *book) unanswerable() (conn *Conn, ids [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.draining || b.conn == nil {
		return nil, nil
	}
	for k, q := range b.questions.open {
		delete(b.questions.open, k)
		ids = append(ids, q.asked)
	}
	return b.conn, ids
}

// drop forgets the open questions and returns their ids as the client has them,
// in the order of asking.
func (b *book) drop() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.SortedFunc(maps.Values(b.questions.open), func(x, y question) int { return cmp.Compare(x.n, y.n) })
	clear(b.questions.open)
	ids := make([][]byte, len(all))
	for i, q := range all {
		ids[i] = q.given
	}
	return ids
}
