//go:build unix

package proc

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	runAsChild()
	goleak.VerifyTestMain(m)
}
