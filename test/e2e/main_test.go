// Package e2e tests the whole hub from outside: real clients of both eras on
// one side, real servers on the other, and the hub's own binary in between.
package e2e

import (
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
