package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// reasonOf returns the Error in err, whose Reason is 0 if err is nil.
func reasonOf(t *testing.T, err error) *wire.Error {
	t.Helper()
	if err == nil {
		return &wire.Error{}
	}
	fault, ok := errors.AsType[*wire.Error](err)
	if !ok {
		t.Fatalf("error is a %T, want a *wire.Error: %v", err, err)
	}
	return fault
}

func TestScanKinds(t *testing.T) {
	for _, tc := range []struct {
		raw                         string
		kind                        wire.Kind
		id, method                  string
		params, result, errorMember string
	}{
		{raw: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, kind: wire.Request, id: "1", method: "ping"},
		{raw: `{"jsonrpc":"2.0","id":0,"method":"m","params":{}}`, kind: wire.Request, id: "0", method: "m", params: "{}"},
		{raw: `{"jsonrpc":"2.0","id":-1,"method":"m","params":[1,2]}`, kind: wire.Request, id: "-1", method: "m", params: "[1,2]"},
		{raw: `{"jsonrpc":"2.0","id":1.5e3,"method":"m"}`, kind: wire.Request, id: "1.5e3", method: "m"},
		{raw: `{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, kind: wire.Request, id: "9007199254740993", method: "m"},
		{raw: `{"jsonrpc":"2.0","id":"","method":""}`, kind: wire.Request, id: `""`},
		{raw: `{"jsonrpc":"2.0","id":"\u0031","method":"m"}`, kind: wire.Request, id: `"\u0031"`, method: "m"},
		{raw: `{"jsonrpc":"2.0","method":"m"}`, kind: wire.Notification, method: "m"},
		{raw: `{"jsonrpc":"2.0","method":"tools\/call"}`, kind: wire.Notification, method: "tools/call"},
		{raw: `{"\u006asonrpc":"\u0032.0","\u006dethod":"m","\u0069d":7}`, kind: wire.Request, id: "7", method: "m"},
		{raw: " \t\r\n{ \"jsonrpc\" :\n\"2.0\" ,\r\"method\"\t: \"m\" , \"params\" : { } } \r\n\t", kind: wire.Notification, method: "m", params: "{ }"},
		{raw: `{"jsonrpc":"2.0","id":1,"result":null}`, kind: wire.Response, id: "1", result: "null"},
		{raw: `{"jsonrpc":"2.0","id":1,"result":{"a":[]}}`, kind: wire.Response, id: "1", result: `{"a":[]}`},
		{raw: `{"jsonrpc":"2.0","id":"a","result":false}`, kind: wire.Response, id: `"a"`, result: "false"},
		{raw: `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}`, kind: wire.Failure, id: "1", errorMember: `{"code":-1,"message":"x"}`},
		{raw: `{"jsonrpc":"2.0","id":null,"error":{}}`, kind: wire.Failure, id: "null", errorMember: "{}"},
		{raw: `{"jsonrpc":"2.0","error":{}}`, kind: wire.Failure, errorMember: "{}"},
		// What is not of JSON-RPC is ignored.
		{raw: `{"jsonrpc":"2.0","id":3,"method":"m","x":{"id":5,"ID":6},"methods":4}`, kind: wire.Request, id: "3", method: "m"},
		{raw: `{"jsonrpc":"2.0","id":3,"result":1,"":null}`, kind: wire.Response, id: "3", result: "1"},
	} {
		m, err := wire.Scan([]byte(tc.raw), wire.Limits{UniqueKeys: true})
		if err != nil {
			t.Errorf("%s: %v", tc.raw, err)
			continue
		}
		for _, part := range []struct{ what, got, want string }{
			{"id", string(m.ID.Of(m.Raw)), tc.id},
			{"method", m.MethodName(), tc.method},
			{"params", string(m.Params.Of(m.Raw)), tc.params},
			{"result", string(m.Result.Of(m.Raw)), tc.result},
			{"error", string(m.Error.Of(m.Raw)), tc.errorMember},
		} {
			if part.got != part.want {
				t.Errorf("%s: %s is %s, want %s", tc.raw, part.what, part.got, part.want)
			}
		}
		if m.Kind != tc.kind {
			t.Errorf("%s: kind %d, want %d", tc.raw, m.Kind, tc.kind)
		}
		if string(m.Raw) != tc.raw {
			t.Errorf("%s: Raw is %s", tc.raw, m.Raw)
		}
	}
}

// Names in another case are ignored, too, but not where every key has to be
// what it is for everybody.
func TestScanCase(t *testing.T) {
	for _, tc := range []struct{ raw, name string }{
		{`{"Jsonrpc":1,"jsonrpc":"2.0","id":3,"method":"m"}`, "Jsonrpc"},
		{`{"jsonrpc":"2.0","id":3,"method":"m","ID":4}`, "ID"},
		{`{"jsonrpc":"2.0","id":3,"method":"m","\u004dethod":"n"}`, "Method"},
		{`{"jsonrpc":"2.0","id":3,"method":"m","PARAMS":{}}`, "PARAMS"},
		{`{"jsonrpc":"2.0","id":3,"method":"m","param\u017f":{}}`, "paramſ"},
		{`{"jsonrpc":"2.0","id":3,"result":1,"Error":{}}`, "Error"},
	} {
		m, err := wire.Scan([]byte(tc.raw), wire.Limits{})
		if err != nil || string(m.ID.Of(m.Raw)) != "3" {
			t.Errorf("%s: %v", tc.raw, err)
		}
		m, err = wire.Scan([]byte(tc.raw), wire.Limits{UniqueKeys: true})
		if fault := reasonOf(t, err); fault.Reason != wire.NotMessage || fault.Name != tc.name || string(m.ID.Of(m.Raw)) != "3" {
			t.Errorf("%s: %v, want NotMessage for %q", tc.raw, err, tc.name)
		}
	}
}

// TestScanNotMessage goes through the rows of the table at Scan and all that
// it leaves out.
func TestScanNotMessage(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		name string // of the member at fault
		at   string // what stands at the offset of the fault; "" for the start
		id   string
	}{
		{raw: `1`},
		{raw: `"x"`},
		{raw: `null`},
		{raw: `[]`},
		{raw: `[{"jsonrpc":"2.0","method":"m"}]`},
		{raw: `{}`, name: "jsonrpc"},
		{raw: `{"id":1,"method":"m"}`, name: "jsonrpc", id: "1"},
		{raw: `{"JSONRPC":"2.0","id":1,"method":"m"}`, name: "jsonrpc", id: "1"},
		{raw: `{"jsonrpc":"1.0","id":1,"method":"m"}`, name: "jsonrpc", at: `"1.0"`, id: "1"},
		{raw: `{"jsonrpc":2.0,"id":1,"method":"m"}`, name: "jsonrpc", at: `2.0`, id: "1"},
		{raw: `{"jsonrpc":null,"id":1,"method":"m"}`, name: "jsonrpc", at: `null`, id: "1"},

		{raw: `{"jsonrpc":"2.0","id":{},"method":"m"}`, name: "id", at: `{},`},
		{raw: `{"jsonrpc":"2.0","id":[1],"method":"m"}`, name: "id", at: `[1]`},
		{raw: `{"jsonrpc":"2.0","id":true,"method":"m"}`, name: "id", at: `true`},
		{raw: `{"jsonrpc":"2.0","id":false,"result":1}`, name: "id", at: `false`},
		{raw: `{"jsonrpc":"2.0","id":[],"error":{}}`, name: "id", at: `[]`},
		{raw: `{"jsonrpc":"2.0","id":null,"method":"m"}`, name: "id", at: `null`},
		{raw: `{"jsonrpc":"2.0","id":null,"result":1}`, name: "id", at: `null`},
		{raw: `{"jsonrpc":"2.0","result":1}`, name: "id"},

		{raw: `{"jsonrpc":"2.0","id":1,"method":5}`, name: "method", at: `5`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"method":null}`, name: "method", at: `null`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"method":["m"]}`, name: "method", at: `["m"]`, id: "1"},

		{raw: `{"jsonrpc":"2.0","id":1,"method":"m","params":5}`, name: "params", at: `5`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, name: "params", at: `null`, id: "1"},
		{raw: `{"jsonrpc":"2.0","method":"m","params":"x"}`, name: "params", at: `"x"`},
		{raw: `{"jsonrpc":"2.0","id":1,"params":{}}`, name: "params", at: `{}}`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"params":{},"result":{}}`, name: "params", at: `{},`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"params":{},"error":{}}`, name: "params", at: `{},`, id: "1"},

		{raw: `{"jsonrpc":"2.0","id":1,"method":"m","result":7}`, name: "result", at: `7}`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"method":"m","error":{}}`, name: "error", at: `{}}`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"result":7,"error":{}}`, name: "error", at: `{}}`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"result":7,"error":null}`, name: "error", at: `null`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"error":"x"}`, name: "error", at: `"x"`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1,"error":null}`, name: "error", at: `null`, id: "1"},
		{raw: `{"jsonrpc":"2.0","id":1}`, id: "1"},
	} {
		m, err := wire.Scan([]byte(tc.raw), wire.Limits{})
		fault := reasonOf(t, err)
		if fault.Reason != wire.NotMessage || fault.Name != tc.name {
			t.Errorf("%s: %v, want NotMessage for %q", tc.raw, err, tc.name)
			continue
		}
		if at := max(0, strings.Index(tc.raw, tc.at)); fault.Offset != at {
			t.Errorf("%s: fault at %d, want %d", tc.raw, fault.Offset, at)
		}
		if m.Kind != wire.Invalid || string(m.ID.Of(m.Raw)) != tc.id {
			t.Errorf("%s: kind %d, id %s, want Invalid and %s", tc.raw, m.Kind, m.ID.Of(m.Raw), tc.id)
		}
	}
}

