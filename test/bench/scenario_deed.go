//go:build linux

package main

import (
	"context"
	"fmt"
)

// callsByDeed tells apart what a call costs by what its tool says of itself. What may change something is on the disk
// before it is sent.
func callsByDeed(ctx context.Context, t *trial) error {
	const any16, judged16, changing1, changing16 = "reads, takes anything, c=16", "reads, arguments are judged, c=16",
		"may change something, c=1", "may change something, c=16"
	measured, err := t.callsHTTP(ctx, []slot{
		toolSlot(any16, looseTool, 16, minEchoText),
		toolSlot(judged16, echoTool, 16, minEchoText),
		toolSlot(changing1, changingTool, 1, minEchoText),
		toolSlot(changing16, changingTool, 16, minEchoText),
	})
	if err != nil {
		return err
	}
	t.goalRatio("CPU per call that reads, c=16", 2, measured[any16], cpu)
	t.goalRatio("CPU per call that reads, arguments judged, c=16", 2, measured[judged16], cpu)
	t.goalRatio("CPU per call that may change something, c=16", 2, measured[changing16], cpu)
	if free, ok := measured[any16].median(subject, cpu); ok {
		judged, _ := measured[judged16].median(subject, cpu)
		t.report.notes = append(t.report.notes, fmt.Sprintf("Judging the arguments by a schema of one member: %+.1f µs of CPU a call.", (judged-free)*100))
	}
	return nil
}
