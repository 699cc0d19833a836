package audit

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Filter says which calls are asked for. The zero value asks for all; what is
// set has to hold together.
type Filter struct {
	Tenant   *string // of whoever called; nil for all tenants
	Session  string  // by [hub.SessionRef]
	Subject  string
	Door     hub.Door
	Server   string
	Servers  []string // any of these; nil for all, also for what names none
	Tool     string   // the server's own name
	Method   string
	Outcomes []hub.Outcome // any of these; [UnderWay] for those that have none yet
	Code     string
	Verdict  hub.Verdict
	Risk     string    // by [hub.Risk.String]
	Call     string    // its id
	Text     string    // in the name that the caller put or in the tool's, whatever the case of letters
	Node     string    // of this chain only
	Since    time.Time // ended at this time or after it; of those under way: begun
	Until    time.Time // before this time

	acts bool // acts are asked for, and no calls
}

// UnderWay is the outcome of a call that has not ended.
const UnderWay hub.Outcome = ""

// Call is a call as the record has it.
type Call struct {
	hub.CallRecord
	Node   string
	Seq    int64     // of the entry that tells how it ended, or that it began
	Intent int64     // of the entry that was written before it was sent; 0 if there is none
	Ended  time.Time // zero while it is under way

	body string // of the entry of an act
}

// Page is some calls, newest first.
type Page struct {
	Calls []Call
	Next  string // cursor of what follows; "" if nothing does. There may be one although Calls has fewer than were asked for
}
