package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func ids(events []*event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.id()+"="+string(e.raw[:min(len(e.raw), 8)]))
	}
	return strings.Join(all, " ")
}

// check fails the test if the sums or links of a history do not fit what is in
// it.
func (h *history) check(t *testing.T, logs ...*eventLog) {
	t.Helper()
	events, bytes, told := 0, 0, 0
	for _, l := range logs {
		sum := 0
		kept := map[*track]int{}
		for _, e := range l.events {
			sum += len(e.raw) + eventCost
			kept[e.at]++
			if e.at.number == standing {
				told++
			}
		}
		for at, n := range kept {
			if at.kept != n || l.tracks[at.number] != at {
				t.Errorf("track %d has %d events and says %d", at.number, n, at.kept)
			}
		}
		if sum != l.bytes {
			t.Errorf("a session has %d bytes and says %d", sum, l.bytes)
		}
		events, bytes = events+len(l.events), bytes+sum
	}
	if h.bytes != bytes || h.all.Len() != events || h.told.Len() != told {
		t.Errorf("%d bytes in %d events, %d of them told, and the history says %d in %d, and %d", bytes, events, told, h.bytes, h.all.Len(), h.told.Len())
	}
}

// A connection gets the events of one track behind the one it names, and takes
// the track over.
func TestHistory(t *testing.T) {
	var h history
	var mine, other eventLog
	taken := 0
	a, b, c := h.open(&mine, func() { taken++ }), h.open(&mine, nil), h.open(&other, nil)
	for i, at := range []*track{a, b, c, a, h.stand(&mine), b, a} {
		h.record(at, fmt.Append(nil, i))
	}
	for _, tt := range []struct{ id, want string }{
		{"1-0", "1-1=0 1-2=3 1-3=6"},
		{"1-2", "1-3=6"},
		{"1-3", ""},
		{"2-1", "2-2=5"},
		{"0-0", "0-1=4"},
		{"1-4", "none"},
		{"3-0", "none"},
		{"", "none"},
		{"1", "none"},
		{"1-", "none"},
		{"-1", "none"},
		{"+1-0", "none"},
		{"01-0", "none"},
		{"1-0 ", "none"},
		{"99999999999999999999-0", "none"},
		{"1-1-1", "none"},
	} {
		got := "none"
		if at, seq, ok := h.attach(&mine, tt.id, nil); ok {
			events, _, _ := h.after(at, seq)
			got = ids(events)
		}
		if got != tt.want {
			t.Errorf("behind %q came %q, want %q", tt.id, got, tt.want)
		}
	}
	if taken != 1 {
		t.Errorf("the first connection was detached %d times", taken)
	}
	h.check(t, &mine, &other)

	events, over, more := h.after(a, 3)
	if len(events) != 0 || over || more == nil {
		t.Fatal("nothing is to come")
	}
	h.record(a, []byte("7"))
	<-more
	_, _, more = h.after(a, 4)
	h.finish(a, false, time.Now())
	<-more
	if events, over, _ := h.after(a, 3); ids(events) != "1-4=7" || !over {
		t.Errorf("at the end came %s, over is %t", ids(events), over)
	}
	h.drop(&mine)
	if h.record(b, []byte("late")); len(mine.events) > 0 || len(mine.tracks) > 0 {
		t.Error("an ended session keeps something")
	}
	h.check(t, &mine, &other)
	h.drop(&other)
	if h.bytes != 0 || h.all.Len() != 0 || h.read.Len() != 0 {
		t.Errorf("%d bytes are left", h.bytes)
	}
}

// A session keeps so many events, so many bytes, and its newest event in any
// case; all sessions together forget the oldest first.
func TestHistoryLimits(t *testing.T) {
	var h history
	var one eventLog
	gone, at := h.open(&one, nil), h.open(&one, nil)
	h.record(gone, []byte("x"))
	h.finish(gone, false, time.Now())
	for range 2 * logEvents {
		h.record(at, []byte("x"))
	}
	if len(one.events) != logEvents || one.tracks[1] != nil {
		t.Errorf("%d events are kept, and a track without events is %v", len(one.events), one.tracks[1])
	}
	h.record(at, make([]byte, logBytes-2*eventCost-1))
	if len(one.events) != 2 {
		t.Errorf("%d events are kept besides a large one", len(one.events)-1)
	}
	h.record(at, make([]byte, 2*logBytes))
	if len(one.events) != 1 {
		t.Errorf("%d events are kept besides one that is too large", len(one.events)-1)
	}
	h.check(t, &one)

	logs := []*eventLog{&one}
	for range allBytes/logBytes + 1 {
		l := &eventLog{}
		logs = append(logs, l)
		h.record(h.stand(l), make([]byte, logBytes-eventCost))
	}
	h.check(t, logs...)
	if h.bytes > allBytes || len(one.events) > 0 || len(logs[1].events) > 0 || len(logs[len(logs)-1].events) != 1 {
		t.Errorf("%d bytes are kept", h.bytes)
	}
	h.record(at, make([]byte, allBytes))
	if h.bytes != 0 {
		t.Errorf("%d bytes are kept besides a message larger than all that may be", h.bytes)
	}
	h.check(t, logs...)
}

// What was told outside of requests is forgotten after a while, and the stream
// goes on.
func TestHistoryTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		var l eventLog
		h.record(h.open(&l, nil), []byte("a"))
		for range 2 {
			h.record(h.stand(&l), []byte("b"))
			time.Sleep(time.Minute)
		}
		h.check(t, &l)
		time.Sleep(keepTold - 2*time.Minute - 1)
		h.sweep(time.Now())
		if got := ids(l.events); got != "1-1=a 0-1=b 0-2=b" {
			t.Errorf("too early left is %s", got)
		}
		time.Sleep(time.Nanosecond)
		h.sweep(time.Now())
		if got := ids(l.events); got != "1-1=a 0-2=b" {
			t.Errorf("left is %s", got)
		}
		time.Sleep(keepTold)
		h.sweep(time.Now())
		if _, seq, ok := h.attach(&l, "0-0", nil); !ok || seq != 0 || h.record(h.stand(&l), []byte("c")) != "0-3" {
			t.Error("the stream is not the same any more")
		}
		h.check(t, &l)
		h.drop(&l)
		h.check(t, &l)
	})
}

// What a client has got is forgotten after a while, what it has not is not.
func TestHistorySweep(t *testing.T) {
	var h history
	var l eventLog
	now := time.Now()
	read, unread, silent := h.open(&l, nil), h.open(&l, nil), h.open(&l, nil)
	for _, at := range []*track{read, unread} {
		h.record(at, []byte("x"))
		h.finish(at, at == read, now)
	}
	h.finish(silent, true, now)
	if len(l.tracks) != 2 {
		t.Errorf("%d tracks are kept", len(l.tracks))
	}
	h.sweep(now.Add(keepRead - 1))
	if len(l.events) != 2 {
		t.Error("events were forgotten too early")
	}
	h.sweep(now.Add(keepRead))
	if ids(l.events) != "2-1=x" || len(l.tracks) != 1 || h.read.Len() != 0 {
		t.Errorf("left is %s", ids(l.events))
	}
	h.check(t, &l)
}

func FuzzEventID(f *testing.F) {
	for _, seed := range []string{"0-0", "1-18446744073709551615", "1-18446744073709551616", "-", "1--1", "０-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if track, seq, ok := parseEventID(id); ok && eventID(track, seq) != id {
			t.Errorf("%q is read as %d and %d", id, track, seq)
		}
	})
}
