package transport

import "io"

// instant would write to a pipe what fits in without a wait; the pipes of
// Windows cannot.
type instant struct{}

func newInstant(io.Writer) *instant { return nil }

func (*instant) write([]byte) (int, error) { return 0, nil }
