package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

// TestScript runs the scripts in testdata/script: the command line, as a person
// uses it who has just installed the program. Each has an empty home of its
// own, in which no hub runs unless the script starts one.
//
// Beside the commands of testscript there are:
//
//	exits CODE COMMAND...  the command ends with the code
//	await FILE        wait until the file is there; with a "!" before it, until it has gone
//	shape TYPE        the last output is one value of the API's type, and has no other members
//	until REGEXP COMMAND...  the command is carried out until its output fits, for a minute
//	same FILE FILE    both have the same bytes
//	mode FILE OCTAL   the file has these permissions
func TestScript(t *testing.T) {
	t.Parallel()
	bin := filepath.Dir(rig.HubBinary(t))
	rig.FaultServer(t) // is in the same directory
	node := filepath.Dir(rig.Node(t))
	everything := rig.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	testscript.Run(t, testscript.Params{
		Dir:             filepath.Join("testdata", "script"),
		ContinueOnError: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			for name, value := range map[string]string{
				"HOME":            home,
				"XDG_CONFIG_HOME": filepath.Join(home, ".config"),
				"XDG_DATA_HOME":   filepath.Join(home, ".local", "share"),
				"DATA":            filepath.Join(home, ".local", "share", "toolcrib"),
				"CONFIG":          filepath.Join(home, ".config", "toolcrib", "toolcrib.json"),
				"PATH":            strings.Join([]string{bin, node, os.Getenv("PATH")}, string(os.PathListSeparator)),
				"LANG":            "C",
				"GORACE":          strings.TrimPrefix(rig.AtOnce, "GORACE="),
				"EVERYTHING":      everything,
				"NPM":             filepath.Join(rig.Root(), "test", "npm"),
				"CLIENTS":         filepath.Join(rig.Root(), "test", "e2e"),
				// Nothing is fetched.
				"npm_config_registry": "http://127.0.0.1:1",
				"VOICE":               broker(e),
			} {
				e.Setenv(name, value)
			}
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "await": await, "until": untilSays, "shape": shape, "same": same, "mode": mode,
		},
	})
}

// broker is the address of a voice assistant's backend that greets whoever comes, as
// the cloud does, until the script ends.
func broker(e *testscript.Env) string {
	peer := &voice.Endpoint{}
	server := httptest.NewServer(peer)
	ctx, cancel := context.WithCancel(context.Background())
	var greeting sync.WaitGroup
	greeting.Go(func() {
		for {
			socket, err := peer.Next(ctx)
			if err != nil {
				return
			}
			_, _, _ = voice.Cloud(ctx, socket) // how it went is seen by the script
			_, _ = socket.Ask(ctx, "7", "ping", "{}")
		}
	})
	e.Defer(func() {
		cancel()
		greeting.Wait()
		server.CloseClientConnections()
		server.Close()
	})
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func untilSays(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until REGEXP COMMAND...")
	}
	wanted := regexp.MustCompile("(?m)" + args[0])
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && wanted.MatchString(ts.ReadFile("stdout")) {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			ts.Fatalf("after a minute still not %s: %v", args[0], err)
		}
	}
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		code = ended.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func await(ts *testscript.TestScript, gone bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] await FILE")
	}
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := os.Lstat(ts.MkAbs(args[0]))
		if err == nil != gone && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			ts.Fatalf("after a minute still: %s: %v", args[0], err)
		}
	}
}

func shape(ts *testscript.TestScript, _ bool, args []string) {
	shapes := map[string]any{
		"Endpoint": api.Endpoint{}, "Endpoints": api.EndpointList{}, "Devices": api.DeviceList{}, "DeviceToken": api.DeviceToken{},
		"Call": api.CallResult{}, "Calls": api.CallList{}, "Config": api.ConfigText{}, "Check": api.ConfigCheck{},
		"Import": api.ImportResult{}, "Log": api.Log{}, "LogLine": api.LogLine{}, "Secrets": api.SecretList{},
		"Server": api.Server{}, "Servers": api.ServerList{}, "Status": api.Status{}, "Tool": api.Tool{}, "Tools": api.ToolList{},
	}
	if len(args) != 1 || shapes[args[0]] == nil {
		ts.Fatalf("usage: shape TYPE")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.DisallowUnknownFields()
	if err := d.Decode(reflect.New(reflect.TypeOf(shapes[args[0]])).Interface()); err != nil {
		ts.Fatalf("no %s: %v", args[0], err)
	}
	if d.More() {
		ts.Fatalf("something stands behind the value")
	}
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] same FILE FILE")
	}
	if got := ts.ReadFile(args[0]) == ts.ReadFile(args[1]); got == neg {
		ts.Fatalf("%s and %s are the same: %v", args[0], args[1], got)
	}
}

func mode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: mode FILE OCTAL")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has the permissions %s, not %s", args[0], got, args[1])
	}
}
