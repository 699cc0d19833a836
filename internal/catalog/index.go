package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/atomicfile"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// The index is the file from which lists are answered before any server runs:
//
//	{
//	  "version": 1,
//	  "servers": {
//	    "KEY": {
//	      "identity": "sha256:...",              see [identify]
//	      "listedAt": "2026-11-21T09:30:00Z",    RFC 3339
//	      "instructions": "...",
//	      "imported": true,                      only if the list is not the server's own
//	      "capabilities": { ... },               the bytes the server sent, as in the lists; only if known
//	      "tools": [ ... ],
//	      "resources": [ ... ],                  this and what follows only if known
//	      "templates": [ ... ],
//	      "prompts": [ ... ]
//	    }
//	  }
//	}
//
// It holds no secrets. Members that are not known are skipped; another version
// is not read. The file is written as a whole and is only ever a copy: losing it
// costs nothing but the lists of servers that do not run.
const indexVersion = "1"

const (
	// maxIndex is the size above which an index is neither read nor written.
	maxIndex = wire.DefaultMaxBytes
	// indexDepth is that of a tool and of the four levels around it.
	indexDepth = wire.DefaultMaxDepth + 4
)

var errTooLarge = fmt.Errorf("more than %d MiB", maxIndex>>20)

// saved is what the index has of one server.
type saved struct {
	identity string
	offering *offering
}

// identify returns the digest of what makes a server the same one as before:
// the way it is reached. Of the environment only the names count, and of headers
// nothing, so that no secret can be guessed from the index and a new key does
// not empty the list.
func identify(s hub.Server) string {
	digest := sha256.New()
	field := func(values ...string) {
		// With its length before each value, no two servers look alike.
		text := binary.AppendUvarint(nil, uint64(len(values)))
		for _, v := range values {
			text = binary.AppendUvarint(text, uint64(len(v)))
			text = append(text, v...)
		}
		digest.Write(text)
	}
	field(string(s.Kind))
	field(s.Command)
	field(s.Args...)
	field(slices.Sorted(maps.Keys(s.Env))...)
	field(s.Dir)
	field(s.URL)
	// What came later counts only where it is used: else the lists of all servers
	// would be lost with an upgrade.
	if s.EnvFile != "" {
		field("envFile", s.EnvFile)
	}
	if s.Simulated {
		field("simulated")
	}
	return "sha256:" + hex.EncodeToString(digest.Sum(nil))
}

// encodeIndex returns the text of the index. Parts without a list are left out.
func encodeIndex(parts []*part) []byte {
	b := append([]byte(`{"version":`), indexVersion...)
	b = append(b, `,"servers":{`...)
	first := true
	for _, p := range parts {
		if p.offering == nil {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '\n')
		b = wire.AppendString(b, p.server.Key)
		b = append(b, `:{"identity":`...)
		b = wire.AppendString(b, p.identity)
		b = append(b, `,"listedAt":`...)
		b = wire.AppendString(b, p.offering.listedAt.Format(time.RFC3339))
		b = append(b, `,"instructions":`...)
		b = wire.AppendString(b, p.offering.Instructions)
		if p.offering.imported {
			b = append(b, `,"imported":true`...)
		}
		if p.offering.Capabilities != nil {
			b = append(b, `,"capabilities":`...)
			b = append(b, p.offering.Capabilities...)
		}
		b = appendLists(b, p.offering)
		b = append(b, '}')
	}
	return append(b, "\n}}\n"...)
}

// appendLists appends the lists that are known.
func appendLists(b []byte, o *offering) []byte {
	b = appendList(b, "tools", o.Tools, func(t hub.Tool) []byte { return t.Raw })
	if o.known.Has(hub.ListResources) {
		b = appendList(b, "resources", o.Resources, func(r hub.Resource) []byte { return r.Raw })
	}
	if o.known.Has(hub.ListTemplates) {
		b = appendList(b, "templates", o.Templates, func(t hub.Template) []byte { return t.Raw })
	}
	if o.known.Has(hub.ListPrompts) {
		b = appendList(b, "prompts", o.Prompts, func(p hub.Prompt) []byte { return p.Raw })
	}
	return b
}

// appendList appends the member for a list, which is not the first of its object.
func appendList[T any](b []byte, member string, list []T, raw func(T) []byte) []byte {
	b = append(b, `,"`...)
	b = append(b, member...)
	b = append(b, `":[`...)
	for i, one := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '\n')
		b = append(b, raw(one)...)
	}
	return append(b, ']')
}

// decodeIndex reads the text of an index, which may be any bytes. What is listed
// shares its memory.
func decodeIndex(text []byte) (map[string]saved, error) {
	servers, err := readServers(text, indexVersion)
	if err != nil {
		return nil, err
	}
	all := make(map[string]saved)
	for m := range wire.Object(text, servers) {
		key, _ := wire.String(text, m.Key)
		s, err := decodeServer(text, m.Value)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", key, err)
		}
		all[key] = s
	}
	return all, nil
}

