// Package browser tests the status page in a real browser, which looks at a
// real hub with servers that work and servers that do not.
package browser

import (
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
