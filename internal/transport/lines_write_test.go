package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowPeer is a writer whose other side takes as many bytes as it is told to.
// It fails once it is closed.
type slowPeer struct {
	takes  chan int // how many bytes the next write takes; fewer than it has is a failure
	closed chan struct{}
	got    []string // what each write brought
}

func newSlowPeer() *slowPeer {
	return &slowPeer{takes: make(chan int), closed: make(chan struct{})}
}

func (p *slowPeer) Write(b []byte) (int, error) {
	select {
	case n := <-p.takes:
		n = min(n, len(b))
		p.got = append(p.got, string(b[:n]))
		if n < len(b) {
			return n, io.ErrShortWrite
		}
		return n, nil
	case <-p.closed:
		return 0, os.ErrClosed
	}
}

func (p *slowPeer) Close() error {
	close(p.closed)
	return nil
}

const everything = 1 << 30

// writeAs starts a Write and returns its result to come. It returns when the
// message waits in the queue, or is with the peer.
func writeAs(ctx context.Context, l *Lines, msg string) <-chan error {
	result := make(chan error, 1)
	go func() { result <- l.Write(ctx, []byte(msg)) }()
	synctest.Wait()
	return result
}

func TestWriteTogetherAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := newSlowPeer()
		l := NewLines(strings.NewReader(""), peer, LinesOptions{})
		defer l.Close()
		var results []<-chan error
		for _, msg := range []string{"1", "2", "3", strings.Repeat("4", maxBatch), "5", "{\r\n\"six\":\n6}"} {
			results = append(results, writeAs(t.Context(), l, msg))
		}
		for range 5 {
			peer.takes <- everything
		}
		for _, result := range results {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
		want := []string{"1\n", "2\n3\n", strings.Repeat("4", maxBatch-4096), strings.Repeat("4", 4096) + "\n", "5\n{  \"six\": 6}\n"}
		if !slices.Equal(peer.got, want) {
			t.Errorf("%.30q", peer.got)
		}
	})
}

func TestWriteWithdraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := newSlowPeer()
		l := NewLines(strings.NewReader(""), peer, LinesOptions{})
		defer l.Close()
		limited, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		begun := writeAs(limited, l, "begun")
		withdrawn := writeAs(limited, l, "withdrawn")
		waits := writeAs(t.Context(), l, "waits")
		time.Sleep(time.Hour) // in the bubble's time
		if err := <-begun; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotSent) {
			t.Errorf("a message that was begun: %v", err)
		}
		if err := <-withdrawn; !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNotSent) {
			t.Errorf("a message that was not begun: %v", err)
		}
		if err := l.Write(limited, []byte("late")); !errors.Is(err, ErrNotSent) {
			t.Errorf("a message whose time was over before: %v", err)
		}
		peer.takes <- everything
		peer.takes <- everything
		if err := <-waits; err != nil {
			t.Error(err)
		}
		if want := []string{"begun\n", "waits\n"}; !slices.Equal(peer.got, want) {
			t.Errorf("%q", peer.got)
		}
	})
}

func TestWriteFails(t *testing.T) {
	for taken, want := range map[int][]string{
		0:  {"not sent", "not sent", "not sent"},
		3:  {"unknown", "not sent", "not sent"},
		4:  {"sent", "not sent", "not sent"}, // the line end included
		5:  {"sent", "unknown", "not sent"},
		11: {"sent", "sent", "unknown"},
	} {
		synctest.Test(t, func(t *testing.T) {
			peer := newSlowPeer()
			l := NewLines(strings.NewReader(""), peer, LinesOptions{})
			defer l.Close()
			first := writeAs(t.Context(), l, "first")
			var results []<-chan error
			for _, msg := range []string{"one", "two", "three"} {
				results = append(results, writeAs(t.Context(), l, msg))
			}
			peer.takes <- everything
			peer.takes <- taken
			if err := <-first; err != nil {
				t.Error(err)
			}
			for i, result := range results {
				if got := fate(<-result); got != want[i] {
					t.Errorf("%d bytes taken, message %d: %s, want %s", taken, i, got, want[i])
				}
			}
			synctest.Wait()
			err := l.Write(t.Context(), []byte("more"))
			if !errors.Is(err, ErrNotSent) || !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("on a stream that has failed: %v", err)
			}
		})
	}
}

func fate(err error) string {
	switch {
	case err == nil:
		return "sent"
	case errors.Is(err, ErrNotSent):
		return "not sent"
	default:
		return "unknown"
	}
}

func TestWriteFailsWithinLargeMessage(t *testing.T) {
	large := strings.Repeat("x", 2*maxBatch)
	for _, test := range []struct {
		takes []int
		want  string
	}{
		{[]int{0}, "not sent"},
		{[]int{1}, "unknown"},
		{[]int{everything, 0}, "unknown"},
		{[]int{everything, 4096}, "unknown"},
		{[]int{everything, 4097}, "sent"},
	} {
		synctest.Test(t, func(t *testing.T) {
			peer := newSlowPeer()
			l := NewLines(strings.NewReader(""), peer, LinesOptions{})
			defer l.Close()
			result := writeAs(t.Context(), l, large)
			for _, n := range test.takes {
				peer.takes <- n
			}
			if got := fate(<-result); got != test.want {
				t.Errorf("%v: %s, want %s", test.takes, got, test.want)
			}
		})
	}
}

func TestCloseEndsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLines(strings.NewReader(""), newSlowPeer(), LinesOptions{})
		first := writeAs(t.Context(), l, "first")
		second := writeAs(t.Context(), l, "second")
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, err := range []error{<-first, <-second, l.Write(t.Context(), []byte("third"))} {
			if !errors.Is(err, ErrNotSent) {
				t.Error(err)
			}
		}
	})
}

// pipes connects two streams by pipes of the system.
func pipes(t testing.TB) (a, b *Lines) {
	t.Helper()
	aR, bW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	bR, aW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	a, b = NewLines(aR, aW, LinesOptions{}), NewLines(bR, bW, LinesOptions{})
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{a, b, aR, bR} {
			_ = c.Close()
		}
	})
	return a, b
}

func TestManyWritersOnePipe(t *testing.T) {
	const writers, each = 8, 200
	a, b := pipes(t)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				size := 1 + (w*7919+n*104729)%500
				if n%50 == w {
					size = 3 * maxBatch
				}
				msg := fmt.Appendf(nil, `{"w":%d,"n":%d,"fill":%q}`, w, n, bytes.Repeat([]byte{byte('a' + w)}, size))
				if err := a.Write(t.Context(), msg); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var next [writers]int
	for range writers * each {
		msg, err := b.Read()
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			W, N int
			Fill string
		}
		if err := json.Unmarshal(msg, &m); err != nil {
			t.Fatal(err)
		}
		if m.N != next[m.W] || strings.Trim(m.Fill, string(rune('a'+m.W))) != "" {
			t.Errorf("message %d of writer %d, want %d", m.N, m.W, next[m.W])
		}
		next[m.W]++
	}
	all.Wait()
}

// A peer that does not read must hold up nobody, and gets what was begun as a
// whole once it reads again.
func TestPeerDoesNotRead(t *testing.T) {
	a, b := pipes(t)
	large := append(append([]byte(`{"a":"`), bytes.Repeat([]byte("x"), 1<<20)...), `"}`...)
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan error, 1)
	go func() { begun <- a.Write(ctx, large) }()
	if _, err := b.in.Peek(1); err != nil {
		t.Fatal(err)
	}
	limited, cancelLimited := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancelLimited()
	if err := a.Write(limited, []byte(`{"lost":1}`)); !errors.Is(err, ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a message behind one that hangs: %v", err)
	}
	cancel()
	if err := <-begun; !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotSent) {
		t.Errorf("a message that hangs: %v", err)
	}
	last := make(chan error, 1)
	go func() { last <- a.Write(t.Context(), []byte(`{"last":1}`)) }()
	for _, want := range []string{string(large), `{"last":1}`} {
		if msg, err := b.Read(); string(msg) != want || err != nil {
			t.Errorf("%.20q, %v, want %.20q", msg, err, want)
		}
	}
	if err := <-last; err != nil {
		t.Error(err)
	}
}

// A message that fits into the pipe in part goes out in two writes, by two
// goroutines; nothing may get lost or mixed up in between.
func TestPipeFills(t *testing.T) {
	for _, size := range []int{100, 1000, 5000, 30_000, 60_000} {
		a, b := pipes(t)
		message := func(n int) string { return fmt.Sprintf(`{"n":%d,"fill":"%s"}`, n, strings.Repeat("x", size)) }
		var want []string
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		var err error
		for n := 0; err == nil; n++ {
			if err = a.Write(ctx, []byte(message(n))); !errors.Is(err, ErrNotSent) {
				want = append(want, message(n))
			}
		}
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		last := make(chan error, 1)
		go func() { last <- a.Write(t.Context(), []byte(`{"last":1}`)) }()
		for i, want := range append(want, `{"last":1}`) {
			if msg, err := b.Read(); string(msg) != want || err != nil {
				t.Fatalf("message %d of %d bytes: %.20q, %v, want %.20q", i, size, msg, err, want)
			}
		}
		if err := <-last; err != nil {
			t.Error(err)
		}
	}
}

func TestPeerHangsUp(t *testing.T) {
	aR, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	peer, aW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	a := NewLines(aR, aW, LinesOptions{})
	defer aR.Close()
	defer a.Close()
	hanging := make(chan error, 1)
	go func() { hanging <- a.Write(t.Context(), make([]byte, 1<<20)) }()
	if _, err := peer.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = peer.Close()
	_ = theirs.Close()
	if got := fate(<-hanging); got != "unknown" {
		t.Errorf("a message that was begun: %s", got)
	}
	if got := fate(a.Write(t.Context(), []byte("{}"))); got != "not sent" {
		t.Errorf("a message after the end: %s", got)
	}
	if _, err := a.Read(); err != io.EOF {
		t.Errorf("read: %v", err)
	}
}
