package config

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestRateOf(t *testing.T) {
	for text, want := range map[string]float64{
		"10/s": 10, "100/m": 100. / 60, "1000/h": 1000. / 3600, " 1 / m ": 1. / 60, "0.5/s": 0.5, "1e3/h": 1000. / 3600,
	} {
		if got, ok := rateOf(text, false); !ok || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "10", "/s", "10/", "10/d", "10/sec", "10/s/s", "ten/s", "NaN/s", "10 per second", "10/S"} {
		if got, ok := rateOf(text, false); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	if got, ok := rateOf("2.5", true); !ok || got != 2.5 {
		t.Errorf("2.5 is %v, %v", got, ok)
	}
}

// FuzzRateOf shows that a rate within the bounds is read again as it was
// rendered.
func FuzzRateOf(f *testing.F) {
	f.Add("10/s", false)
	f.Add("100/m", false)
	f.Add("2.5", true)
	f.Fuzz(func(t *testing.T, text string, bare bool) {
		rate, ok := rateOf(text, bare)
		if !ok || !(rate >= minRate && rate <= maxRate) {
			return
		}
		if again := rateText(rate); again != "" {
			if got, ok := rateOf(again, false); !ok || got != rate {
				t.Errorf("%v is rendered as %q, which is %v", rate, again, got)
			}
		}
		gate := hub.Gate{Rate: rate, Burst: usualBurst(rate)}
		checkGate(t, gate)
		server := usualOf(hub.KindStdio)
		server.Key, server.Command, server.Gate = "k", "c", gate
		if diff := cmp.Diff(server, reread(t, server)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// checkGate reports limits that nobody can keep.
func checkGate(t *testing.T, g hub.Gate) {
	t.Helper()
	switch {
	case g.Concurrency < 0 || g.Concurrency > maxConcurrency, g.Queue < 0 || g.Queue > maxWaiting, g.Queue > 0 && g.Concurrency == 0,
		math.IsNaN(g.Rate) || g.Rate < 0 || g.Rate > maxRate, (g.Burst > 0) != (g.Rate > 0), g.Burst > maxBurst:
		t.Errorf("%+v", g)
	}
}

// checkRetry reports tries that could go on for ever.
func checkRetry(t *testing.T, r hub.Retry) {
	t.Helper()
	if r.Max < 0 || r.Max > maxRetries || r.Delay < 0 || r.MaxDelay <= 0 || r.MaxDelay < r.Delay || r.MaxDelay > maxTimeout ||
		!(r.Jitter >= 0 && r.Jitter <= 1) {
		t.Errorf("%+v", r)
	}
}

// checkCalls reports what no server may say about its calls.
func checkCalls(t *testing.T, s hub.Server) {
	t.Helper()
	checkRetry(t, s.Retry)
	checkGate(t, s.Gate)
	if s.ToolCache < 0 || s.ToolCache > maxTimeout {
		t.Errorf("results are kept for %v", s.ToolCache)
	}
	for tool, o := range s.Rules.Override {
		checkGate(t, o.Gate)
		if o.Retry != nil {
			checkRetry(t, *o.Retry)
		}
		if o.Timeout < 0 || o.Timeout > maxTimeout || o.Cache != nil && (*o.Cache < 0 || *o.Cache > maxTimeout) {
			t.Errorf("%s: %+v", tool, o)
		}
	}
}

func TestDaysOf(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "36h": 36 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "5m30s": 330 * time.Second,
		"99999999999999d": 50_000 * day, "1d99999h": day + 99999*time.Hour,
	} {
		if got, ok := daysOf(text); !ok || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1d-5h", "-5h", "1.5d", "90", "1d2d", "never", "1w", "999999999999999999999h"} {
		if got, ok := daysOf(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	for d, want := range map[time.Duration]string{day: "1d", 3650 * day: "3650d", time.Hour: "1h", time.Minute: "1m", 90 * time.Second: "1m30s"} {
		if got := daysText(d); got != want {
			t.Errorf("%v is written as %q, want %q", d, got, want)
		}
	}
}

// FuzzDaysOf shows that no text makes a duration turn over.
func FuzzDaysOf(f *testing.F) {
	for _, text := range []string{"90d", "1d12h", "99999999999d2562047h", "-1d", "1d-5h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := daysOf(text); d < 0 || !ok && d != 0 {
			t.Errorf("%q is %v, %v", text, d, ok)
		}
	})
}
