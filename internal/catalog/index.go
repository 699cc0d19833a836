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
//	      "tools": [ ... ]                       the bytes the server sent
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
		b = wire.AppendString(b, p.offering.instructions)
		if p.offering.imported {
			b = append(b, `,"imported":true`...)
		}
		b = append(b, `,"tools":[`...)
		for i, t := range p.offering.tools {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '\n')
			b = append(b, t.Raw...)
		}
		b = append(b, `]}`...)
	}
	return append(b, "\n}}\n"...)
}

// decodeIndex reads the text of an index, which may be any bytes. The tools
// share its memory.
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
	tools, err := readTools(text, v)
	if err != nil {
		return saved{}, err
	}
	return saved{identity, &offering{
		tools: tools, instructions: instructions, listedAt: listedAt,
		imported: isTrue(text, wire.Lookup(text, v, "imported")),
	}}, nil
}

// readTools reads the tools of one server in a file. No two have the same name.
func readTools(text []byte, server wire.Span) ([]hub.Tool, error) {
	list := wire.Lookup(text, server, "tools")
	if !starts(text, list, '[') {
		return nil, errors.New("no tools")
	}
	var tools []hub.Tool
	names := make(map[string]bool)
	for element := range wire.Array(text, list) {
		tool, err := ParseTool(element.Of(text))
		// A tool whose headers are at fault was offered by a server to which
		// they do not matter.
		if _, headers := errors.AsType[*HeaderError](err); err != nil && !headers {
			return nil, err
		}
		if names[tool.Name] {
			return nil, fmt.Errorf("two tools named %q", tool.Name)
		}
		names[tool.Name] = true
		tools = append(tools, tool)
	}
	return tools, nil
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
