package docgen

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/message"
)

// TestStates is the table of the states of a server, that of what leads from one
// to another, and that of what others call them.
func TestStates(t *testing.T) {
	tr := newTranslation(t, "states.zh.txt")
	inBoth(t, "docs/servers", func(lang message.Lang) map[string]string {
		head := func(cells ...string) [][]string {
			for i, text := range cells {
				cells[i] = tr.say(lang, text)
			}
			return [][]string{cells}
		}
		states := head("state", "meaning")
		names := head("state", "Lumi's servers", "list of servers", "connection")
		for _, s := range fleet.States() {
			state := "`" + string(s.State) + "`"
			states = append(states, []string{state, tr.say(lang, s.Doc)})
			names = append(names, []string{state, s.Lumi, s.Entry, s.Session})
		}
		transitions := head("from", "to", "event", "when")
		for _, row := range fleet.Transitions() {
			transitions = append(transitions, []string{
				"`" + string(row.From) + "`", "`" + string(row.To) + "`", row.Event, tr.say(lang, row.Doc),
			})
		}
		return map[string]string{
			"states": table(states...), "transitions": table(transitions...), "state-names": table(names...),
		}
	})
	tr.done()
}
