package fleet

import (
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// breakerRig is a breaker in a bubble of synctest, and the clock of that.
type breakerRig struct {
	*testing.T
	*breaker
}

// calls makes n calls that all end in the same way.
func (r breakerRig) calls(n int, how outcome) {
	r.Helper()
	for range n {
		r.report(time.Now(), r.let(), how)
	}
}

// let is allowed a call.
func (r breakerRig) let() pass {
	r.Helper()
	p, err := r.allow(time.Now())
	if err != nil {
		r.Fatalf("no call is let through: %v", err)
	}
	return p
}

func (r breakerRig) refuses(count string) {
	r.Helper()
	_, err := r.allow(time.Now())
	if err == nil {
		r.Fatal("a call is let through")
	}
	left := strconv.Itoa(int(math.Ceil(time.Until(r.until).Seconds())))
	if err.Code != message.ServerBroken || err.Args["count"] != count || err.Args["server"] != "s" || err.Args["until"] == "" ||
		err.Args["retry_after"] != left || left == "0" {
		r.Errorf("refused with %v, %v", err, err.Args)
	}
}

func (r breakerRig) is(want hub.BreakerState) {
	r.Helper()
	if got := r.state(); got != want {
		r.Errorf("it is %s, want %s", got, want)
	}
}

func breakerTest(t *testing.T, def hub.Breaker, test func(breakerRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(breakerRig{t, newBreaker("s", def)}) })
}

const cooldown = 30 * time.Second

// As many failures in a row as it is set to open the breaker; an answer in
// between begins a new row, and a call that its caller gave up says nothing.
func TestBreakerOpens(t *testing.T) {
	breakerTest(t, hub.Breaker{Failures: 3, Cooldown: cooldown}, func(b breakerRig) {
		b.calls(2, unanswered)
		b.calls(1, answered)
		b.calls(2, unanswered)
		b.calls(5, undecided)
		b.is(hub.BreakerClosed)
		if !b.report(time.Now(), b.let(), unanswered) {
			b.Error("it does not say that it opens")
		}
		b.is(hub.BreakerOpen)
		b.refuses("3")
		time.Sleep(cooldown - 1)
		b.refuses("3")
		b.is(hub.BreakerOpen)
	})
}

// After the time to cool down exactly one call is let through: its answer closes
// the breaker, its failure opens it for as long again.
func TestBreakerTrial(t *testing.T) {
	breakerTest(t, hub.Breaker{Failures: 3, Cooldown: cooldown}, func(b breakerRig) {
		b.calls(3, unanswered)
		time.Sleep(cooldown)
		trial := b.let()
		b.is(hub.BreakerHalfOpen)
		b.refuses("3")
		time.Sleep(cooldown / 2)
		b.refuses("3")
		if !b.report(time.Now(), trial, unanswered) {
			b.Error("it does not say that it opens anew")
		}
		b.is(hub.BreakerOpen)
		b.refuses("4")
		time.Sleep(cooldown - 1)
		b.refuses("4")
		time.Sleep(time.Nanosecond)
		trial = b.let()
		b.refuses("4")
		if !b.report(time.Now(), trial, answered) {
			b.Error("it does not say that it closes")
		}
		b.is(hub.BreakerClosed)
		b.calls(2, unanswered)
		b.is(hub.BreakerClosed)
		b.calls(1, unanswered)
		b.is(hub.BreakerOpen)
	})
}

// A trial whose caller left makes room for another one at once; one of which
// nothing is heard, after the time to cool down. What is heard of it later than
// that still counts.
func TestBreakerTrialIsLost(t *testing.T) {
	breakerTest(t, hub.Breaker{Failures: 1, Cooldown: cooldown}, func(b breakerRig) {
		b.calls(1, unanswered)
		time.Sleep(cooldown)
		if b.report(time.Now(), b.let(), undecided) {
			b.Error("a trial that decided nothing changed something")
		}
		b.is(hub.BreakerOpen)
		first := b.let()
		time.Sleep(cooldown)
		second := b.let()
		b.report(time.Now(), first, undecided)
		b.refuses("1") // the second one is under way
		if !b.report(time.Now(), first, answered) {
			b.Error("the late answer to a trial does not count")
		}
		b.is(hub.BreakerClosed)
		if b.report(time.Now(), second, unanswered) {
			b.Error("a trial of before opened it")
		}
		b.is(hub.BreakerClosed)
	})
}

