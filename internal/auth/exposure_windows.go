package auth

import "io/fs"

// exposure finds nothing: a file inherits the access list of the user's
// profile, and its mode says nothing about it.
func exposure(fs.FileInfo) string { return "" }
