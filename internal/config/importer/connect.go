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
const EntryName = "toolcrib"

// Connection is how a client reaches Toolcrib: it starts a program, or it goes
// to a URL if there is one.
type Connection struct {
	Command string // full path, since clients have a PATH of their own
	Args    []string
	URL     string
}

// entry is the connection as the client has it in its file.
func (c Connection) entry(f *entryForm) map[string]any {
	e := map[string]any{"command": c.Command, "args": c.Args}
	kind := f.typeStdio
	if c.URL != "" {
		e, kind = map[string]any{"url": c.URL}, f.typeHTTP
	}
	if kind != "" {
		e["type"] = kind
	}
	return e
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
	if found && says(was, entry) {
		return text, nil
	}
	return config.SetServerIn(text, form.block, EntryName, entry)
}

// says reports whether an entry says all that another does, and nothing
// against it. Clients add members of their own.
func says(entry, other []byte) bool {
	var is, want map[string]any
	if json.Unmarshal(entry, &is) != nil || json.Unmarshal(other, &want) != nil {
		return false
	}
	for name, value := range want {
		if !reflect.DeepEqual(is[name], value) {
			return false
		}
	}
	_, command := is["command"]
	_, url := is["url"]
	return !(command && url) && is["disabled"] != true && is["enabled"] != false
}

// Disconnect returns the text of the client's file without Toolcrib, and
// whether it was in it. All else stays byte for byte. The errors are those of
// [Connect].
func Disconnect(client Client, text []byte) (rest []byte, found bool, err error) {
	if client.entry == nil {
		return nil, false, notConnectable(client)
	}
	return config.RemoveServerIn(text, client.entry.block, EntryName)
}
