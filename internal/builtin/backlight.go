package builtin

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// backlight is the brightness of the screen, as the Linux kernel shows it in
// /sys/class/backlight (Documentation/ABI/stable/sysfs-class-backlight).
type backlight struct {
	sys string // where sysfs is, which is /sys
}

// panel is one device of the kernel's class backlight.
type panel struct {
	dir string
	max int // of its brightness, in its own steps
}

// find returns the device to use. Several can stand for one screen; then
// "firmware control should be preferred to platform control should be
// preferred to raw control", says the kernel's documentation of "type".
func (b backlight) find() (panel, error) {
	class := filepath.Join(b.sys, "class", "backlight")
	var (
		best panel
		rank = math.MaxInt
	)
	// A kernel without any such device has no such directory either.
	entries, err := os.ReadDir(class)
	if err != nil && !os.IsNotExist(err) {
		return panel{}, fmt.Errorf("looking for a backlight device: %w", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(class, entry.Name())
		limit, err := readNumber(filepath.Join(dir, "max_brightness"))
		if err != nil || limit <= 0 {
			continue
		}
		if r := panelRank(readWord(filepath.Join(dir, "type"))); r < rank {
			best, rank = panel{dir: dir, max: limit}, r
		}
	}
	if rank == math.MaxInt {
		return panel{}, say(
			"there is no backlight device under %s: this machine has no screen whose brightness the system can set, as is so with most monitors, virtual machines and containers; use the buttons of the monitor",
			"%s 下没有背光设备：本机没有可由系统调节亮度的屏幕（多数外接显示器、虚拟机和容器都是如此）；请使用显示器自身的按键调节", class).err()
	}
	return best, nil
}

// panelRank is less for what is preferred.
func panelRank(kind string) int {
	switch kind {
	case "firmware":
		return 0
	case "platform":
		return 1
	case "raw":
		return 2
	}
	return 3
}

func (b backlight) read(context.Context) (setting, error) {
	p, err := b.find()
	if err != nil {
		return setting{}, err
	}
	now, err := p.brightness()
	if err != nil {
		return setting{}, fmt.Errorf("reading the screen brightness: %w", err)
	}
	return setting{percent: (now*100 + p.max/2) / p.max}, nil
}

// brightness is what the hardware shows, or what was last set if the hardware
// does not say it on the scale of max_brightness: amdgpu has one of its own
// there, see https://github.com/systemd/systemd/issues/16600.
func (p panel) brightness() (int, error) {
	if !strings.HasPrefix(filepath.Base(p.dir), "amdgpu") {
		if now, err := readNumber(filepath.Join(p.dir, "actual_brightness")); err == nil && now <= p.max {
			return now, nil
		}
	}
	now, err := readNumber(filepath.Join(p.dir, "brightness"))
	if err != nil {
		return 0, err
	}
	return min(now, p.max), nil
}

func (b backlight) turn(ctx context.Context, percent int) error {
	p, err := b.find()
	if err != nil {
		return err
	}
	steps := (percent*p.max + 50) / 100
	if percent > 0 {
		steps = max(steps, 1) // only 0 may be dark
	}
	file := filepath.Join(p.dir, "brightness")
	err = overwrite(file, strconv.Itoa(steps))
	if err == nil {
		return nil
	}
	// Most systems let only root write there, but whoever sits before the
	// screen may ask logind to (org.freedesktop.login1(5), SetBrightness).
	_, asked := run(ctx, "busctl", "call", "org.freedesktop.login1", "/org/freedesktop/login1/session/auto",
		"org.freedesktop.login1.Session", "SetBrightness", "ssu", "backlight", filepath.Base(p.dir), strconv.Itoa(steps))
	if asked == nil {
		return nil
	}
	return say(
		"the screen brightness cannot be set (%v; %v): run Toolcrib in the desktop session of the user at the screen, or let its user write that file, by the group video and a udev rule that gives the file to that group",
		"无法设置屏幕亮度（%v；%v）：请在屏幕前用户的桌面会话中运行 Toolcrib，或把运行它的用户加入 video 组，并用 udev 规则让该组可以写这个文件", err, asked).err()
}

// overwrite writes a file that is there; sysfs makes none.
func overwrite(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// readNumber reads a file that has one whole number, which is not negative.
func readNumber(name string) (int, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s has no number", name)
	}
	return int(n), nil
}

// readWord reads a file that has one word, which is empty if there is none.
func readWord(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
