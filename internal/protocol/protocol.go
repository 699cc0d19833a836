// Package protocol is MCP's vocabulary: revisions and the two eras, methods,
// error codes, the reserved members of _meta, the mirrored HTTP headers, and
// the translation of single messages between the eras. It is pure: nothing
// here holds state, waits or sends.
package protocol

import (
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// Revision is a protocol version as it stands on the wire.
type Revision string

// The revisions that Toolcrib speaks.
const (
	Rev20241105 Revision = "2024-11-05"
	Rev20250326 Revision = "2025-03-26"
	Rev20250618 Revision = "2025-06-18"
	Rev20251125 Revision = "2025-11-25"
	Rev20260728 Revision = "2026-07-28"
)

// The newest revision of each era.
const (
	LatestLegacy = Rev20251125
	LatestModern = Rev20260728
)

// Revisions returns every revision spoken, newest first.
func Revisions() []Revision {
	return []Revision{Rev20260728, Rev20251125, Rev20250618, Rev20250326, Rev20241105}
}

// KnownRevisions names every revision spoken, newest first, for a person.
func KnownRevisions() string {
	var b strings.Builder
	for i, r := range Revisions() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(r))
	}
	return b.String()
}

// AppendRevisions appends every revision spoken, newest first, as a JSON array.
func AppendRevisions(dst []byte) []byte {
	dst = append(dst, '[')
	for i, r := range Revisions() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, string(r))
	}
	return append(dst, ']')
}

// Known reports whether the revision is spoken here.
func (r Revision) Known() bool { return slices.Contains(Revisions(), r) }

// Era returns the era of the revision. Revisions are dates, so that an unknown
// one falls into an era as well.
func (r Revision) Era() Era {
	if r >= Rev20260728 {
		return Modern
	}
	return Legacy
}

// Era is one of the two ways in which MCP converses (2026-07-28, "Versioning
// and Compatibility").
type Era uint8

// The eras.
const (
	// Legacy revisions, to 2025-11-25, open a session with initialize, and
	// servers send requests to clients.
	Legacy Era = iota
	// Modern revisions, from 2026-07-28, have no session: every request says
	// in _meta who asks and what it can do, and servers ask back in results.
	Modern
)

// String names the era as the specification does.
func (e Era) String() string {
	if e == Modern {
		return "modern"
	}
	return "legacy"
}

// Negotiate returns the revision to answer an initialize request with: the one
// asked for if it is a legacy one spoken here, else the newest legacy one
// (2025-11-25, "Lifecycle", Version Negotiation).
func Negotiate(asked Revision) Revision {
	if asked.Known() && asked.Era() == Legacy {
		return asked
	}
	return LatestLegacy
}
