package wire_test

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// node is a JSON value as encoding/json's tokens tell it: with keys of exact
// case and none lost.
type node struct {
	span    wire.Span
	decoded any // bool, string, json.Number, nil or, of an array or object, json.Delim
	members []member
	items   []node
}

type member struct {
	key   string
	value node
}

// read returns the one value in raw; false if raw is anything else or is not
// valid UTF-8.
func read(raw []byte) (node, bool) {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return node{}, false
	}
	r := reader{raw: raw, dec: json.NewDecoder(bytes.NewReader(raw))}
	r.dec.UseNumber()
	return r.value(), true
}

type reader struct {
	raw []byte
	dec *json.Decoder
}

// token returns the next token of input that is known to be valid.
func (r *reader) token() json.Token {
	token, err := r.dec.Token()
	if err != nil {
		panic(err)
	}
	return token
}

func (r *reader) value() node {
	start := int(r.dec.InputOffset())
	start += len(r.raw[start:]) - len(bytes.TrimLeft(r.raw[start:], " \t\r\n,:"))
	n := node{decoded: r.token()}
	switch n.decoded {
	case json.Delim('{'):
		for r.dec.More() {
			key := r.token().(string)
			n.members = append(n.members, member{key, r.value()})
		}
		r.token()
	case json.Delim('['):
		for r.dec.More() {
			n.items = append(n.items, r.value())
		}
		r.token()
	}
	n.span = wire.Span{Start: start, End: int(r.dec.InputOffset())}
	return n
}

// repeats reports whether two members have the same key, here or, if deep, in
// any object.
func (n node) repeats(deep bool) bool {
	seen := map[string]bool{}
	for _, m := range n.members {
		if seen[m.key] || deep && m.value.repeats(true) {
			return true
		}
		seen[m.key] = true
	}
	return deep && slices.ContainsFunc(n.items, func(item node) bool { return item.repeats(true) })
}

// misleads reports whether a member has the name of one of JSON-RPC's, but for
// its case.
func (n node) misleads() bool {
	return slices.ContainsFunc(n.members, func(m member) bool {
		return slices.ContainsFunc([]string{"jsonrpc", "id", "method", "params", "result", "error"}, func(own string) bool {
			return m.key != own && strings.EqualFold(m.key, own)
		})
	})
}

// depth is how many arrays and objects are open at once at most.
func (n node) depth() int {
	deepest := 0
	for _, m := range n.members {
		deepest = max(deepest, m.value.depth())
	}
	for _, item := range n.items {
		deepest = max(deepest, item.depth())
	}
	if n.decoded == json.Delim('{') || n.decoded == json.Delim('[') {
		deepest++
	}
	return deepest
}

// last returns the last member of a key.
func (n node) last(key string) (node, bool) {
	for _, m := range slices.Backward(n.members) {
		if m.key == key {
			return m.value, true
		}
	}
	return node{}, false
}

// kind tells what message a value is by the table at wire.Scan.
func (n node) kind() wire.Kind {
	isA := map[string]string{}
	for _, m := range n.members {
		switch value := m.value.decoded.(type) {
		case json.Delim:
			isA[m.key] = value.String()
		case string:
			isA[m.key] = "s"
			if m.key == "jsonrpc" {
				isA[m.key] = value
			}
		case json.Number:
			isA[m.key] = "n"
		case bool:
			isA[m.key] = "b"
		default:
			isA[m.key] = "null"
		}
	}
	has := func(key string, types ...string) bool { return slices.Contains(types, isA[key]) }
	switch {
	case !has("jsonrpc", "2.0"):
	case has("method", "s") && has("params", "", "{", "[") && has("result", "") && has("error", ""):
		switch {
		case has("id", "s", "n"):
			return wire.Request
		case has("id", ""):
			return wire.Notification
		}
	case has("method", "") && has("params", "") && has("result", "") && has("error", "{") && has("id", "", "null", "s", "n"):
		return wire.Failure
	case has("method", "") && has("params", "") && !has("result", "") && has("error", "") && has("id", "s", "n"):
		return wire.Response
	}
	return wire.Invalid
}

