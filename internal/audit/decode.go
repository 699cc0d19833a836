package audit

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// decode fills r, and returns the intent that an outcome refers to, from the
// body of an entry. What it does not know it passes over, so that a newer
// program may add members; ok is false if the body is no object.
func decode(body string, r *hub.CallRecord) (intent int64, ok bool) {
	ok = members(body, func(name, value string) {
		switch name {
		case "time":
			r.Time = time.UnixMicro(number(value)).UTC()
		case "method":
			r.Method = text(value)
		case "subject":
			r.Subject = text(value)
		case "door":
			r.Door = hub.Door(text(value))
		case "session":
			r.Session = text(value)
		case "server":
			r.Server = text(value)
		case "tool":
			r.Tool = text(value)
		case "outcome":
			r.Outcome = hub.Outcome(text(value))
		case "code":
			r.Code = text(value)
		case "us":
			r.Duration = micros(number(value))
		case "bytes":
			r.Bytes = int(number(value))
		case "cached":
			r.Cached = value == "true"
		case "changing":
			r.Changing = value == "true"
		case "name":
			r.Name = text(value)
		case "client":
			r.Client = text(value)
		case "group":
			r.Group = text(value)
		case "verdict":
			r.Verdict = text(value)
		case "mode":
			r.Mode = hub.PolicyMode(text(value))
		case "risk":
			r.Risk = text(value)
		case "rule":
			r.Rule = text(value)
		case "policy":
			r.Policy = text(value)
		case "approval":
			r.Approval = text(value)
		case "grant":
			r.Grant = text(value)
		case "tenant":
			r.Tenant = text(value)
		case "queuedUs":
			r.Queued = micros(number(value))
		case "heldUs":
			r.Held = micros(number(value))
		case "trace":
			r.Trace = text(value)
		case "reason":
			r.Reason = text(value)
		case "attempts":
			r.Attempts = attempts(value)
		case "digest":
			r.Digest = text(value)
		case "arguments":
			r.Arguments = value
			if strings.HasPrefix(value, `"`) {
				r.Arguments = text(value)
			}
		case "intent":
			intent = number(value)
		}
	})
	return intent, ok
}

// attempts reads the attempts of a call, which are rare.
func attempts(value string) []hub.Attempt {
	var list []struct {
		Us     int64  `json:"us"`
		Server string `json:"server"`
		Code   string `json:"code"`
	}
	if json.Unmarshal([]byte(value), &list) != nil {
		return nil
	}
	all := make([]hub.Attempt, len(list))
	for i, a := range list {
		all[i] = hub.Attempt{Server: a.Server, Code: a.Code, Duration: micros(a.Us)}
	}
	return all
}

func number(value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// text is a JSON string; "" for anything else.
func text(value string) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if inner := value[1 : len(value)-1]; strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if json.Unmarshal([]byte(value), &s) != nil {
		return ""
	}
	return s
}

// members gives f the members of a compact JSON object, their values as they
// are written. It reports whether it is one, as far as it looks: what is within
// the values is not read.
func members(body string, f func(name, value string)) bool {
	if len(body) < 2 || body[0] != '{' {
		return false
	}
	at := 1
	if body[at] == '}' {
		return at == len(body)-1
	}
	for {
		end := skip(body, at)
		if end < 0 || body[at] != '"' || end >= len(body) || body[end] != ':' {
			return false
		}
		name := text(body[at:end])
		at = end + 1
		if end = skip(body, at); end < 0 || end >= len(body) {
			return false
		}
		f(name, body[at:end])
		switch body[end] {
		case ',':
			at = end + 1
		case '}':
			return end == len(body)-1
		default:
			return false
		}
	}
}

// skip returns the index after the JSON value that begins at an index; -1 if
// it has no end.
func skip(s string, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if i >= len(s) {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return end(i, at)
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':':
			if depth == 0 {
				return end(i, at)
			}
		}
	}
	return -1
}

// end is where a plain value ends that has at least one character.
func end(i, at int) int {
	if i == at {
		return -1
	}
	return i
}
