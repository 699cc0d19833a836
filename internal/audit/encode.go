package audit

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// longestText is how many bytes of a text are kept.
const longestText = 4 << 10

// encode makes what is kept of a call, without the brace at its end: head is
// what every entry of the call has, tail its arguments, which an outcome leaves
// to its intent. By hand, as every call pays for it.
func encode(r *hub.CallRecord) (head, tail []byte) {
	head = make([]byte, 0, 512)
	head = append(head, `{"time":`...)
	head = strconv.AppendInt(head, r.Time.UnixMicro(), 10)
	head = appendText(head, `,"method":`, r.Method)
	head = appendText(head, `,"subject":`, r.Subject)
	head = appendText(head, `,"door":`, string(r.Door))
	head = appendText(head, `,"session":`, r.Session)
	head = appendText(head, `,"server":`, r.Server)
	head = appendText(head, `,"tool":`, r.Tool)
	head = appendText(head, `,"outcome":`, string(r.Outcome))
	head = appendText(head, `,"code":`, r.Code)
	head = appendNumber(head, `,"us":`, r.Duration.Microseconds())
	head = appendNumber(head, `,"bytes":`, int64(r.Bytes))
	head = appendFlag(head, `,"cached":true`, r.Cached)
	head = appendFlag(head, `,"changing":true`, r.Changing)
	head = appendText(head, `,"name":`, r.Name)
	head = appendText(head, `,"client":`, r.Client)
	head = appendText(head, `,"group":`, r.Group)
	head = appendText(head, `,"verdict":`, r.Verdict)
	head = appendText(head, `,"mode":`, string(r.Mode))
	head = appendText(head, `,"risk":`, r.Risk)
	head = appendText(head, `,"rule":`, r.Rule)
	head = appendText(head, `,"policy":`, r.Policy)
	head = appendText(head, `,"approval":`, r.Approval)
	head = appendText(head, `,"grant":`, r.Grant)
	head = appendText(head, `,"tenant":`, r.Tenant)
	head = appendNumber(head, `,"queuedUs":`, r.Queued.Microseconds())
	head = appendNumber(head, `,"heldUs":`, r.Held.Microseconds())
	head = appendText(head, `,"trace":`, r.Trace)
	head = appendText(head, `,"reason":`, r.Reason)
	for i, a := range r.Attempts {
		if i == 0 {
			head = append(head, `,"attempts":[`...)
		} else {
			head = append(head, ',')
		}
		head = append(head, `{"us":`...)
		head = strconv.AppendInt(head, a.Duration.Microseconds(), 10)
		head = appendText(head, `,"server":`, a.Server)
		head = appendText(head, `,"code":`, a.Code)
		head = append(head, '}')
		if i == len(r.Attempts)-1 {
			head = append(head, ']')
		}
	}
	if r.Arguments != "" || r.Digest != "" {
		tail = make([]byte, 0, len(r.Arguments)+64)
		tail = appendText(tail, `,"digest":`, r.Digest)
		if r.Arguments != "" {
			tail = append(tail, `,"arguments":`...)
			if strings.Contains(r.Arguments, "\n") || wire.Valid([]byte(r.Arguments), wire.Limits{}) != nil {
				tail = appendQuoted(tail, r.Arguments) // no redaction of ours: kept, and told as a text
			} else {
				tail = append(tail, r.Arguments...)
			}
		}
	}
	return head, tail
}

// appendText appends a member, whose name is JSON already, unless it is empty.
func appendText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return appendQuoted(append(dst, name...), clip(text, longestText))
}

func appendQuoted(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // of a text it never fails
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

func appendNumber(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), n, 10)
}

func appendFlag(dst []byte, member string, set bool) []byte {
	if !set {
		return dst
	}
	return append(dst, member...)
}

// clip shortens a text to n bytes at most, at the beginning of a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