// readServers finds the servers in the text of a file, which may be any bytes.
func readServers(text []byte, version string) (wire.Span, error) {
	lim := wire.Limits{MaxBytes: maxIndex, MaxDepth: indexDepth, UniqueKeys: true}
	if err := wire.Valid(text, lim); err != nil {
		return wire.Span{}, err
	}
	file := wire.Value(text)
	if v := wire.Lookup(text, file, "version").Of(text); string(v) != version {
		return wire.Span{}, errors.New("it is not of version " + version)
	}
	servers := wire.Lookup(text, file, "servers")
	if !starts(text, servers, '{') {
		return wire.Span{}, errors.New("no servers")
	}
	return servers, nil
}

// decodeServer reads one member of the index's servers.
func decodeServer(text []byte, v wire.Span) (saved, error) {
	identity, ok := wire.String(text, wire.Lookup(text, v, "identity"))
	if !ok {
		return saved{}, errors.New("no identity")
	}
	at, _ := wire.String(text, wire.Lookup(text, v, "listedAt"))
	listedAt, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return saved{}, fmt.Errorf("read listedAt: %w", err)
	}
	instructions, ok := wire.String(text, wire.Lookup(text, v, "instructions"))
	if !ok {
		return saved{}, errors.New("no instructions")
	}
	o := &offering{known: hub.ListTools, listedAt: listedAt, imported: isTrue(text, wire.Lookup(text, v, "imported"))}
	o.Instructions = instructions
	if o.Tools, err = readTools(text, v); err != nil {
		return saved{}, err
	}
	if err := o.readMore(text, v); err != nil {
		return saved{}, err
	}
	return saved{identity, o}, nil
}

// readMore reads what an index of an earlier version of this program does not
// have.
func (o *offering) readMore(text []byte, server wire.Span) (err error) {
	if v := wire.Lookup(text, server, "capabilities"); v.Exists() {
		o.Capabilities = v.Of(text)
		if err := checkCapabilities(o.Capabilities); err != nil {
			return err
		}
	}
	if v := wire.Lookup(text, server, "resources"); v.Exists() {
		o.known |= hub.ListResources
		if o.Resources, err = readList(text, v, ParseResource, func(r hub.Resource) string { return r.URI }); err != nil {
			return err
		}
	}
	if v := wire.Lookup(text, server, "templates"); v.Exists() {
		o.known |= hub.ListTemplates
		if o.Templates, err = readList(text, v, ParseTemplate, func(t hub.Template) string { return t.URI }); err != nil {
			return err
		}
	}
	if v := wire.Lookup(text, server, "prompts"); v.Exists() {
		o.known |= hub.ListPrompts
		if o.Prompts, err = readList(text, v, ParsePrompt, func(p hub.Prompt) string { return p.Name }); err != nil {
			return err
		}
	}
	return nil
}

// readTools reads the tools of one server in a file. No two have the same name.
func readTools(text []byte, server wire.Span) ([]hub.Tool, error) {
	parse := func(raw []byte) (hub.Tool, error) {
		tool, err := ParseTool(raw)
		// A tool whose headers are at fault was offered by a server to which
		// they do not matter.
		if _, headers := errors.AsType[*HeaderError](err); headers {
			err = nil
		}
		return tool, err
	}
	return readList(text, wire.Lookup(text, server, "tools"), parse, func(t hub.Tool) string { return t.Name })
}

// readList reads a list in a file. No two in it have the same name.
func readList[T any](text []byte, list wire.Span, parse func([]byte) (T, error), name func(T) string) ([]T, error) {
	if !starts(text, list, '[') {
		return nil, errors.New("a list is missing, or is none")
	}
	var all []T
	seen := make(map[string]bool)
	for element := range wire.Array(text, list) {
		one, err := parse(element.Of(text))
		if err != nil {
			return nil, err
		}
		n := name(one)
		if seen[n] {
			return nil, fmt.Errorf("two of a list are named %q", n)
		}
		seen[n] = true
		all = append(all, one)
	}
	return all, nil
}

// starts reports whether a value is there and has the first byte.
func starts(text []byte, v wire.Span, first byte) bool { return v.Exists() && text[v.Start] == first }

// damage is why an index that could be read cannot be used.
type damage struct{ error }

// loadIndex reads the index. It returns nothing if there is no such file, and a
// [damage] if there is one of no use.
func loadIndex(path string) (map[string]saved, error) {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := decodeIndex(text)
	if err != nil {
		return nil, damage{err}
	}
	return all, nil
}

// readFile reads a file. One that is too large to be of use is a [damage].
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		// A pipe, say, would be read for ever.
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxIndex {
		return nil, damage{errTooLarge}
	}
	return os.ReadFile(path)
}

// writeFile puts text in the place of a file at once: whoever reads it, also
// after a crash, finds the old one or the new one. Only the owner may read it.
func writeFile(path string, text []byte) error {
	if len(text) > maxIndex {
		return errTooLarge
	}
	return atomicfile.WriteBytes(path, text)
}