const maxDepth = 20 // small, so that it is met

func addMessages(f *testing.F, add func(raw string)) {
	f.Helper()
	for _, raw := range []string{
		smallCall,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\n\"b\""}],"isError":false}}`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"\u4e2d\ud83d\ude00"}}`,
		`{"jsonrpc":"2.0","method":"m","params":{"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"i":8,"j":{}}}`,
	} {
		add(raw)
	}
}

// FuzzScan compares Scan, Valid and the walks over what they accept with
// encoding/json.
func FuzzScan(f *testing.F) {
	addMessages(f, func(raw string) {
		f.Add([]byte(raw), false)
		f.Add([]byte(raw), true)
	})
	f.Fuzz(func(t *testing.T, raw []byte, unique bool) {
		given := bytes.Clone(raw)
		lim := wire.Limits{MaxDepth: maxDepth, UniqueKeys: unique}
		tree, valid := read(raw)

		want := valid && tree.depth() <= maxDepth && !(unique && tree.repeats(true))
		err := wire.Valid(raw, lim)
		if (err == nil) != want {
			t.Fatalf("Valid: %v, want valid to be %t", err, want)
		}
		if err == nil {
			checkWalk(t, raw, tree)
			if wire.Value(raw) != tree.span {
				t.Fatalf("Value: %v, want %v", wire.Value(raw), tree.span)
			}
		}
		checkOneLine(t, raw, valid)

		m, err := wire.Scan(raw, lim)
		want = want && tree.kind() != wire.Invalid && !tree.repeats(false) && !(unique && tree.misleads())
		if want {
			for _, body := range []string{"params", "result"} {
				n, _ := tree.last(body)
				want = want && !n.repeats(false)
			}
		}
		if (err == nil) != want {
			t.Fatalf("Scan: %v, want valid to be %t", err, want)
		}
		if err == nil {
			checkMessage(t, m, tree)
		} else {
			checkRefused(t, m, err, tree, valid)
		}
		if !bytes.Equal(raw, given) {
			t.Fatal("the input was changed")
		}
	})
}

// checkMessage compares an accepted message with what encoding/json has.
func checkMessage(t *testing.T, m wire.Message, tree node) {
	t.Helper()
	if m.Kind != tree.kind() {
		t.Fatalf("kind %d, want %d", m.Kind, tree.kind())
	}
	for key, got := range map[string]wire.Span{"id": m.ID, "method": m.Method, "params": m.Params, "result": m.Result, "error": m.Error} {
		if want, _ := tree.last(key); got != want.span {
			t.Fatalf("%s at %v, want %v", key, got, want.span)
		}
	}
	method, _ := tree.last("method")
	if name, _ := method.decoded.(string); m.MethodName() != name {
		t.Fatalf("method %q, want %q", m.MethodName(), name)
	}
	body := "params"
	if m.Kind == wire.Response {
		body = "result"
	}
	n, _ := tree.last(body)
	i := 0
	for got := range m.Members() {
		want := n.members[i]
		if name, ok := wire.String(m.Raw, got.Key); !ok || name != want.key || got.Value != want.value.span {
			t.Fatalf("member %d is %q at %v, want %q at %v", i, name, got.Value, want.key, want.value.span)
		}
		if at := m.Member(want.key); at != want.value.span {
			t.Fatalf("%q at %v, want %v", want.key, at, want.value.span)
		}
		i++
	}
	if i != len(n.members) {
		t.Fatalf("%d members, want %d", i, len(n.members))
	}
}

