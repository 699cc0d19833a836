package events

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
)

func benchCall() hub.Event {
	return hub.CallEnded{Call: &hub.CallRecord{
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", Time: time.Now(), Method: "tools/call", Subject: "local", Door: hub.DoorMCP,
		Session: "0123456789abcdef", Client: "claude-code", Name: "calculator__calculator", Server: "calculator", Tool: "calculator",
		Verdict: hub.VerdictAllow, Outcome: hub.OutcomeOK, Duration: 1234 * time.Microsecond, Bytes: 321, Trace: "0af7651916cd43dd8448eb211c80319c",
	}}
}

func benchState(status hub.CallStatus) hub.Event {
	return hub.CallStateChanged{State: hub.CallState{
		Session: "0123456789abcdef", Subject: "local", Status: status, Call: "01890a5d-ac96-774b-bcce-b302099a8057", Server: "calculator",
		Tool: "calculator__calculator", Arguments: `{"expression":"2 + 3"}`, Started: time.Now(), MaxRetries: 2,
		Message: "Running calculator__calculator...", Result: []byte(`{"content":[{"type":"text","text":"5"}]}`),
	}}
}

// One call is three events.
func call(i int) hub.Event {
	return [...]hub.Event{benchState(hub.CallCalling), benchState(hub.CallSuccess), benchCall()}[i%3]
}

// BenchmarkTake is what one event takes without anybody listening; writing it
// down is in it where there is a database.
func BenchmarkTake(b *testing.B) {
	three := [...]hub.Event{call(0), call(1), call(2)}
	take := func(b *testing.B, opt Options) {
		l, err := Open(b.Context(), opt)
		must(b, err)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			l.note(taken{event: three[i%3]})
			if i++; opt.DB != nil && i%7500 == 0 {
				l.flush(b.Context())
			}
		}
	}
	b.Run("memory", func(b *testing.B) { take(b, Options{}) })
	b.Run("sqlite", func(b *testing.B) {
		take(b, Options{DB: storetest.Open(b, storetest.SQLite(b)), Node: "n"})
	})
}

// BenchmarkPublish is what it costs whoever publishes: the time of a call. All
// listeners read everything.
func BenchmarkPublish(b *testing.B) {
	for _, listeners := range []int{0, 1000} {
		b.Run(fmt.Sprint("listeners=", listeners), func(b *testing.B) {
			l := begin(b, Options{})
			var wg sync.WaitGroup
			over := make(chan struct{})
			for range listeners {
				r := l.Read(Now, Filter{})
				wg.Go(func() {
					var got []Event
					for {
						var more <-chan struct{}
						got, more, _ = r.Next(b.Context(), got[:0])
						if more == nil {
							continue
						}
						select {
						case <-more:
						case <-over:
							return
						}
					}
				})
			}
			// More than come in a second would be dropped: they come in bursts.
			e, took, n := call(1), time.Duration(0), 0
			for b.Loop() {
				began := time.Now()
				for range 64 {
					l.bus.Publish(e)
				}
				took += time.Since(began)
				n += 64
				time.Sleep(time.Millisecond)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/event")
			b.ReportMetric(0, "ns/op")
			close(over)
			wg.Wait()
		})
	}
}
