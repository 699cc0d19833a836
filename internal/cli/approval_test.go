package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/datadir"
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

// Of a request whose arguments only another hub can show, nobody edits a part: the
// rest would be lost. All of them can be given, and a part of those then.
func TestEditOfWhatIsNotShown(t *testing.T) {
	noted(t)
	id := pendingCall(t, "demo__delete_note", "name=a")
	// A hub that has lost its key is another one.
	if err := os.Remove(datadir.Layout(os.Getenv(datadir.EnvPath)).SealKey()); err != nil {
		t.Fatal(err)
	}
	show := func() (v api.Approval) {
		t.Helper()
		code, out, errs := run(t, message.English, "approval", "show", "--json", id)
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitOK {
			t.Fatalf("exit code %d, %v, printed %s%s", code, err, out, errs)
		}
		return v
	}
	if v := show(); !v.Hidden || v.Arguments != nil {
		t.Fatalf("it is not hidden: %+v", v)
	}
	for lang, want := range map[message.Lang]string{message.English: "give all of them as one JSON object", message.Chinese: "以一个 JSON 对象给出全部参数"} {
		if code, out, errs := run(t, lang, "approval", "edit", id, "name=b"); code != exitFailure || !strings.Contains(errs, want) {
			t.Errorf("a part: exit code %d, printed\n%s%s", code, out, errs)
		}
	}
	editor(t, `echo '{"name":"c"}' > "$1"`)
	if code, out, errs := typing(t, "", "approval", "edit", id); code != exitFailure || !strings.Contains(errs, "give all of them as one JSON object") {
		t.Errorf("in the editor: exit code %d, printed\n%s%s", code, out, errs)
	}
	if v := show(); v.Status != "pending" || len(v.Decisions) != 0 {
		t.Errorf("something was decided: %+v", v)
	}
	for _, args := range []string{`{"name":"d"}`, "name=e"} { // what was put in their place is shown
		if code, out, errs := run(t, message.English, "approval", "edit", id, args); code != exitOK || !strings.Contains(out, "Agreed. It needs 1 more") {
			t.Errorf("%s: exit code %d, printed\n%s%s", args, code, out, errs)
		}
	}
	if v := show(); !sameJSON(v.Edited, json.RawMessage(`{"name":"e"}`)) {
		t.Errorf("it is %s", v.Edited)
	}
}

