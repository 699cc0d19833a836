package packaging_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopLimit is the longest that an orderly stop takes, by ARCHITECTURE.md: 10 s
// and 2 s for calls, 5 s for connections, and 9 s until servers are killed.
const stopLimit = 26 * time.Second

// TestSystemd has systemd itself read the units, with the program where they
// say that it is.
func TestSystemd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has systemd")
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("systemd-analyze is missing; a check that is silently left out is worse than none")
		}
		t.Skip("systemd-analyze is missing")
	}
	path := program(t)
	for name, args := range map[string][]string{
		"systemd/toolcrib.service":      {"--man=no", "verify"},
		"systemd/user/toolcrib.service": {"--man=no", "--user", "verify"},
	} {
		t.Run(name, func(t *testing.T) {
			unit := readFile(t, "packaging/"+name)
			start := regexp.MustCompile(`(?m)^ExecStart=(\S+/toolcrib) (.+)$`).FindStringSubmatch(unit)
			if start == nil {
				t.Fatal("it starts something else")
			}
			file := filepath.Join(t.TempDir(), "toolcrib.service")
			if err := os.WriteFile(file, []byte(strings.Replace(unit, start[1], path, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := command(t, "systemd-analyze", append(args, file)...)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
			if said := output(t, cmd); strings.TrimSpace(said) != "" {
				t.Errorf("%s", said)
			}
			output(t, command(t, path, append(strings.Fields(start[2]), "--help")...))
			limit := regexp.MustCompile(`(?m)^TimeoutStopSec=(\S+)$`).FindStringSubmatch(unit)
			if d, err := time.ParseDuration(limit[1]); err != nil || d < stopLimit {
				t.Errorf("it is killed after %s, an orderly stop may take %s", limit[1], stopLimit)
			}
			// Node.js could not run.
			if strings.Contains(unit, "\nMemoryDenyWriteExecute=yes") {
				t.Error("programs that make code while they run are kept from it")
			}
		})
	}
	t.Run("security", func(t *testing.T) {
		// Of 10 for a service without any protection.
		output(t, command(t, "systemd-analyze", "security", "--no-pager", "--offline=yes", "--threshold=35",
			filepath.Join(root, "packaging", "systemd", "toolcrib.service")))
	})
}

// TestLaunchd reads the property list as launchd does, and runs what it runs.
func TestLaunchd(t *testing.T) {
	const name = "packaging/launchd/dev.toolcrib.plist"
	agent := plist(t, readFile(t, name))
	if label := strings.TrimSuffix(filepath.Base(name), ".plist"); agent["Label"] != label {
		t.Errorf("the file is called %s, the agent %v", label, agent["Label"])
	}
	if want := map[string]any{"SuccessfulExit": false}; !reflect.DeepEqual(agent["KeepAlive"], want) || agent["RunAtLoad"] != true {
		t.Errorf("KeepAlive is %v, RunAtLoad is %v", agent["KeepAlive"], agent["RunAtLoad"])
	}
	if limit, ok := agent["ExitTimeOut"].(int); !ok || time.Duration(limit)*time.Second < stopLimit {
		t.Errorf("it is killed after %v s, an orderly stop may take %s", agent["ExitTimeOut"], stopLimit)
	}

	path := program(t)
	var args []string
	for _, arg := range agent["ProgramArguments"].([]any) {
		arg := strings.Replace(arg.(string), "/usr/local/bin/toolcrib serve", path+" serve --listen none", 1)
		args = append(args, arg)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "Library", "Logs", "toolcrib.log")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, args[0], args[1:]...)
	cmd.Env = home(dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	// The shell becomes the program, so that launchd's signal reaches it.
	ask := func(args ...string) string {
		cmd := command(t, path, args...)
		cmd.Env = home(dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return ""
		}
		return string(out)
	}
	for deadline := time.Now().Add(startLimit); !strings.Contains(ask("status", "--json"), pid); {
		if time.Now().After(deadline) {
			said, err := os.ReadFile(log)
			t.Fatalf("process %s does not serve: %v\n%s", pid, err, said)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended by %v", err)
	}
	info, err := os.Stat(log)
	if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("its log: %v %v", info, err)
	}
}

// plist reads an XML property list whose top is a dictionary.
func plist(t *testing.T, text string) map[string]any {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "dict" {
			dict, err := value(d, start)
			if err == nil {
				for err == nil { // all of it has to be well-formed
					_, err = d.Token()
				}
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return dict.(map[string]any)
		}
	}
}

// value reads what an element stands for.
func value(d *xml.Decoder, start xml.StartElement) (any, error) {
	switch kind := start.Name.Local; kind {
	case "dict", "array":
		var list []any
		for {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			switch token := token.(type) {
			case xml.StartElement:
				v, err := value(d, token)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			case xml.EndElement:
				if kind == "array" {
					return list, nil
				}
				dict := map[string]any{}
				for i := 0; i+1 < len(list); i += 2 {
					dict[list[i].(string)] = list[i+1]
				}
				return dict, nil
			}
		}
	case "true", "false":
		return kind == "true", d.Skip()
	default:
		var text string
		if err := d.DecodeElement(&text, &start); err != nil {
			return nil, err
		}
		if kind == "integer" {
			return strconv.Atoi(text)
		}
		return text, nil
	}
}
