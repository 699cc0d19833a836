package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// CallRecord is what is kept of one call. It holds no result, and of the
// arguments only what is left when everything that may be a secret is taken out.
type CallRecord struct {
	ID      string    // unique, and in the order of time (UUID version 7)
	Time    time.Time // when it began
	Method  string    // such as tools/call
	Subject string    // who called
	Door    Door      // and through which door
	Session string    // of the caller, by [SessionRef]; "" if it has none
	Client  string    // the caller's program, as it calls itself; "" if it did not say
	Group   string    // at whose address; "" for none

	Name      string // of the tool or prompt, or the URI, as the caller put it; shortened if it is very long, and of a URI without user, query and fragment
	Server    string // that it was sent to, the last one if there were several, or that the name means; "" if the name stands for nothing
	Tool      string // the server's own name for it
	Arguments string // JSON object, redacted and bounded; "" if there are none, or they are not kept
	Digest    string // keyed digest of the arguments as they came, so that equal ones can be found; "" if there are none
	Changing  bool   // it may change something: it is neither known to be read-only nor a read

	Verdict  string     // of the rules; "" if it was not judged
	Mode     PolicyMode // whether that was only observed; "" if it was not judged
	Risk     string     // by [Risk.String]; "" if it was not judged
	Rule     string     // id of the rule that decided; "" for none
	Policy   string     // version of the policy
	Approval string     // id of the approval by which it was made, or that it waits for; "" for none
	Grant    string     // id of the grant by which nobody was asked; "" for none
	Tenant   string     // of the caller

	Outcome Outcome
	Code    string // stable code of the hub's error; "" if the server answered
	Reason  string // what a person is told of the error, in English

	Attempts []Attempt     // each time that it was sent or tried to be sent, in their order; nil if it was once and went well
	Cached   bool          // the answer was kept from before
	Queued   time.Duration // how long it waited for its turn
	Held     time.Duration // how long it waited for a person to agree to it
	Duration time.Duration // without the time that it was held
	Bytes    int           // of the server's answer
	Trace    string        // W3C trace id, 32 hexadecimal digits; "" if it is part of none
}

// Attempt is one try to have a call carried out.
type Attempt struct {
	Server   string
	Code     string        // stable code of its error; "" if it was answered
	Duration time.Duration // 0 if the server was passed over
}

// Outcome is how a call ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeToolError Outcome = "tool_error" // the server answered with isError, or with a JSON-RPC error
	OutcomeFailed    Outcome = "failed"     // the hub has no answer to give; see Code
	OutcomeCancelled Outcome = "cancelled"  // the caller wanted it no more, before it was sent or of what changes nothing
	OutcomeUnknown   Outcome = "unknown"    // it was sent, and whether it took effect is not known
)

// SessionRef names a caller's session where others may read it: a session's id
// itself is all that it takes to speak in it. It is "" for "".
func SessionRef(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// CallStatus is where a session is with its call.
type CallStatus string

// The states of a session's call.
const (
	CallIdle     CallStatus = "idle"
	CallCalling  CallStatus = "calling"
	CallSuccess  CallStatus = "success"
	CallFailed   CallStatus = "failed"
	CallRetrying CallStatus = "retrying"
)

// CallState is what a session shows of its calls: of the one that it began last.
type CallState struct {
	Session    string // by [SessionRef], or the door and the subject of callers without one
	Tenant     string // of the caller
	Subject    string // whose it is
	Status     CallStatus
	Call       string // the call's id; "" if idle
	Server     string // "" if it is not known yet
	Tool       string // as the caller put it
	Arguments  string // as [CallRecord.Arguments]
	Started    time.Time
	Ended      time.Time // zero while it is under way
	Retries    int
	MaxRetries int
	Outcome    Outcome   // how it ended; "" while it is under way
	Code       string    // stable code of the error
	Error      string    // what a person is told of it, in the caller's language
	Message    string    // what a person is told of how things stand, in the caller's language
	Result     []byte    // the tool's result, if it is small enough to be kept; nobody changes it
	Others     int       // other calls of the session under way
	Resets     time.Time // when it becomes idle by itself; zero if it does not
}
