// Package soak is the proof that a hub which runs for long leaks nothing and
// loses nothing: thousands of starts, stops, kills, crashes and changes of
// servers under calls, and then neither a process nor a descriptor nor a
// goroutine is left that was not there before, and each call was answered once.
// The same of voice assistants: endpoints and devices of every dialect whose
// connections end in every way that there is.
//
// The check runs a thousand of these deeds, and assistants for 90 s; SOAK=1 in the
// environment, as "make soak" sets it, makes that ten thousand, and half an hour.
// SOAK_TIME=10m sets the time of assistants. SOAK_SEED repeats a run's choices.
package soak
