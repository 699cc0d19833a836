package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// metaTools is how many tools a view that is capped has of the hub's own.
const metaTools = 2

// The bounds of find_tool's limit.
const (
	DefaultFound = 5
	MaxFound     = 20
)

// Meta is one of the tools that are the hub's own.
type Meta uint8

// The tools by which those are reached that a cap keeps out of a list.
const (
	MetaNone   Meta = iota
	MetaFind        // find_tool: looks for tools
	MetaCall        // call_tool: calls one by its name
	MetaTicket      // approval_result: picks up what a person has agreed to
	MetaTask        // hub_task_result: picks up the result of a call that went on
)

// metaNames are the exposed names of the hub's own tools in a view; "" for those
// that it does not have.
type metaNames struct{ find, call, ticket, task string }

// meta returns the names in a view that lists at most so many tools; 0 stands for
// any number. Other tools keep theirs. If there is room for one only it is
// call_tool, which tells in its errors what is like a name that there is not.
func (n *viewNames) meta(r rule, most int) metaNames {
	free := func(wanted string) string {
		name := wanted
		for attempt := 0; n.taken(name); attempt++ {
			name = r.suffixed(wanted, naming{own: wanted}.identity(), attempt)
		}
		return name
	}
	m := metaNames{ticket: free("approval_result"), task: free("hub_task_result")}
	if most > 0 {
		m.call = free("call_tool")
	}
	if most >= metaTools {
		m.find = free("find_tool")
	}
	return m
}

// Meta returns which of the hub's own tools has the name in this view. Those by
// which others are reached are there only with a cap, and listed only if something
// is dropped, but can be called all the same: a client may still have the list from
// when it was so. Those for tickets and tasks are always there; who lists them is the door's.
func (v *View) Meta(name string) Meta {
	switch name {
	case "": // what the view does not have has no name
		return MetaNone
	case v.meta.find:
		return MetaFind
	case v.meta.call:
		return MetaCall
	case v.meta.ticket:
		return MetaTicket
	case v.meta.task:
		return MetaTask
	}
	return MetaNone
}

// MetaName is the name of one of the hub's own tools in this view; "" if the view
// does not have it.
func (v *View) MetaName(m Meta) string {
	switch m {
	case MetaFind:
		return v.meta.find
	case MetaCall:
		return v.meta.call
	case MetaTicket:
		return v.meta.ticket
	case MetaTask:
		return v.meta.task
	}
	return ""
}

// Ticket is the description of the tool by which callers pick up what a person has
// agreed to, for lists of those whose calls may have to wait for that. It is nil if
// the cap of the view leaves no room for it: an equal call does the same.
func (v *View) Ticket() []byte {
	if most := v.profile.MaxTools; most > 0 && (v.capped < len(v.entries) || v.capped >= most) {
		return nil
	}
	return fmt.Appendf(nil, ticketTool, quoted(v.meta.ticket))
}

// Task is the description of the tool by which callers pick up the result of a call
// that went on when they were answered, for lists of those who are answered so.
func (v *View) Task() []byte { return fmt.Appendf(nil, taskTool, quoted(v.meta.task)) }

// ours are the descriptions of the hub's own tools that the view lists.
func (v *View) ours() [][]byte {
	if v.capped == len(v.entries) {
		return nil
	}
	find, call := v.meta.find, v.meta.call
	callText := "Calls a tool that is not in this list, by its name. Find the name, and which arguments the tool takes, with " + find + "."
	if find == "" {
		callText = v.droppedText() + " This calls one of them by its name; if there is none of the name, the error says which are like it."
	}
	var tools [][]byte
	if find != "" {
		findText := v.droppedText() + " This finds them, and those that are in the list, by what they do; " + call + " calls them."
		tools = append(tools, fmt.Appendf(nil, findTool, quoted(find), quoted(findText), MaxFound, DefaultFound))
	}
	return append(tools, fmt.Appendf(nil, callTool, quoted(call), quoted(callText)))
}

// quoted is a text as a JSON string.
func quoted(text string) []byte { return wire.AppendString(nil, text) }

// The descriptions of the hub's own tools. Both depend on what servers do, and
// only the one changes nothing.
const (
	findTool = `{"name":%s,"title":"Find a tool","description":%s,` +
		`"inputSchema":{"type":"object","properties":{` +
		`"query":{"type":"string","description":"What the tool should do, in a few words, or a part of its name"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":%d,"default":%d,"description":"How many tools to tell at most"}},` +
		`"required":["query"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"tools":{"type":"array","items":{"type":"object","properties":{` +
		`"name":{"type":"string"},"description":{"type":"string"},"inputSchema":{"type":"object"},` +
		`"server":{"type":"string"},"score":{"type":"number"}},"required":["name","inputSchema","server","score"]}}},` +
		`"required":["tools"]},` +
		`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`
	callTool = `{"name":%s,"title":"Call a tool","description":%s,` +
		`"inputSchema":{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The name of the tool"},` +
		`"arguments":{"type":"object","description":"What the tool takes, as its inputSchema says"}},` +
		`"required":["name"],"additionalProperties":false}}`
	ticketTool = `{"name":%s,"title":"Result of an approved call","description":` +
		`"Some calls wait until a person has agreed to them, and are then answered with a ticket. This makes such a call once it was agreed to, ` +
		`and gives its result, or says that it still waits or was refused. It waits a while itself.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"ticket":{"type":"string","description":"The ticket, as the call was answered with it"}},` +
		`"required":["ticket"],"additionalProperties":false}}`
	taskTool = `{"name":%s,"title":"Result of a slow call","description":` +
		`"A call that takes long goes on in the background and is answered with a task_id. This gives its result, or says that it is still under way.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"task_id":{"type":"string","description":"The task_id, as the call was answered with it"}},` +
		`"required":["task_id"],"additionalProperties":false},` +
		`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`
)

// maxNamed is how many servers are named in a text at most.
const maxNamed = 20

// droppedText says what a cap keeps out of the list.
func (v *View) droppedText() string {
	counts := make(map[string]int)
	var order []string
	for _, e := range v.entries[v.capped:] {
		if counts[e.Server.Key]++; counts[e.Server.Key] == 1 {
			order = append(order, e.Server.Key)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d tools are not in this list; they are of ", len(v.entries)-v.capped, len(v.entries))
	for i, key := range order[:min(len(order), maxNamed)] {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(key + " (" + strconv.Itoa(counts[key]) + ")")
	}
	if more := len(order) - maxNamed; more > 0 {
		fmt.Fprintf(&text, ", and of %d other servers", more)
	}
	text.WriteByte('.')
	return text.String()
}
