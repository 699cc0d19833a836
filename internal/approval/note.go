package approval

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Why requests end that nobody has rejected, as [Request.Note] has it; see also
// [WithdrawnBy].
const (
	NoteChanged  = "the tool or the rules have changed since"
	NoteUnwanted = "the caller has cancelled the call"
)

const withdrawnBy = "withdrawn by "

// WithdrawnBy is the note of a request that somebody has withdrawn.
func WithdrawnBy(subject string) string { return withdrawnBy + message.Quote(subject) }

// Remark is a note for people: one of this program's own in their language, and what
// a person has written as it is. It is empty for none.
func Remark(note string) message.Phrase {
	switch note {
	case "":
		return message.Phrase{}
	case NoteUnwanted:
		return message.Term("the caller has cancelled the call")
	case NoteChanged:
		return message.Term("the tool or the rules have changed since")
	}
	if subject, ok := strings.CutPrefix(note, withdrawnBy); ok {
		return message.Say("withdrawn by %s", subject)
	}
	return message.Verbatim(message.Quote(note))
}
