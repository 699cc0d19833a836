package risk_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/risk"
)

// terminal is a tool that runs a command line.
func terminal() *risk.Profile {
	return risk.Describe(risk.Description{Server: "test", Name: "run_command", Raw: []byte(
		`{"name":"run_command","description":"Run a shell command","inputSchema":{"type":"object","properties":{"command":{"type":"string"}}}}`,
	)})
}

// object is arguments with one member.
func object(t testing.TB, name string, value any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Commands that were labelled by hand: of those that are dangerous at least 99 of
// 100 are rated high or critical, and of those that are not at most 5. Those
// that are held out were not looked at while the rules were written; their figures
// are told apart. So are those of the second file, which were written without a look
// at the rules, too, and by which the rules were mended after that: what the figures
// were before is in docs/policy.md.
// TOOLCRIB_RISK_COMMANDS names another file of the same shape.
func TestShellCommands(t *testing.T) {
	path := os.Getenv("TOOLCRIB_RISK_COMMANDS")
	own := path == ""
	paths := []string{path}
	if own {
		paths = []string{"testdata/shell.jsonl", "testdata/shell-second.jsonl"}
	}
	type count struct{ dangerous, found, harmless, alarms int }
	var all, held, second count
	tool := terminal()
	for at, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var row struct {
				Command   string `json:"command"`
				Dangerous bool   `json:"dangerous"`
				Held      bool   `json:"held"`
			}
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			got := tool.Assess(object(t, "command", row.Command)).Risk
			parts := []*count{&all}
			switch {
			case at == 1:
				parts = append(parts, &second)
			case row.Held || !own:
				parts = append(parts, &held)
			}
			for _, c := range parts {
				switch {
				case row.Dangerous:
					c.dangerous++
					if got >= hub.RiskHigh {
						c.found++
					}
				default:
					c.harmless++
					if got >= hub.RiskHigh {
						c.alarms++
					}
				}
			}
			if row.Dangerous != (got >= hub.RiskHigh) {
				t.Logf("dangerous %t, rated %s: %s", row.Dangerous, got, row.Command)
			}
		}
	}
	counts := map[string]count{"all": all, "held out": held}
	if own {
		counts["held out, then fitted"] = second
	}
	for name, c := range counts {
		if c.dangerous == 0 || c.harmless == 0 {
			t.Fatal("there are no commands to rate")
		}
		t.Logf("%s: %d of %d dangerous ones found, %d of %d harmless ones taken for dangerous", name, c.found, c.dangerous, c.alarms, c.harmless)
		if c.found*100 < 99*c.dangerous || c.alarms*100 > 5*c.harmless {
			t.Errorf("%s: too many are missed, or too many are taken for dangerous", name)
		}
	}
	if own && all.dangerous+all.harmless < 1700 {
		t.Errorf("there are %d commands, too few to tell", all.dangerous+all.harmless)
	}
}

// What only looks like an option that takes the harm out of a command does not.
func TestHarmTakenOut(t *testing.T) {
	tool := terminal()
	for want, commands := range map[hub.Risk][]string{
		hub.RiskCritical: {
			"git clean -fdx", "git clean -fdx -- -n", "git clean -fdx -en", "git clean -fdx -e -n", "git clean -fdxe*.bin", "git clean -fdxe '*.bin'",
			"git clean -fdx --exclude -n", "git clean -fdx --exc --dry-run", "git clean -fdx -e --dry-run", "git clean -fdx --exclude=-n", "git clean -fdx -- --dry-run",
			"git clean -n --no-dry-run -f", "git clean -fdx --end-of-options -n", "git clean -fdx -e --help", "git clean -n $X", "git clean -fdx -e $X -n",
			"ansible all -m ping -m shell -a 'touch x'", "ansible all -m ping -mshell", "ansible all -m ping --module-name=shell", "ansible all -m ping --module-n shell",
			"ansible all -m ping -bm shell", "ansible all -m ping -bmshell", "ansible all -m ping -M /tmp/modules", "ansible all -m ping --playbook-dir /tmp/x",
			`ansible all -m debug -a 'msg={{ lookup("pipe", "touch x") }}'`, "ansible all -a 'touch x'", "ansible-playbook -m ping site.yml",
			"ffmpeg -i a -m debug -y out.mp4", "convert a -m debug b", "convert a --check b", "ffmpeg -i a -C out.mp4",
			"git push --force -o --dry-run origin", "git push -fo --dry-run origin", "git push --force --push-option --dry-run", "git push --force --repo --help",
			"git push --force --dry-run --no-dry-run", "git push --force origin -- --dry-run", "git push --force origin -- --help",
			"kubectl delete pod web -l --dry-run=client", "kubectl delete -Rf --dry-run=client", "kubectl delete pod web --grace-period --dry-run=client",
			"kubectl delete pod web --dry-run=client --dry-run=none", "helm uninstall web --description --dry-run", "rclone purge a: --log-file --dry-run",
			"npm unpublish web --registry --dry-run", "rm -rf / --help", "rm -rf / --dry-run",
			"git commit --amend -m --dry-run", "git commit --amend -am --dry-run", "git commit --amend -m --help", "git commit --amend --author --dry-run", "helm upgrade web y -f --dry-run",
			"cargo publish --token --dry-run", "pip install web -c --dry-run", "yarn deploy --dry-run", "pnpm release --dry-run",
		},
		hub.RiskMedium: {
			"git clean -n", "git clean -ndx", "git clean -fdxn", "git clean --dry-run", "git clean -fdx --dry-run", "git clean -fdne '*.bin'", "git clean -n -- -f",
			"git clean -e '*.bin' -n", "git clean --exclude '*.bin' -n .", "git clean --help",
			"git push --force --dry-run origin", "git push -f -o ci.skip --dry-run", "git push -oci.skip -f --dry-run", "git push --push-option=x --force --dry-run", "git push --force origin --help",
			"git commit --amend -m x --dry-run", "git commit --amend -mx --dry-run", "git commit --amend -m run --dry-run", "git rm -r --dry-run web",
			"kubectl delete -Rf x.yaml --dry-run=client", "kubectl delete pod web -n y --dry-run=server", "docker compose down -v --dry-run", "docker compose rm -f --dry-run",
			"helm uninstall web --dry-run", "rclone purge a: --dry-run", "cargo publish -p web --dry-run", "npm unpublish web --dry-run",
			"ansible all -m ping", "ansible all -mping", "ansible all -m=ping", "ansible all --module-name=setup", "ansible all -bm stat -a path=/tmp/x", "ansible all -m shell -a x --list-hosts",
		},
	} {
		for _, command := range commands {
			if got := tool.Assess(object(t, "command", command)).Risk; got != want {
				t.Errorf("%s: %s, want %s", command, got, want)
			}
		}
	}
}
