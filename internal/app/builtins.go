package app

import "github.com/toolcrib/toolcrib/internal/builtin"

// Builtins are the keys of the servers that are part of the program, in the
// order in which they are listed.
func Builtins() []string { return builtin.Keys() }
