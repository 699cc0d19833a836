package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Rules about tenants, groups and clients can be tried; of a tool that is not seen from
// here no types are guessed, and it is not what was meant instead of itself.
func TestPolicyJudgeAsOthers(t *testing.T) {
	emptyHome(t)
	write(t, os.Getenv("TOOLCRIB_CONFIG"), `{
		"mcpServers": {"demo": {"type": "embedded", "enabled": true, "tenants": "acme"}},
		"groups": {"office": {"servers": ["calculator"], "rename": {"calculator__calculator": "sum"}}},
		"policy": {"rules": [
			{"id": "acmes", "effect": "deny", "tenant": "acme", "when": "call.args.name == 'a'"},
			{"id": "bots", "effect": "deny", "group": "office", "client": "bot"}]}}`)
	for _, args := range [][]string{{"server", "refresh", "demo"}, {"server", "refresh", "calculator"}, {"tenant", "add", "acme"}, {"tenant", "add", "other"}} {
		if code, _, errs := run(t, message.English, args...); code != exitOK {
			t.Fatal(errs)
		}
	}
	for _, test := range []struct {
		args      string
		code      int
		want, not string
	}{
		{`demo__write_note {"name":"a"} --tenant acme`, exitOK, "acmes", "ask ("},
		{`demo__write_note name:="a" --tenant acme`, exitOK, "acmes", "ask ("},
		{`demo__write_note name:="b" --tenant acme`, exitOK, "ask (", "acmes"},
		{`demo__write_note name=a --tenant acme`, exitUsage, "it is not known here of which types they are", "acmes"},
		{`demo__write_note name=a`, exitFailure, "There is no tool", "types"},
		{`calculator__calculator expression=1`, exitOK, "allow (", "bots"},
		{`sum expression:="1" --group office`, exitOK, "allow (", "bots"},
		{`sum --group office --client Bot`, exitOK, "bots", "allow ("},
		{`sum --group offise`, exitFailure, "Did you mean office?", "bots"},
		{`calculator__calculator --tenant nobody`, exitFailure, "There is no tenant", "There is no tool"},
		{`calculator__calculator --tenant other`, exitFailure, "There is no tool", "Did you mean"},
		{`calculator__calculato --tenant other`, exitFailure, "Did you mean calculator__calculator?", "allow ("},
	} {
		code, out, errs := run(t, message.English, append([]string{"policy", "judge"}, strings.Fields(test.args)...)...)
		if code != test.code || !strings.Contains(out+errs, test.want) || strings.Contains(out+errs, test.not) {
			t.Errorf("%s: exit code %d, printed\n%s%s", test.args, code, out, errs)
		}
	}
	for args, want := range map[string]string{
		`demo__write_note name:="a" --tenant acme`: "name=\"a\"",
		`demo__write_note name=a --tenant acme`:    "",
	} {
		code, out, errs := run(t, message.English, append([]string{"grant", "add"}, strings.Fields(args)...)...)
		if (code == exitOK) != (want != "") || want == "" && !strings.Contains(errs, "of which types they are") {
			t.Errorf("%s: exit code %d, printed\n%s%s", args, code, out, errs)
		}
		if _, out, _ := run(t, message.English, "grant", "list"); want != "" && !strings.Contains(out, want) {
			t.Errorf("%s: there are\n%s", args, out)
		}
	}
}

// What cannot be replayed is said as it is: the file, or how many calls.
func TestPolicyTestMisused(t *testing.T) {
	emptyHome(t)
	for args, want := range map[string]struct {
		code      int
		say, dont string
	}{
		"/no/such/draft": {exitFailure, "/no/such/draft", "--config"},
		"--limit 0":      {exitUsage, "--limit must be 1 or more", "calls since"},
	} {
		code, out, errs := run(t, message.English, append([]string{"policy", "test"}, strings.Fields(args)...)...)
		if code != want.code || !strings.Contains(errs, want.say) || strings.Contains(out+errs, want.dont) {
			t.Errorf("%s: exit code %d, printed\n%s%s", args, code, out, errs)
		}
	}
}
