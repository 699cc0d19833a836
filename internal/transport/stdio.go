package transport

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/proc"
)

// Stdio is the stream to a child process over its standard input and output.
// It reads [io.EOF] when the child has ended.
type Stdio struct {
	*Lines
	process *proc.Process
}

// StartStdio starts a child process and opens the stream to it, which must be
// closed in the end, also when the child ended by itself. Errors are those of
// [proc.Start], and nothing runs then.
func StartStdio(spec proc.Spec, opt LinesOptions) (*Stdio, error) {
	process, err := proc.Start(spec)
	if err != nil {
		return nil, err
	}
	return &Stdio{
		Lines:   NewLines(process.Stdout(), process.Stdin(), opt),
		process: process,
	}, nil
}

// Process is the child.
func (s *Stdio) Process() *proc.Process { return s.process }

// Close closes the stream and stops the child with all it has started, as
// [proc.Process.Stop] does: when ctx ends they are killed at once. It returns
// when they are gone, and may be called again.
func (s *Stdio) Close(ctx context.Context) error {
	// Stop closes standard input too; if the child has ended, it is closed.
	_ = s.Lines.Close()
	return s.process.Stop(ctx)
}
