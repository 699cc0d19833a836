package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveDevice returns a client of the tools of a device.
func serveDevice(t *testing.T, d *device) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "device", Version: "1"}, nil)
	d.add(server)
	return session(t, server)
}

// wantCall calls a tool that is to succeed with the texts and the structured
// content.
func wantCall(t *testing.T, s *mcp.ClientSession, tool string, args any, wantText string, wantStructured map[string]any) {
	t.Helper()
	text, structured, isError := call(t, s, tool, args)
	if isError || text != wantText {
		t.Errorf("%s(%v): error %t, texts\n%s\nwant\n%s", tool, args, isError, text, wantText)
	}
	if diff := cmp.Diff(wantStructured, structured); diff != "" {
		t.Errorf("%s(%v): structured content (-want +got):\n%s", tool, args, diff)
	}
}

// wantFault calls a tool that is to fail with a text that has all the words.
func wantFault(t *testing.T, s *mcp.ClientSession, tool string, args any, words ...string) {
	t.Helper()
	text, structured, isError := call(t, s, tool, args)
	if !isError || structured != nil {
		t.Errorf("%s(%v): error %t, structured content %v, text %s", tool, args, isError, structured, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s(%v): the text\n%s\ndoes not have %q", tool, args, text, word)
		}
	}
}

// write writes the files of a directory, which is made.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSimulatedDevice(t *testing.T) {
	asked := ""
	b := New(Options{Sys: t.TempDir(), Simulated: func(key string) bool { asked = key; return true }})
	server, _ := b.server("device", nil)
	s := session(t, server)
	if asked != "device" {
		t.Errorf("asked about %q", asked)
	}

	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if !strings.Contains(tool.Description, "SIMULATED") || !strings.Contains(tool.Description, "模拟") {
			t.Errorf("%s does not say that it is simulated: %s", tool.Name, tool.Description)
		}
	}

	wantCall(t, s, "adjust_volume", map[string]any{"level": 75}, "音量已调整到75%（模拟）\nThe volume is now 75% (simulated)",
		map[string]any{"level": 75.0, "simulated": true})
	wantCall(t, s, "set_brightness", map[string]any{"brightness": 60}, "屏幕亮度已设置为60%（模拟）\nThe screen brightness is now 60% (simulated)",
		map[string]any{"brightness": 60.0, "simulated": true})

	// Another connection finds what the first one has set.
	server, _ = b.server("device", nil)
	s = session(t, server)
	wantCall(t, s, "get_current_volume", nil, "当前音量为75%（模拟）\nThe volume is 75% (simulated)",
		map[string]any{"level": 75.0, "simulated": true})
	wantCall(t, s, "get_current_brightness", nil, "当前屏幕亮度为60%（模拟）\nThe screen brightness is 60% (simulated)",
		map[string]any{"brightness": 60.0, "simulated": true})
	text, structured, isError := call(t, s, "get_system_info", nil)
	if isError || structured["simulated"] != true || !strings.Contains(text, "（模拟）") || !strings.Contains(text, "(simulated)") {
		t.Errorf("get_system_info: error %t, %v, %s", isError, structured, text)
	}
}

