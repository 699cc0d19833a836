package mcp

// SetMaxBytes changes the limit of one message. Sending the real one, 64 MiB,
// takes the race detector a while.
func (d *Door) SetMaxBytes(n int) { d.limits.MaxBytes = n }
