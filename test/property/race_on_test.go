//go:build race

package property_test

// raced says that the race detector watches, which takes its time.
const raced = true
