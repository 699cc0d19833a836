package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

// typing runs a command at a terminal at which something is typed.
func typing(t *testing.T, typed string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(t.Context(), args, Env{Version: "v1", Stdin: strings.NewReader(typed), Stdout: &o, Stderr: &e, Lang: message.English, Terminal: true})
	return code, o.String(), e.String()
}

// noted is an empty home whose hub has a server that keeps notes.
func noted(t *testing.T) {
	t.Helper()
	emptyHome(t)
	write(t, os.Getenv("TOOLCRIB_CONFIG"), `{"mcpServers":{"demo":{"type":"embedded","enabled":true}},"approval":{"hold":"1s"}}`)
}

// editor makes this line of shell the person's editor; the file's name is $1.
func editor(t *testing.T, line string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN: it is written for a shell")
	}
	path := filepath.Join(t.TempDir(), "editor.sh")
	write(t, path, line+"\n")
	t.Setenv("VISUAL", "sh "+path)
}

// Who makes a call at a terminal is asked there, and may say yes, no, or with which
// other arguments.
func TestAgreeAtATerminal(t *testing.T) {
	noted(t)
	const once, twice = "Make this call? [y]es, [n]o, [e]dit: ", "This is critical. Really? [y/N] "
	for _, test := range []struct {
		name, typed, editor string
		args                string
		code                int
		want                []string // on one of the outputs
		not                 string
	}{
		{"yes", "y\n", "", "call demo__write_note name=a text=b", exitOK, []string{once, "Risk      high", `"text": "b"`, "Written."}, twice},
		{"no", "n\n", "", "call demo__write_note name=a text=b", exitToolError, []string{once, "said no"}, "Written."},
		{"nothing", "", "", "call demo__write_note name=a text=b", exitToolError, []string{once, "said no"}, "Written."},
		{"what", "what\nyes\n", "", "call demo__write_note name=a text=b", exitOK, []string{once + once, "Written."}, ""},
		{"twice", "y\ny\n", "", "call demo__delete_note name=a", exitToolError, []string{once, twice, "There is no note"}, "said no"},
		{"not twice", "y\nn\n", "", "call demo__delete_note name=a", exitToolError, []string{once, twice, "said no"}, "There is no note"},
		{"edited", "e\n", `sed 's/"b"/"c"/' "$1" > "$1.new" && mv "$1.new" "$1"`, "call demo__write_note name=a text=b", exitOK, []string{"Written."}, once + once},
		{"not edited", "e\nn\n", "true", "call demo__write_note name=a text=b", exitToolError, []string{"nothing was changed in the editor", once, "said no"}, "Written."},
		{"no JSON", "e\nn\n", `echo '{' > "$1"`, "call demo__write_note name=a text=b", exitToolError, []string{"no JSON object", "said no"}, "Written."},
		{"not of the tool", "e\ny\n", `echo '{"name":7}' > "$1"`, "call demo__write_note name=a text=b", exitOK, []string{"name", once, "Written."}, ""},
		{"no editor", "e\nn\n", `exit 3`, "call demo__write_note name=a text=b", exitToolError, []string{"run the editor sh", "said no"}, "Written."},
		{"harmless", "", "", "call demo__list_notes", exitOK, nil, once},
		{"beforehand", "", "", "call --approve demo__delete_note name=a", exitToolError, []string{"Approved by --approve: demo__delete_note (risk: critical)", "There is no note"}, once},
	} {
		if test.editor != "" {
			editor(t, test.editor)
		}
		code, out, errs := typing(t, test.typed, strings.Fields(test.args)...)
		for _, want := range test.want {
			if !strings.Contains(out+errs, want) {
				t.Errorf("%s: it does not say %q", test.name, want)
			}
		}
		if code != test.code || test.not != "" && strings.Contains(out+errs, test.not) {
			t.Errorf("%s: exit code %d, printed\n%s%s", test.name, code, out, errs)
		}
	}
}

var anID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

// pendingCall makes a call that then waits, and returns the id of the request.
func pendingCall(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := run(t, message.English, append([]string{"call"}, args...)...)
	id := anID.FindString(out + errs)
	if code != exitToolError || id == "" {
		t.Fatalf("exit code %d, printed %s%s", code, out, errs)
	}
	return id
}

