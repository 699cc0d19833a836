//go:build unix

package builtin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The programs of these tests keep their state in the file "state" beside
// them. They are all that is found: PATH has no other directory, so they use
// nothing but what the shell has itself.

// install makes a directory the only one in which programs are found, and
// writes scripts into it. $state is the file for their state.
func install(t *testing.T, scripts map[string]string) (state string) {
	t.Helper()
	dir := t.TempDir()
	state = filepath.Join(dir, "state")
	for name, script := range scripts {
		script = "#!/bin/sh\nstate='" + state + "'\n" + script
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return state
}

func writeState(t *testing.T, state, text string) {
	t.Helper()
	if err := os.WriteFile(state, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantState(t *testing.T, state, want string) {
	t.Helper()
	got, err := os.ReadFile(state)
	if err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("the state is %q, %v, want %q", got, err, want)
	}
}

const (
	// fakeWpctl insists on an environment that is clean, and on numbers with
	// a point.
	fakeWpctl = `
[ "$LC_ALL" = C ] || { echo "LC_ALL is $LC_ALL" >&2; exit 9; }
[ -z "$TOOLCRIB_TEST_SECRET" ] || { echo "a secret came along" >&2; exit 9; }
case "$*" in
"get-volume @DEFAULT_AUDIO_SINK@")
	read volume < "$state"; echo "Volume: $volume" ;;
"set-volume @DEFAULT_AUDIO_SINK@ "[01].[0-9][0-9])
	read old muted < "$state"; echo "$3 $muted" > "$state" ;;
*)
	echo "arguments: $*" >&2; exit 64 ;;
esac`

	fakePactl = `
read volume mute < "$state"
case "$*" in
"get-sink-volume @DEFAULT_SINK@")
	echo "Volume: front-left: 1 /  $volume / -7.50 dB,   front-right: 1 /  $volume / -7.50 dB"
	echo "        balance 0.00" ;;
"get-sink-mute @DEFAULT_SINK@")
	echo "Mute: $mute" ;;
"set-sink-volume @DEFAULT_SINK@ "*%)
	echo "$3 $mute" > "$state" ;;
*)
	echo "arguments: $*" >&2; exit 64 ;;
esac`

	// fakeAmixer is a card without a Master, and with steps of 10 percent.
	fakeAmixer = `
read volume switch < "$state"
case "$*" in
"-M sget PCM") ;;
"-M sset PCM playback "*%)
	volume=${5%%%}; volume=$((volume / 10 * 10)); echo "$volume $switch" > "$state" ;;
*)
	echo "amixer: Unable to find simple control '$3',0" >&2; exit 1 ;;
esac
echo "Simple mixer control 'PCM',0"
echo "  Limits: Playback 0 - 10"
echo "  Mono: Playback 1 [$volume%] [-7.50dB] [$switch]"`

	broken = `echo "Could not connect to PipeWire" >&2; exit 2`
)

func TestVolumeByWpctl(t *testing.T) {
	t.Setenv("TOOLCRIB_TEST_SECRET", "hunter2")
	state := install(t, map[string]string{"wpctl": fakeWpctl, "amixer": broken})
	writeState(t, state, "0.40")
	s := serveDevice(t, newMachine("linux", t.TempDir()))
	wantCall(t, s, "get_current_volume", nil, "当前音量为40%\nThe volume is 40%", map[string]any{"level": 40.0})
	wantCall(t, s, "adjust_volume", map[string]any{"level": 75}, "音量已调整到75%\nThe volume is now 75%", map[string]any{"level": 75.0})
	wantState(t, state, "0.75")
	wantCall(t, s, "get_current_volume", nil, "当前音量为75%\nThe volume is 75%", map[string]any{"level": 75.0})
	for level, want := range map[float64]string{0: "0.00", 100: "1.00", 7: "0.07", 28.6: "0.29"} {
		call(t, s, "adjust_volume", map[string]any{"level": level})
		wantState(t, state, want)
	}
	writeState(t, state, "0.30 [MUTED]")
	wantCall(t, s, "adjust_volume", map[string]any{"level": 50}, "音量已调整到50%（已静音）\nThe volume is now 50% (muted)", map[string]any{"level": 50.0, "muted": true})
	writeState(t, state, "1.20")
	wantCall(t, s, "get_current_volume", nil, "当前音量为120%\nThe volume is 120%", map[string]any{"level": 120.0})
}

func TestVolumeByPactl(t *testing.T) {
	state := install(t, map[string]string{"wpctl": broken, "pactl": fakePactl})
	writeState(t, state, "40% no")
	s := serveDevice(t, newMachine("linux", t.TempDir()))
	wantCall(t, s, "adjust_volume", map[string]any{"level": 75}, "音量已调整到75%\nThe volume is now 75%", map[string]any{"level": 75.0})
	wantState(t, state, "75% no")
	writeState(t, state, "30% yes")
	wantCall(t, s, "get_current_volume", nil, "当前音量为30%（已静音）\nThe volume is 30% (muted)", map[string]any{"level": 30.0, "muted": true})
}

func TestVolumeByAmixer(t *testing.T) {
	state := install(t, map[string]string{"wpctl": broken, "amixer": fakeAmixer})
	writeState(t, state, "40 on")
	s := serveDevice(t, newMachine("linux", t.TempDir()))
	wantCall(t, s, "get_current_volume", nil, "当前音量为40%\nThe volume is 40%", map[string]any{"level": 40.0})
	wantCall(t, s, "adjust_volume", map[string]any{"level": 75},
		"音量已调整到70%（要求的是75%）\nThe volume is now 70% (75% was asked for)", map[string]any{"level": 70.0})
	wantState(t, state, "70 on")
	writeState(t, state, "70 off")
	wantCall(t, s, "get_current_volume", nil, "当前音量为70%（已静音）\nThe volume is 70% (muted)", map[string]any{"level": 70.0, "muted": true})
}

func TestNoVolume(t *testing.T) {
	install(t, nil)
	s := serveDevice(t, newMachine("linux", t.TempDir()))
	wantFault(t, s, "adjust_volume", map[string]any{"level": 75}, "none of wpctl", "amixer", "was found", "install", "没有找到")
	wantFault(t, s, "get_current_volume", nil, "none of wpctl", "没有找到")

	install(t, map[string]string{"wpctl": broken, "pactl": "echo 'no volume here'", "amixer": "exit 3"})
	wantFault(t, s, "get_current_volume", nil, "wpctl: Could not connect to PipeWire", "pactl does not say", "running amixer: exit status 3", "session", "会话")
	wantFault(t, s, "adjust_volume", map[string]any{"level": 75}, "wpctl: Could not connect to PipeWire", "会话")
}

// hang is a program that says so and then does nothing.
const hang = `echo started > "$state"; exec /bin/sleep 600`

func TestHangingProgram(t *testing.T) {
	install(t, map[string]string{"wpctl": hang, "amixer": fakeAmixer})
	d := newMachine("linux", t.TempDir())
	d.limit = 200 * time.Millisecond
	s := serveDevice(t, d)
	start := time.Now()
	text, _, isError := call(t, s, "adjust_volume", map[string]any{"level": 75})
	if !isError || !strings.Contains(text, "(wpctl did not answer in time)") { // and no other was asked
		t.Errorf("error %t, %s", isError, text)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestServeEndsAProgram checks that neither a cancelled call nor the end of a
// connection waits for a program that hangs.
func TestServeEndsAProgram(t *testing.T) {
	for name, end := range map[string]func(cancelCall, cancelServe func()){
		"call cancelled":   func(cancelCall, cancelServe func()) { cancelCall(); cancelServe() },
		"connection ended": func(_, cancelServe func()) { cancelServe() },
	} {
		t.Run(name, func(t *testing.T) {
			state := install(t, map[string]string{"wpctl": hang})
			if err := syscall.Mkfifo(state, 0o600); err != nil {
				t.Fatal(err)
			}
			b := New(Options{Sys: t.TempDir()})
			b.machine = newMachine("linux", t.TempDir())
			b.machine.limit = time.Hour
			near, far := pipe()
			serving, cancelServe := context.WithCancel(t.Context())
			defer cancelServe()
			done := make(chan error, 1)
			go func() { done <- b.Serve(serving, "device", far.Reader, far.Writer) }()
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), near, nil)
			if err != nil {
				t.Fatal(err)
			}
			calling, cancelCall := context.WithCancel(t.Context())
			defer cancelCall()
			called := make(chan error, 1)
			go func() {
				_, err := session.CallTool(calling, &mcp.CallToolParams{Name: "get_current_volume"})
				called <- err
			}()
			if _, err := os.ReadFile(state); err != nil { // waits for the program
				t.Fatal(err)
			}
			end(cancelCall, cancelServe)
			for what, ended := range map[string]chan error{"the call": called, "Serve": done} {
				select {
				case err := <-ended:
					if what == "the call" == (err == nil) {
						t.Errorf("%s: %v", what, err)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%s did not end", what)
				}
			}
			_ = session.Close() // its far end is gone
		})
	}
}

// TestBrightnessByLogind checks the way for users who may not write the file
// of the kernel themselves.
func TestBrightnessByLogind(t *testing.T) {
	sys := t.TempDir()
	panel := filepath.Join(sys, "class", "backlight", "intel_backlight")
	write(t, filepath.Join(panel, "brightness"), nil) // a directory cannot be written
	write(t, panel, map[string]string{"type": "raw", "max_brightness": "200", "actual_brightness": "20"})
	state := install(t, map[string]string{"busctl": `
echo "$*" > "$state"
shift 8; echo "$1" > '` + panel + `/actual_brightness'
`})
	s := serveDevice(t, newMachine("linux", sys))
	wantCall(t, s, "set_brightness", map[string]any{"brightness": 60}, "屏幕亮度已设置为60%\nThe screen brightness is now 60%", map[string]any{"brightness": 60.0})
	wantState(t, state, "call org.freedesktop.login1 /org/freedesktop/login1/session/auto org.freedesktop.login1.Session SetBrightness ssu backlight intel_backlight 120")
}
