package events

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestFollow(t *testing.T) {
	l := begin(t, Options{})
	r := l.Read(Now, Filter{})
	began := time.Now()
	l.publish(0, 1000)
	all := l.next(t, r, 1000)
	for i, e := range all {
		if e.Call == nil || e.Call.Tool != fmt.Sprint("tool", i) {
			t.Fatalf("event %d is %+v", i, e)
		}
		if i > 0 && e.ID <= all[i-1].ID {
			t.Fatalf("the id %d comes after %d", e.ID, all[i-1].ID)
		}
		if e.Time.Before(began.Add(-time.Second)) || e.Time.After(time.Now().Add(time.Second)) {
			t.Fatalf("the time is %v", e.Time)
		}
	}
	rest := l.next(t, l.Read(all[899].ID, Filter{}), 100)
	if diff := cmp.Diff(tools(all[900:]), tools(rest)); diff != "" {
		t.Error(diff)
	}
}

// Of states that are over within a moment none is wanted unless somebody listens.
func TestConflation(t *testing.T) {
	l := begin(t, Options{})
	if !l.bus.Conflates() {
		t.Error("each state is wanted, and nobody listens")
	}
	one, other := l.Read(Now, Filter{}), l.Read(Now, Filter{})
	one.Close()
	if l.bus.Conflates() {
		t.Error("not each state is wanted, and somebody listens")
	}
	other.Close()
	if !l.bus.Conflates() {
		t.Error("each state is wanted, and nobody listens any more")
	}
}

func TestFilter(t *testing.T) {
	l := begin(t, Options{})
	from := l.last
	for _, e := range []hub.Event{
		ended("a"), state("s1", "local", hub.CallCalling), state("s2", "other", hub.CallCalling),
		hub.ServerChanged{Status: hub.Status{Key: "s", State: hub.StateReady}},
		hub.ServerChanged{Status: hub.Status{Key: "z"}},
		hub.ToolsChanged{},
		hub.CallEnded{Call: &hub.CallRecord{Subject: "other", Tool: "theirs"}},
		hub.ResourcesChanged{},
	} {
		l.bus.Publish(e)
	}
	all := l.next(t, l.Read(from, Filter{}), 8)
	for name, tt := range map[string]struct {
		filter Filter
		want   []int // of all
	}{
		"all":      {Filter{}, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		"kinds":    {Filter{Kinds: []string{api.KindCallState, api.KindToolsChanged}}, []int{1, 2, 5}},
		"server":   {Filter{Server: "s"}, []int{0, 3}},
		"sessions": {Filter{Sessions: []string{"s2", "s3"}}, []int{2}},
		"subject":  {Filter{Subject: "local"}, []int{0, 1, 3, 4, 5, 7}},
		"all of them": {
			Filter{Kinds: []string{api.KindCallState}, Sessions: []string{"s2"}, Subject: "local"},
			nil,
		},
	} {
		var want, got []int64
		for _, i := range tt.want {
			want = append(want, all[i].ID)
		}
		r := l.Read(from, tt.filter)
		for {
			next, more, err := r.Next(t.Context(), nil)
			must(t, err)
			for _, e := range next {
				got = append(got, e.ID)
			}
			if more != nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v of %v, want %v", name, got, from, want)
		}
	}
}

// Whoever does not keep up is told how much he has missed, and goes on with what
// is left.
func TestSlowWithoutDatabase(t *testing.T) {
	l := begin(t, Options{Ring: 64 << 10})
	r := l.Read(Now, Filter{})
	l.publish(0, 1)
	l.next(t, r, 1)
	l.publish(1, 1001)
	l.settle(t, 1001)
	all := l.next(t, r, 2)
	gap := all[0].Gap
	if gap == nil || gap.Reason != gapExpired || gap.Missed < 500 || gap.Missed > 999 || all[1].Call.Tool != fmt.Sprint("tool", gap.Missed+1) {
		t.Errorf("got %+v", all[:2])
	}
}

func TestIDsThatAreNone(t *testing.T) {
	l := begin(t, Options{})
	for after, reason := range map[int64]string{0: gapExpired, 12345: gapExpired, l.last + 1e15: gapUnknown} {
		all := l.next(t, l.Read(after, Filter{Kinds: []string{"none"}}), 1)
		if len(all) != 1 || all[0].Gap == nil || all[0].Gap.Reason != reason || all[0].Gap.Missed != 0 {
			t.Errorf("after %d: %+v", after, all)
		}
	}
}

// Events that were published faster than they could be taken are told of, and
// all are accounted for.
func TestRush(t *testing.T) {
	l := begin(t, Options{Ring: 64 << 20})
	r := l.Read(Now, Filter{})
	const n = queue + 5000
	l.mu.Lock() // so that nothing can be taken
	l.publish(0, n)
	l.mu.Unlock()
	published, came, missed := int64(n), int64(0), int64(0)
	for came+missed < published {
		got, more, err := r.Next(t.Context(), nil)
		must(t, err)
		for _, e := range got {
			if v := decoded(t, e); v.Gap == nil {
				came++
			} else if missed += v.Gap.Missed; v.Gap.Reason != gapRush {
				t.Fatalf("got %+v", v.Gap)
			}
		}
		if more == nil {
			continue
		}
		select {
		case <-more:
		case <-time.After(100 * time.Millisecond): // how many were lost is told with the next one
			published++
			l.bus.Publish(ended("next"))
		}
	}
	if missed == 0 || came+missed != published || l.Figures().Missed != missed {
		t.Errorf("%d came and %d were missed, of %d", came, missed, published)
	}
}

// All listeners get everything in order, however many there are, and one that
// never reads stops nobody.
func TestManyListeners(t *testing.T) {
	l := begin(t, Options{})
	stuck := l.Read(Now, Filter{})
	const listeners, events = 1000, 300
	readers := make([]*Reader, listeners)
	for i := range readers {
		readers[i] = l.Read(Now, Filter{})
	}
	var wg sync.WaitGroup
	for _, r := range readers {
		wg.Go(func() {
			n := 0
			for n < events {
				got, more, err := r.Next(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range got {
					if want := fmt.Sprintf("%q", fmt.Sprint("tool", n)); toolOf(e) != want {
						t.Errorf("got %s, want %s", e.event.data(), want)
						return
					}
					n++
				}
				if more != nil {
					<-more
				}
			}
		})
	}
	for i := range events {
		l.publish(i, i+1)
		if i%50 == 0 {
			time.Sleep(time.Millisecond) // so that they are woken in between
		}
	}
	wg.Wait()
	if f := l.Figures(); f.Listeners != listeners+1 || f.Published != events || f.Missed != 0 {
		t.Errorf("the figures are %+v", f)
	}
	for _, r := range readers {
		r.Close()
	}
	if f := l.Figures(); f.Listeners != 1 {
		t.Errorf("the figures are %+v", f)
	}
	if all := l.next(t, stuck, events); all[0].Call.Tool != "tool0" {
		t.Errorf("who did not read finds %+v", all[0])
	}
}

// toolOf is the tool in the data of a call, as JSON.
func toolOf(e Event) string {
	_, rest, _ := strings.Cut(e.event.data(), `"tool":`)
	tool, _, _ := strings.Cut(rest, ",")
	return tool
}
