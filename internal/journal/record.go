package journal

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// encode appends a record as a line of JSON, in the shape that it has in the
// API.
func encode(dst []byte, r *hub.CallRecord) []byte {
	line, err := json.Marshal(api.CallRecord{
		Time: r.Time, Subject: r.Subject, Door: string(r.Door), Name: r.Name, Server: r.Server, Tool: r.Tool,
		Outcome: string(r.Outcome), Code: r.Code, Reason: r.Reason,
		Duration: float64(r.Duration) / float64(time.Millisecond), Bytes: r.Bytes,
	})
	if err != nil {
		return dst // a time beyond the year 9999: no call's
	}
	return append(append(dst, line...), '\n')
}

// decode returns the records among the lines, in their order.
func decode(text []byte) []hub.CallRecord {
	var all []hub.CallRecord
	for line := range bytes.Lines(text) {
		var r api.CallRecord
		if json.Unmarshal(line, &r) != nil || r.Time.IsZero() || !known(hub.Outcome(r.Outcome)) {
			continue
		}
		if r.Duration < 0 || r.Duration > longest || r.Bytes < 0 {
			continue
		}
		all = append(all, hub.CallRecord{
			Time: r.Time, Subject: r.Subject, Door: hub.Door(r.Door), Name: r.Name, Server: r.Server, Tool: r.Tool,
			Outcome: hub.Outcome(r.Outcome), Code: r.Code, Reason: r.Reason,
			Duration: time.Duration(r.Duration * float64(time.Millisecond)), Bytes: r.Bytes,
		})
	}
	return all
}

// longest is more milliseconds than any call takes, and few enough for a
// [time.Duration].
const longest = 1e12

func known(o hub.Outcome) bool {
	switch o {
	case hub.OutcomeOK, hub.OutcomeToolError, hub.OutcomeFailed, hub.OutcomeCancelled:
		return true
	}
	return false
}
