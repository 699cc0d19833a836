package toolindex

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// The file is JSON:
//
//	{
//	  "version": "1.0.0",
//	  "last_sync": "2026-01-07T10:00:00Z",
//	  "servers": [
//	    {
//	      "server_id": "ros2_mcp",
//	      "tools": [
//	        {
//	          "tool_name": "navigate_to",
//	          "description": "Navigate robot to target position",
//	          "input_schema": { "x": "float", "y": "float" },
//	          "tags": ["navigation", "robot"],
//	          "blocking": true,
//	          "cost_estimate": "high"
//	        }
//	      ]
//	    }
//	  ]
//	}
const version = "1.0.0"

type (
	file struct {
		Version  string       `json:"version"`
		LastSync string       `json:"last_sync"`
		Servers  []fileServer `json:"servers"`
	}
	fileServer struct {
		ServerID string     `json:"server_id"`
		Tools    []fileTool `json:"tools"`
	}
	fileTool struct {
		ToolName     string          `json:"tool_name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"input_schema"`
		Tags         []Tag           `json:"tags"`
		Blocking     bool            `json:"blocking"`
		CostEstimate Cost            `json:"cost_estimate"`
	}
)

// Encode returns the file with the entries, those of one server together as
// [Find] has them. Its last_sync is when the oldest of them was updated, so that
// nobody takes any for younger than it is, or now if there are none.
func Encode(entries []Entry, now time.Time) []byte {
	f := file{Version: version, Servers: []fileServer{}}
	for i, e := range entries {
		if i == 0 || e.LastUpdated.Before(now) {
			now = e.LastUpdated
		}
		if n := len(f.Servers); n == 0 || f.Servers[n-1].ServerID != e.Server {
			f.Servers = append(f.Servers, fileServer{ServerID: e.Server})
		}
		s := &f.Servers[len(f.Servers)-1]
		t := fileTool{
			ToolName: e.Tool, Description: e.Description, InputSchema: e.InputSchema,
			Tags: append([]Tag{}, e.Tags...), Blocking: e.Blocking, CostEstimate: e.Cost,
		}
		if len(t.InputSchema) == 0 {
			t.InputSchema = json.RawMessage("{}")
		}
		s.Tools = append(s.Tools, t)
	}
	f.LastSync = now.UTC().Format(time.RFC3339)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		panic(err) // texts, and JSON that was checked
	}
	return b.Bytes()
}

// Decode reads a file, which may be any bytes: a list for each server, of
// descriptions as servers give them. The tools share no memory with the text.
// Members that are not known are skipped. The error is [message.IndexInvalid],
// and says where in the file the fault is.
func Decode(text []byte) ([]catalog.Imported, error) {
	if err := wire.Valid(text, wire.Limits{UniqueKeys: true}); err != nil {
		at, ok := errors.AsType[*wire.Error](err)
		if !ok {
			return nil, invalid("", err.Error())
		}
		before := text[:min(at.Offset, len(text))]
		line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
		return nil, invalid(fmt.Sprintf("line %d, column %d", line, column), at.Reason.String())
	}
	r := reader{text}
	root := wire.Value(text)
	if text[root.Start] != '{' {
		return nil, invalid("", "it is no object")
	}
	if v, err := r.string(root, "", "version"); err != nil {
		return nil, err
	} else if v != version {
		return nil, invalid("version", "it is not "+version)
	}
	synced, err := r.time(root, "last_sync")
	if err != nil {
		return nil, err
	}
	servers, err := r.list(root, "", "servers")
	if err != nil {
		return nil, err
	}
	var all []catalog.Imported
	seen := make(map[string]bool)
	for i, v := range servers {
		place := fmt.Sprintf("servers[%d]", i)
		key, err := r.name(v, place, "server_id", seen)
		if err != nil {
			return nil, err
		}
		tools, err := r.tools(v, place)
		if err != nil {
			return nil, err
		}
		all = append(all, catalog.Imported{Server: key, Tools: tools, At: synced})
	}
	return all, nil
}

// invalid is the error of what is at a place in a file. It repeats nothing of
// what stands there.
func invalid(place, fault string) *hub.Error {
	said := message.Term(fault)
	if place != "" {
		said = message.Say("%s: %s", place, said)
	}
	return hub.E(message.IndexInvalid, nil).With("detail", said)
}

// reader reads the members of a text that is valid JSON. A place is where in
// the file the object is of which a member is read; "" for the file itself.
type reader struct{ text []byte }

func member(place, key string) string {
	if place == "" {
		return key
	}
	return place + "." + key
}

