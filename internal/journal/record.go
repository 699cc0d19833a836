package journal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// encode appends a record as a line of JSON, in the shape that it has in the
// API: the very text that encoding/json makes of an [api.CallRecord], in a sixth
// of the time, which every call pays.
func encode(dst []byte, r *hub.CallRecord) []byte {
	line := append(dst, `{"time":"`...)
	line, err := r.Time.AppendText(line)
	if err != nil {
		return dst // a time beyond the year 9999: no call's
	}
	line = append(line, '"')
	line = appendText(line, `,"subject":`, r.Subject)
	line = appendText(line, `,"door":`, string(r.Door))
	line = appendText(line, `,"name":`, r.Name)
	line = appendUnlessEmpty(line, `,"server":`, r.Server)
	line = appendUnlessEmpty(line, `,"tool":`, r.Tool)
	line = appendText(line, `,"outcome":`, string(r.Outcome))
	line = appendUnlessEmpty(line, `,"code":`, r.Code)
	line = appendUnlessEmpty(line, `,"reason":`, r.Reason)
	line = append(line, `,"durationMs":`...)
	line = strconv.AppendFloat(line, float64(r.Duration)/float64(time.Millisecond), 'f', -1, 64)
	line = append(line, `,"bytes":`...)
	line = strconv.AppendInt(line, int64(r.Bytes), 10)
	return append(line, "}\n"...)
}

// appendText appends a member with a text, of which the name is JSON already.
func appendText(dst []byte, name, text string) []byte {
	dst = append(dst, name...)
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, _ := json.Marshal(text) // of a text it never fails
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

func appendUnlessEmpty(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return appendText(dst, name, text)
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
