package audit

import (
	"encoding/json"
	"strings"
	"testing"
)

// redactor is a record of which only [Log.Arguments] is used.
func redactor(t testing.TB, s Settings) *Log {
	t.Helper()
	l := &Log{keys: testKeys(t)}
	l.Set(s)
	return l
}

func TestArguments(t *testing.T) {
	l := redactor(t, Settings{KeepArguments: true})
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	for in, want := range map[string]string{
		``: ``, `null`: ``, ` {} `: ``,
		`{"path": "/a/b", "n": 1.50, "ok": true, "none": null}`: `{"path":"/a/b","n":1.50,"ok":true,"none":null}`,
		// By name.
		`{"password":"a"}`:                           `{"password":"***"}`,
		`{"PASSWD":"a","userSecret":1,"pin":1234}`:   `{"PASSWD":"***","userSecret":"***","pin":"***"}`,
		`{"api_key":"a","apiKey":"b","x-api-key":1}`: `{"api_key":"***","apiKey":"***","x-api-key":"***"}`,
		`{"private_key":["a",{"b":"c"}],"x":1}`:      `{"private_key":"***","x":1}`,
		`{"token":"","isToken":true,"cookie":null}`:  `{"token":"","isToken":true,"cookie":null}`,
		`{"key":"users/1","keyboard":"qwertz"}`:      `{"key":"users/1","keyboard":"qwertz"}`,
		`{"p\u0061ssword":"a"}`:                      `{"password":"***"}`,
		`{"headers":{"Authorization":"x"}}`:          `{"headers":{"Authorization":"***"}}`,
		`{"a":[[{"b":{"secret":"x"}}]]}`:             `{"a":[[{"b":{"secret":"***"}}]]}`,
		`[{"name":"Authorization","value":"x"}]`:     `[{"name":"Authorization","value":"***"}]`,
		`[{"value":{"a":1},"key":"DB_PASSWORD"}]`:    `[{"value":"***","key":"DB_PASSWORD"}]`,
		`[{"name":"colour","value":"red"}]`:          `[{"name":"colour","value":"red"}]`,
		`{"args":["--token","abc","-v","x"]}`:        `{"args":["--token","***","-v","x"]}`,
		// By how they look.
		`{"a":"Bearer abc.def/ghi"}`:                                                       `{"a":"Bearer ***"}`,
		`{"a":"curl -H 'Authorization: Token abc def' x"}`:                                 `{"a":"curl -H 'Authorization: ***' x"}`,
		`{"a":"Cookie: a=b; c=d\nHost: x"}`:                                                `{"a":"Cookie: ***\nHost: x"}`,
		`{"a":"see ` + jwt + ` there"}`:                                                    `{"a":"see *** there"}`,
		`{"a":"sk-abcdefghijklmnop, ghp_0123456789abcdef xoxb-1234567890-x"}`:              `{"a":"***, *** ***"}`,
		`{"a":"AKIAIOSFODNN7EXAMPLE"}`:                                                     `{"a":"***"}`,
		`{"a":"https://user:pass@host/p?x=1&access_token=abc&y=2#f"}`:                      `{"a":"https://***@host/p?x=1&access_token=***&y=2#f"}`,
		`{"a":"https://host/p?q=a@b"}`:                                                     `{"a":"https://host/p?q=a@b"}`,
		`{"a":"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- rest"}`: `{"a":"*** rest"}`,
		`{"a":"-----BEGIN PRIVATE KEY-----\nabc"}`:                                         `{"a":"***"}`,
		`{"a":"curl -d \"{\\\"password\\\":\\\"hunter2\\\",\\\"b\\\":1}\" x"}`:             `{"a":"curl -d \"{\\\"password\\\":\\\"***\\\",\\\"b\\\":1}\" x"}`,
		`{"a":"{\"password\":\"one\\\"two\",\"b\":1}"}`:                                    `{"a":"{\"password\":\"***\",\"b\":1}"}`,
		`{"a":"x\\npassword=abc\\ntoken=def\\nghp_0123456789abcdef"}`:                      `{"a":"x\\npassword=***"}`,
		`{"a":"x\\n-----BEGIN PRIVATE KEY-----\\nabc"}`:                                    `{"a":"x\\n***"}`,
		`{"a":"Authorization: Digest username=\"u\", response=\"abc\"\nHost: x"}`:          `{"a":"Authorization: ***\nHost: x"}`,
		`[{"Name":"DB_PASSWORD","Value":"x"}]`:                                             `[{"Name":"DB_PASSWORD","Value":"***"}]`,
		`[{"value":"x","name":"token","value":"y"}]`:                                       `[{"value":"***","name":"token","value":"***"}]`,
		`{"密码":"x","a":"数据库密码：y，口令=z"}`:                                                    `{"密码":"***","a":"数据库密码：y，口令=***"}`,
		`{"a":"export API_KEY=abc; echo"}`:                                                 `{"a":"export API_KEY=***; echo"}`,
		`{"a":"mysql --password hunter2 -u root"}`:                                         `{"a":"mysql --password *** -u root"}`,
		`{"a":"mysql --password=hunter2 -u root"}`:                                         `{"a":"mysql --password=*** -u root"}`,
		`{"a":"{\"password\": \"x y\", \"b\": 1}"}`:                                        `{"a":"{\"password\": \"***\", \"b\": 1}"}`,
		`{"a":"the password is not told, nor the token"}`:                                  `{"a":"the password is not told, nor the token"}`,
		`{"sk-abcdefghijklmnop":1}`:                                                        `{"***":1}`,
		`"Bearer abcdefgh"`:                                                                `"Bearer ***"`,
		`{broken`:                                                                          `{"omitted":"7 bytes"}`,
	} {
		got, digest := l.Arguments([]byte(in))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		if (digest == "") != (want == "") || want != "" && len(digest) != 32 {
			t.Errorf("%s: digest %q", in, digest)
		}
	}
}

