//go:build linux

package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// playPart makes the test binary, re-executed, play a part of the bench instead of running tests.
const playPart = "TOOLCRIB_BENCH_PLAY_PART"

// playParts lets the parts that the test starts be played by its own binary, and returns that.
func playParts(t *testing.T) string {
	t.Helper()
	t.Setenv(playPart, "1")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // Else each part takes a second to end when tested for races.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

func TestMain(m *testing.M) {
	if os.Getenv(playPart) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	// The yardstick can stand in for toolcrib: it reads the same configuration.
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if len(os.Args) != 8 || os.Args[2] != "--config" || os.Args[4] != "--listen" || os.Args[6] != "--data-dir" {
			os.Exit(2)
		}
		os.Args = append(os.Args[:1], "yardstick", "-config", os.Args[3], "-listen", os.Args[5])
	}
	main()
}

// TestBench runs all that can be run without toolcrib, the yardstick standing in for it.
func TestBench(t *testing.T) {
	self := playParts(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := runBench(ctx, options{
		hub: self, before: self, rounds: 1, slot: time.Millisecond, requests: 16, openings: 5, progress: t.Output(),
		only: []string{"a", "c", "d", "e", "f", "h", "p"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var goals []string
	for _, s := range result.sections {
		for _, g := range s.goals {
			goals = append(goals, g.what)
			// What stands in does what it is compared with, but a slot this short says little about how fast, and the CPU
			// time in it may be less than a tick of the clock.
			if credible := g.known && g.got >= 0 && g.got < 100; !credible && !strings.Contains(g.what, "CPU") {
				t.Errorf("goal %q: %v %s (measured: %v) is not credible", g.what, g.got, g.unit, g.known)
			}
			if g.unit == "posts" && g.verdict() != "PASS" {
				t.Errorf("opening a session cost %v upstream posts, want none", g.got)
			}
		}
	}
	for _, s := range result.sections {
		for _, rows := range s.tables {
			column := slices.Index(rows.head, "RSS MiB")
			for _, row := range rows.rows {
				if column >= 0 && (row[column] == "-" || row[column] == "0.0") {
					t.Errorf("%s, %s, %s: the memory is %s MiB", s.title, rows.title, row[0], row[column])
				}
			}
		}
	}
	if len(goals) != 14 {
		t.Errorf("%d goals were measured: %q", len(goals), goals)
	}
	text := result.markdown()
	for _, want := range []string{"## Goals", "PASS", "\n### 11 B, c=64\n", "| direct |", "| yardstick |", "| toolcrib |", "| before |", "| toolcrib, N=50 |", "Judging the arguments"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// TestBenchAlone measures without toolcrib: nothing is claimed about its goals, and what needs it is left out.
func TestBenchAlone(t *testing.T) {
	playParts(t)
	result, err := runBench(t.Context(), options{
		rounds: 2, slot: time.Millisecond, requests: 4, sessions: 20, large: 4, progress: t.Output(), only: []string{"b", "c", "g", "i", "j"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := result.markdown()
	if !strings.Contains(text, "not measured") || strings.Contains(text, "PASS") || strings.Contains(text, "MISS") {
		t.Errorf("without toolcrib, every goal must be reported as not measured:\n%s", text)
	}
	if len(result.sections) != 3 {
		t.Errorf("%d scenarios were run, want b, c and i only", len(result.sections))
	}
	if memory := result.sections[2]; len(memory.tables) != 1 || len(memory.tables[0].rows) != 1 {
		t.Errorf("memory tables are %v, want one row for the yardstick", memory.tables)
	}
}

// TestBrokenHub wants a hub that does not start to fail the run, with what it said.
func TestBrokenHub(t *testing.T) {
	playParts(t)
	_, err := runBench(t.Context(), options{
		hub: "/bin/ls", rounds: 1, slot: time.Millisecond, progress: t.Output(), only: []string{"c"},
	})
	if err == nil || !strings.Contains(err.Error(), "unrecognized option") {
		t.Errorf("a hub that does not start gave %v, want an error with its last words", err)
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose([]string{"c", " a"})
	if err != nil {
		t.Fatal(err)
	}
	if keys := []string{chosen[0].key, chosen[1].key}; !slices.Equal(keys, []string{"c", "a"}) {
		t.Errorf("chose %q", keys)
	}
	if _, err := choose([]string{"z"}); err == nil {
		t.Error("an unknown scenario was accepted")
	}
}

// TestSeries checks ratios taken within a round: the second round was slow for all alike.
func TestSeries(t *testing.T) {
	s := newSeries("slot", []target{{name: direct}, {name: minimum}, {name: subject}})
	for _, factor := range []float64{1, 10, 1} {
		s.add(direct, loadResult{Requests: 1, P50: 100 * factor})
		s.add(minimum, loadResult{Requests: 1, P50: 300 * factor})
		s.add(subject, loadResult{Requests: 1, P50: 400 * factor})
	}
	// How fast a round was in which something went wrong does not count.
	s.add(direct, loadResult{Requests: 1, P50: 1})
	s.add(minimum, loadResult{Requests: 1, P50: 2})
	s.add(subject, loadResult{Requests: 1, P50: 1, Mismatches: 3})
	check := func(what string, got float64, ok bool, want float64) {
		t.Helper()
		if !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", what, got, ok, want)
		}
	}
	got, ok := s.median(subject, p50)
	check("median", got, ok, 400)
	got, ok = s.added(subject, direct, p50)
	check("added p50", got, ok, 300)
	got, ok = s.ratio(subject, direct, p50)
	check("ratio", got, ok, 4)
	got, ok = s.ratioAbove(subject, minimum, direct, p50)
	check("ratio of the added p50", got, ok, 1.5)
	if _, wrong := s.failures(subject); wrong != 3 {
		t.Errorf("%d mismatches, want 3", wrong)
	}
	if _, ok := s.ratio("nobody", direct, p50); ok {
		t.Error("a target that was not measured has a ratio")
	}
	got, ok = median([]float64{4, 1, 2, 3})
	check("median of four", got, ok, 2.5)
}
