package approval

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// row is a request as it is in the database.
type row struct {
	Request

	open      bool  // it may still be decided or taken
	revision  int64 // how often it was changed in a way that is told
	changed   time.Time
	same      string // what makes requests equal
	taker     string // the hub whose call has taken it
	arguments string // sealed
	edited    string // sealed
	extra     string // sealed
	askers
}

// askers are the calls that ask by one request, by id. One that has withdrawn is
// none any more; one whose caller was given a ticket still is.
type askers struct {
	Askers []string `json:"askers,omitempty"`
}

// several stands for more of them than are kept: then none is the last.
const several = "*"

// maxAskers is how many calls are kept that ask by one request.
const maxAskers = 32

// join has one more call ask, and reports whether that is to be written.
func (a *askers) join(call string) bool {
	if call == "" || slices.Contains(a.Askers, call) || len(a.Askers) > maxAskers {
		return false
	}
	if len(a.Askers) == maxAskers {
		call = several
	}
	a.Askers = append(slices.Clone(a.Askers), call)
	return true
}

// withdraw takes a call away, and reports whether it was one of them.
func (a *askers) withdraw(call string) bool {
	at := slices.Index(a.Askers, call)
	if at < 0 || call == several {
		return false
	}
	a.Askers = slices.Delete(slices.Clone(a.Askers), at, at+1)
	return true
}

const columns = `id, status, open, revision, created, changed, expires, decided, tenant, subject, server, tool, node, same,
	body, judged, decisions, shown, hash, arguments, edited, taken, taker, note, extra`

// scan reads a row that has all columns.
func scan(from scanner) (*row, error) {
	var r row
	var created, changed, expires, decided int64
	var body, judged, decisions string
	var own keyed
	err := from.Scan(&r.ID, &r.Status, &r.open, &r.revision, &created, &changed, &expires, &decided, &r.Tenant, &r.Subject, &r.Server, &r.Tool,
		&r.Node, &r.same, &body, &judged, &decisions, &r.Shown, &r.Hash, &r.arguments, &r.edited, &r.Taken, &r.taker, &r.Note, &r.extra)
	if err != nil {
		return nil, err
	}
	for _, member := range [...]struct {
		text string
		into any
	}{{body, &r.Details}, {body, &r.askers}, {body, &own}, {judged, &r.Judged}, {decisions, &r.Decisions}} {
		if err := json.Unmarshal([]byte(member.text), member.into); err != nil {
			return nil, fmt.Errorf("reading the request for approval %s: %w", r.ID, err)
		}
	}
	r.key = own.Key
	if len(r.Askers) == 0 && r.Call != "" { // as it was written before there were any
		r.Askers = []string{r.Call}
	}
	r.Created, r.changed, r.Expires, r.Decided = moment(created), moment(changed), moment(expires), moment(decided)
	return &r, nil
}

// values are those of all columns.
func (r *row) values() []any {
	return []any{
		r.ID, string(r.Status), r.state(), r.revision, micros(r.Created), micros(r.changed), micros(r.Expires), micros(r.Decided), r.Tenant, r.Subject, r.Server,
		r.Tool, r.Node, r.same, r.body(), jsonOf(r.Judged), jsonOf(r.decisions()), r.Shown, r.Hash, r.arguments, r.edited, r.Taken, r.taker, r.Note, r.extra,
	}
}

// keyed is the key of a request as it is written: in clear, because who shows a
// reference has to be who has asked as well.
type keyed struct {
	Key []byte `json:"key,omitempty"`
}

// body is what the column of that name has.
func (r *row) body() string {
	return jsonOf(struct {
		Details
		askers
		keyed
	}{r.Details, r.askers, keyed{r.key}})
}

// state is open as it is written.
func (r *row) state() int {
	if r.open {
		return 1
	}
	return 0
}

// decisions are those so far, also if there are none.
func (r *row) decisions() []Decision {
	if r.Decisions == nil {
		return []Decision{}
	}
	return r.Decisions
}

// reader is a database, or a transaction of it.
type reader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// find reads the row with the id, whose error is approval_unknown if there is none.
func (d *Desk) find(ctx context.Context, from reader, id string) (*row, error) {
	r, err := scan(from.QueryRowContext(ctx, "SELECT "+columns+" FROM approval WHERE id = $1", clean(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, unknown(id)
	}
	if err != nil {
		return nil, d.db.Err(fmt.Errorf("reading a request for approval: %w", err))
	}
	return r, nil
}

func unknown(id string) error { return hub.E(message.ApprovalUnknown, nil, "id", message.Quote(id)) }

// opened is the request with its arguments, as far as this hub has the key.
func (d *Desk) opened(r *row) Request {
	whole := r.Request
	var foreign, other, third bool
	whole.Arguments, foreign = d.unseal(r.ID, "arguments", r.arguments)
	whole.Edited, other = d.unseal(r.ID, "edited", r.edited)
	whole.Extra, third = d.unseal(r.ID, "extra", r.extra)
	whole.Hidden = foreign || other || third
	return whole
}

// seal makes of arguments what is written. What they are of is sealed with them:
// whoever can write to the database cannot show those of one request as another's.
func (d *Desk) seal(ctx context.Context, id, what string, plain []byte) (string, error) {
	if plain == nil {
		return "", nil
	}
	others, err := d.recipients(ctx)
	if err != nil {
		return "", err
	}
	whole := append([]byte(id+"\x00"+what+"\x00"), plain...)
	sealed, err := d.opt.Seal.SealFor(whole, others...)
	if err != nil && len(others) > 0 {
		d.log.WarnContext(ctx, "arguments could not be sealed for other hubs", "error", err)
		sealed, err = d.opt.Seal.SealFor(whole)
	}
	if err != nil {
		return "", hub.E(message.Internal, fmt.Errorf("sealing arguments: %w", err))
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// unseal is what seal was given. Hidden says that it cannot be had here.
func (d *Desk) unseal(id, what, text string) (plain []byte, hidden bool) {
	if text == "" {
		return nil, false
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		plain, err = d.opt.Seal.Unseal(sealed)
	}
	if err == nil {
		rest, ours := strings.CutPrefix(string(plain), id+"\x00"+what+"\x00")
		if ours {
			return []byte(rest), false
		}
		err = errors.New("they were sealed for another request")
	}
	if !errors.Is(err, secret.ErrForeign) {
		d.log.Warn("the arguments of a request for approval cannot be opened", "id", id, "error", err)
	}
	return nil, true
}

// event is the request as it is published.
func (r *row) event() hub.ApprovalChanged {
	e := hub.ApprovalChanged{
		ID: r.ID, Status: string(r.Status), Tenant: r.Tenant, Subject: r.Subject, Server: r.Server, Tool: r.Name, Risk: r.Risk, Expires: r.Expires,
	}
	if n := len(r.Decisions); n > 0 && r.bySomebody() {
		e.By = r.Decisions[n-1].By
	}
	return e
}

// bySomebody reports whether the status is what somebody has said last.
func (r *row) bySomebody() bool {
	return r.Status == Pending || r.Status.Agreed() || r.Status == Rejected
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // shapes of ours
	}
	return string(text)
}

// clean is a text as both databases take it.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
