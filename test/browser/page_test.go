package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

const (
	script = "page.mjs"

	// limit is for the browser's part of the test. It only matters when
	// something is wrong.
	limit = 2 * time.Minute

	// hostile is what a server may say of itself.
	hostile = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><b>bold</b>`
)

// planted are secrets in every place where a configuration may have one.
var planted = map[string]string{
	"env":    "planted-in-env-7f3a91",
	"stderr": "planted-in-stderr-c40de2",
	"args":   "planted-in-args-88aa07",
	"header": "planted-in-header-99b1c5",
	"query":  "planted-in-query-12fe6d",
}

// chromium is the browser of this machine. The test fails if there is none: a
// check that is silently left out is worse than none.
func chromium(tb testing.TB) string {
	tb.Helper()
	rig.Long(tb)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	tb.Fatal(`chromium is missing; run "make setup" first`)
	return ""
}

// hub is a hub at a fixed address, which can be stopped and started again.
type hub struct {
	tb   testing.TB
	args []string
	*rig.Process
	rig.Door
	dataDir string
}

func startHub(tb testing.TB, config string, flags ...string) *hub {
	tb.Helper()
	address := "127.0.0.1:" + rig.FreePort(tb)
	h := &hub{tb: tb, Door: rig.NewDoor(tb, "http://"+address), dataDir: filepath.Join(tb.TempDir(), "data")}
	h.args = append([]string{"serve", "--config", config, "--listen", address, "--data-dir", h.dataDir, "--log-level", "debug"}, flags...)
	h.start()
	return h
}

func (h *hub) start() {
	h.tb.Helper()
	h.Process = rig.Spawn(h.tb, nil, rig.HubBinary(h.tb), h.args...)
	if line, _ := h.Line(); !strings.Contains(line, h.URL) {
		h.tb.Fatalf("the hub did not say that it serves at %s but %q; its standard error:\n%s", h.URL, line, h.Stderr())
	}
}

// call calls a tool by the API; how that ends is for the page to show.
func (h *hub) call(tool, arguments string) {
	h.tb.Helper()
	body := bytes.NewReader([]byte(`{"tool":"` + tool + `","arguments":` + arguments + `}`))
	req, err := http.NewRequestWithContext(h.tb.Context(), http.MethodPost, h.URL+"/api/v1/calls", body)
	if err != nil {
		h.tb.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.tb.Fatalf("call %s: %v", tool, err)
	}
	resp.Body.Close()
}

// servers is one of each kind of server, well and not, with the secrets.
func servers(tb testing.TB) []rig.Server {
	tb.Helper()
	_, remote := rig.StartFaultServer(tb, "127.0.0.1:0")
	everything := rig.NPM(tb, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	return []rig.Server{
		rig.Stdio("everything", rig.Node(tb), everything, "stdio").
			With("autoStart", true). // so that it runs again with the hub
			With("env", map[string]string{"API_TOKEN": planted["env"]}).
			With("toolOverrides", map[string]any{"echo": map[string]string{"description": hostile}}),
		rig.HTTP("remote", remote+"?key="+planted["query"]).
			With("headers", map[string]string{"Authorization": "Bearer " + planted["header"]}),
		rig.Stdio("missing", "no-such-program", "--token", planted["args"]),
		rig.Stdio("dying", rig.FaultServer(tb), "-fault", "crashstart").With("name", "The dying one"),
		// It says a secret aloud, and something that no page may take for markup.
		rig.Stdio("noisy", rig.Node(tb), "-e", "console.error('<i>markup</i>', process.env.SECRET_TOKEN); process.exit(1)").
			With("env", map[string]string{"SECRET_TOKEN": planted["stderr"]}),
		rig.Stdio("off", "true").With("disabled", true),
	}
}

// spec is what the script is told.
type spec struct {
	Chromium    string            `json:"chromium"`
	URL         string            `json:"url"`
	Secured     string            `json:"secured"` // URL of a hub that demands a token
	Token       string            `json:"token"`   // which it takes
	Secrets     map[string]string `json:"secrets"`
	Hostile     string            `json:"hostile"`
	Screenshots string            `json:"screenshots"` // directory; none are made if empty
}

// line is what the script says.
type line struct {
	Fail string `json:"fail"` // something is wrong
	Did  string `json:"did"`  // a part of the test is done
	Do   string `json:"do"`   // the hub is to be stopped or started
	End  bool   `json:"end"`  // all parts are done
}

func TestPage(t *testing.T) {
	s := spec{Chromium: chromium(t), Secrets: planted, Hostile: hostile}
	if os.Getenv("TOOLCRIB_SCREENSHOTS") != "" {
		dir, err := os.MkdirTemp("", "toolcrib-page-") //nolint:usetesting // it is there to be looked at afterwards
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("screenshots are in %s", dir)
		s.Screenshots = dir
	}
	secured := startHub(t, rig.WriteConfig(t), "--require-token")
	token, err := os.ReadFile(filepath.Join(secured.dataDir, "caller.token"))
	if err != nil {
		t.Fatal(err)
	}
	s.Secured, s.Token = secured.URL, strings.TrimSpace(string(token))
	s.Secrets["token"] = s.Token

	h := startHub(t, rig.WriteConfig(t, servers(t)...))
	s.URL = h.URL
	h.AwaitState("everything", "ready")
	h.AwaitState("remote", "ready")
	h.AwaitState("missing", "failed")
	h.AwaitState("noisy", "crashed")
	h.call("calculator", `{"expression":"6*7"}`)
	h.call("calculator", `{"expression":"6*"}`)
	h.call("no_such_tool", `{}`)
	h.call("everything__get-sum", `{"a":1,"b":2}`)

	run(t, s, func(what string) {
		switch what {
		case "stop":
			h.Stop()
		case "start":
			h.start()
		default:
			t.Errorf("the script asks for %q", what)
		}
	})
}

// run runs the script, does what it asks for, and fails with what it finds.
func run(t *testing.T, s spec, do func(what string)) {
	t.Helper()
	if _, err := os.Stat(script); err != nil { // so that a cached outcome is not shown for another script
		t.Fatal(err)
	}
	arg, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, rig.Node(t), script, string(arg))
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it closes the browser
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = &bytes.Buffer{}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	began, ended := time.Now(), false
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var said line
		if err := json.Unmarshal(scan.Bytes(), &said); err != nil {
			t.Errorf("the script says %q: %v", scan.Text(), err)
			continue
		}
		switch {
		case said.Fail != "":
			t.Error(said.Fail)
		case said.Did != "":
			t.Logf("%5.1f s  %s", time.Since(began).Seconds(), said.Did)
		case said.Do != "":
			do(said.Do)
			if _, err := in.Write([]byte("done\n")); err != nil {
				t.Errorf("answer the script: %v", err)
			}
		}
		ended = ended || said.End
	}
	if err := cmd.Wait(); err != nil || !ended {
		t.Fatalf("the script did not come to its end: %v\n%s", err, cmd.Stderr)
	}
}
