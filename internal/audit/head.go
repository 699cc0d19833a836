package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Head says where a chain ended at some time, signed by the chain's key. Kept
// elsewhere, it shows later that nothing before it was cut off or written anew.
type Head struct {
	Node      string    `json:"node"`
	Seq       int64     `json:"seq"`
	Hash      string    `json:"hash"`
	Time      time.Time `json:"time"`
	Key       []byte    `json:"key"` // Ed25519, in base64 in JSON
	Signature []byte    `json:"signature"`
}

func (h *Head) claim() claim {
	return claim{what: "head", node: h.Node, seq: h.Seq, hash: h.Hash, at: h.Time.UnixMicro()}
}

// Head is the head of this node's chain, with all that has ended so far.
func (l *Log) Head(ctx context.Context) (*Head, error) {
	where := l.flush(ctx)
	if where == nil {
		c := chain{db: l.db, node: l.node}
		seq, hash, err := c.head(ctx)
		if err != nil {
			return nil, unreadable(l.db.Err(err))
		}
		where = &position{seq, hash}
	}
	return l.headAt(*where, time.Now()), nil
}

func (l *Log) headAt(p position, now time.Time) *Head {
	h := &Head{Node: l.node, Seq: p.seq, Hash: p.hash, Time: now.UTC().Truncate(time.Microsecond), Key: l.keys.public()}
	h.Signature = l.keys.signature(h.claim())
	return h
}

// ParseHead reads a head that was exported as JSON, and checks its signature.
// Its error is a [*hub.Error] with the code audit_head_invalid.
func ParseHead(raw []byte) (*Head, error) {
	var h Head
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, hub.E(message.AuditHeadInvalid, err, "detail", "it is not the JSON of one")
	}
	if !h.claim().signedBy(h.Node, h.Key, h.Signature) {
		return nil, hub.E(message.AuditHeadInvalid, nil, "detail", "its signature is not that of the chain's key")
	}
	return &h, nil
}

// signed is the body of a checkpoint and of what tells that a beginning was
// dropped: the claim with its signature.
type signed struct {
	Node      string `json:"node"`
	Seq       int64  `json:"seq"`
	Hash      string `json:"hash"`
	At        int64  `json:"at"`
	Key       []byte `json:"key"`
	Signature []byte `json:"signature"`
}

func statement(keys Keys, c claim) (string, error) {
	body, err := json.Marshal(signed{c.node, c.seq, c.hash, c.at, keys.public(), keys.signature(c)})
	if err != nil {
		return "", fmt.Errorf("encoding a signature: %w", err)
	}
	return string(body), nil
}

// readStatement returns the claim of an entry, and whether the chain's key
// signed it.
func readStatement(e *entry) (c claim, ok bool) {
	var s signed
	d := json.NewDecoder(strings.NewReader(e.body))
	d.DisallowUnknownFields()
	if d.Decode(&s) != nil {
		return claim{}, false
	}
	what := "checkpoint"
	if e.kind == kindPruned {
		what = "pruned"
	}
	c = claim{what: what, node: s.Node, seq: s.Seq, hash: s.Hash, at: s.At}
	return c, c.signedBy(e.node, s.Key, s.Signature)
}
