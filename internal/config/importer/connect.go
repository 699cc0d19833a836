package importer

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// EntryName is the key of Toolcrib's entry in a client's file.
const EntryName = config.OwnKey

// Connection is how a client reaches Toolcrib: it starts a program, or it goes
// to a URL if there is one.
type Connection struct {
	Command string // full path, since clients have a PATH of their own
	Args    []string
	URL     string
}

// entry is the connection as the client has it in its file.
func (c Connection) entry(f *entryForm) clientEntry {
	if c.URL != "" {
		return clientEntry{Type: f.typeHTTP, URL: c.URL}
	}
	return clientEntry{Type: f.typeStdio, Command: c.Command, Args: c.Args}
}

// clientEntry is a server in a client's file.
type clientEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
}

// Connect returns the text of the client's file with Toolcrib in it. All else
// stays byte for byte, and so does the whole text if it has the connection
// already. The error is a [message.ClientNotConnectable], a
// [message.ClientNeedsProgram], or [config.Problems] if the text cannot be
// parsed.
func Connect(client Client, text []byte, c Connection) ([]byte, error) {
	form := client.entry
	switch {
	case form == nil:
		return nil, notConnectable(client)
	case c.URL != "" && form.noURL:
		return nil, hub.E(message.ClientNeedsProgram, nil, "client", client.Title)
	}
	entry, err := json.Marshal(c.entry(form))
	if err != nil {
		return nil, fmt.Errorf("write the entry for %s: %w", client.Name, err)
	}
	was, found, err := config.EntryIn(text, form.block, EntryName)
	if err != nil {
		return nil, err
	}
	if found && saysSame(was, entry) {
		return text, nil
	}
	return config.SetServerIn(text, form.block, EntryName, entry)
}

// saysSame reports whether an entry makes the client do what ours would.
// Clients add members of their own, and a "type" that goes without saying.
func saysSame(entry, ours []byte) bool {
	var is, want map[string]any
	if json.Unmarshal(entry, &is) != nil || json.Unmarshal(ours, &want) != nil {
		return false
	}
	if args, ok := is["args"].([]any); ok && len(args) == 0 {
		delete(is, "args")
	}
	for _, name := range []string{"command", "args", "url"} {
		if !reflect.DeepEqual(is[name], want[name]) {
			return false
		}
	}
	kind := is["type"]
	if is["command"] != nil && (kind == nil || kind == "stdio") {
		kind = want["type"]
	}
	return kind == want["type"] && is["disabled"] != true && is["enabled"] != false
}
