package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// No more than the gate allows are in at once, and they enter in the order in
// which they came.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(3)
		began := time.Now()
		var mu sync.Mutex
		var order []int
		in, most := 0, 0
		for n := range 10 {
			go func() {
				leave, err := g.enter(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer leave()
				mu.Lock()
				order = append(order, n)
				in++
				most = max(most, in)
				mu.Unlock()
				// No two leave in the same moment, so that no two enter in it.
				time.Sleep(time.Second + time.Duration(n)*10*time.Millisecond)
				mu.Lock()
				in--
				mu.Unlock()
			}()
			synctest.Wait() // it has come before the next one
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if most != 3 || len(order) != 10 || !slices.IsSorted(order) {
			t.Errorf("%d at once, in the order %v", most, order)
		}
		if in != 0 || time.Since(began) != time.Minute {
			t.Errorf("%d are still in", in)
		}
	})
}

// Who gives up waiting takes no place and delays nobody; leaving twice makes
// room for one.
func TestGateIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		leave, err := g.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		gaveUp := make(chan error, 1)
		go func() {
			_, err := g.enter(hurried)
			gaveUp <- err
		}()
		synctest.Wait()
		entered := make(chan func(), 2)
		for range 2 {
			go func() {
				if leave, err := g.enter(t.Context()); err == nil {
					entered <- leave
				}
			}()
		}
		if err := <-gaveUp; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("gave up with %v", err)
		}
		leave()
		leave()
		synctest.Wait()
		if len(entered) != 1 {
			t.Fatalf("%d entered, one had left", len(entered))
		}
		(<-entered)()
		(<-entered)()
	})
}

// Without a bound nobody waits.
func TestGateWithoutBound(t *testing.T) {
	for range 100 {
		if _, err := newGate(0).enter(t.Context()); err != nil {
			t.Error(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newGate(0).enter(ended); err == nil {
		t.Error("entered after its time")
	}
}
