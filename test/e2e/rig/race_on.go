//go:build race

package rig

// RaceEnabled says whether the tests, and so the hub that they start, have the race
// detector, which makes everything many times as slow.
const RaceEnabled = true
