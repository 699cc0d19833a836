package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// panels is a fake of /sys/class/backlight.
type panels struct{ sys, class string }

func newPanels(t *testing.T) panels {
	t.Helper()
	t.Setenv("PATH", t.TempDir()) // no test may reach what the machine has
	sys := t.TempDir()
	return panels{sys, filepath.Join(sys, "class", "backlight")}
}

func (p panels) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.class, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func TestBrightness(t *testing.T) {
	p := newPanels(t)
	write(t, filepath.Join(p.class, "intel_backlight"), map[string]string{"type": "raw\n", "max_brightness": "19200\n", "brightness": "4800\n"})
	s := serveDevice(t, newMachine("linux", p.sys))
	wantCall(t, s, "get_current_brightness", nil, "当前屏幕亮度为25%\nThe screen brightness is 25%", map[string]any{"brightness": 25.0})
	for percent, steps := range map[int]string{60: "11520", 100: "19200", 1: "192", 0: "0"} {
		args := map[string]any{"brightness": percent}
		if _, got, isError := call(t, s, "set_brightness", args); isError || got["brightness"] != float64(percent) {
			t.Errorf("set_brightness(%d) = %v, error %t", percent, got, isError)
		}
		if got := p.read(t, "intel_backlight/brightness"); got != steps {
			t.Errorf("%d%% is %s steps, want %s", percent, got, steps)
		}
	}
	wantCall(t, s, "set_brightness", map[string]any{"brightness": 60}, "屏幕亮度已设置为60%\nThe screen brightness is now 60%", map[string]any{"brightness": 60.0})
}

// TestBrightnessIsReadBack checks that what is told is what the hardware has,
// not what was asked for.
func TestBrightnessIsReadBack(t *testing.T) {
	p := newPanels(t)
	write(t, filepath.Join(p.class, "acpi_video0"), map[string]string{"type": "firmware\n", "max_brightness": "7\n", "brightness": "7\n"})
	s := serveDevice(t, newMachine("linux", p.sys))
	wantCall(t, s, "set_brightness", map[string]any{"brightness": 60},
		"屏幕亮度已设置为57%（要求的是60%）\nThe screen brightness is now 57% (60% was asked for)", map[string]any{"brightness": 57.0})
	if _, got, _ := call(t, s, "set_brightness", map[string]any{"brightness": 1}); got["brightness"] != 14.0 {
		t.Errorf("1%% made %v: only 0 may be dark", got)
	}

	write(t, filepath.Join(p.class, "acpi_video0"), map[string]string{"actual_brightness": "2\n"})
	wantCall(t, s, "set_brightness", map[string]any{"brightness": 100},
		"屏幕亮度已设置为29%（要求的是100%）\nThe screen brightness is now 29% (100% was asked for)", map[string]any{"brightness": 29.0})

	// Out of scale, so it is not to be believed.
	write(t, filepath.Join(p.class, "acpi_video0"), map[string]string{"actual_brightness": "65535\n"})
	wantCall(t, s, "get_current_brightness", nil, "当前屏幕亮度为100%\nThe screen brightness is 100%", map[string]any{"brightness": 100.0})
}

func TestWhichPanel(t *testing.T) {
	p := newPanels(t)
	// What is in /sys/class are links. A device without a scale is of no use.
	write(t, filepath.Join(p.sys, "devices", "a_raw"), map[string]string{"type": "raw", "max_brightness": "100", "brightness": "10"})
	write(t, filepath.Join(p.class, "z_odd"), map[string]string{"max_brightness": "100", "brightness": "40"})
	write(t, filepath.Join(p.class, "broken"), map[string]string{"type": "firmware", "max_brightness": "many", "brightness": "50"})
	write(t, filepath.Join(p.class, "zero"), map[string]string{"type": "firmware", "max_brightness": "0", "brightness": "0"})
	d := newMachine("linux", p.sys)
	for _, step := range []struct {
		add  func()
		want int
	}{
		{func() {}, 40},
		{func() {
			if err := os.Symlink(filepath.Join(p.sys, "devices", "a_raw"), filepath.Join(p.class, "a_raw")); err != nil {
				t.Skip(err) // needs a privilege on Windows
			}
		}, 10},
		{func() {
			write(t, filepath.Join(p.class, "b_platform"), map[string]string{"type": "platform", "max_brightness": "100", "brightness": "20"})
		}, 20},
		{func() {
			write(t, filepath.Join(p.class, "c_firmware"), map[string]string{"type": "firmware", "max_brightness": "100", "brightness": "30"})
		}, 30},
	} {
		step.add()
		if now, err := d.get(t.Context(), d.screen); err != nil || now.percent != step.want {
			t.Errorf("%+v, %v, want %d", now, err, step.want)
		}
	}
}

// TestAMDPanel checks that the actual brightness of amdgpu, which has a scale
// of its own, is not read.
func TestAMDPanel(t *testing.T) {
	p := newPanels(t)
	write(t, filepath.Join(p.class, "amdgpu_bl1"), map[string]string{"type": "raw", "max_brightness": "255", "brightness": "128", "actual_brightness": "249"})
	d := newMachine("linux", p.sys)
	if now, err := d.get(t.Context(), d.screen); err != nil || now.percent != 50 {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestNoBrightness(t *testing.T) {
	p := newPanels(t)
	s := serveDevice(t, newMachine("linux", p.sys))
	for range 2 {
		wantFault(t, s, "set_brightness", map[string]any{"brightness": 60}, "there is no backlight device under "+p.class, "没有背光设备")
		wantFault(t, s, "get_current_brightness", nil, "there is no backlight device under "+p.class, "没有背光设备")
		write(t, p.class, nil) // there, and empty
	}

	// It cannot be written, and no logind is there to be asked.
	write(t, filepath.Join(p.class, "panel", "brightness"), nil)
	write(t, filepath.Join(p.class, "panel"), map[string]string{"type": "raw", "max_brightness": "100"})
	wantFault(t, s, "set_brightness", map[string]any{"brightness": 60}, filepath.Join("panel", "brightness"), "busctl", "group video", "video 组")
	wantFault(t, s, "get_current_brightness", nil, "reading the screen brightness", "brightness")
}

func FuzzReadNumber(f *testing.F) {
	for _, seed := range []string{"0", "255\n", " 7 ", "-1", "99999999999", "", "1.5", "0x10"} {
		f.Add(seed)
	}
	file := filepath.Join(f.TempDir(), "number")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := readNumber(file)
		if err == nil && (n < 0 || n > 1<<31-1 || strings.TrimSpace(text) == "") {
			t.Errorf("%q is %d", text, n)
		}
	})
}
