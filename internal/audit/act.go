package audit

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Act is something that somebody did to the hub, or tried to: no call of a tool.
// It says what was done to what, and holds nothing of what was sent with it.
type Act struct {
	ID        string // unique, and in the order of time (UUID version 7); [Log.Begin] and [Log.Act] give one
	Time      time.Time
	Operation string // of the HTTP API by its id, or such as "login" or "reload"
	Target    string // what it was done to, such as "key=git"; "" for the hub as a whole
	Server    string // by key, if it was done to one
	Tenant    string // of whoever did it
	Subject   string // who did it
	Role      hub.Role
	Door      hub.Door
	Token     string // id of the token or login session that was shown; "" if it was neither
	Request   string // id of the HTTP request; "" for none

	Outcome  hub.Outcome // ok, failed or unknown; [UnderWay] while it is being done
	Code     string      // stable code of the error; "" if it was done
	Status   int         // of HTTP; 0 for none
	Duration time.Duration

	// As the record has it; not to be filled in.
	Node  string
	Seq   int64
	Ended time.Time // zero while it is being done
}

// DoorFile is the door of acts that came by the configuration file.
const DoorFile hub.Door = "file"

// ActFilter says which acts are asked for. The zero value asks for all; what is
// set has to hold together.
type ActFilter struct {
	Tenant    *string // of whoever did it; nil for all tenants
	Subject   string
	Door      hub.Door
	Operation string
	Server    string
	Servers   []string      // done to any of these; nil for all, also what was done to none
	Outcomes  []hub.Outcome // any of these; [UnderWay] for what has not ended
	Code      string
	ID        string
	Since     time.Time // ended at this time or after it; of those under way: begun
	Until     time.Time // before this time
}

// ActPage is some acts, newest first.
type ActPage struct {
	Acts []Act
	Next string // cursor of what follows; "" if nothing does
}

// Begin records that an act is about to be done. If it returns nil, the record
// outlives a loss of power, and the act may be done; else it must not be. Its
// errors are those of [Log.Intend]. [Log.Act] is to be called afterwards.
func (l *Log) Begin(ctx context.Context, a *Act) error {
	a.stamp()
	return l.begin(ctx, a.op(kindBegun))
}

// Act records how an act ended, begun or not. What is said of [Log.Finish] holds
// for it as well.
func (l *Log) Act(_ context.Context, a *Act) error {
	a.stamp()
	return l.finish(a.op(kindAct))
}

// Acts returns a page of the acts that the filter wants, newest first; see
// [Log.Query].
func (l *Log) Acts(ctx context.Context, f ActFilter, from string, limit int) (*ActPage, error) {
	page, err := l.query(ctx, Filter{
		Tenant: f.Tenant, Subject: f.Subject, Door: f.Door, Server: f.Server, Servers: f.Servers, Method: f.Operation, Outcomes: f.Outcomes, Code: f.Code,
		Call: f.ID, Since: f.Since, Until: f.Until, acts: true,
	}, from, limit)
	if err != nil {
		return nil, err
	}
	out := &ActPage{Acts: make([]Act, 0, len(page.Calls)), Next: page.Next}
	for i := range page.Calls {
		out.Acts = append(out.Acts, actOf(&page.Calls[i]))
	}
	return out, nil
}

// stamp gives an act what it needs to be recorded.
func (a *Act) stamp() {
	if a.Time.IsZero() {
		a.Time = time.Now()
	}
	if a.ID == "" {
		a.ID = uuid.Must(uuid.NewV7()).String()
	}
}

// op is the record of an act: what it has in common with a call under the names
// of that, so that it is found and exported in the same way.
func (a *Act) op(k kind) *op {
	r := &hub.CallRecord{
		ID: a.ID, Time: a.Time, Method: a.Operation, Name: a.Target, Server: a.Server, Tenant: a.Tenant, Subject: a.Subject, Door: a.Door,
	}
	if k == kindAct {
		r.Outcome, r.Code, r.Duration = a.Outcome, a.Code, a.Duration
	}
	o := newOp(k, r)
	o.head = a.append(o.head)
	return o
}

// append appends the members that only an act has.
func (a *Act) append(head []byte) []byte {
	head = appendText(head, `,"role":`, string(a.Role))
	head = appendText(head, `,"token":`, a.Token)
	head = appendText(head, `,"request":`, a.Request)
	return appendNumber(head, `,"status":`, int64(a.Status))
}

// actOf is the act that an entry tells of.
func actOf(c *Call) Act {
	a := Act{
		ID: c.ID, Time: c.Time, Operation: c.Method, Target: c.Name, Server: c.Server, Tenant: c.Tenant, Subject: c.Subject, Door: c.Door,
		Outcome: c.Outcome, Code: c.Code, Duration: c.Duration, Node: c.Node, Seq: c.Seq, Ended: c.Ended,
	}
	a.read(c.body)
	return a
}

// read fills in what only an act has.
func (a *Act) read(body string) {
	members(body, func(name, value string) {
		switch name {
		case "role":
			a.Role = hub.Role(text(value))
		case "token":
			a.Token = text(value)
		case "request":
			a.Request = text(value)
		case "status":
			a.Status = int(number(value))
		}
	})
}