// Requests are decided by their ids or the ends of these, and a second agreement is
// none by accident.
func TestApprovalCommands(t *testing.T) {
	noted(t)
	id := pendingCall(t, "demo__delete_note", "name=a")
	say := func(want string, code int, args ...string) {
		t.Helper()
		got, out, errs := run(t, message.English, args...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%q: exit code %d, printed\n%s%s", args, got, out, errs)
		}
	}
	end := id[len(id)-6:]
	say("Risk        critical", exitOK, "approval", "show", end)
	say(`"name": "a"`, exitOK, "approval", "show", id)
	say("no request for approval", exitFailure, "approval", "show", "--json", "nobody")
	say("no request for approval", exitFailure, "approval", "approve", id[len(id)-3:]) // too little to be sure
	say("Agreed. It needs 1 more", exitOK, "approval", "approve", end)
	say("--confirm agrees a second time", exitUsage, "approval", "approve", end)
	say("Agreements  1 / 2", exitOK, "approval", "show", end)
	if code, out, errs := typing(t, "n\n", "approval", "approve", end); code != exitOK || !strings.Contains(out+errs, "Do you really agree?") || strings.Contains(out, "Approved") {
		t.Errorf("no: exit code %d, printed\n%s%s", code, out, errs)
	}
	if code, out, errs := typing(t, "y\n", "approval", "approve", end); code != exitOK || !strings.Contains(out, "Approved. The call may be made until") {
		t.Errorf("yes: exit code %d, printed\n%s%s", code, out, errs)
	}
	say("was approved already", exitFailure, "approval", "approve", id)
	say("was approved already", exitFailure, "approval", "reject", id)
	say("cancelled", exitOK, "approval", "cancel", id)
	say("Nothing waits", exitOK, "approval")
	say("没有等待审批", exitOK, "--lang", "zh", "approval", "list")
	say("cancelled", exitOK, "approval", "list", "--all")
	say("can't be used together", exitUsage, "approval", "list", "--all", "--watch")

	// Twice at once, at a terminal or by who says so.
	id = pendingCall(t, "demo__delete_note", "name=b")
	if code, out, errs := typing(t, "y\n", "approval", "approve", id); code != exitOK || !strings.Contains(out, "Approved.") {
		t.Errorf("twice: exit code %d, printed\n%s%s", code, out, errs)
	}
	id = pendingCall(t, "demo__delete_note", "name=c")
	say(`"confirmations": 2`, exitOK, "approval", "approve", "--confirm", "--json", id)

	// Edited, and remembered.
	id = pendingCall(t, "demo__write_note", "name=a", "text=b")
	say("are missing", exitUsage, "approval", "edit", id)
	say("Approved with other arguments", exitOK, "approval", "edit", id, "text=c")
	say(`"text": "c"`, exitOK, "approval", "show", id)
	id = pendingCall(t, "demo__write_note", "name=d", "text=b")
	say("within 30 days", exitFailure, "approval", "approve", id, "--remember", "60d")
	say("Approved.", exitOK, "approval", "approve", id, "--remember", "1h", "--any", "--note", "fine")
	say("demo/write_note", exitOK, "grant", "list")
	say("Written.", exitOK, "call", "demo__write_note", "name=e", "text=b")
	say("Did you mean demo__write_note?", exitFailure, "grant", "add", "demo__write_not")
	say("covered 1.", exitOK, "grant", "preview", "demo__write_note", "name=e")
	say("policy", exitOK, "policy", "show")
	say("ask (enforce)", exitOK, "policy", "judge", "demo__delete_note", "name=x")
	say("must be one of", exitUsage, "policy", "judge", "demo__delete_note", "--role", "king")
}

// What a person reads who decides has each character that is in it.
func TestIndented(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":"b\u001b[2J","c":[1,{}]}`:                 "{\n  \"a\": \"b\\u001b[2J\",\n  \"c\": [\n    1,\n    {}\n  ]\n}",
		"{\"a\u202eb\":\"\u200b\u00a0\U000e0041<&>中\"}": "{\n  \"a\\u202eb\": \"\\u200b\\u00a0\\udb40\\udc41<&>中\"\n}",
		``: "",
	} {
		got := indented(json.RawMessage(raw))
		if got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
		if raw != "" && !json.Valid([]byte(got)) {
			t.Errorf("%q is JSON no more: %s", raw, got)
		}
	}
}

// A request is printed with all that is there, and with nothing that moves the
// cursor.
func TestApprovalPrinted(t *testing.T) {
	const bad = "x\x1b[2J"
	v := api.Approval{
		ID: bad, Status: bad, Expires: time.Now().Add(time.Minute), Tenant: bad, Subject: bad, Client: bad, Name: bad, Server: bad, Risk: bad, Reasons: []string{bad},
		Warning: bad, Rule: bad, Because: bad, Persons: 2, SecondPerson: true, Confirmations: 1, Taken: bad, Note: bad, ToolChanged: true,
		Arguments: []byte(`{"a":1}`), Edited: []byte(`{"a":2}`), Decisions: []api.Decision{{By: bad, Kind: bad, Note: bad}},
	}
	for _, lang := range []message.Lang{message.English, message.Chinese} {
		s, out, _ := newTest(t, lang, "")
		s.approval(s.out, &v)
		for _, want := range []string{`"a": 1`, `"a": 2`, "1 / 2", `x\u001b[2J: x\u001b[2J`, `x\u001b[2J (x\u001b[2J)`} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("it says %q", out)
		}
	}
	s, out, _ := newTest(t, message.English, "")
	s.approval(s.out, &api.Approval{Hidden: true, Shown: []byte(`{"a":"***"}`)})
	if !strings.Contains(out.String(), "sealed for the hub that was asked") || !strings.Contains(out.String(), `"***"`) {
		t.Errorf("it says %s", out)
	}
}

// Each way a request can stand and each risk is told in both languages.
func TestApprovalWords(t *testing.T) {
	for _, status := range []string{"pending", "approved", "edited", "rejected", "expired", "cancelled", "superseded"} {
		for lang, same := range map[message.Lang]bool{message.English: true, message.Chinese: false} {
			s, _, _ := newTest(t, lang, "")
			if got := s.out.approvalStatus(status); (got == status) != same {
				t.Errorf("%s: %s", status, got)
			}
		}
	}
	v := &api.Approval{Status: "approved", Expires: time.Now().Add(time.Hour)}
	if leftOf(v, time.Now()) == "" {
		t.Error("an agreement that nobody has taken has no time left")
	}
	v.Taken = "x"
	if left := leftOf(v, time.Now()); left != "" {
		t.Errorf("one that was taken has %s left", left)
	}
}
