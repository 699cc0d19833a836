//go:build linux

package main

import (
	"math"
	"slices"
)

// series holds what one slot measured, by target and round.
type series struct {
	name    string
	targets []string
	results map[string][]loadResult
}

// figure picks one number out of a result.
type figure func(loadResult) float64

func rps(r loadResult) float64  { return r.RPS }
func p50(r loadResult) float64  { return r.P50 }
func p99(r loadResult) float64  { return r.P99 }
func p999(r loadResult) float64 { return r.P999 }
func cpu(r loadResult) float64  { return r.CPUPer10k }
func rss(r loadResult) float64  { return float64(r.RSSKiB) / 1024 }

func newSeries(name string, targets []target) *series {
	s := &series{name: name, results: map[string][]loadResult{}}
	for _, t := range targets {
		s.targets = append(s.targets, t.name)
	}
	return s
}

// add appends the result of the next round.
func (s *series) add(target string, result loadResult) {
	s.results[target] = append(s.results[target], result)
}

// median is that of a figure over the rounds; false if the target was not measured.
func (s *series) median(target string, f figure) (float64, bool) {
	return s.combine(func(of func(string) float64) float64 { return of(target) }, f, target)
}

// ratio is the median over the rounds of one target's figure by another's in the same round.
func (s *series) ratio(target, base string, f figure) (float64, bool) {
	return s.combine(func(of func(string) float64) float64 { return of(target) / of(base) }, f, target, base)
}

// ratioAbove is ratio with the figure of a third target taken off both: what the two add to it.
func (s *series) ratioAbove(target, base, floor string, f figure) (float64, bool) {
	return s.combine(func(of func(string) float64) float64 {
		// Noise can make the floor higher than what stands on it; such a round says nothing.
		if added := of(base) - of(floor); added > 0 {
			return (of(target) - of(floor)) / added
		}
		return math.NaN()
	}, f, target, base, floor)
}

// added is the median over the rounds of what a target's figure is above another's in the same round.
func (s *series) added(target, floor string, f figure) (float64, bool) {
	return s.combine(func(of func(string) float64) float64 { return of(target) - of(floor) }, f, target, floor)
}

// combine is the median of a term over the rounds in which all these targets answered, and answered rightly: how fast
// errors are says nothing. The term gets at the figure of a target in the round; it may say that it has no value.
func (s *series) combine(term func(of func(target string) float64) float64, f figure, targets ...string) (float64, bool) {
	var values []float64
	for round := 0; ; round++ {
		good := true
		for _, target := range targets {
			if round >= len(s.results[target]) {
				return median(values)
			}
			good = good && s.results[target][round].good()
		}
		value := term(func(target string) float64 { return f(s.results[target][round]) })
		if good && !math.IsNaN(value) && !math.IsInf(value, 0) {
			values = append(values, value)
		}
	}
}

// failures counts a target's failed and wrongly answered requests.
func (s *series) failures(target string) (failed, wrong int64) {
	for _, result := range s.results[target] {
		failed += result.Errors
		wrong += result.Mismatches
	}
	return failed, wrong
}

// median returns the middle of the values, or the mean of the two in the middle; false if there are none.
func median(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle], true
	}
	return (sorted[middle-1] + sorted[middle]) / 2, true
}