// checkRefused checks what is left of a refused message.
func checkRefused(t *testing.T, m wire.Message, err error, tree node, valid bool) {
	t.Helper()
	fault := reasonOf(t, err)
	if fault.Offset < 0 || fault.Offset > len(m.Raw) || len(fault.Name) > 40 || !utf8.ValidString(fault.Name) || !utf8.ValidString(err.Error()) {
		t.Fatalf("bad error: %#v", fault)
	}
	checkReason(t, fault, valid)
	if m.Kind != wire.Invalid {
		t.Fatalf("kind %d of a refused message", m.Kind)
	}
	for range m.Members() {
		t.Fatal("a refused message has members")
	}
	if m.ID.Exists() && !strings.ContainsRune(`"-0123456789`, rune(m.Raw[m.ID.Start])) {
		t.Fatalf("refused with id %s", m.ID.Of(m.Raw))
	}
	// In what is JSON, the id is found wherever it stands, if there is just one.
	if !valid {
		return
	}
	var want wire.Span
	ids := 0
	for _, member := range tree.members {
		if member.key == "id" {
			ids++
			switch member.value.decoded.(type) {
			case string, json.Number:
				want = member.value.span
			}
		}
	}
	if ids > 1 {
		want = wire.Span{}
	}
	if m.ID != want {
		t.Fatalf("refused with id at %v, want %v", m.ID, want)
	}
}

// checkReason checks that a refusal does not call valid JSON invalid, nor take
// what is invalid for a wrong message.
func checkReason(t *testing.T, fault *wire.Error, valid bool) {
	t.Helper()
	switch fault.Reason {
	case wire.Malformed, wire.NotUTF8:
		if valid {
			t.Fatalf("%v, but it is JSON", fault)
		}
	case wire.NotMessage:
		if !valid {
			t.Fatalf("%v, but it is no JSON", fault)
		}
	}
}

// checkWalk compares the walks over a value with what encoding/json has.
func checkWalk(t *testing.T, raw []byte, want node) {
	t.Helper()
	i := 0
	for m := range wire.Object(raw, want.span) {
		name, ok := wire.String(raw, m.Key)
		if !ok || name != want.members[i].key || m.Value != want.members[i].value.span || !wire.KeyIs(raw, m.Key, name) {
			t.Fatalf("member %d is %q at %v, want %q at %v", i, name, m.Value, want.members[i].key, want.members[i].value.span)
		}
		i++
	}
	if i != len(want.members) {
		t.Fatalf("%d members, want %d", i, len(want.members))
	}
	for _, m := range want.members {
		last, _ := want.last(m.key)
		if got := wire.Lookup(raw, want.span, m.key); got != last.span {
			t.Fatalf("%q at %v, want %v", m.key, got, last.span)
		}
		checkWalk(t, raw, m.value)
	}
	i = 0
	for item := range wire.Array(raw, want.span) {
		if item != want.items[i].span {
			t.Fatalf("item %d at %v, want %v", i, item, want.items[i].span)
		}
		checkWalk(t, raw, want.items[i])
		i++
	}
	if i != len(want.items) {
		t.Fatalf("%d items, want %d", i, len(want.items))
	}
	text, ok := wire.String(raw, want.span)
	if wantText, isText := want.decoded.(string); ok != isText || text != wantText {
		t.Fatalf("string %q, %t, want %q, %t", text, ok, wantText, isText)
	}
}

// checkOneLine checks that OneLine leaves no line break and no other value.
func checkOneLine(t *testing.T, raw []byte, valid bool) {
	t.Helper()
	line := wire.OneLine(raw)
	if len(line) != len(raw) || bytes.ContainsAny(line, "\r\n") {
		t.Fatalf("OneLine: %q", line)
	}
	if !valid {
		return
	}
	var before, after bytes.Buffer
	if json.Compact(&before, raw) != nil || json.Compact(&after, line) != nil || !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Fatalf("OneLine changed the value: %q", line)
	}
}

// pair is a member as its bytes.
type pair struct{ key, value string }

func pairs(raw []byte, obj wire.Span) []pair {
	var all []pair
	for m := range wire.Object(raw, obj) {
		all = append(all, pair{string(m.Key.Of(raw)), string(m.Value.Of(raw))})
	}
	return all
}

