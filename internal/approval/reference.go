package approval

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// referred is what each reference begins with.
const referred = "toolcrib-approval."

// Reference names the request as it stands now, for a caller who is asked about it and
// brings the reference back with the answer. Only hubs of this database can make one,
// as each request has a key of its own. Whoever has it has no right by that: it is
// for who has asked. It is "" of a request that was made without a key.
func (r *Request) Reference() string {
	if r.key == nil {
		return ""
	}
	return r.refer(strconv.Itoa(len(r.Agreements())+1), r.Hash)
}

// refer is the reference to the request as it stood when the agreement of the round
// was asked for, to what has the hash.
func (r *Request) refer(round, hash string) string {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(digest(r.ID, r.Tenant, r.Subject, r.ArgumentsHash, round, hash)))
	return referred + r.ID + "." + round + "." + hash + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Referred is a request, and how it stood when its caller was asked.
type Referred struct {
	Request     // as it stands now
	Round   int // which agreement was asked for
	Saw     string
}

// Refers returns the request of a reference; nil for a text that is none of this
// database's. The error of one that was not made here, though its request was, is
// approval_unknown. It is for who calls to see whose request it is.
func (d *Desk) Refers(ctx context.Context, text string) (*Referred, error) {
	rest, ok := strings.CutPrefix(text, referred)
	part := strings.Split(rest, ".")
	if !ok || len(part) != 4 {
		return nil, nil
	}
	id, round, hash := part[0], part[1], part[2]
	r, err := d.find(ctx, d.db, id)
	if hub.IsCode(err, message.ApprovalUnknown) {
		return nil, nil // perhaps of another hub, behind this one
	}
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(round)
	if err != nil || r.key == nil || !hmac.Equal([]byte(text), []byte(r.refer(round, hash))) {
		return nil, unknown(id)
	}
	return &Referred{d.opened(r), n, hash}, nil
}

// referenceKey is a key that references to one request are made with.
func referenceKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return key
}
