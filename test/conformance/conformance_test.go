// Package conformance runs the official MCP conformance suite against the hub,
// in front of the server that the Go SDK has for that suite.
//
// What the hub does not do yet is listed in a file per run, with the reason. A
// listed scenario that passes fails the run, so that the lists cannot go stale:
// the suite sees to that for the scenarios that it scores, this package for all.
// What must pass is listed here, so that no scenario can get lost.
package conformance

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// rounds is how often each run is repeated: the suite races notifications
// against responses, and once is no proof.
const rounds = 3

// run is one way to run the suite.
type run struct {
	name      string
	suite     string   // npm package of the suite's version
	args      []string // which scenarios
	stateless bool     // the server behind the hub speaks the modern era only
	expected  string   // file of what fails; "" for nothing
	must      []string // scenarios that must have passed
}

func runs() []run {
	tools := []string{
		"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio",
		"tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
		"tools-call-with-progress", "dns-rebinding-protection", "server-sse-multiple-streams",
		"json-schema-2020-12", "completion-complete",
		"resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read",
		"prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image",
	}
	legacy := slices.Concat(tools, []string{
		"server-initialize", "ping", "logging-set-level", "tools-call-with-logging",
		"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
		"resources-subscribe", "resources-unsubscribe",
	})
	return []run{
		{
			name: "0.1 all", suite: "conformance-0.1", args: []string{"--suite", "all"}, must: legacy,
		},
		{
			name: "0.2 requirements 2025-11-25", suite: "conformance-0.2",
			args: []string{"--requirements", "2025-11-25"}, must: append(legacy, "server-session-lifecycle"),
		},
		{
			name: "0.2 requirements 2026-07-28", suite: "conformance-0.2",
			args: []string{"--requirements", "2026-07-28"}, stateless: true,
			expected: "expected-2026-07-28.yml", must: slices.Concat(tools, []string{
				"server-stateless", "caching", "http-header-validation", "http-custom-header-server-validation",
				"sep-2164-resource-not-found",
				"input-required-result-basic-elicitation", "input-required-result-basic-sampling",
				"input-required-result-basic-list-roots", "input-required-result-request-state",
				"input-required-result-multiple-input-requests", "input-required-result-multi-round",
				"input-required-result-missing-input-response", "input-required-result-result-type",
				"input-required-result-unsupported-methods", "input-required-result-tampered-state",
				"input-required-result-capability-check", "input-required-result-ignore-extra-params",
				"input-required-result-validate-input", "input-required-result-non-tool-request",
			}),
		},
	}
}

func TestServer(t *testing.T) {
	var all table
	t.Run("runs", func(t *testing.T) {
		for _, r := range runs() {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				url := rig.StartConformanceServer(t, r.stateless)
				direct, _, _ := suite(t, r, url)
				// The suite knows its fixtures by their names.
				hub := rig.StartHub(t, rig.HTTP("fixture", url).With("bareNames", true))
				hub.AwaitReady()
				var through map[string]scenario
				for round := range rounds {
					through = check(t, r, round+1, hub.MCP())
				}
				all.add(r.name, direct, through)
			})
		}
	})
	all.compare(t)
}

// suite runs the suite once. It returns what came of it by scenario, what it
// printed, and its exit code.
func suite(t *testing.T, r run, url string, flags ...string) (results map[string]scenario, text []byte, code int) {
	t.Helper()
	out := t.TempDir()
	args := slices.Concat([]string{
		rig.NPM(t, r.suite, "dist", "index.js"), "server", "--url", url, "-o", out,
	}, flags, r.args)
	text, err := exec.CommandContext(t.Context(), rig.NewNode(t), args...).CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return read(t, out), text, code
}

// The tool of this scenario ends its stream before it answers, and the Go SDK's
// server keeps no events: its answer is lost, and nobody can come back for it. The
// hub says so, with an error. The suite wants a result instead, but only where it
// has an id to come back with; and it has one if the hub took longer for the error
// than after which it begins a stream, as on a busy machine. Directly there never is
// one. That streams are resumed is shown in internal/face/mcp and internal/upstream.
const (
	unresumed   = "server-sse-polling:server-sse-disconnect-resume"
	lostAnswer  = "Server did not send tool response after client reconnected with Last-Event-ID"
	streamAfter = 50 * time.Millisecond
)

// check runs the suite once through the hub.
func check(t *testing.T, r run, round int, url string) map[string]scenario {
	t.Helper()
	var flags []string
	listed := map[string]bool{}
	if r.expected != "" {
		expected, err := filepath.Abs(r.expected)
		if err != nil {
			t.Fatal(err)
		}
		flags, listed = []string{"--expected-failures", expected}, list(t, expected)
	}
	results, text, code := suite(t, r, url, flags...)
	if code != 0 {
		t.Errorf("round %d: the suite says exit %d:\n%s", round, code, text)
	}
	failed := 0
	for name, s := range results {
		if len(s.faults) == 0 {
			continue
		}
		failed++
		for check, fault := range s.faults {
			if name+":"+check == unresumed && fault == lostAnswer {
				t.Logf("round %d: the fixture has lost an answer, after %v", round, streamAfter)
				continue
			}
			if !listed[name] && !listed[name+":"+check] {
				t.Errorf("round %d: %s:%s, which is not expected: %s", round, name, check, fault)
			}
		}
	}
	for entry := range listed {
		name, check, one := strings.Cut(entry, ":")
		if _, fault := results[name].faults[check]; one && !fault || len(results[name].faults) == 0 {
			t.Errorf("round %d: %s is in %s and did not fail; take it out", round, entry, r.expected)
		}
	}
	for _, name := range r.must {
		if listed[name] || results[name].passed == 0 {
			t.Errorf("round %d: %s has passed %d checks and must pass", round, name, results[name].passed)
		}
	}
	t.Logf("%s, round %d: %d scenarios passed, %d failed as expected", r.name, round, len(results)-failed, failed)
	return results
}

// list reads a file of expected failures: scenarios, and scenario:check.
func list(t *testing.T, path string) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]bool)
	for line := range strings.Lines(string(raw)) {
		if entry, ok := strings.CutPrefix(line, "  - "); ok {
			all[strings.TrimSpace(entry)] = true
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s lists nothing", path)
	}
	return all
}

// scenario is what came out of one scenario.
type scenario struct {
	passed int               // checks
	failed int               // checks that are no mere warnings
	faults map[string]string // what was said, by check; warnings count, as they do for the suite
}

// folder is the name of the folder with a scenario's results.
var folder = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[-0-9]+Z$`)

// read reads the results that the suite has written, by scenario.
func read(t *testing.T, dir string) map[string]scenario {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]scenario)
	for _, e := range entries {
		m := folder.FindStringSubmatch(e.Name())
		if m == nil {
			t.Fatalf("%q is no scenario's results", e.Name())
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name(), "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct {
			ID      string `json:"id"`
			Status  string `json:"status"`
			Message string `json:"errorMessage"`
		}
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		s := scenario{faults: make(map[string]string)}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				s.passed++
			case "FAILURE":
				s.failed++
				s.faults[c.ID] = c.Message
			case "WARNING":
				s.faults[c.ID] = c.Message
			}
		}
		all[m[1]] = s
	}
	return all
}
