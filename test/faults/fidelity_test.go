package faults

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// The arguments below are legal and unusual: integers that no float holds,
// numbers with an exponent, escapes that need not be, a name that is written in
// two ways, spaces where nobody writes any.
const (
	oddArguments = `{  "big":9007199254740993 , "huge":123456789012345678901234567890,"exp":1E+2,"tiny":1e-400,"neg":-0,"half":0.10,` +
		`"\u0061b":"\ud83d\ude00 \/ \u0000 \ud800","dup  space":  [ 1 ,2 ],"":"","no":false,"nil":null,"o":{},"l":[ ],` +
		`"deep":[[[{"x":[null,{"y":[]}]}]]],"_meta":{"io.modelcontextprotocol/protocolVersion":"mine"},"name":"faulty__mirror","你好":"🚀"}`
	oddMeta    = `"example.org/x" : [ 1.0 ,{}],"":null,"progress\u0054oken2":0,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`
	oddMembers = `"x-unknown":{"keep":[1 , 2.50]},"task":{"ttl":60000}`
)

// servers are one of each kind that there is.
func servers() map[string]func(t *testing.T, args ...string) hub.Server {
	return map[string]func(t *testing.T, args ...string) hub.Server{"stdio": local, "http": far}
}

// member is one member of an object, as it is written.
type member struct{ key, value string }

// members reads an object, in its order.
func members(t *testing.T, object string) []member {
	t.Helper()
	raw := []byte(object)
	if err := wire.Valid(raw, wire.Limits{}); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	var all []member
	for m := range wire.Object(raw, wire.Value(raw)) {
		all = append(all, member{string(m.Key.Of(raw)), string(m.Value.Of(raw))})
	}
	return all
}

// except returns the members without those of the keys.
func except(all []member, keys ...string) []member {
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool { return slices.Contains(keys, strings.Trim(m.key, `"`)) })
}

// find returns the value of a member.
func find(t *testing.T, all []member, key string) string {
	t.Helper()
	for _, m := range all {
		if strings.Trim(m.key, `"`) == key {
			return m.value
		}
	}
	t.Fatalf("no %q in %v", key, all)
	return ""
}

// ownedMeta are the members of a request's _meta that are the hub's to write
// ([protocol.OwnedMembers]).
func ownedMeta() []string {
	return []string{
		protocol.MetaProgressToken, protocol.MetaVersion, protocol.MetaClientInfo,
		protocol.MetaCapabilities, protocol.MetaLogLevel,
	}
}

// What a caller sends reaches the server byte for byte, in its order, but for
// the members that are the hub's.
func TestParamsAreKept(t *testing.T) {
	for kind, server := range servers() {
		for _, of := range eras() {
			var args []string
			if of == modern {
				args = []string{"-fault", "modernonly"}
			}
			t.Run(kind+" "+string(of), func(t *testing.T) {
				h := start(t, budget(), server(t, args...))
				h.await("faulty", hub.StateReady)
				for _, e := range eras() {
					got := mirrored(t, h.connect(e))
					want := []member{
						{`"x-unknown"`, `{"keep":[1 , 2.50]}`},
						{`"task"`, `{"ttl":60000}`},
						{`"name"`, `"mirror"`},
						{`"arguments"`, oddArguments},
					}
					if rest := except(got, "_meta"); !slices.Equal(rest, want) {
						t.Errorf("from %s: the server got %q, want %q", e, rest, want)
					}
					meta := members(t, find(t, got, "_meta"))
					if rest, want := except(meta, ownedMeta()...), members(t, "{"+oddMeta+"}"); !slices.Equal(rest, want) {
						t.Errorf("from %s: the server got the _meta %q, want %q", e, rest, want)
					}
					wantVersion := []member{}
					if of == modern {
						wantVersion = []member{{`"` + protocol.MetaVersion + `"`, `"2026-07-28"`}}
					}
					version := slices.DeleteFunc(slices.Clone(meta), func(m member) bool { return m.key != `"`+protocol.MetaVersion+`"` })
					if !slices.Equal(version, wantVersion) {
						t.Errorf("from %s: the server got the versions %q, want %q", e, version, wantVersion)
					}
				}
			})
		}
	}
}

