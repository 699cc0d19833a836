package docgen

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/toolcrib/toolcrib/internal/cli"
	"github.com/toolcrib/toolcrib/internal/face/rest"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// atCommand are the files of the catalogue whose codes only commands have: they
// are about what there is before any door is open, or in place of the hub.
func atCommand() []string { return []string{"client.go", "start.go"} }

// atREST are codes of these files that the API has as well.
func atREST() []message.Code {
	return []message.Code{message.ConfigInvalid, message.ConfigUnreadable, message.FileUnwritable}
}

// nowhere are further codes that are an error at no door: they are texts in
// progress and results, or about what only commands and the start do.
func nowhere() []message.Code {
	return []message.Code{
		message.CallRetried, message.CallWaits, message.LinkRefused, message.ResultKept, message.SettingUnresolved,
		message.BackupInvalid, message.BackupMissing, message.StoreNotEmpty, message.StoreNewer, message.StoreURLInvalid,
		message.AuditKeyUnusable, message.AuditNodeTaken, message.AuditExportInvalid, message.AuditExportChanged,
		message.UpstreamLoginUnknown, // which a browser is told
	}
}

// atMCP are codes that MCP has, and the API has not.
func atMCP() []message.Code { return []message.Code{message.HubLost} }

// TestFaces is the table of what each code is at each face. Every code of the
// catalogue has a row.
func TestFaces(t *testing.T) {
	tr := newTranslation(t, "faces.zh.txt")
	var codes, local []message.Code
	files, err := filepath.Glob(filepath.Join(root, "internal", "message", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		here := codesIn(t, file)
		codes = append(codes, here...)
		if slices.Contains(atCommand(), filepath.Base(file)) {
			local = append(local, here...)
		}
	}
	local = append(local, nowhere()...)
	if len(codes) != len(message.Codes()) {
		t.Errorf("%d codes are defined, and the catalogue has %d", len(codes), len(message.Codes()))
	}
	slices.Sort(codes)
	statuses := make(map[message.Code]string) // of the API
	inBoth(t, "docs/errors", func(lang message.Lang) map[string]string {
		sentences := [][]string{{tr.say(lang, "class"), tr.say(lang, "what people are told"), tr.say(lang, "about")}}
		for _, class := range message.Classes() {
			text := class.Sentence(lang, "")
			if class == message.ClassInternal {
				text = tr.say(lang, "by the method, see below")
			}
			sentences = append(sentences, []string{"`" + string(class) + "`", text, tr.say(lang, abouts()[class])})
		}
		fallbacks := [][]string{{tr.say(lang, "method"), tr.say(lang, "what people are told")}}
		for _, method := range []string{protocol.MethodToolsCall, protocol.MethodToolsList, protocol.MethodInitialize, ""} {
			name := "`" + method + "`"
			if method == "" {
				name = tr.say(lang, "any other")
			}
			fallbacks = append(fallbacks, []string{name, message.ClassInternal.Sentence(lang, method)})
		}
		faces := [][]string{{
			tr.say(lang, "code"), tr.say(lang, "class"), tr.say(lang, "JSON-RPC, up to 2025-11-25"), tr.say(lang, "JSON-RPC, 2026-07-28"),
			tr.say(lang, "HTTP API"), tr.say(lang, "exit code"),
		}}
		for _, code := range codes {
			legacy, modern, status := "–", "–", "–"
			if !slices.Contains(local, code) {
				legacy = strconv.Itoa(gateway.RPCCode(protocol.Legacy, code))
				modern = strconv.Itoa(gateway.RPCCode(protocol.Modern, code))
			}
			if !slices.Contains(slices.Concat(local, atMCP()), code) || slices.Contains(atREST(), code) {
				status = strconv.Itoa(rest.Status(code))
				statuses[code] = status
			}
			faces = append(faces, []string{
				"`" + string(code) + "`", string(message.ClassOf(code)), legacy, modern, status, strconv.Itoa(cli.ExitCode(hub.E(code, nil))),
			})
		}
		return map[string]string{"classes": table(sentences...), "fallbacks": table(fallbacks...), "faces": table(faces...)}
	})
	tr.done()
	for _, path := range []string{"docs/api.md", "docs/api.zh-CN.md"} {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for code, status := range statuses {
			row := regexp.MustCompile(`(?m)^\| [^|]*` + status + `[^|]*\|.*` + "`" + string(code) + "`")
			if status != strconv.Itoa(http.StatusBadGateway) && !row.Match(text) {
				t.Errorf("%s: the row of %s does not have %s", path, status, code)
			}
		}
	}
}

// abouts say what errors of a class are about.
func abouts() map[message.Class]string {
	return map[message.Class]string{
		message.ClassNetwork:     "the way to the server, or that it did not answer in time",
		message.ClassPermission:  "what is not allowed",
		message.ClassUnavailable: "what is not there, or not at the moment",
		message.ClassParams:      "what was given with a call or a command",
		message.ClassServer:      "a server that failed, or makes no sense",
		message.ClassRequest:     "a client that does not keep to the protocol",
		message.ClassQuestion:    "a question of a server that nobody answered",
		message.ClassCancelled:   "what the caller did not want any more",
		message.ClassLimit:       "too much, or too much at once",
		message.ClassOutcome:     "a call that may have taken effect, or not",
		message.ClassConfig:      "settings, files and programs on this machine",
		message.ClassInternal:    "Toolcrib itself, and its record of calls",
	}
}
