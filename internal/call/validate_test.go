package call

import (
	"bytes"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// calling is a call of a tool with the schema; arguments are JSON, "" for none.
func calling(t testing.TB, schema, arguments string) *run {
	t.Helper()
	tool, err := catalog.ParseTool([]byte(`{"name":"x","inputSchema":` + schema + `}`))
	if err != nil {
		t.Fatal(err)
	}
	params := `{"name":"s__x"}`
	if arguments != "" {
		params = `{"name":"s__x","arguments":` + arguments + `}`
	}
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	e := &catalog.Entry{Tool: tool, Exposed: "s__x", Live: true, Server: hub.Server{Key: "s"}}
	return &run{Request: Request{Message: &m}, entry: e, server: &e.Server, verb: &verb{method: "tools/call"}, name: "s__x", record: &hub.CallRecord{}}
}

// complaint is what is wrong with a call, in a language; "" for nothing.
func complaint(t testing.TB, v *validators, r *run, lang message.Lang) string {
	t.Helper()
	if err := v.validate(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r.fault == nil {
		if r.reply != nil {
			t.Fatal("there is a reply and no fault")
		}
		return ""
	}
	if r.fault.Code != message.ArgumentsInvalid || string(r.reply.Message.Member("isError").Of(r.reply.Message.Raw)) != "true" {
		t.Fatalf("the fault %v is told as %s", r.fault, r.reply.Message.Raw)
	}
	return r.fault.Values(lang)["detail"]
}

func TestValidate(t *testing.T) {
	const person = `{"type":"object","properties":{
		"count":{"type":"integer","minimum":1,"maximum":100},
		"mode":{"type":"string","enum":["fast","slow"]},
		"tags":{"type":"array","items":{"type":"string","maxLength":3},"maxItems":2,"uniqueItems":true},
		"where":{"type":"object","properties":{"a/b":{"type":"boolean"}},"required":["a/b"],"additionalProperties":false},
		"maybe":{"anyOf":[{"type":"string"},{"type":"null"}]}},
		"required":["count"]}`
	for _, tt := range []struct{ schema, arguments, en, zh string }{
		{person, `{"count":5}`, "", ""},
		{person, `{"count":100,"mode":"fast","tags":["a","b"],"where":{"a/b":true},"maybe":null,"other":[1]}`, "", ""},
		{person, ``, "/count: is missing", "/count：缺失"},
		{person, `{}`, "/count: is missing", "/count：缺失"},
		{person, `null`, "", ""}, // the server's to judge
		{person, `{"count":5,"mode":null,"tags":null,"where":{"a/b":true,"c":null}}`, "", ""}, // what many clients write for what they leave out
		{person, `{"count":null,"mode":null}`, "/count: must be an integer, and is null; /mode: must be a string, and is null", ""},
		{person, `{"count":250}`, "/count: must be at most 100, and is 250", "/count：必须不大于 100，实际为 250"},
		{person, `{"count":0}`, "/count: must be at least 1, and is 0", "/count：必须不小于 1，实际为 0"},
		{person, `{"count":"s3cr3t"}`, "/count: must be an integer, and is a string", "/count：必须为整数，实际为字符串"},
		{person, `{"count":1.5}`, "/count: must be an integer, and is a number", ""},
		{person, `{"count":2.0}`, "", ""},
		{person, `{"count":1e1}`, "", ""},
		{person, `{"count":1,"mode":"s3cr3t"}`, `/mode: must be one of "fast", "slow"`, `/mode：必须是以下值之一："fast", "slow"`},
		{person, `{"count":1,"mode":7}`, `/mode: must be a string, and is a number`, ""},
		{person, `{"count":1,"tags":["abcd","x","x"]}`, "/tags: must have at most 2 items, and has 3; /tags: must have no item twice, and those at 1 and 2 are equal; /tags/0: must have at most 3 characters, and has 4", ""},
		{person, `{"count":1,"where":{"c":1}}`, "/where/a~1b: is missing; /where/c: is not one of those that are allowed here", ""},
		{person, `{"count":1,"maybe":5}`, "/maybe: must be a string or null, and is a number", "/maybe：必须为字符串或null，实际为数字"},
		{`{"type":"object","properties":{"n":{"exclusiveMinimum":0,"exclusiveMaximum":1,"multipleOf":0.25}}}`, `{"n":1.3}`, "/n: must be a multiple of 0.25, and is 1.3; /n: must be less than 1, and is 1.3", ""},
		{`{"type":"object","properties":{"n":{"exclusiveMinimum":0}}}`, `{"n":0}`, "/n: must be greater than 0, and is 0", ""},
		{`{"type":"object","properties":{"n":{"maximum":9007199254740993}}}`, `{"n":9007199254740993}`, "", ""},
		{`{"type":"object","properties":{"n":{"maximum":9007199254740992}}}`, `{"n":9007199254740993}`, "/n: must be at most 9007199254740992, and is 9007199254740993", ""},
		{`{"type":"object","properties":{"n":{"minimum":99999999999999999999999}}}`, `{"n":99999999999999999999998}`, "/n: must be at least 1e+23", ""},
		{`{"type":"object","properties":{"p":{"pattern":"^[a-z]+$","minLength":9}}}`, `{"p":"s3cr3t"}`, "/p: must have at least 9 characters, and has 6; /p: must match the pattern ^[a-z]+$", ""},
		{`{"type":"object","minProperties":2,"maxProperties":3}`, `{"a":1}`, "/: must have at least 2 members, and has 1", "/：至少须有 2 个成员，实际为 1 个"},
		{`{"type":"object","maxProperties":0}`, `{"a":1}`, "/: must have at most 0 members, and has 1", ""},
		{`{"type":"object","properties":{"l":{"contains":{"const":1},"minItems":2}}}`, `{"l":[2]}`, "/l: has too few of the items that it must have; /l: must have at least 2 items, and has 1", ""},
		{`{"type":"object","properties":{"l":{"contains":{"const":1},"maxContains":1}}}`, `{"l":[1,1]}`, "/l: has too many of the items of which only some may be there", ""},
		{`{"type":"object","dependentRequired":{"a":["b","c"]}}`, `{"a":1,"c":2}`, `/: needs "b" as well, because a is there`, `/：因为有 a，所以还需要 "b"`},
		{`{"type":"object","propertyNames":{"maxLength":2}}`, `{"abc":1}`, "/abc: is not a name that is allowed here", ""},
		{`{"type":"object","properties":{"k":{"const":"v"}},"not":{"required":["z"]}}`, `{"k":true,"z":1}`, `/: is not allowed here; /k: must be "v", and is true`, ""},
		{`{"type":"object","properties":{"a":false}}`, `{"a":1}`, "/a: is not allowed here", ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"t":{"type":"array","items":[{"type":"string"}],"additionalItems":false},"m":{"format":"email"}}}`, `{"t":["a","b"],"m":"none"}`, "/t: has 1 items too many", ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`, `{"n":0}`, "/n: must be greater than 0, and is 0", ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":["b"]}}`, `{"a":1}`, `/: needs "b" as well, because a is there`, ""},
		{`{"type":"object","properties":{"o":{"oneOf":[{"type":"string"},{"minLength":1}]}}}`, `{"o":"both"}`, "/o: fits several of the forms that are allowed, and has to fit just one", ""},
		{
			`{"type":"object","properties":{"o":{"oneOf":[{"properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["kind","n"]},{"properties":{"kind":{"const":"b"}},"required":["kind"]}]}}}`,
			`{"o":{"kind":"a"}}`, "/o/n: is missing", "",
		},
		{`{"type":"object","properties":{"o":{"anyOf":[{"type":"object","properties":{"n":{"type":"integer"}}},{"type":"null"}]}}}`, `{"o":{"n":"x"}}`, "/o/n: must be an integer, and is a string", ""},
		{`{"type":"object","properties":{"o":{"anyOf":[{"minLength":4},{"pattern":"^z"}]}}}`, `{"o":"abc"}`, "/o: fits none of the 2 forms that are allowed", ""},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/id"}},"$defs":{"id":{"type":"integer"}}}`, `{"a":"x"}`, "/a: must be an integer, and is a string", ""},
		{
			`{"type":"object","properties":{"n":{"$ref":"#/definitions/node"}},"definitions":{"node":{"type":"object","properties":{"next":{"$ref":"#/definitions/node"}},"required":["v"]}}}`,
			`{"n":{"v":1,"next":{"v":2,"next":{}}}}`, "/n/next/next/v: is missing", "",
		},
		{`{"type":"object","properties":{"a":{"type":"string","enum":[1,2,3,4,5,6,7,8,9,10,11]}}}`, `{"a":"x"}`, "/a: must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …", ""},
		{
			`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":"1","b":"1","c":"1","d":"1","e":"1","f":"1","g":"1"}`,
			"/a: must be an integer, and is a string; /b: must be an integer, and is a string; /c: must be an integer, and is a string; /d: must be an integer, and is a string; /e: must be an integer, and is a string; and 2 more", "",
		},
	} {
		v := newValidators(slog.New(slog.DiscardHandler))
		if got := complaint(t, v, calling(t, tt.schema, tt.arguments), message.English); got != tt.en {
			t.Errorf("%s by %s:\n got %s\nwant %s", tt.arguments, tt.schema, got, tt.en)
		}
		if zh := complaint(t, v, calling(t, tt.schema, tt.arguments), message.Chinese); tt.zh != "" && zh != tt.zh {
			t.Errorf("%s: %s, want %s", tt.arguments, zh, tt.zh)
		}
		if strings.Contains(tt.en, "s3cr3t") {
			t.Errorf("%s is told as %s", tt.arguments, tt.en)
		}
		if c := v.counts(); c.Unjudged > 0 {
			t.Errorf("%s was not judged", tt.schema)
		}
	}
}

// What a caller is told is in its language, and names the first place.
func TestValidateTells(t *testing.T) {
	v := newValidators(slog.New(slog.DiscardHandler))
	r := calling(t, `{"type":"object","required":["b","a"]}`, `{}`)
	r.Lang = message.Chinese
	if complaint(t, v, r, message.English); r.fault.Args["path"] != "/a" || r.fault.Args["tool"] != "s__x" {
		t.Errorf("the values are %v", r.fault.Args)
	}
	if raw := string(r.reply.Message.Raw); !strings.Contains(raw, "参数不符合工具“s__x”的要求：/a：缺失；/b：缺失。") {
		t.Errorf("the reply is %s", raw)
	}
	if c := v.counts(); c != (Validations{Judged: 1, Refused: 1}) {
		t.Errorf("the counts are %+v", c)
	}
}

// A schema that cannot be judged by refuses nobody, and the log tells of it once.
func TestValidateUnjudged(t *testing.T) {
	laughs := `{"type":"object","properties":{"a":{"$ref":"#/$defs/l0"}},"$defs":{`
	for i := range 30 {
		next := `{"$ref":"#/$defs/l` + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + `"}`
		laughs += `"l` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":{"anyOf":[` + next + `,` + next + `]},`
	}
	laughs = strings.Replace(laughs, `#/$defs/l0"`, `#/$defs/l00"`, 1) + `"l30":{"type":"string"}}}`
	tree := `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["y"]},{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["z"]}]}}}`
	hidden := strings.ReplaceAll(strings.ReplaceAll(tree, "$defs", "stuff"), `#/stuff`, `#/stuff`)
	names := "["
	for i := range 3000 {
		names += `"` + strconv.Itoa(i) + `",`
	}
	names += `"x"]`
	for name, tt := range map[string]struct{ schema, arguments, log string }{
		"elsewhere":           {`{"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"}}}`, `{"a":1}`, "refers to another"},
		"a file":              {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{"a":1}`, "refers to another"},
		"a neighbour":         {`{"type":"object","properties":{"a":{"$ref":"other.json#/x"}}}`, `{"a":1}`, "refers to another"},
		"nowhere":             {`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"a":1}`, "refers to another"},
		"another dialect":     {`{"$schema":"https://example.com/dialect","type":"object","required":["a"]}`, `{}`, "compile"},
		"no schema":           {`{"type":"object","properties":{"a":{"type":"text"}}}`, `{"a":1}`, "compile"},
		"a look ahead":        {`{"type":"object","properties":{"a":{"pattern":"(?=a)"}}}`, `{"a":"b"}`, "pattern"},
		"a costly pattern":    {`{"type":"object","properties":{"a":{"pattern":"((((a{0,30}){0,30}){0,30}))$"}}}`, `{"a":"` + strings.Repeat("a", 9000) + `b"}`, ""},
		"large":               {`{"type":"object","description":"` + strings.Repeat("d", maxSchema) + `","required":["a"]}`, `{}`, "too large"},
		"wide":                {`{"type":"object","required":["a"],"allOf":[` + strings.Repeat(`{"minProperties":1},`, maxSubschemas+1) + `{}]}`, `{}`, "too large"},
		"a long number":       {`{"type":"object","properties":{"a":{"maximum":1}}}`, `{"a":1e999999}`, "number"},
		"a million laughs":    {laughs, `{"a":1}`, "too long"},
		"a tree":              {tree, `{"a":` + strings.Repeat(`{"x":`, 100) + `1` + strings.Repeat(`}`, 100) + `}`, "too long"},
		"a tree out of sight": {hidden, `{"a":` + strings.Repeat(`{"x":`, 100) + `1` + strings.Repeat(`}`, 100) + `}`, "refers to another"},
		"many numbers":        {`{"type":"object","properties":{"a":{"items":{"enum":[` + strings.Repeat("9,", 200) + `8]}}}}`, `{"a":[` + strings.Repeat(`1,`, 2000) + `1]}`, "too long"},
		"numbers by itself":   {`{"type":"object","properties":{"a":{"items":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"enum":[` + strings.Repeat("9,", 200) + `8]}}}`, `{"a":[` + strings.Repeat(`1,`, 2000) + `1]}`, "too long"},
		"many names":          {`{"type":"object","properties":{"a":{"items":{"required":` + names + `}}}}`, `{"a":[` + strings.Repeat(`{},`, 4000) + `{}]}`, "too long"},
		"many texts":          {`{"type":"object","properties":{"a":{"items":{"pattern":"(a?){500}b$"}}}}`, `{"a":[` + strings.Repeat(`"`+strings.Repeat("a", 5000)+`",`, 20) + `""]}`, "too long"},
		"texts by itself":     {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"items":{"$ref":"#/$defs/n"},"pattern":"(a?){500}b$"}}}`, `{"a":[` + strings.Repeat(`"`+strings.Repeat("a", 5000)+`",`, 20) + `""]}`, "too long"},
		"many branches":       {`{"type":"object","properties":{"a":{"items":{"anyOf":[` + strings.Repeat(`{"type":"null"},`, 1000) + `{"type":"number"}]}}}}`, `{"a":[` + strings.Repeat(`1,`, 3000) + `1]}`, "too long"},
		"many values":         {`{"type":"object","properties":{"a":{"items":{"allOf":[` + strings.Repeat(`{"minLength":1},`, 100) + `{"type":"string"}]}}}}`, `{"a":[` + strings.Repeat(`1,`, 20_000) + `1]}`, "too long"},
	} {
		var log bytes.Buffer
		v := newValidators(slog.New(slog.NewTextHandler(&log, nil)))
		began := time.Now()
		for range 2 {
			if got := complaint(t, v, calling(t, tt.schema, tt.arguments), message.English); got != "" {
				t.Errorf("%s: refused: %s", name, got)
			}
		}
		t.Logf("%s: %v", name, time.Since(began))
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		if c := v.counts(); c.Unjudged != 2 || c.Refused != 0 {
			t.Errorf("%s: the counts are %+v", name, c)
		}
		if text := log.String(); strings.Count(text, "without being judged") != 1 || !strings.Contains(text, tt.log) {
			t.Errorf("%s: the log is %s", name, text)
		}
	}
}

