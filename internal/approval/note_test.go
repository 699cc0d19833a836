package approval

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Notes of this program's own are in the reader's language.
func TestRemark(t *testing.T) {
	for note, want := range map[string][2]string{
		"":                 {"", ""},
		NoteUnwanted:       {"the caller has cancelled the call", "调用方已取消调用"},
		NoteChanged:        {"the tool or the rules have changed since", "工具或规则此后已变更"},
		WithdrawnBy("ann"): {"withdrawn by ann", "由 ann 撤回"},
		"not today\n":      {message.Quote("not today\n"), message.Quote("not today\n")},
	} {
		p := Remark(note)
		if en, zh := p.In(message.English), p.In(message.Chinese); en != want[0] || zh != want[1] {
			t.Errorf("%q: %q, %q", note, en, zh)
		}
	}
}
