package stats

import (
	"os"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// measured is figures of servers and processes that the test says.
type measured struct {
	*Stats
	servers []hub.Status
	usage   map[string]Usage
	asked   []map[string][]int
}

func measure(servers ...hub.Status) *measured {
	m := &measured{servers: servers}
	m.Stats = New(Options{
		Bus: &bus.Bus{}, Started: time.Now(),
		Servers: func() []hub.Status { return m.servers },
		Tools:   func() (int, int) { return 9, 4 },
		Measure: func(leaders map[string][]int) map[string]Usage {
			m.asked = append(m.asked, leaders)
			return m.usage
		},
	})
	return m
}

func TestResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measure(
			hub.Status{Key: "z", State: hub.StateReady, PIDs: []int{1, 2}},
			hub.Status{Key: "builtin", State: hub.StateReady},
			hub.Status{Key: "a", State: hub.StateDegraded, PIDs: []int{3}},
			hub.Status{Key: "gone", State: hub.StateStopping, PIDs: []int{4}},
			hub.Status{Key: "off", State: hub.StateDisabled},
		)
		m.usage = map[string]Usage{"a": {2, 100, 1.5}, "z": {3, 50, .25}, "gone": {}}
		time.Sleep(90 * time.Second)
		r, trees := m.Resources()
		if r.Servers != 5 || r.Running != 3 || r.Processes != 5 || r.Embedded != 4 || r.Known != 9 || r.Uptime != 90*time.Second {
			t.Errorf("got %+v", r)
		}
		if r.RSS == 0 || r.Goroutines < 1 {
			t.Errorf("of itself it says %+v", r)
		}
		if want := []Tree{{"z", []int{1, 2}, m.usage["z"], .25}, {"a", []int{3}, m.usage["a"], 1.5}}; !reflect.DeepEqual(trees, want) {
			t.Errorf("got %+v", trees)
		}
		if want := map[string][]int{"z": {1, 2}, "a": {3}, "gone": {4}}; !reflect.DeepEqual(m.asked[0], want) {
			t.Errorf("asked for %v", m.asked[0])
		}
	})
}

// The figures of this process are its own.
func TestOurselves(t *testing.T) {
	r := ourselves()
	for busy := time.Now(); r.CPU == 0 && time.Since(busy) < 10*time.Second; { // until the system's clock ticks
		r = ourselves()
	}
	if r.RSS < 1<<20 || r.RSS > 1<<40 || r.CPU <= 0 || r.CPU > 1000 {
		t.Errorf("got %+v", r)
	}
	if runtime.GOOS != "linux" {
		return
	}
	before := r.OpenFiles
	for range 50 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if after := ourselves().OpenFiles; before < 3 || after < before+50 || after > before+60 {
		t.Errorf("%d open files, and then %d", before, after)
	}
}

// Processes are looked at when somebody asks, once a second, and not at all if
// no server has any.
func TestMeasuredOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measure(hub.Status{Key: "a", PIDs: []int{1}})
		m.usage = map[string]Usage{"a": {Processes: 1}}
		time.Sleep(time.Hour)
		if len(m.asked) != 0 {
			t.Error("measures unasked")
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { m.Resources() })
		}
		all.Wait()
		time.Sleep(fresh - 1)
		m.Resources()
		if len(m.asked) != 1 {
			t.Errorf("measures %d times", len(m.asked))
		}
		time.Sleep(time.Nanosecond)
		m.Resources()
		if len(m.asked) != 2 {
			t.Errorf("measures %d times", len(m.asked))
		}
		time.Sleep(time.Minute)
		m.servers[0].PIDs = nil
		if r, trees := m.Resources(); len(m.asked) != 2 || r.Processes != 0 || len(trees) != 0 {
			t.Errorf("measures what is not there: %+v, %+v", r, trees)
		}
	})
}

// What processes have spent never falls as long as there are some, whichever of
// them end.
func TestSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measure(hub.Status{Key: "a"})
		for _, step := range []struct {
			pids      []int
			cpu, want float64
		}{
			{[]int{1}, 10, 10},
			{[]int{1}, 12, 12},
			{[]int{1}, 11, 12}, // a child has ended
			{[]int{1}, 14, 15},
			{[]int{2}, 3, 18}, // restarted
			{[]int{2, 3}, 5, 20},
			{[]int{3}, 1, 20}, // one of its instances has ended
			{[]int{3}, 2, 21},
		} {
			m.servers[0].PIDs, m.usage = step.pids, map[string]Usage{"a": {1, 0, step.cpu}}
			if _, trees := m.Resources(); len(trees) != 1 || trees[0].Spent != step.want || trees[0].CPU != step.cpu {
				t.Errorf("at %v: %+v", step, trees)
			}
			time.Sleep(time.Second)
		}
	})
}
