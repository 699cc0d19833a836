// Package soak is the proof that a hub which runs for long leaks nothing and
// loses nothing: thousands of starts, stops, kills, crashes and changes of
// servers under calls, and then neither a process nor a descriptor nor a
// goroutine is left that was not there before, and each call was answered once.
//
// The check runs a thousand of these deeds; SOAK=1 in the environment, as "make
// soak" sets it, makes that ten thousand. SOAK_SEED repeats a run's choices.
package soak
