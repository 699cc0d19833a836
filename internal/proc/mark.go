package proc

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"os"
	"slices"
	"strings"
)

// MarkVariable is the environment variable by which the processes of a tree are
// known wherever they go. Its value is the mark of the tree, after the marks of
// the trees in which the hub itself runs, with colons between. What a server
// starts inherits it, and on Linux ends with the server. A program that is to
// outlive the server that starts it is started without the variable, or with
// an empty one.
const MarkVariable = "TOOLCRIB_TREE"

// randomLength is that of each half of a mark.
const randomLength = 16

// newMark makes the mark of a tree: 16 hexadecimal digits of its own, and 16
// that are those of the hub's life, run.
func newMark(run string) string { return randomHex() + "-" + run }

// runOf is the life of a hub in which a mark was made, and empty if it is no
// mark.
func runOf(mark string) string {
	own, run, ok := strings.Cut(mark, "-")
	if !ok || !isRandomHex(own) || !isRandomHex(run) {
		return ""
	}
	return run
}

func randomHex() string {
	var b [randomLength / 2]byte
	_, _ = rand.Read(b[:]) // never fails, as it says
	return hex.EncodeToString(b[:])
}

func isRandomHex(s string) bool {
	return len(s) == randomLength && strings.Trim(s, "0123456789abcdef") == ""
}

// marked returns the environment with a mark added to those that this process
// has itself.
func marked(env []string, mark string) []string {
	if outer := os.Getenv(MarkVariable); outer != "" {
		mark = outer + ":" + mark
	}
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, MarkVariable+"=") })
	return append(env, MarkVariable+"="+mark)
}

// marksIn returns the marks that an environment has, as /proc shows it: each
// variable followed by a NUL.
func marksIn(environ []byte) []string {
	const entry = MarkVariable + "="
	for len(environ) > 0 {
		at := bytes.Index(environ, []byte(entry))
		if at < 0 {
			return nil
		}
		value := environ[at+len(entry):]
		if at == 0 || environ[at-1] == 0 {
			value, _, _ = bytes.Cut(value, []byte{0})
			return strings.Split(string(value), ":")
		}
		environ = value
	}
	return nil
}
