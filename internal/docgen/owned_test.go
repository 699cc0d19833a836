package docgen

import (
	"regexp"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// methods is a text that only names methods, which are the same in all languages.
var methods = regexp.MustCompile(`^[a-z]+(/[a-z_]+)+(, [a-z]+(/[a-z_]+)+)*$`)

// spans is a list as code.
func spans(list string) string { return "`" + strings.ReplaceAll(list, ", ", "`, `") + "`" }

// TestOwnedMembers is the table of what the hub changes in a message.
func TestOwnedMembers(t *testing.T) {
	tr := newTranslation(t, "owned.zh.txt")
	inBoth(t, "docs/mcp", func(lang message.Lang) map[string]string {
		rows := [][]string{{tr.say(lang, "member"), tr.say(lang, "of which messages"), tr.say(lang, "why")}}
		for _, m := range protocol.OwnedMembers() {
			where := spans(m.Where)
			if !methods.MatchString(m.Where) {
				where = tr.say(lang, m.Where)
			}
			rows = append(rows, []string{
				spans(m.Member), where, tr.say(lang, m.Why),
			})
		}
		return map[string]string{"owned-members": table(rows...)}
	})
	tr.done()
}