// What is not to be judged is not looked at.
func TestValidateLeavesAlone(t *testing.T) {
	for name, change := range map[string]func(e *catalog.Entry){
		"switched off":  func(e *catalog.Entry) { e.Server.NoValidate = true },
		"taken over":    func(e *catalog.Entry) { e.Live, e.Imported = false, true },
		"no such thing": func(e *catalog.Entry) { e.Tool.Raw = []byte(`{"name":"x"}`) },
	} {
		v := newValidators(slog.New(slog.DiscardHandler))
		r := calling(t, `{"type":"object","required":["a"]}`, `{}`)
		change(r.entry)
		if got := complaint(t, v, r, message.English); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		if c := v.counts(); c != (Validations{}) {
			t.Errorf("%s: the counts are %+v", name, c)
		}
	}
}

// A server never sees arguments that its schema does not allow, unless it is set to;
// the caller gets a result that a model can read.
func TestValidateBeforeTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		s, open := builtin("s"), builtin("open")
		open.NoValidate = true
		script := lists(0, `{"name":"x","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`, func(p *peer, n note) bool {
			calls.Add(1)
			p.result(n, "done")
			return true
		})
		c := newCrib(t, map[string]func(p *peer){"s": script, "open": script}, s, open)
		for _, key := range []string{"s", "open"} {
			if err := c.fleet.Start(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		res, err := c.ask("tools/call", `"name":"s__x","arguments":{"n":"s3cr3t"}`)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"content":[{"type":"text","text":"The arguments are not what the tool \"s__x\" takes: /n: must be an integer, and is a string. Correct them and call it again."}],"isError":true}`
		if got(res) != want || calls.Load() != 0 {
			t.Errorf("got %s after %d calls", got(res), calls.Load())
		}
		if r := c.last(); r.Outcome != hub.OutcomeFailed || r.Code != string(message.ArgumentsInvalid) || r.Server != "s" {
			t.Errorf("the record is %+v", r)
		}
		for name, args := range map[string]string{"s__x": `{"n":1}`, "open__x": `{"n":"s3cr3t"}`} {
			if res, err := c.ask("tools/call", `"name":"`+name+`","arguments":`+args); err != nil || !strings.Contains(got(res), "done") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if c.Validations() != (Validations{Judged: 2, Refused: 1}) || calls.Load() != 2 {
			t.Errorf("judged %+v, %d calls", c.Validations(), calls.Load())
		}
	})
}

// The commonest schemas are judged without being compiled.
func TestQuick(t *testing.T) {
	for schema, tt := range map[string]struct{ sure, unsure []string }{
		`{"type":"object"}`: {[]string{`{}`, `{"a":1}`}, nil},
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["string","null"],"format":"uri"}},"required":["a"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`: {
			[]string{`{"a":1}`, `{"a":-12,"b":"x"}`, `{"b":null,"a":0}`}, []string{`{}`, `{"a":1.0}`, `{"a":1,"c":2}`, `{"a":1,"b":2}`, `{"\u0061":1}`},
		},
		`{"type":"object","properties":{"a":{"enum":["x","y"]},"l":{"type":"array","items":{"type":"number","minimum":1,"maximum":9},"minItems":1,"maxItems":2}}}`: {
			[]string{`{"a":"x"}`, `{"l":[1,9]}`}, []string{`{"a":"z"}`, `{"a":1}`, `{"l":[]}`, `{"l":[1,1,1]}`, `{"l":[0]}`, `{"l":[1.5]}`, `{"l":["1"]}`, `{"l":1}`},
		},
		`{"type":"object","properties":{"t":{"type":"string","minLength":1,"maxLength":3},"m":{"anyOf":[{"type":"boolean"},{"type":"null"}]}},"additionalProperties":{"type":"string"}}`: {
			[]string{`{"t":"abc","m":true}`, `{"m":null,"x":"y"}`}, []string{`{"t":""}`, `{"t":"abcd"}`, `{"t":"\u0061"}`, `{"m":1}`, `{"x":1}`},
		},
	} {
		raw := []byte(schema)
		s := newSchema(raw, wire.Value(raw))
		for _, args := range tt.sure {
			if !s.surely([]byte(args), wire.Value([]byte(args))) {
				t.Errorf("%s: %s is not sure", schema, args)
			}
		}
		for _, args := range tt.unsure {
			if s.surely([]byte(args), wire.Value([]byte(args))) {
				t.Errorf("%s: %s is sure", schema, args)
			}
		}
	}
	for schema, trivial := range map[string]bool{
		`{"type":"object"}`: true, `{}`: true, `{"type":"object","properties":{"a":{"description":"x"},"b":true}}`: true,
		`{"type":"object","additionalProperties":true}`: false, `{"type":"object","required":[]}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}}}`: false, `{"type":"object","required":["a"]}`: false,
		`{"type":"object","minProperties":1}`: false, `{"type":"array"}`: false,
	} {
		raw := []byte(schema)
		if s := newSchema(raw, wire.Value(raw)); s.trivial != trivial {
			t.Errorf("%s: trivial is %t", schema, !trivial)
		}
	}
}

