package gateway

import (
	"container/list"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of what is kept for clients that lose a stream and come back for the
// rest of it.
const (
	logEvents = 256       // in one session
	logBytes  = 256 << 10 // in one session; its newest event is kept even if that alone is larger
	allBytes  = 64 << 20  // in all sessions

	// keepRead is how long the events of a request are kept once its response
	// was written to a client that was there: it may still have been lost on the
	// way.
	keepRead = 30 * time.Second

	// keepTold is how long an event of a standing stream is kept: it was written
	// to a client that was there, who may take a while to find out that its
	// connection is dead.
	keepTold = 5 * time.Minute

	// eventCost is what an event takes besides its message, about.
	eventCost = 192
)

// history is what was sent on the event streams of all sessions (2025-11-25,
// "Resumability and Redelivery"). One lock is enough: it is never held while
// something is written, and a request that is answered at once has no events.
type history struct {
	mu    sync.Mutex
	bytes int
	all   list.List // of *event, oldest first
	read  list.List // of *track whose response was written, oldest first
	told  list.List // of *event of standing streams, oldest first
}

// eventLog is the history of one session. The zero value is an empty one. It is
// guarded by the lock of the history.
type eventLog struct {
	over   bool // the session has ended: nothing more is kept
	tracks map[uint64]*track
	events []*event // oldest first
	bytes  int
	last   uint64 // number of the track that was opened last
}

// standing is the number of the track on which a session's caller is told what
// belongs to none of its requests. The others are one request's each.
const standing = 0

// track is one stream of events. Its connections may change; its events are
// numbered through.
type track struct {
	of     *eventLog
	number uint64
	seq    uint64 // of its newest event
	kept   int    // how many of its events are
	over   bool   // no event follows

	news   chan struct{} // closed when there is something new; nil if nobody waits
	detach func()        // takes the track from the connection that has it; does not block
	lent   bool          // that is one that resumes it, and not the request's own
	read   *list.Element // in history.read
	until  time.Time     // then it is forgotten
}

// event is one message as it was sent. It is never changed.
type event struct {
	at  *track
	seq uint64
	raw []byte
	all *list.Element

	told  *list.Element // in history.told; nil if it was on a request's stream
	until time.Time     // then it is forgotten; only if it is in there
}

func (e *event) id() string { return eventID(e.at.number, e.seq) }

// eventID names an event within its session. It says on which stream it was, so
// that a client which comes back for more gets that stream's events and no other
// one's.
func eventID(track, seq uint64) string {
	var b [44]byte
	id := append(strconv.AppendUint(b[:0], track, 10), '-')
	return string(strconv.AppendUint(id, seq, 10))
}

// parseEventID undoes eventID.
func parseEventID(id string) (track, seq uint64, ok bool) {
	left, right, found := strings.Cut(id, "-")
	track, err1 := strconv.ParseUint(left, 10, 64)
	seq, err2 := strconv.ParseUint(right, 10, 64)
	return track, seq, found && err1 == nil && err2 == nil && eventID(track, seq) == id
}

// open returns a new track for a request; detach is called, with the lock held,
// when its connection is to write nothing more.
func (h *history) open(l *eventLog, detach func()) *track {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.last++
	return h.add(l, l.last, detach)
}

// stand returns the track that is no request's.
func (h *history) stand(l *eventLog) *track {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := l.tracks[standing]; t != nil {
		return t
	}
	return h.add(l, standing, nil)
}

func (h *history) add(l *eventLog, number uint64, detach func()) *track {
	t := &track{of: l, number: number, detach: detach}
	if !l.over {
		if l.tracks == nil {
			l.tracks = make(map[uint64]*track)
		}
		l.tracks[number] = t
	}
	return t
}

// record keeps a message as the next event of a track, and returns the event's
// id. The bytes are the history's from then on.
func (h *history) record(t *track, raw []byte) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.seq++
	if l := t.of; !l.over {
		e := &event{at: t, seq: t.seq, raw: raw}
		e.all = h.all.PushBack(e)
		if t.number == standing {
			e.until, e.told = time.Now().Add(keepTold), h.told.PushBack(e)
		}
		t.kept++
		l.events = append(l.events, e)
		l.bytes += len(raw) + eventCost
		h.bytes += len(raw) + eventCost
		for len(l.events) > 1 && (len(l.events) > logEvents || l.bytes > logBytes) {
			h.remove(l.events[0])
		}
		for h.bytes > allBytes {
			h.remove(h.all.Front().Value.(*event))
		}
	}
	t.tell()
	return eventID(t.number, t.seq)
}

