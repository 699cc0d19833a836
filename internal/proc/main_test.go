//go:build unix

package proc

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/sandbox"
)

func TestMain(m *testing.M) {
	if handled, code := sandbox.Launch(os.Args[1:]); handled {
		os.Exit(code)
	}
	runAsChild()
	goleak.VerifyTestMain(m)
}
