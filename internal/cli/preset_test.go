package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Presets are listed, switched on and tried out from an empty home.
func TestPresetCommands(t *testing.T) {
	dir := emptyHome(t)
	file := filepath.Join(dir, "calls.json")
	write(t, file, `[{"server_key":"demo","tool_name":"list_notes"},{"server_key":"demo","tool_name":"show_result","arguments":{"kind":"text"}}]`)
	bad := filepath.Join(dir, "bad.json")
	write(t, bad, `{"calls":[{"server_key":"demo","tool_name":"show_result","arguments":{"kind":"error"}},{"server_key":"nobody","tool_name":"x"}]}`)
	none := filepath.Join(dir, "none.json")
	write(t, none, `{"calls":7}`)
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"server presets", exitOK, "toolcrib server enable KEY"},
		{"server presets", exitOK, "Searches the documentation of libraries"},
		{"--lang zh server presets", exitOK, "和风天气"},
		{"server presets --json", exitOK, `"preset_key": "hefeng"`},
		{"tool test " + file, exitToolError, "0 of 2 calls passed."},
		{"server enable demo", exitOK, "demo"},
		{"server list", exitOK, "demo"},
		{"tool test " + file, exitOK, "2 of 2 calls passed."},
		{"tool test " + bad, exitToolError, "as it was asked for"},
		{"tool test --json " + bad, exitToolError, `"code": "server_unknown"`},
		{"--lang zh tool test " + none, exitFailure, "不是调用列表"},
		{"tool test /no/such/file", exitFailure, "/no/such/file"},
		{"server remove demo", exitFailure, "is a preset and cannot be deleted"},
		{"server disable demo", exitOK, "demo"},
		{"server enable nobody", exitFailure, "nobody"},
	} {
		code, out, errs := run(t, message.English, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%s: exit code %d, printed\n%s%s", test.args, code, out, errs)
		}
	}
}

// FuzzParseTrials holds that a file of calls is read or refused.
func FuzzParseTrials(f *testing.F) {
	for _, text := range []string{``, `[]`, `{"calls":[]}`, `[{"server_key":"a","tool_name":"b","arguments":{}}]`, `{"calls":1}`, `[{"x":1}]`, `[] []`, `{`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		batch, err := parseTrials("x", text)
		if err == nil && len(text) == 0 {
			t.Errorf("nothing is %+v", batch)
		}
	})
}

// What is a file of calls, and what is none.
func TestParseTrials(t *testing.T) {
	for text, want := range map[string]int{
		`[{"server_key":"a","tool_name":"b"},{"server_key":"a","tool_name":"c","arguments":{"x":1}}]`: 2,
		" \n{\"calls\":[{\"server_key\":\"a\",\"tool_name\":\"b\"}]}":                                 1,
		`{"calls":[]} `: 0,
	} {
		if batch, err := parseTrials("x", []byte(text)); err != nil || len(batch.Calls) != want {
			t.Errorf("%s: %+v %v", text, batch, err)
		}
	}
	for _, text := range []string{``, `7`, `[7]`, `[] x`, `[{"tool":"b"}]`, `{"tests":[]}`, `[`} {
		if batch, err := parseTrials("x", []byte(text)); err == nil {
			t.Errorf("%s: %+v", text, batch)
		}
	}
}