// string is a member that has to be there.
func (r reader) string(object wire.Span, place, key string) (string, error) {
	v := wire.Lookup(r.text, object, key)
	if !v.Exists() {
		return "", invalid(member(place, key), "it is missing")
	}
	s, ok := wire.String(r.text, v)
	if !ok {
		return "", invalid(member(place, key), "it is no string")
	}
	return s, nil
}

// name is a string that is not empty and not among those seen.
func (r reader) name(object wire.Span, place, key string, seen map[string]bool) (string, error) {
	if r.text[object.Start] != '{' {
		return "", invalid(place, "it is no object")
	}
	s, err := r.string(object, place, key)
	switch {
	case err != nil:
		return "", err
	case s == "":
		return "", invalid(member(place, key), "it is empty")
	case seen[s]:
		return "", invalid(member(place, key), "it is there twice")
	}
	seen[s] = true
	return s, nil
}

// list is an array that has to be there.
func (r reader) list(object wire.Span, place, key string) ([]wire.Span, error) {
	v := wire.Lookup(r.text, object, key)
	if !v.Exists() {
		return nil, invalid(member(place, key), "it is missing")
	}
	if r.text[v.Start] != '[' {
		return nil, invalid(member(place, key), "it is no array")
	}
	var all []wire.Span
	for element := range wire.Array(r.text, v) {
		all = append(all, element)
	}
	return all, nil
}

// time is a member that is a time. Without a zone, as Python writes it, it is
// one of UTC.
func (r reader) time(object wire.Span, key string) (time.Time, error) {
	s, err := r.string(object, "", key)
	if err != nil {
		return time.Time{}, err
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, invalid(key, "it is no time such as 2026-01-07T10:00:00Z")
}

// tools are those of one server.
func (r reader) tools(server wire.Span, place string) ([]hub.Tool, error) {
	list, err := r.list(server, place, "tools")
	if err != nil {
		return nil, err
	}
	tools := make([]hub.Tool, 0, len(list))
	seen := make(map[string]bool)
	for i, v := range list {
		t, err := r.tool(v, fmt.Sprintf("%s.tools[%d]", place, i), seen)
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// tool makes a description of what the file says of one tool.
func (r reader) tool(v wire.Span, place string, seen map[string]bool) (hub.Tool, error) {
	name, err := r.name(v, place, "tool_name", seen)
	if err != nil {
		return hub.Tool{}, err
	}
	schema, fault := inputSchema(r.text, wire.Lookup(r.text, v, "input_schema"))
	if fault != "" {
		return hub.Tool{}, invalid(member(place, "input_schema"), fault)
	}
	n, err := r.notes(v, place)
	if err != nil {
		return hub.Tool{}, err
	}
	raw := wire.AppendString([]byte(`{"name":`), name)
	if about := wire.Lookup(r.text, v, "description"); !r.absent(about) {
		text, ok := wire.String(r.text, about)
		if !ok {
			return hub.Tool{}, invalid(member(place, "description"), "it is no string")
		}
		raw = wire.AppendString(append(raw, `,"description":`...), text)
	}
	raw = append(append(raw, `,"inputSchema":`...), schema...)
	raw = append(n.appendTo(raw), '}')
	t, err := catalog.ParseTool(raw)
	if _, headers := errors.AsType[*catalog.HeaderError](err); err != nil && !headers {
		return hub.Tool{}, invalid(place, err.Error())
	}
	return t, nil
}

// absent reports whether a member that may be missing is, or is null.
func (r reader) absent(v wire.Span) bool { return !v.Exists() || string(v.Of(r.text)) == "null" }

// notes are the members of a tool that are no part of its description.
func (r reader) notes(v wire.Span, place string) (notes, error) {
	var n notes
	if list := wire.Lookup(r.text, v, "tags"); !r.absent(list) {
		all, err := r.list(v, place, "tags")
		if err != nil {
			return n, err
		}
		for i, element := range all {
			tag, ok := wire.String(r.text, element)
			if !ok {
				return n, invalid(fmt.Sprintf("%s.tags[%d]", place, i), "it is no string")
			}
			n.tags = append(n.tags, Tag(tag))
		}
	}
	if b := wire.Lookup(r.text, v, "blocking"); !r.absent(b) {
		switch string(b.Of(r.text)) {
		case "true":
			n.blocking = true
		case "false":
		default:
			return n, invalid(member(place, "blocking"), "it is neither true nor false")
		}
	}
	if c := wire.Lookup(r.text, v, "cost_estimate"); !r.absent(c) {
		cost, _ := wire.String(r.text, c)
		if n.cost = Cost(cost); !n.cost.known() {
			return n, invalid(member(place, "cost_estimate"), "it is none of low, medium and high")
		}
	}
	return n, nil
}