func TestArgumentsAreBounded(t *testing.T) {
	l := redactor(t, Settings{KeepArguments: true})
	long := `{"text":"` + strings.Repeat("a", DefaultMaxArguments) + `"}`
	if got, digest := l.Arguments([]byte(long)); got != `{"omitted":"4107 bytes"}` || digest == "" {
		t.Errorf("%s, %s", got, digest)
	}
	huge := `{"text":"` + strings.Repeat("a", maxParsed) + `"}`
	if got, digest := l.Arguments([]byte(huge)); got != `{"omitted":"65547 bytes"}` || digest == "" {
		t.Errorf("%s, %s", got, digest)
	}
	l.Set(Settings{KeepArguments: true, MaxArguments: 10000})
	if got, _ := l.Arguments([]byte(long)); got != long {
		t.Errorf("%.100s", got)
	}
	l.Set(Settings{KeepArguments: true, MaxArguments: 1 << 20})
	if got, _ := l.Arguments([]byte(huge)); got != huge {
		t.Errorf("%.100s", got)
	}
	l.Set(Settings{})
	if got, digest := l.Arguments([]byte(long)); got != "" || digest == "" {
		t.Errorf("%.100s, %s", got, digest)
	}
}

// Equal arguments have one digest, others another, and another key has others.
func TestDigests(t *testing.T) {
	l := redactor(t, Settings{})
	of := func(s string) string {
		_, d := l.Arguments([]byte(s))
		return d
	}
	same := []string{`{"a":1,"b":{"c":"é","d":[1,2]}}`, ` { "b" : {"d":[1, 2],"c":"\u00e9"}, "a":1}`}
	if of(same[0]) != of(same[1]) {
		t.Error("equal arguments differ")
	}
	seen := map[string]string{}
	for _, s := range []string{same[0], `{"a":1.0}`, `{"a":1}`, `{"a":"1"}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":{}}`, `[]`, `""`, `{"a":null}`, `{"a,b":1}`, `{"a":true}`} {
		if d := of(s); seen[d] != "" {
			t.Errorf("%s and %s have one digest", s, seen[d])
		} else {
			seen[d] = s
		}
	}
	deep := strings.Repeat(`[`, 2*deepest) + "1" + strings.Repeat(`]`, 2*deepest)
	if of(deep) != of(" "+deep) || of(deep) == of("["+deep+"]") || of(deep) == of(strings.Replace(deep, "1", "2", 1)) {
		t.Error("deep arguments are confused")
	}
	if _, d := redactor(t, Settings{}).Arguments([]byte(same[0])); d == of(same[0]) {
		t.Error("another key has the same digest")
	}
}

func FuzzArguments(f *testing.F) {
	l := redactor(f, Settings{KeepArguments: true, MaxArguments: 500})
	for _, s := range []string{`{"a":{"password":"x"}}`, `[1,[2,{"b":"c"}],"--token","x"]`, `"Bearer abcdefgh"`, `{"a":"https://u:p@h/?token=x"}`, `{"a`, `-1e5`, `{"a":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, _ := l.Arguments(raw)
		if got == "" {
			return
		}
		if !json.Valid([]byte(got)) || len(got) > 500 || strings.Contains(got, "\n") {
			t.Errorf("%q of %q", got, raw)
		}
	})
}

// FuzzSecrets hides a secret in all kinds of places, and looks for it.
func FuzzSecrets(f *testing.F) {
	l := redactor(f, Settings{KeepArguments: true, MaxArguments: 1 << 20})
	f.Add("a", "b", uint8(0))
	f.Add("{\"", "\\", uint8(3))
	f.Fuzz(func(t *testing.T, before, after string, where uint8) {
		const hidden = "Hunter2Hunter2"
		var v any
		switch where % 6 {
		case 0:
			v = map[string]any{before: 1, "password": hidden, after: 2}
		case 1:
			v = []any{before, map[string]any{"credentials": map[string]any{before: hidden, after: []any{hidden}}}}
		case 2:
			v = map[string]any{"a": before + " ghp_" + hidden + " " + after}
		case 3:
			v = map[string]any{"a": before + "\nBearer " + hidden + " " + after}
		case 4:
			v = map[string]any{"a": before + " https://u:" + hidden + "@host/ " + after}
		case 5:
			v = map[string]any{"a": before + "\nPASSWORD=" + hidden + " " + after}
		}
		if strings.Contains(before+after, hidden) {
			return
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := l.Arguments(raw); strings.Contains(got, hidden) {
			t.Errorf("%s of %s", got, raw)
		}
	})
}

// What nests deeply is not copied once for every level.
func BenchmarkNested(b *testing.B) {
	l := redactor(b, Settings{KeepArguments: true})
	raw := []byte(strings.Repeat(`{"b":`, 5000) + "1" + strings.Repeat(`,"a":1}`, 5000))
	b.ReportAllocs()
	for b.Loop() {
		l.Arguments(raw)
	}
}
