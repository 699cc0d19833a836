package xiaozhi

import (
	"net/http"
	"strings"
	"time"
)

// Ending is what the end of a connection, or its refusal, says about the next one.
type Ending uint8

// The endings.
const (
	EndingLost     Ending = iota // it was lost or not made: it is tried again, ever more slowly
	EndingFailed                 // 4004, which the cloud says for everything
	EndingReplaced               // another client of the token took its place
	EndingAuth                   // the token is refused
	EndingClean                  // a backend was done with its device, as it is when nobody speaks
)

// closes that peers give codes of their own.
const (
	closePolicy = 1008 // of a bad token
	closeFailed = 4004 // "Internal server error"
)

// authPause is how long a token that was refused is not tried again.
const authPause = 5 * time.Minute

// OfClose is the ending that a close with the code and reason is.
func OfClose(code int, reason string) Ending {
	switch {
	case code == closePolicy:
		return EndingAuth
	case code == closeFailed:
		return EndingFailed
	case isReplaced(reason):
		return EndingReplaced
	}
	return EndingLost
}

// steady is how long a backend keeps a device at least that it is done with in good
// order. One that greets each device and closes at once is not well.
const steady = 10 * time.Second

// OfBackendClose is the ending that a close with the code is which OfClose takes for
// one of the kind, when the device was greeted on the connection as long ago as lasted
// says: backends close it in good order once nobody speaks.
func OfBackendClose(kind Ending, code int, lasted time.Duration) Ending {
	if lasted < steady {
		return kind
	}
	switch code {
	case 1000, 1001, 1005: // normal, going away, none given
		if kind == EndingLost {
			return EndingClean
		}
	}
	return kind
}

// isReplaced reports whether the reason of a close says that another connection took
// the place of this one, as the self-hosted endpoint does: 新连接替换.
func isReplaced(reason string) bool {
	lower := strings.ToLower(reason)
	for _, word := range [...]string{"替换", "被顶", "replace", "superseded", "another connection", "new connection"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

// OfStatus is the ending that an answer with the HTTP status in place of an upgrade
// is.
func OfStatus(status int) Ending {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return EndingAuth
	}
	return EndingLost
}

// Backoff is how long it is waited before a connection is made anew: twice as long
// each time, up to Max, with a fifth of it left to chance. Not safe for concurrent
// use.
type Backoff struct {
	Delay, Max time.Duration
	Even       bool // longer by Delay each time, in place of twice as long
	next       time.Duration
}

// cleanPause is the longest pause after [EndingClean].
const cleanPause = 2 * time.Second

// Next is the pause after an ending; chance is from 0 up to 1.
func (b *Backoff) Next(e Ending, chance float64) time.Duration {
	if e == EndingClean {
		return time.Duration(float64(min(b.Delay, cleanPause)) * (0.8 + 0.2*chance))
	}
	wait := max(b.next, b.Delay)
	if b.next = min(2*wait, b.Max); b.Even {
		b.next = min(wait+b.Delay, b.Max)
	}
	if e == EndingAuth {
		wait = authPause
	}
	wait = time.Duration(float64(wait) * (0.8 + 0.4*chance))
	switch e {
	case EndingFailed:
		wait = max(wait, 5*time.Second)
	case EndingReplaced:
		wait = max(wait, 30*time.Second)
	case EndingLost, EndingAuth, EndingClean:
	}
	return wait
}

// Reset begins with the shortest pause again.
func (b *Backoff) Reset() { b.next = 0 }