// FuzzSplice edits an object inside a value in each way, and checks that what
// comes out has just the members it should, byte for byte.
func FuzzSplice(f *testing.F) {
	addMessages(f, func(raw string) { f.Add([]byte(raw), uint(0), uint(5), "id", []byte(`{"x": 1}`)) })
	f.Fuzz(func(t *testing.T, raw []byte, which, mask uint, key string, text []byte) {
		lim := wire.Limits{UniqueKeys: true}
		if wire.Valid(raw, lim) != nil || wire.Valid(text, wire.Limits{MaxDepth: 10}) != nil || !utf8.ValidString(key) {
			t.Skip()
		}
		var objects []wire.Span
		var collect func(v wire.Span)
		collect = func(v wire.Span) {
			if raw[v.Start] == '{' {
				objects = append(objects, v)
			}
			for m := range wire.Object(raw, v) {
				collect(m.Value)
			}
			for item := range wire.Array(raw, v) {
				collect(item)
			}
		}
		collect(wire.Value(raw))
		if len(objects) == 0 {
			t.Skip()
		}
		obj := objects[which%uint(len(objects))]
		before := pairs(raw, obj)
		// same checks an edit of obj by its outcome.
		same := func(what string, edits []wire.Edit, want []pair) {
			t.Helper()
			got := checkSpliced(t, raw, edits)
			if err := wire.Valid(got, wire.Limits{MaxDepth: wire.DefaultMaxDepth + 10}); err != nil {
				t.Fatalf("%s: %s: %v", what, got, err)
			}
			end := obj.End + len(got) - len(raw)
			if !bytes.Equal(got[:obj.Start], raw[:obj.Start]) || !bytes.Equal(got[end:], raw[obj.End:]) {
				t.Fatalf("%s: changed bytes outside the object: %s", what, got)
			}
			if after := pairs(got, wire.Span{Start: obj.Start, End: end}); !slices.Equal(after, want) {
				t.Fatalf("%s: %q, want %q", what, after, want)
			}
		}

		newKey := wire.AppendString(nil, key)
		value := string(wire.Value(text).Of(text))
		added := pair{string(newKey), value}
		addition := []byte(added.key + ":" + added.value)

		same("Insert", []wire.Edit{wire.Insert(raw, obj, addition)}, append([]pair{added}, before...))

		at := slices.IndexFunc(before, func(p pair) bool { return wire.KeyIs([]byte(p.key), wire.Span{End: len(p.key)}, key) })
		old := wire.Lookup(raw, obj, key)
		edit, found := wire.Remove(raw, obj, key)
		if found != (at >= 0) || old.Exists() != found {
			t.Fatalf("%q found: %t, %v", key, found, old)
		}
		if found {
			same("Remove", []wire.Edit{edit}, slices.Delete(slices.Clone(before), at, at+1))
			replaced := slices.Clone(before)
			replaced[at].value = value
			same("Replace", []wire.Edit{wire.Replace(old, text[wire.Value(text).Start:wire.Value(text).End])}, replaced)
		}

		// Drop the members whose bits are set, and change the first that stays.
		var kept []pair
		var edits []wire.Edit
		i := 0
		for m := range wire.Object(raw, obj) {
			if mask>>(i%bits.UintSize)&1 == 0 {
				kept = append(kept, before[i])
				if len(kept) == 1 {
					edits = append(edits, wire.Replace(m.Value, []byte(value)))
					kept[0].value = value
				}
			}
			i++
		}
		i = 0
		drop := func(wire.Span) bool {
			i++
			return mask>>((i-1)%bits.UintSize)&1 == 1
		}
		same("EditObject", wire.EditObject(edits, raw, obj, drop, addition), append([]pair{added}, kept...))
		i = 0
		same("EditObject", wire.EditObject(edits, raw, obj, drop, nil), kept)
	})
}

