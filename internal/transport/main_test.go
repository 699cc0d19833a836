package transport

import (
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childMode is the variable by which the test binary is told to be a child.
const childMode = "TRANSPORT_TEST_CHILD"

func TestMain(m *testing.M) {
	runAsChild()
	goleak.VerifyTestMain(m)
}

// runAsChild makes this process a child of the named behaviour, if it was
// started as one.
func runAsChild() {
	switch os.Getenv(childMode) {
	case "":
		return
	case "echo": // what it reads, after a banner
		_, _ = os.Stdout.WriteString("Welcome to the echo server!\n[INFO] ready\n\n")
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "crash": // after half a message
		_, _ = os.Stderr.WriteString("out of luck\n")
		_, _ = os.Stdout.WriteString("{\"jsonrpc\":\"2.0\"}\r\n{\"half\"")
		os.Exit(7)
	}
	os.Exit(0)
}