func TestScanFaults(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tc := range []struct {
		name   string
		raw    string
		lim    wire.Limits
		reason wire.Reason
		at     int
		key    string
		id     string
	}{
		{name: "empty", raw: "", reason: wire.Malformed},
		{name: "space", raw: " \n", reason: wire.Malformed, at: 2},
		{name: "byte order mark", raw: "\ufeff{}", reason: wire.Malformed},
		{name: "cut short", raw: `{"id":1,"method":"m`, reason: wire.Malformed, at: 17, id: "1"},
		{name: "cut after an escape", raw: `{"id":1,"method":"m\`, reason: wire.Malformed, at: 19, id: "1"},
		{name: "trailing garbage", raw: `{"id":1,"jsonrpc":"2.0","method":"m"} x`, reason: wire.Malformed, at: 38, id: "1"},
		{name: "two values", raw: `{"id":1}{}`, reason: wire.Malformed, at: 8, id: "1"},
		{name: "trailing comma", raw: `{"id":1,}`, reason: wire.Malformed, at: 8, id: "1"},
		{name: "bare key", raw: `{id:1}`, reason: wire.Malformed, at: 1},
		{name: "NUL between tokens", raw: "{\"id\":1\x00}", reason: wire.Malformed, at: 7, id: "1"},
		{name: "NUL in a string", raw: "{\"id\":\"\x00\"}", reason: wire.Malformed, at: 7},
		{name: "line feed in a string", raw: "{\"id\":1,\"method\":\"abcdefghij\n\"}", reason: wire.Malformed, at: 28, id: "1"},
		{name: "syntax comes before an id", raw: `{"params":[}],"id":1}`, reason: wire.Malformed, at: 11},

		{name: "not UTF-8, id after", raw: "{\"params\":{\"a\":\"\xff\"},\"id\":1}", reason: wire.NotUTF8, at: 16, id: "1"},
		{name: "not UTF-8 in the id", raw: "{\"id\":\"\xff\"}", reason: wire.NotUTF8, at: 7},
		{name: "not UTF-8 in a key", raw: "{\"\xff\":1}", reason: wire.NotUTF8, at: 2},

		{name: "duplicate id", raw: `{"id":1,"id":2,"id":3}`, reason: wire.DuplicateKey, at: 8, key: "id"},
		{name: "duplicate id, escaped", raw: `{"id":1,"\u0069d":{}}`, reason: wire.DuplicateKey, at: 8, key: "id"},
		{name: "duplicate method", raw: `{"method":"a","method":"b","id":2}`, reason: wire.DuplicateKey, at: 14, key: "method", id: "2"},
		{name: "duplicate unknown", raw: `{"x":1,"x":2,"id":2}`, reason: wire.DuplicateKey, at: 7, key: "x", id: "2"},
		{name: "duplicate in params", raw: `{"params":{"a":{"]":1},"\u0061":"}"},"id":2}`, reason: wire.DuplicateKey, at: 23, key: "a", id: "2"},
		{name: "duplicate in result", raw: `{"result":{"a":1,"a":2},"id":2}`, reason: wire.DuplicateKey, at: 17, key: "a", id: "2"},
		{name: "duplicate deeper", raw: `{"params":{"a":[{"b":1,"b":2}]},"id":2}`, lim: wire.Limits{UniqueKeys: true}, reason: wire.DuplicateKey, at: 23, key: "b", id: "2"},
		{name: "duplicate in an unknown member", raw: `{"x":{"b":1,"b":2},"id":2}`, lim: wire.Limits{UniqueKeys: true}, reason: wire.DuplicateKey, at: 12, key: "b", id: "2"},
		{name: "first fault is told", raw: `{"x":1,"x":2,"id":2,]`, reason: wire.DuplicateKey, at: 7, key: "x", id: "2"},
		{name: "long key is cut", raw: `{"` + strings.Repeat("é", 30) + `":1,"` + strings.Repeat("é", 30) + `":1}`, reason: wire.DuplicateKey, at: 66, key: strings.Repeat("é", 20)},
		{name: "long key is cut at a rune", raw: `{"` + strings.Repeat("中", 30) + `":1,"` + strings.Repeat("中", 30) + `":1}`, reason: wire.DuplicateKey, at: 96, key: strings.Repeat("中", 13)},

		{name: "too deep", raw: `{"params":[[]],"id":2}`, lim: wire.Limits{MaxDepth: 2}, reason: wire.TooDeep, at: 11, id: "2"},
		{name: "params too deep", raw: `{"params":{},"id":2}`, lim: wire.Limits{MaxDepth: 1}, reason: wire.TooDeep, at: 10, id: "2"},
		{name: "too deep, unique keys", raw: `{"params":{"a":{}},"id":2}`, lim: wire.Limits{MaxDepth: 2, UniqueKeys: true}, reason: wire.TooDeep, at: 15, id: "2"},
		{name: "object too deep", raw: `{"x":[{}],"id":2}`, lim: wire.Limits{MaxDepth: 2}, reason: wire.TooDeep, at: 6, id: "2"},
		{name: "too deep by default", raw: `{"params":` + deep(512) + `,"id":2}`, reason: wire.TooDeep, at: 10 + 511, id: "2"},
		{name: "too deep, cut short", raw: strings.Repeat(`{"params":[`, 1000), reason: wire.TooDeep, at: 256 * 11},
		{name: "too large", raw: `{"id":1,"method":"m"}`, lim: wire.Limits{MaxBytes: 20}, reason: wire.TooLarge, at: 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := wire.Scan([]byte(tc.raw), tc.lim)
			fault := reasonOf(t, err)
			if fault.Reason != tc.reason || fault.Offset != tc.at || fault.Name != tc.key {
				t.Errorf("%v, want %v of %q at %d", err, tc.reason, tc.key, tc.at)
			}
			if m.Kind != wire.Invalid || string(m.ID.Of(m.Raw)) != tc.id {
				t.Errorf("kind %d, id %q, want Invalid and %q", m.Kind, m.ID.Of(m.Raw), tc.id)
			}
			for range m.Members() {
				t.Error("a refused message has members")
			}
		})
	}
}

func TestScanWithinLimits(t *testing.T) {
	raw := `{"jsonrpc":"2.0","method":"m","params":` + strings.Repeat("[", 511) + strings.Repeat("]", 511) + `}`
	if _, err := wire.Scan([]byte(raw), wire.Limits{MaxBytes: len(raw)}); err != nil {
		t.Errorf("at both limits: %v", err)
	}
	raw = `{"jsonrpc":"2.0","method":"m","params":{"a":{"b":1,"b":2},"c":{"a":1}}}`
	if _, err := wire.Scan([]byte(raw), wire.Limits{}); err != nil {
		t.Errorf("keys that repeat deeper down: %v", err)
	}
	raw = `{"jsonrpc":"2.0","method":"m","params":{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}],"A":1}}`
	if _, err := wire.Scan([]byte(raw), wire.Limits{UniqueKeys: true}); err != nil {
		t.Errorf("the same key in several objects: %v", err)
	}
}

func TestMembers(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 16, 17, 100} {
		for _, head := range []string{`"method":"m","params":`, `"id":1,"result":`} {
			var buf bytes.Buffer
			fmt.Fprintf(&buf, `{"jsonrpc":"2.0",%s { `, head)
			var want []string
			for i := range n {
				if i > 0 {
					buf.WriteString(" , ")
				}
				fmt.Fprintf(&buf, `"\u006b%d" : {"v":[%d]}`, i, i)
				want = append(want, fmt.Sprintf(`"\u006b%d"={"v":[%d]}`, i, i))
			}
			buf.WriteString(" } }")
			m, err := wire.Scan(buf.Bytes(), wire.Limits{UniqueKeys: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for member := range m.Members() {
				got = append(got, string(member.Key.Of(m.Raw))+"="+string(member.Value.Of(m.Raw)))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d members: %v", n, got)
			}
			for i := range n {
				value := m.Member(fmt.Sprintf("k%d", i))
				if got := string(value.Of(m.Raw)); got != fmt.Sprintf(`{"v":[%d]}`, i) {
					t.Errorf("%d members: k%d is %s", n, i, got)
				}
			}
			if m.Member("k").Exists() || m.Member("v").Exists() || m.Member("K0").Exists() {
				t.Errorf("%d members: found one that is not there", n)
			}
			for range m.Members() { // Leaving early must be safe at any point.
				break
			}
		}
	}
	for _, raw := range []string{
		`{"jsonrpc":"2.0","method":"m"}`,
		`{"jsonrpc":"2.0","method":"m","params":[{"a":1}]}`,
		`{"jsonrpc":"2.0","id":1,"result":"a"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"a":1}}`,
		`{"jsonrpc":"2.0","method":"m","x":{"a":1}}`,
	} {
		m, err := wire.Scan([]byte(raw), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if m.Member("a").Exists() {
			t.Errorf("%s: has a member", raw)
		}
	}
}

// TestDuplicateKeysOfMany puts a duplicate at each place of objects around the
// size where comparing gives way to hashing.
func TestDuplicateKeysOfMany(t *testing.T) {
	for _, n := range []int{2, 15, 16, 17, 18, 48, 49, 50, 300} {
		for _, escape := range []bool{false, true} {
			for i := range n - 1 {
				var buf bytes.Buffer
				buf.WriteByte('{')
				for k := range n - 1 {
					fmt.Fprintf(&buf, `"k%d":0,`, k)
				}
				at := buf.Len()
				if escape {
					fmt.Fprintf(&buf, `"\u006B%d":0}`, i)
				} else {
					fmt.Fprintf(&buf, `"k%d":0}`, i)
				}
				err := wire.Valid(buf.Bytes(), wire.Limits{UniqueKeys: true})
				want := wire.Error{Reason: wire.DuplicateKey, Offset: at, Name: fmt.Sprintf("k%d", i)}
				if got := reasonOf(t, err); *got != want {
					t.Fatalf("%s: %v, want %v", buf.Bytes(), err, &want)
				}
				if err := wire.Valid(buf.Bytes(), wire.Limits{}); err != nil {
					t.Fatalf("unchecked: %v", err)
				}
			}
		}
	}
}

// TestManyKeysAreCheap bounds what a hostile object costs. Comparing each key
// with each takes longer than the bound even on a fast machine.
func TestManyKeysAreCheap(t *testing.T) {
	for _, format := range []string{`"%d":0`, `"\u0061%d":0`} {
		var buf bytes.Buffer
		buf.WriteString(`{"jsonrpc":"2.0","method":"m","params":{"x":0`)
		for i := range 100_000 {
			buf.WriteByte(',')
			fmt.Fprintf(&buf, format, i)
		}
		buf.WriteString("}}")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		if _, err := wire.Scan(buf.Bytes(), wire.Limits{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		if allocated > 3*uint64(buf.Len()) {
			t.Errorf("%d bytes of message cost %d bytes of memory", buf.Len(), allocated)
		}
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	for _, raw := range []string{
		smallCall,
		`{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"a\nb"}],"isError":false,"_meta":{}}}`,
		`{"jsonrpc":"2.0","method":"m","params":{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0}}`,
	} {
		bytes := []byte(raw)
		allocs := testing.AllocsPerRun(100, func() {
			m, err := wire.Scan(bytes, wire.Limits{UniqueKeys: true})
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for member := range m.Members() {
				count += member.Value.Len()
			}
			for member := range wire.Object(bytes, m.Result) {
				for element := range wire.Array(bytes, member.Value) {
					count += element.Len()
				}
			}
			if m.Member("nothing").Exists() || wire.Lookup(bytes, m.Params, "nothing").Exists() || count == 0 {
				t.Fatal("wrong members")
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", raw, allocs)
		}
	}
}

func TestValid(t *testing.T) {
	// A long run before the bytes that matter, so that they meet words at
	// every alignment.
	for _, inside := range []string{
		"", "a", "\u007f", "é", "中", "😀", "\u2028", "\ufffe", "\ud7ff\ue000", "\u0800", "\uffff", "\U0010ffff",
		`\"`, `\\`, `\/`, `\b\f\n\r\t`, `\u0000`, `\uD83D\uDE00`, `\ud800`, `\udc00\ud800`, `\uabcd`, `\uABCD`,
		"\x00", "\x1f", "\n", "\"", `\`, `\x`, `\u`, `\u12`, `\u123`, `\u123g`, `\u 123`, `\U0041`,
		"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
		"\xe4\xb8", "\xe4\xb8\x41", "\xe4\x41\x80", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
	} {
		for before := range 20 {
			for after := range 10 {
				raw := []byte(`"` + strings.Repeat("x", before) + inside + strings.Repeat("x", after) + `"`)
				checkValid(t, raw)
				checkValid(t, raw[:len(raw)-1])
				checkValid(t, []byte(`[`+string(raw)+`]`))
				checkValid(t, []byte(`"中中`+string(raw[1:])))
			}
		}
	}
	for _, raw := range []string{
		"", " ", "null", "nul", "nulll", "true", "True", "false", "fals", "n", "t1", "nan", "[NaN]", "Infinity",
		"0", "-0", "-", "+1", "01", "-01", "00", "1.", ".1", "1.0", "1.e1", "1e", "1e+", "1E-0", "1e05", "1e1.0", "0x1", "1_0",
		"12345678901234567890123456789", "1e999999", "-1.5E+10", "1 2", "1,", "0.0", "0e0", "--1", "1-",
		"[]", "[ ]", "[1]", "[1,]", "[,1]", "[1 2]", "[1,,2]", "[", "]", "[]]", "[[]", "[1", "[1,", "{]", "[}",
		"{}", "{ }", `{"a":1}`, `{"a":1,}`, `{,"a":1}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `{"a":1`, `{"a":`, `{"a"`, `{"a`, `{`,
		`{"a":1,"a":2}`, "\ufeff1", "\u00a01", "\v1", "\f1", "1\x00", "/**/1", "1//", "'a'", "\xff", "[\xff]", "{\"a\":1,\xff}",
		" \t\r\n[ \t\r\n1 \t\r\n, \t\r\n{ \t\r\n\"a\" \t\r\n: \t\r\n1 \t\r\n} \t\r\n] \t\r\n",
	} {
		checkValid(t, []byte(raw))
	}
}

// checkValid compares Valid with encoding/json.
func checkValid(t *testing.T, raw []byte) {
	t.Helper()
	want := json.Valid(raw) && bytes.Equal(raw, bytes.ToValidUTF8(raw, nil))
	if err := wire.Valid(raw, wire.Limits{}); (err == nil) != want {
		t.Errorf("%q: %v, want valid to be %t", raw, err, want)
	}
}

func TestErrorText(t *testing.T) {
	for _, tc := range []struct{ raw, want string }{
		{`{"jsonrpc":"2.0","id":true}`, `not a JSON-RPC 2.0 message "id": it must be a string or a number (at byte 22)`},
		{`{"a` + "\u2028" + `b\n":"secret","a` + "\u2028" + `b\n":"secret"}`, `duplicate key "a\u2028b\n" (at byte 20)`},
		{`{"a":"secret" "b"}`, `malformed JSON: a comma or closing bracket should stand here (at byte 14)`},
		{"{\"a\":\"\xff\"}", `not valid UTF-8 (at byte 6)`},
	} {
		_, err := wire.Scan([]byte(tc.raw), wire.Limits{})
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.raw, err, tc.want)
		}
	}
	for reason := wire.Malformed; reason <= wire.NotMessage; reason++ {
		if strings.HasPrefix(reason.String(), "reason ") {
			t.Errorf("%v has no text", reason)
		}
	}
}