// position is the id of the newest event of a track.
func (h *history) position(t *track) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return eventID(t.number, t.seq)
}

// finish says that no event follows on a track. read tells that its client was
// still there when the last one was written.
func (h *history) finish(t *track, read bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.over, t.detach = true, nil
	t.tell()
	if t.of.over {
		return
	}
	if t.kept == 0 {
		delete(t.of.tracks, t.number)
		return
	}
	if read && t.read == nil {
		t.until, t.read = now.Add(keepRead), h.read.PushBack(t)
	}
}

// attach gives a track to a connection that goes on behind the event with the
// id, and takes it from the one that had it. It reports false if the session
// does not have the track, or not any more, or if there was no such event on it.
func (h *history) attach(l *eventLog, id string, detach func()) (t *track, seq uint64, ok bool) {
	number, seq, ok := parseEventID(id)
	if !ok {
		return nil, 0, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t = l.tracks[number]; t == nil || seq > t.seq {
		return nil, 0, false
	}
	if number != standing {
		if t.detach != nil {
			t.detach()
		}
		t.detach, t.lent = detach, true
	}
	return t, seq, true
}

// after returns the events of a track behind one of them, as far as they are
// kept, and whether none follow. If there are none, more is closed when there is
// something new.
func (h *history) after(t *track, seq uint64) (events []*event, over bool, more <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events = t.of.after(t.number, seq)
	if len(events) == 0 && !t.over && t.news == nil {
		t.news = make(chan struct{})
	}
	return events, t.over, t.news
}

// missed returns what the caller of a session has missed outside of its requests
// since the event with the id, which attach knew, as far as it is kept.
func (h *history) missed(l *eventLog, id string) []*event {
	number, seq, _ := parseEventID(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	return l.after(number, seq)
}

// after returns the events of a track behind one of them. The lock is held.
func (l *eventLog) after(number, seq uint64) []*event {
	var events []*event
	for _, e := range l.events {
		if e.at.number == number && e.seq > seq {
			events = append(events, e)
		}
	}
	return events
}

// drop forgets the history of a session that has ended, and ends the streams that
// resume. A request's own ends with its response, which says why there is none.
func (h *history) drop(l *eventLog) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.over = true
	for len(l.events) > 0 {
		h.remove(l.events[len(l.events)-1])
	}
	for _, t := range l.tracks {
		if t.lent && t.detach != nil {
			t.detach()
		}
		t.detach = nil
		h.forget(t)
	}
	l.tracks, l.events = nil, nil
}

// sweep forgets what was read or told long enough ago.
func (h *history) sweep(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for front := h.told.Front(); front != nil && !now.Before(front.Value.(*event).until); front = h.told.Front() {
		h.remove(front.Value.(*event))
	}
	for front := h.read.Front(); front != nil; front = h.read.Front() {
		t := front.Value.(*track)
		if now.Before(t.until) {
			return
		}
		for _, e := range slices.Clone(t.of.events) {
			if e.at == t {
				h.remove(e)
			}
		}
		h.forget(t)
	}
}

// remove takes one event out, and with the last one of a track that has ended
// the track. The lock is held.
func (h *history) remove(e *event) {
	t, l := e.at, e.at.of
	h.all.Remove(e.all)
	if e.told != nil {
		h.told.Remove(e.told)
	}
	h.bytes -= len(e.raw) + eventCost
	l.bytes -= len(e.raw) + eventCost
	if i := slices.Index(l.events, e); i >= 0 {
		if l.events = slices.Delete(l.events, i, i+1); len(l.events) == 0 {
			l.events = nil // most sessions have none most of the time
		}
	}
	if t.kept--; t.kept == 0 && t.over {
		h.forget(t)
	}
}

// forget takes a track out. The lock is held.
func (h *history) forget(t *track) {
	delete(t.of.tracks, t.number)
	if t.read != nil {
		h.read.Remove(t.read)
		t.read = nil
	}
}

// tell wakes who waits for something new. The lock is held.
func (t *track) tell() {
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}