// TestDeviceArguments checks what a model is told of arguments that are wrong,
// and that those which mean a right value are taken.
func TestDeviceArguments(t *testing.T) {
	s := serveDevice(t, newSimulation())
	for _, test := range []struct {
		tool, args string
		want       []string
	}{
		{"set_brightness", `{}`, []string{"required", "brightness"}},
		{"set_brightness", `{"brightness": 101}`, []string{"brightness must be from 0 to 100, and is 101", "brightness 必须在 0 到 100 之间，而收到的是 101"}},
		{"set_brightness", `{"brightness": -1}`, []string{"brightness must be from 0 to 100, and is -1"}},
		{"set_brightness", `{"brightness": 60.5}`, []string{"brightness", `"integer"`}},
		{"set_brightness", `{"brightness": "60"}`, []string{"brightness", "60", "integer"}},
		{"set_brightness", `{"brightness": null}`, []string{"brightness", "integer"}},
		{"set_brightness", `{"brightness": true}`, []string{"brightness", "integer"}},
		{"set_brightness", `{"brightness": 1e30}`, []string{"brightness must be from 0 to 100, and is 1e30"}},
		{"set_brightness", `{"brightness": -1e999}`, []string{"brightness must be from 0 to 100, and is -1e999"}},
		{"set_brightness", `{"level": 60}`, []string{"required", "brightness"}},
		{"adjust_volume", `{}`, []string{"required", "level"}},
		{"adjust_volume", `{"level": 100.01}`, []string{"level must be from 0 to 100, and is 100.01", "level 必须在"}},
		{"adjust_volume", `{"level": -0.5}`, []string{"level must be from 0 to 100, and is -0.5"}},
		{"adjust_volume", `{"level": "75%"}`, []string{"level", `75% has type "string", want "number"`}},
		{"adjust_volume", `{"level": [75]}`, []string{"level", "number"}},
		{"adjust_volume", `{"level": "NaN"}`, []string{"level", "NaN", "number"}},
	} {
		wantFault(t, s, test.tool, json.RawMessage(test.args), test.want...)
	}
	for args, want := range map[string]float64{
		`{"level": 0}`: 0, `{"level": -0}`: 0, `{"level": 100}`: 100, `{"level": 74.6}`: 75, `{"level": 1e1}`: 10, `{"level": 30, "unit": "%"}`: 30,
	} {
		if _, got, isError := call(t, s, "adjust_volume", json.RawMessage(args)); isError || got["level"] != want {
			t.Errorf("adjust_volume(%s) = %v, error %t", args, got, isError)
		}
	}
	for args, want := range map[string]float64{`{"brightness": 0}`: 0, `{"brightness": 60.0}`: 60, `{"brightness": 1e2}`: 100} {
		if _, got, isError := call(t, s, "set_brightness", json.RawMessage(args)); isError || got["brightness"] != want {
			t.Errorf("set_brightness(%s) = %v, error %t", args, got, isError)
		}
	}
	if _, _, isError := call(t, s, "get_current_volume", json.RawMessage(`{"random_string": ""}`)); isError {
		t.Error("get_current_volume refuses an argument that says nothing")
	}
}

// TestCallsOfADeviceAreOneByOne checks that a call tells what it has set
// itself, whoever else sets the same.
func TestCallsOfADeviceAreOneByOne(t *testing.T) {
	d := newSimulation()
	var calls sync.WaitGroup
	for percent := range 100 {
		calls.Go(func() {
			now, err := d.set(t.Context(), d.speakers, percent)
			if err != nil || now.percent != percent {
				t.Errorf("set %d, got %+v, %v", percent, now, err)
			}
		})
	}
	calls.Wait()
}

func TestDeviceElsewhere(t *testing.T) {
	for _, goos := range []string{"darwin", "windows"} {
		s := serveDevice(t, newMachine(goos, t.TempDir()))
		wantFault(t, s, "set_brightness", map[string]any{"brightness": 60}, "Linux only", goos, "只支持 Linux")
		wantFault(t, s, "get_current_brightness", nil, "Linux only", goos, "只支持 Linux")
		wantFault(t, s, "adjust_volume", map[string]any{"level": 60}, "Linux only", goos, "只支持 Linux")
		wantFault(t, s, "get_current_volume", nil, "Linux only", goos, "只支持 Linux")
		if _, _, isError := call(t, s, "get_system_info", nil); isError {
			t.Error("get_system_info fails")
		}
	}
}