// Of more requests than are listed it is said that there are more, as those that have
// waited longest are not among them; whatever needs all of them has all. Only the shell
// is offered no more than the newest.
func TestManyRequests(t *testing.T) {
	noted(t)
	id := pendingCall(t, "demo__write_note", "name=a", "text=b")
	const copies = 600 // more than are in one answer
	for _, statement := range []string{
		`CREATE TABLE copies AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ` + strconv.Itoa(copies) + `) SELECT approval.*, i FROM approval, n`,
		`UPDATE copies SET id = printf('ffffffff-%04d', i)`,
		`ALTER TABLE copies DROP COLUMN i`,
		`INSERT INTO approval SELECT * FROM copies`,
		`DROP TABLE copies`,
	} {
		spoilStore(t, os.Getenv(datadir.EnvPath), statement)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serving := serveHere(ctx, t)
	list := func(want int, more bool, args ...string) {
		t.Helper()
		code, out, errs := run(t, message.English, append([]string{"approval", "list"}, args...)...)
		if n := strings.Count(out, "demo__write_note"); code != exitOK || n != want || strings.Contains(out, "--limit") != more {
			t.Errorf("%q: exit code %d, %d of them, printed\n%s%s", args, code, n, out[max(0, len(out)-300):], errs)
		}
	}
	list(100, true)
	list(550, true, "-n", "550")
	list(copies+1, false, "--limit", strconv.Itoa(copies+1))
	if code, out, _ := run(t, message.Chinese, "approval", "list"); code != exitOK || !strings.Contains(out, "最新的 100 条") {
		t.Errorf("in Chinese: exit code %d, printed %s", code, out[max(0, len(out)-300):])
	}
	if code, out, _ := run(t, message.English, "approval", "list", "--json", "-n", "2"); code != exitOK || !strings.Contains(out, `"next": "ffffffff-0599"`) {
		t.Errorf("as JSON: exit code %d, printed %s", code, out)
	}
	if code, _, errs := run(t, message.English, "approval", "list", "-n", "0"); code != exitUsage || !strings.Contains(errs, "--limit must be 1 or more") {
		t.Errorf("none: exit code %d, printed %s", code, errs)
	}
	if code, out, errs := run(t, message.English, "approval", "show", id[len(id)-6:]); code != exitOK || !strings.Contains(out, id) {
		t.Errorf("by its end: exit code %d, printed %s%s", code, out, errs)
	}
	if _, out, _ := run(t, message.English, completeWord, "approval", "approve", "ffffffff-0599"); !strings.HasPrefix(out, "ffffffff-0599\t") {
		t.Errorf("completed with %q", out)
	}
	if _, out, _ := run(t, message.English, completeWord, "approval", "approve", ""); strings.Count(out, "\n") != mostListed { // those of one answer
		t.Errorf("%d to complete with", strings.Count(out, "\n"))
	}
	watching, quit := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var all sync.WaitGroup
	all.Go(func() {
		defer w.Close()
		Main(watching, []string{"approval", "list", "--watch"}, Env{Stdin: strings.NewReader(""), Stdout: w, Stderr: io.Discard, Lang: message.English})
	})
	shown := lines(r)
	if first := <-shown; !strings.Contains(first, id) {
		t.Errorf("shown first is %q", first)
	}
	quit()
	for range shown {
	}
	all.Wait()
	stop()
	<-serving
}

// Of more than are listed it is said that there are more, of whatever kind they are.
func TestMoreThanListed(t *testing.T) {
	noted(t)
	for _, name := range []string{"a", "b"} {
		for _, args := range [][]string{{"grant", "add", "demo__write_note", "name=" + name}, {"call", "demo__write_note", "name=" + name, "text=x"}} {
			if code, out, errs := run(t, message.English, args...); code != exitOK {
				t.Fatalf("%q: exit code %d, printed %s%s", args, code, out, errs)
			}
		}
	}
	for _, list := range []string{"grant list", "calls list", "audit acts"} {
		for limit, more := range map[string]bool{"1": true, "50": false} {
			code, out, errs := run(t, message.English, append(strings.Fields(list), "-n", limit)...)
			if n := strings.Count(out, "\n"); code != exitOK || more && n != 3 || !more && n < 3 || strings.Contains(out, "the newest 1; --limit") != more {
				t.Errorf("%s of %s: exit code %d, printed\n%s%s", list, limit, code, out, errs)
			}
			if _, out, _ := run(t, message.English, append(strings.Fields(list), "--json", "-n", limit)...); strings.Contains(out, `"next"`) != more {
				t.Errorf("%s of %s, as JSON: %s", list, limit, out)
			}
		}
		if code, _, errs := run(t, message.English, append(strings.Fields(list), "-n", "0")...); code != exitUsage || !strings.Contains(errs, "--limit must be 1 or more") {
			t.Errorf("%s of none: exit code %d, printed %s", list, code, errs)
		}
	}
}

// Why there is no building upon what would be sent is said as it is.
func TestUnshown(t *testing.T) {
	for what, test := range map[string]struct {
		v    api.Approval
		want string
	}{
		"all is shown":              {api.Approval{Arguments: []byte(`{}`), Extra: []byte(`{}`), ExtraShown: []byte(`{}`)}, ""},
		"nothing":                   {api.Approval{}, ""},
		"the arguments are not":     {api.Approval{Hidden: true}, "one JSON object"},
		"what was edited is not":    {api.Approval{Hidden: true, Arguments: []byte(`{}`)}, "one JSON object"},
		"what was edited is":        {api.Approval{Hidden: true, Edited: []byte(`{}`)}, ""},
		"what goes with them isn't": {api.Approval{Hidden: true, Arguments: []byte(`{}`), ExtraShown: []byte(`{}`)}, "edit it there"},
	} {
		got := ""
		if err := unshown(&test.v); err != nil {
			got = err.Error()
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", what, got)
		}
	}
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

// Why something cannot be told is said in words, whatever of it there is.
func TestDoubts(t *testing.T) {
	for _, reason := range []string{"gone", "absent", "hidden", "role", "risk"} {
		for lang, bare := range map[message.Lang]string{message.English: "told: " + reason + ".", message.Chinese: "：" + reason + "。"} {
			s, out, _ := newTest(t, lang, "")
			s.doubts(map[string]int{reason: 7})
			if strings.Contains(out.String(), bare) || !strings.Contains(out.String(), "7") {
				t.Errorf("%s: it says %s", reason, out)
			}
		}
	}
	s, out, _ := newTest(t, message.English, "")
	s.doubts(map[string]int{"of a later hub": 1})
	if !strings.Contains(out.String(), "told: of a later hub.") {
		t.Errorf("one that is not known: it says %s", out)
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
