package call
import ("testing";"strings";"time";"log/slog";"strconv";"github.com/toolcrib/toolcrib/internal/message")
func TestZDos(t *testing.T) {
	enum := func(n int) string { var b []string; for i := range n { b = append(b, strconv.Itoa(i+100000)) }; return strings.Join(b, ",") }
	senum := func(n int) string { var b []string; for i := range n { b = append(b, `"v`+strconv.Itoa(i+100000)+`"`) }; return strings.Join(b, ",") }
	_ = senum
	for name, tt := range map[string]struct{schema, args string}{
		"anyof": {`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[`+strings.Repeat(`{"type":"null"},`, 3900)+`{"type":"number"}]}}}}`, `{"a":[`+strings.Repeat("1,", 100_000)+`1]}`},
		"enum": {`{"type":"object","properties":{"a":{"type":"array","items":{"enum":[`+enum(200)+`]}}}}`, `{"a":[`+strings.Repeat("1,", 30_000)+`1]}`},
		"senum": {`{"type":"object","properties":{"a":{"type":"array","items":{"enum":[`+senum(200)+`]}}}}`, `{"a":[`+strings.Repeat(`"x",`, 300_000)+`1]}`},
		"required": {`{"type":"object","properties":{"a":{"type":"array","items":{"required":[`+senum(3000)+`]}}}}`, `{"a":[`+strings.Repeat("{},", 10_000)+`1]}`},
		"pattern": {`{"type":"object","properties":{"a":{"type":"array","items":{"pattern":"(a?){500}(a{0,500}b){1}$"}}}}`, `{"a":[`+strings.Repeat(`"`+strings.Repeat("a", 10000)+`",`, 20)+`1]}`},
		"big": {`{"type":"object","properties":{"a":{"type":"array","items":{"multipleOf":7e-300,"minimum":-1e999}}}}`, `{"a":[`+strings.Repeat("1e999,", 30_000)+`1]}`},
		"unique": {`{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}`, `{"a":[`+func() string { var b []string; for i := range 100_000 { b = append(b, strconv.Itoa(i)) }; return strings.Join(b, ",") }()+`]}`},
	} {
		t.Run(name, func(t *testing.T) {
			v := newValidators(slog.New(slog.DiscardHandler))
			r := calling(t, tt.schema, tt.args)
			b := time.Now()
			got := complaint(t, v, r, message.English)
			t.Logf("%s: args %d bytes: %v %.60s %+v", name, len(tt.args), time.Since(b), got, v.counts())
		})
	}
}
