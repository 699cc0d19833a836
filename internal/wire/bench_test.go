package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/wire"
)

const smallCall = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"files__read","arguments":{"path":"/srv/data/a.txt","limit":100},"_meta":{"progressToken":17}}}`

// benchMessages are messages of the sizes and makes that a hub carries most.
func benchMessages() []struct {
	name string
	raw  []byte
} {
	result := func(text string) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":%s}]}}`, wire.AppendString(nil, text))
	}
	fill := func(unit string, size int) string {
		return strings.Repeat(unit, size/len(unit)+1)[:size/len(unit)*len(unit)]
	}
	var tools strings.Builder
	for i := range 40 {
		if i > 0 {
			tools.WriteByte(',')
		}
		fmt.Fprintf(&tools, `{"name":"tool_%d","description":"Reads a file, and says what it holds.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Where the file is"},"limit":{"type":"integer","minimum":0,"maximum":1000},"deep":{"type":"boolean","default":false}},"required":["path"]}}`, i)
	}
	return []struct {
		name string
		raw  []byte
	}{
		{"call-150B", []byte(smallCall)},
		{"text-16KiB", result(fill("The quick brown fox jumps over the lazy dog. ", 16<<10))},
		{"tools-12KiB", []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tools.String() + `]}}`)},
		{"code-1MiB", result(fill("\tif err != nil {\n\t\treturn fmt.Errorf(\"read %q: %w\", name, err)\n\t}\n", 1<<20))},
		{"chinese-1MiB", result(fill("工具箱是车间里的柜台，", 1<<20))},
		{"text-1MiB", result(fill("The quick brown fox jumps over the lazy dog. ", 1<<20))},
		{"lines-1MiB", result(fill(strings.Repeat("0", 63)+"\n", 1<<20))},
	}
}

func BenchmarkScan(b *testing.B) {
	for _, msg := range benchMessages() {
		for _, lim := range []wire.Limits{{}, {UniqueKeys: true}} {
			b.Run(fmt.Sprintf("%s/unique=%t", msg.name, lim.UniqueKeys), func(b *testing.B) {
				b.SetBytes(int64(len(msg.raw)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := wire.Scan(msg.raw, lim); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkUnmarshal is what it costs to find the same members with
// encoding/json, which keeps their bytes but not their places.
func BenchmarkUnmarshal(b *testing.B) {
	for _, msg := range benchMessages() {
		b.Run(msg.name, func(b *testing.B) {
			b.SetBytes(int64(len(msg.raw)))
			b.ReportAllocs()
			for b.Loop() {
				var m struct {
					ID             json.RawMessage
					Method         string
					Params, Result map[string]json.RawMessage
				}
				if err := json.Unmarshal(msg.raw, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRelay is a call's way through a hub: scan, read what decides, give
// it another id and name, write.
func BenchmarkRelay(b *testing.B) {
	raw := []byte(smallCall)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := wire.Scan(raw, wire.Limits{UniqueKeys: true})
		if err != nil {
			b.Fatal(err)
		}
		_, err = wire.WriteSplice(io.Discard, raw,
			wire.Replace(m.ID, []byte("4711")),
			wire.Replace(m.Member("name"), []byte(`"read"`)))
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	raw := benchMessages()[5].raw
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if wire.Lookup(raw, m.Result, "none").Exists() {
			b.Fatal("found what is not there")
		}
	}
}

// BenchmarkManyKeys is the message of an attacker: an object of a million keys.
func BenchmarkManyKeys(b *testing.B) {
	var buf bytes.Buffer
	buf.WriteString(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"k":0`)
	for i := range 1_000_000 {
		fmt.Fprintf(&buf, `,"%d":0`, i)
	}
	buf.WriteString("}}")
	b.SetBytes(int64(buf.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Scan(buf.Bytes(), wire.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