func TestSystemInfo(t *testing.T) {
	sys := t.TempDir()
	write(t, filepath.Join(sys, "class", "power_supply", "AC"), map[string]string{"type": "Mains\n"})
	write(t, filepath.Join(sys, "class", "power_supply", "A_mouse"), map[string]string{"type": "Battery\n", "scope": "Device\n", "capacity": "5\n"})
	write(t, filepath.Join(sys, "class", "power_supply", "BAT0"), map[string]string{"type": "Battery\n", "capacity": "83\n", "status": "Charging\n"})
	s := serveDevice(t, newMachine(runtime.GOOS, sys))
	text, got, isError := call(t, s, "get_system_info", nil)
	if isError {
		t.Fatal(text)
	}
	encoded, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var info systemInfo
	if err := json.Unmarshal(encoded, &info); err != nil {
		t.Fatal(err)
	}
	if info.OS != runtime.GOOS || info.Architecture == "" || info.Kernel == "" || info.Platform == "" || info.UptimeSeconds == 0 {
		t.Errorf("system %+v", info)
	}
	if load := info.CPU.LoadPercent; info.CPU.Count < 1 || load == nil || *load < 0 || *load > 100 {
		t.Errorf("processor %+v", info.CPU)
	}
	for name, s := range map[string]space{"memory": info.Memory, "disk": info.Disk.space} {
		if s.Total == 0 || s.Used == 0 || s.Used > s.Total {
			t.Errorf("%s %+v", name, s)
		}
	}
	if (info.Battery != battery{83, "Charging"}) || info.Simulated {
		t.Errorf("battery %+v, simulated %t", info.Battery, info.Simulated)
	}
	for _, want := range []string{"系统：", "System: ", "处理器：", "内存：已用 ", "Memory: ", "电池：83%（充电中）", "Battery: 83% (charging)", "已运行：", "Up for: "} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not have %q:\n%s", want, text)
		}
	}
	if name, err := os.Hostname(); err == nil && len(name) > 3 && strings.Contains(text+string(encoded), name) {
		t.Errorf("the name of the machine, %s, is told", name)
	}
}

func TestSystemTexts(t *testing.T) {
	load := 12.5
	full := systemInfo{
		OS: "linux", Platform: "debian", Version: "13", Kernel: "6.12", Architecture: "x86_64", UptimeSeconds: (26*60 + 5) * 60,
		CPU:    processor{Model: "A CPU", Count: 8, LoadPercent: &load},
		Memory: space{16 * gibibyte, 4 * gibibyte},
		Disk:   diskSpace{"/", space{100 * gibibyte, gibibyte / 2}},
	}
	want := phrase{
		english: "System: debian 13 (linux, kernel 6.12, x86_64)\nProcessor: A CPU, 8 logical, load 12.5%\n" +
			"Memory: 4.0 GiB used of 16.0 GiB\nDisk /: 0.5 GiB used of 100.0 GiB\nUp for: 1 d 2 h 5 min",
		chinese: "系统：debian 13（linux，内核 6.12，x86_64）\n处理器：A CPU，8 个逻辑核心，负载 12.5%\n" +
			"内存：已用 4.0 GiB，共 16.0 GiB\n磁盘 /：已用 0.5 GiB，共 100.0 GiB\n已运行：1 天 2 小时 5 分",
	}
	if got := full.told(); got != want {
		t.Errorf("got\n%s\n%s", got.english, got.chinese)
	}
	// What a machine does not tell is left out.
	bare := systemInfo{OS: "plan9", Architecture: "386", CPU: processor{Count: 1}}
	want = phrase{
		english: "System: plan9 (plan9, kernel ?, 386)\nProcessor: 1 logical",
		chinese: "系统：plan9（plan9，内核 ?，386）\n处理器：1 个逻辑核心",
	}
	if got := bare.told(); got != want {
		t.Errorf("got\n%s\n%s", got.english, got.chinese)
	}
	for state, want := range map[string]string{"Discharging": "（放电中）", "Not charging": "（未充电）", "Full": "（已充满）", "Unknown": ""} {
		if got := (battery{50, state}).told().chinese; got != want {
			t.Errorf("%s: %s", state, got)
		}
	}
}

// TestSystemInfoEndsWithItsCall checks that the measuring of the load does not
// outlive a call that was cancelled.
func TestSystemInfoEndsWithItsCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if info := readSystem(ctx, t.TempDir()); info.CPU.LoadPercent != nil || info.OS == "" {
		t.Errorf("info %+v", info)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}