// checkSpliced returns the result of an edit, which all functions must agree on.
func checkSpliced(t *testing.T, raw []byte, edits []wire.Edit) []byte {
	t.Helper()
	given := bytes.Clone(raw)
	got := wire.Splice(raw, edits...)
	var out bytes.Buffer
	if n, err := wire.WriteSplice(&out, raw, edits...); err != nil || n != len(got) || !bytes.Equal(out.Bytes(), got) {
		t.Fatalf("WriteSplice wrote %q (%d, %v), want %q", out.Bytes(), n, err, got)
	}
	if appended := wire.AppendSplice([]byte("x"), raw, edits...); string(appended[1:]) != string(got) {
		t.Fatalf("AppendSplice: %q, want %q", appended, got)
	}
	if wire.SplicedLen(raw, edits...) != len(got) {
		t.Fatalf("SplicedLen: %d, want %d", wire.SplicedLen(raw, edits...), len(got))
	}
	if !bytes.Equal(raw, given) {
		t.Fatal("the input was changed")
	}
	return got
}

// FuzzBatch compares Batch with encoding/json, and its parts with Array.
func FuzzBatch(f *testing.F) {
	addMessages(f, func(raw string) {
		f.Add([]byte(raw))
		f.Add([]byte("[" + raw + "]"))
		f.Add([]byte(" [ " + raw + " ,\r\n" + raw + " ] "))
	})
	f.Fuzz(func(t *testing.T, raw []byte) {
		parts, isBatch, err := wire.Batch(raw, wire.Limits{MaxDepth: maxDepth, UniqueKeys: true})
		if starts := bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")); isBatch != starts {
			t.Fatalf("batch: %t", isBatch)
		}
		if !isBatch {
			if parts != nil || err != nil {
				t.Fatalf("no batch, but %q, %v", parts, err)
			}
			return
		}
		tree, valid := read(raw)
		want := valid && tree.depth() <= maxDepth+1 && len(tree.items) > 0 && len(tree.items) <= wire.MaxBatch
		if (err == nil) != want {
			t.Fatalf("%v, want valid to be %t", err, want)
		}
		if err != nil {
			checkReason(t, reasonOf(t, err), valid)
			if parts != nil {
				t.Fatalf("refused with parts %q", parts)
			}
			return
		}
		if len(parts) != len(tree.items) {
			t.Fatalf("%d parts, want %d", len(parts), len(tree.items))
		}
		for i, part := range parts {
			if want := tree.items[i].span.Of(raw); !bytes.Equal(part, want) || &part[0] != &want[0] {
				t.Fatalf("part %d is %q, want %q", i, part, want)
			}
			if err := wire.Valid(part, wire.Limits{MaxDepth: maxDepth}); err != nil {
				t.Fatalf("part %d: %v", i, err)
			}
		}
	})
}

// FuzzString compares the decoding of strings, and their making, with
// encoding/json.
func FuzzString(f *testing.F) {
	f.Add([]byte(`"a\u0041\ud83d\ude00\ud800\n中"`), "plain")
	f.Fuzz(func(t *testing.T, raw []byte, other string) {
		// Any bytes as the text of a string.
		made := wire.AppendString(nil, string(raw))
		var back string
		if err := json.Unmarshal(made, &back); err != nil || back != toValid(string(raw)) {
			t.Fatalf("AppendString(%q) is %s, which is %q: %v", raw, made, back, err)
		}
		if err := wire.Valid(made, wire.Limits{}); err != nil {
			t.Fatalf("%s: %v", made, err)
		}
		if got, ok := wire.String(made, wire.Value(made)); !ok || got != back {
			t.Fatalf("%s is %q, want %q", made, got, back)
		}

		// And as a string in JSON.
		if wire.Valid(raw, wire.Limits{}) != nil {
			return
		}
		var want string
		v := wire.Value(raw)
		isString := raw[v.Start] == '"' && json.Unmarshal(raw, &want) == nil
		got, ok := wire.String(raw, v)
		if ok != isString || got != want {
			t.Fatalf("%q, %t, want %q, %t", got, ok, want, isString)
		}
		if ok && (!wire.KeyIs(raw, v, want) || wire.KeyIs(raw, v, other) != (want == other)) {
			t.Fatalf("KeyIs is wrong about %q or %q", want, other)
		}
	})
}

// toValid replaces each byte that is not valid UTF-8, as AppendString does.
func toValid(s string) string { return string([]rune(s)) }