// How calls end that began before the breaker opened or closed the last time
// decides nothing.
func TestBreakerForgetsOldCalls(t *testing.T) {
	breakerTest(t, hub.Breaker{Failures: 2, Cooldown: cooldown}, func(b breakerRig) {
		slow, slower, slowest := b.let(), b.let(), b.let()
		b.calls(2, unanswered)
		b.report(time.Now(), slow, answered)
		b.is(hub.BreakerOpen)
		time.Sleep(cooldown)
		trial := b.let()
		b.report(time.Now(), slower, unanswered)
		b.report(time.Now(), slow, undecided)
		b.is(hub.BreakerHalfOpen)
		b.refuses("2")
		b.report(time.Now(), trial, answered)
		b.report(time.Now(), slowest, unanswered)
		b.calls(1, unanswered)
		b.is(hub.BreakerClosed)
	})
}

// Without a number of failures there is no breaker; settings count from the
// moment in which they are made.
func TestBreakerIsSet(t *testing.T) {
	breakerTest(t, hub.Breaker{}, func(b breakerRig) {
		b.calls(100, unanswered)
		b.is(hub.BreakerClosed)
		b.set(hub.Breaker{Failures: 3, Cooldown: cooldown})
		b.calls(2, unanswered)
		b.is(hub.BreakerClosed)
		b.set(hub.Breaker{Failures: 1, Cooldown: time.Second})
		b.calls(1, unanswered)
		b.is(hub.BreakerOpen)
		time.Sleep(time.Second)
		trial := b.let()
		b.set(hub.Breaker{})
		b.is(hub.BreakerClosed)
		if b.report(time.Now(), trial, unanswered) {
			b.Error("a breaker that is off has opened")
		}
		b.calls(100, unanswered)
		b.is(hub.BreakerClosed)
	})
}

// Setting the clock of the machine neither opens nor closes anything.
func TestBreakerKeepsItsOwnTime(t *testing.T) {
	b, now := newBreaker("s", hub.Breaker{Failures: 1, Cooldown: cooldown}), time.Now()
	p, err := b.allow(now)
	if err != nil || !b.report(now, p, unanswered) {
		t.Fatalf("it did not open: %v", err)
	}
	if _, err := b.allow(clockSet(now, 24*time.Hour)); err == nil {
		t.Error("a clock that was set forward lets a call through")
	}
	if _, err := b.allow(clockSet(now.Add(cooldown), -24*time.Hour)); err != nil {
		t.Errorf("a clock that was set back does not: %v", err)
	}
}

// With many callers at once there is one trial after each time to cool down,
// and no failure is lost.
func TestBreakerUnderLoad(t *testing.T) {
	breakerTest(t, hub.Breaker{Failures: 50, Cooldown: cooldown}, func(b breakerRig) {
		var opened atomic.Int32
		var work sync.WaitGroup
		passes := make(chan pass, 200)
		everybody := func(f func()) {
			for range cap(passes) {
				work.Go(f)
			}
			work.Wait()
		}
		everybody(func() { passes <- b.let() })
		everybody(func() {
			if b.report(time.Now(), <-passes, unanswered) {
				opened.Add(1)
			}
		})
		if n := opened.Load(); n != 1 {
			b.Fatalf("it opened %d times", n)
		}
		for range 3 {
			time.Sleep(cooldown)
			everybody(func() {
				if p, err := b.allow(time.Now()); err == nil {
					passes <- p
				}
			})
			if n := len(passes); n != 1 {
				b.Fatalf("%d trials", n)
			}
			b.report(time.Now(), <-passes, unanswered)
		}
		time.Sleep(cooldown)
		b.report(time.Now(), b.let(), answered)
		everybody(func() { b.report(time.Now(), b.let(), answered) })
		b.is(hub.BreakerClosed)
	})
}

// A call of a server with which nothing is amiss costs no lock and no memory.
func BenchmarkBreaker(b *testing.B) {
	br := newBreaker("s", hub.Breaker{Failures: 5, Cooldown: cooldown})
	now := time.Now()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, _ := br.allow(now)
			br.report(now, p, answered)
		}
	})
}
