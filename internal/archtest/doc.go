// Package archtest holds the rules about the repository that no compiler and
// no linter checks: which package may import which, how packages are named and
// sized, and which words may not appear. It has tests only.
package archtest
