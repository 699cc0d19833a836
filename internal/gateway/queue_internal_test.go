package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func drain(q *queue) string {
	var all []string
	for {
		raw, more := q.take()
		if more != nil {
			return strings.Join(all, " ")
		}
		all = append(all, string(raw))
	}
}

// Messages keep their order, and a newer one with the same key takes the place
// of one that nobody has taken.
func TestQueue(t *testing.T) {
	var q queue
	for _, m := range []string{"a:", "b:tools", "c:", "d:tools", "e:other", "f:"} {
		raw, key, _ := strings.Cut(m, ":")
		q.put([]byte(raw), key)
	}
	if got := drain(&q); got != "a d c e f" || q.bytes != 0 || q.lost() != 0 {
		t.Errorf("got %q, %d bytes and %d lost", got, q.bytes, q.lost())
	}
}

// Beyond the limits the oldest with a key goes first, and never the newest.
func TestQueueLimits(t *testing.T) {
	var q queue
	q.put([]byte("first"), "")
	q.put([]byte("keyed"), "k")
	for i := range queueLength {
		q.put(fmt.Appendf(nil, "%d", i), "")
	}
	got := drain(&q)
	if want := "0 1 2 "; !strings.HasPrefix(got, want) || q.lost() != 2 {
		t.Errorf("%d lost, left is %.40s", q.lost(), got)
	}

	big := make([]byte, queueBytes+1)
	q.put([]byte("small"), "k")
	q.put(big, "k2")
	if raw, _ := q.take(); len(raw) != len(big) {
		t.Errorf("the newest was dropped for %q", raw)
	}
	q.put([]byte("a"), "k")
	q.put([]byte("b"), "")
	q.put(big, "k") // in the first place
	if raw, _ := q.take(); len(raw) != len(big) || q.bytes != 0 {
		t.Errorf("the one replaced was dropped for %q", raw)
	}
}

// Who waits is woken, also if somebody else waited for the same message.
func TestQueueNext(t *testing.T) {
	var q queue
	got := make(chan string)
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		go func() {
			for {
				raw, ok := q.next(ctx, nil)
				if !ok {
					got <- "over"
					return
				}
				got <- string(raw)
			}
		}()
	}
	for i := range 100 {
		q.put(fmt.Appendf(nil, "%d", i), "")
		if raw := <-got; raw != fmt.Sprint(i) {
			t.Errorf("got %s, want %d", raw, i)
		}
	}
	cancel()
	if a, b := <-got, <-got; a != "over" || b != "over" {
		t.Errorf("the readers got %q and %q", a, b)
	}
	closed := make(chan struct{})
	close(closed)
	if _, ok := q.next(t.Context(), closed); ok {
		t.Error("a closed queue has something")
	}
}