// mirrored calls the mirror with everything that is odd, and returns the params
// that it got.
func mirrored(t *testing.T, c *caller) []member {
	t.Helper()
	meta := `"_meta":{` + oddMeta + `,"progressToken":"mine"`
	if c.era == modern {
		// By hand, because what the caller's era needs is in the same object.
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"faults","version":"1"}`
	}
	a, err := c.send("tools/call", "faulty__mirror", meta+`},`+oddMembers+`,"name":"faulty__mirror","arguments":`+oddArguments)
	if err != nil {
		t.Fatal(err)
	}
	if a.Error != nil {
		t.Fatalf("mirror: %s", a.raw)
	}
	content := find(t, members(t, string(a.Result)), "structuredContent")
	return members(t, find(t, members(t, content), "params"))
}

// What a server answers reaches the caller byte for byte, but for the member
// that only one of the eras has.
func TestResultsAreKept(t *testing.T) {
	const added = `"resultType":"complete",`
	for kind, server := range servers() {
		for _, of := range eras() {
			t.Run(kind+" "+string(of), func(t *testing.T) {
				var args []string
				if of == modern {
					args = []string{"-fault", "modernonly"}
				}
				direct := weird(t, of, args...)
				if of == modern {
					direct = strings.Replace(direct, added, "", 1)
				}
				h := start(t, budget(), server(t, args...))
				h.await("faulty", hub.StateReady)
				for _, e := range eras() {
					a, err := h.connect(e).call("faulty__weird", `{}`)
					if err != nil {
						t.Fatal(err)
					}
					got := string(a.Result)
					if e == modern {
						if n := strings.Count(got, added); n != 1 {
							t.Errorf("to %s: %q is there %d times", e, added, n)
						}
						got = strings.Replace(got, added, "", 1)
					}
					want := direct
					if of == modern && e == legacy { // the space behind the member goes with it
						want = "{" + strings.TrimLeft(direct[1:], " ")
					}
					if got != want {
						t.Errorf("to %s:\n got %s\nwant %s", e, got, want)
					}
				}
			})
		}
	}
}

// weird asks a fault-injecting server itself for the result of its weird tool.
func weird(t *testing.T, e era, args ...string) string {
	t.Helper()
	_, url := spawn(t, "127.0.0.1:0", args...)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a, err := connect(t, &http.Client{Transport: transport}, url, e).call("weird", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	return string(a.Result)
}

// A tool is listed as its server describes it, byte for byte, but for its name.
func TestDescriptionsAreKept(t *testing.T) {
	_, url := spawn(t, "127.0.0.1:0")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	described := func(c *caller, name string) string {
		a, err := c.request("tools/list", "", "")
		if err != nil {
			t.Fatal(err)
		}
		raw := []byte(find(t, members(t, string(a.Result)), "tools"))
		for at := range wire.Array(raw, wire.Value(raw)) {
			tool := string(at.Of(raw))
			if find(t, members(t, tool), "name") == `"`+name+`"` {
				return tool
			}
		}
		t.Fatalf("no %s in %s", name, raw)
		return ""
	}
	want := described(connect(t, &http.Client{Transport: transport}, url, legacy), "weird")
	want = strings.Replace(want, `"name":"weird"`, `"name":"faulty__weird"`, 1)
	h := start(t, budget(), local(t))
	h.await("faulty", hub.StateReady)
	for _, e := range eras() {
		if got := described(h.connect(e), "faulty__weird"); got != want {
			t.Errorf("to %s:\n got %s\nwant %s", e, got, want)
		}
	}
}

// An error of the server's own reaches the caller byte for byte.
func TestErrorsAreKept(t *testing.T) {
	const want = `{"code":1234,"message":"refused on request","data":{"reason":"asked for","big":9007199254740993,"nested":{"list":[0,false,null,"",{}]}}}`
	for kind, server := range servers() {
		t.Run(kind, func(t *testing.T) {
			h := start(t, budget(), server(t))
			h.await("faulty", hub.StateReady)
			for _, e := range eras() {
				a, err := h.connect(e).call("faulty__rpcerror", `{}`)
				if err != nil {
					t.Fatal(err)
				}
				if got := find(t, members(t, string(a.raw)), "error"); got != want {
					t.Errorf("to %s: got %s, want %s", e, got, want)
				}
			}
		})
	}
}

// Arguments in which a name stands twice mean one thing to who judges them and
// may mean another to the server: they are refused, and the server is not asked.
func TestAmbiguousArguments(t *testing.T) {
	h := start(t, budget(), local(t))
	h.await("faulty", hub.StateReady)
	for _, e := range eras() {
		for _, arguments := range []string{`{"text":"a","text":"b"}`, `{"text":"a","te\u0078t":"b"}`, `{"l":[{"x":1,"x":1}]}`} {
			a, err := h.connect(e).call("faulty__"+deed, arguments)
			if err != nil {
				t.Fatal(err)
			}
			if code, _ := a.codes(); code != "message_invalid" {
				t.Errorf("from %s: %s got %s", e, arguments, a.raw)
			}
		}
	}
	if n := h.calls(hub.Server{Kind: hub.KindStdio})[deed]; n != 0 {
		t.Errorf("the server got %d calls", n)
	}
}