// FuzzSchema: no schema and no arguments do harm, what is taken for certainly
// right is right, and what is wrong is told in order.
func FuzzSchema(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"enum":["x"]}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","maxLength":2},{"type":"null"}]}},"additionalProperties":{"type":["integer","string"]}}`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"number","maximum":3},"maxItems":2}}}`,
		`{"$defs":{"n":{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["y"]}},"$ref":"#/$defs/n"}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"exclusiveMaximum":true,"maximum":3}}}`,
		`{"patternProperties":{"^a":{"oneOf":[{"const":1},{"multipleOf":2}]}},"unevaluatedProperties":false}`,
	} {
		for _, args := range []string{`{}`, `{"a":1,"b":"x"}`, `{"a":null,"c":2.0}`, `{"l":[1,2,9e9]}`, `{"x":{"x":{}},"y":0}`, `{"n":3,"a1":4}`, `{"a":"\ud800é"}`} {
			f.Add(schema, args)
		}
	}
	f.Fuzz(func(t *testing.T, schema, args string) {
		for _, text := range []string{schema, args} {
			if err := wire.Valid([]byte(text), wire.Limits{UniqueKeys: true}); err != nil {
				t.Skip()
			}
		}
		s, a := []byte(schema), []byte(args)
		span := wire.Value(a)
		if at := wire.Value(s); s[at.Start] != '{' || a[span.Start] != '{' {
			t.Skip()
		}
		this := newSchema(s, wire.Value(s))
		problems, err := this.judge(span.Of(a))
		if err == nil && len(problems) > 0 && (this.trivial || this.surely(a, span)) {
			t.Fatalf("%s is taken for right by %s: %v", args, schema, together(problems))
		}
		if !slices.IsSortedFunc(problems, func(a, b problem) int { return strings.Compare(a.path, b.path) }) {
			t.Fatalf("out of order: %v", problems)
		}
		if len(problems) > 0 {
			_ = together(problems).In(message.Chinese)
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	for name, tt := range map[string]struct{ schema, arguments string }{
		"trivial": {`{"type":"object"}`, `{"text":"hello"}`},
		"quick":   {`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","minimum":0}},"required":["text"],"additionalProperties":false}`, `{"text":"hello","n":5}`},
		"full":    {`{"type":"object","properties":{"text":{"type":"string","pattern":"^h"},"n":{"type":"integer","minimum":0}},"required":["text"],"additionalProperties":false}`, `{"text":"hello","n":5}`},
		"refused": {`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","minimum":9}},"required":["text"],"additionalProperties":false}`, `{"text":"hello","n":5}`},
	} {
		b.Run(name, func(b *testing.B) {
			v := newValidators(slog.New(slog.DiscardHandler))
			r := calling(b, tt.schema, tt.arguments)
			b.ReportAllocs()
			for b.Loop() {
				r.fault, r.reply = nil, nil
				if err := v.validate(b.Context(), r); err != nil || (r.fault != nil) != (name == "refused") {
					b.Fatal(err, r.fault)
				}
			}
		})
	}
}
