package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What a server has is found by each command alone, also if no hub has ever asked
// the server.
func TestResourcesAndPrompts(t *testing.T) {
	dir := emptyHome(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command, err := json.Marshal(self)
	if err != nil {
		t.Fatal(err)
	}
	write(t, os.Getenv("TOOLCRIB_CONFIG"), `{"mcpServers":{"lab":{"command":`+string(command)+`,"env":{"`+labEnv+`":"1"}},"twin":{"command":`+string(command)+`,"env":{"`+labEnv+`":"1"}}},"groups":{"g":{"servers":["lab"]}}}`)
	data := filepath.Join(dir, "a.png")
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"resource read lab://readme", exitOK, "what is in it\n[lab://readme image/png, 3 B; --out FILE saves it]\n"},
		{"resource read lab://readme --out " + data, exitOK, "saved to " + data},
		{"resource read lab://readme --json", exitOK, `"text": "what is in it\n"`},
		{"prompt get greet whom=you", exitOK, "user:\nHello you\n"},
		{"prompt get lab__greet whom=7", exitOK, "Hello 7\n"},
		{`prompt get lab__greet {"whom":"you"} --json`, exitOK, `"server": "lab"`},
		{"prompt get lab__gret whom=7", exitFailure, "Did you mean lab__greet?"},
		{"--lang zh prompt get lab__gret whom=7", exitFailure, "是否指 lab__greet？"},
		{"resource read toolcrib://lap/lab://readme", exitFailure, "There is no resource toolcrib://lap/lab://readme"},
		{"resource list", exitOK, "toolcrib://twin/lab://readme  twin"},
		{"prompt list --group g", exitOK, "whom [how]"},
		{"group list", exitOK, "g      0      1          1"},
		{"group show g --json", exitOK, `"resources": 1`},
		{"server list", exitOK, "RESOURCES"},
		{"server show lab", exitOK, "Resources"},
		{"server show twin", exitOK, "1, listed as toolcrib://twin/URI"},
	} {
		if err := os.Remove(datadir.Layout(dir).Index()); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.HasPrefix(test.args, "server ") { // shows what is known
			if code, _, errs := run(t, message.English, "server", "refresh", "lab", "twin"); code != exitOK {
				t.Error(errs)
			}
		}
		code, out, errs := run(t, message.English, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%s: exit code %d, printed\n%s%s", test.args, code, out, errs)
		}
	}
	if got, err := os.ReadFile(data); err != nil || string(got) != "xyz" {
		t.Errorf("saved %q, %v", got, err)
	}
}
