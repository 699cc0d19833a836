package builtin

import (
	"cmp"
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

const (
	gibibyte = 1 << 30

	// loadInterval is how long the load of the processor is measured.
	loadInterval = 200 * time.Millisecond
)

// systemInfo is what is told of a machine. It has nothing that tells whose it
// is or where: no host name, user, address or serial number.
type systemInfo struct {
	OS            string    `json:"os" jsonschema:"linux, darwin, windows or another of Go's names"`
	Platform      string    `json:"platform,omitempty" jsonschema:"the distribution or edition"`
	Version       string    `json:"version,omitempty" jsonschema:"of the platform"`
	Kernel        string    `json:"kernel,omitempty" jsonschema:"version of the kernel"`
	Architecture  string    `json:"architecture"`
	UptimeSeconds uint64    `json:"uptime_seconds,omitempty"`
	CPU           processor `json:"cpu"`
	Memory        space     `json:"memory,omitzero"`
	Disk          diskSpace `json:"disk,omitzero"`
	Battery       battery   `json:"battery,omitzero"`
	Simulated     bool      `json:"simulated,omitempty" jsonschema:"true if there is no such machine"`
}

type (
	processor struct {
		Model       string   `json:"model,omitempty"`
		Count       int      `json:"count" jsonschema:"logical processors"`
		LoadPercent *float64 `json:"load_percent,omitempty" jsonschema:"of all processors together, at this moment"`
	}
	space struct {
		Total uint64 `json:"total_bytes"`
		Used  uint64 `json:"used_bytes"`
	}
	diskSpace struct {
		Path string `json:"path" jsonschema:"the disk of the system"`
		space
	}
	battery struct {
		Percent int    `json:"percent"`
		State   string `json:"state,omitempty" jsonschema:"Charging, Discharging, Not charging, Full or Unknown"`
	}
)

// readSystem asks the machine. What it does not tell is left out: a container
// or a rare system need not have everything.
func readSystem(ctx context.Context, sys string) systemInfo {
	info := systemInfo{
		OS:           runtime.GOOS,
		Architecture: runtime.GOARCH,
		CPU:          processor{Count: runtime.NumCPU()},
		Battery:      readBattery(sys),
	}
	if platform, _, version, err := host.PlatformInformationWithContext(ctx); err == nil {
		info.Platform, info.Version = platform, version
	}
	if kernel, err := host.KernelVersionWithContext(ctx); err == nil {
		info.Kernel = kernel
	}
	if arch, err := host.KernelArch(); err == nil && arch != "" {
		info.Architecture = arch
	}
	if seconds, err := host.UptimeWithContext(ctx); err == nil {
		info.UptimeSeconds = seconds
	}
	if cpus, err := cpu.InfoWithContext(ctx); err == nil && len(cpus) > 0 {
		info.CPU.Model = strings.Join(strings.Fields(cpus[0].ModelName), " ")
	}
	if n, err := cpu.CountsWithContext(ctx, true); err == nil && n > 0 {
		info.CPU.Count = n
	}
	if load, err := cpu.PercentWithContext(ctx, loadInterval, false); err == nil && len(load) == 1 {
		rounded := math.Round(load[0]*10) / 10
		info.CPU.LoadPercent = &rounded
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		info.Memory = space{Total: m.Total, Used: m.Used}
	}
	if d, err := disk.UsageWithContext(ctx, systemDisk()); err == nil {
		info.Disk = diskSpace{Path: d.Path, space: space{Total: d.Total, Used: d.Used}}
	}
	return info
}

// systemDisk is where the system is installed.
func systemDisk() string {
	if drive := os.Getenv("SystemDrive"); runtime.GOOS == "windows" && drive != "" {
		return drive + `\`
	}
	return string(filepath.Separator)
}

// readBattery returns the first battery of a Linux machine
// (Documentation/ABI/testing/sysfs-class-power), not those of its mouse and
// keyboard. There is none elsewhere.
func readBattery(sys string) battery {
	supplies, err := filepath.Glob(filepath.Join(sys, "class", "power_supply", "*"))
	if err != nil {
		return battery{}
	}
	for _, dir := range supplies {
		if readWord(filepath.Join(dir, "type")) != "Battery" || readWord(filepath.Join(dir, "scope")) == "Device" {
			continue
		}
		if percent, err := readNumber(filepath.Join(dir, "capacity")); err == nil {
			return battery{Percent: percent, State: readWord(filepath.Join(dir, "status"))}
		}
	}
	return battery{}
}

// told tells it all for people, a line for each subject.
func (s systemInfo) told() phrase {
	name := strings.TrimSpace(s.Platform + " " + s.Version)
	if name == "" {
		name = s.OS
	}
	lines := []phrase{
		say("System: %s (%s, kernel %s, %s)", "系统：%s（%s，内核 %s，%s）", name, s.OS, cmp.Or(s.Kernel, "?"), s.Architecture),
		s.CPU.told(),
	}
	if s.Memory.Total > 0 {
		lines = append(lines, phrase{"Memory: ", "内存："}.and(s.Memory.told()))
	}
	if s.Disk.Total > 0 {
		lines = append(lines, say("Disk %s: ", "磁盘 %s：", s.Disk.Path).and(s.Disk.told()))
	}
	if s.Battery != (battery{}) {
		lines = append(lines, say("Battery: %d%%", "电池：%d%%", s.Battery.Percent).and(s.Battery.told()))
	}
	if minutes := s.UptimeSeconds / 60; s.UptimeSeconds > 0 {
		lines = append(lines, say("Up for: %d d %d h %d min", "已运行：%d 天 %d 小时 %d 分", minutes/(24*60), minutes/60%24, minutes%60))
	}
	all := lines[0]
	for _, line := range lines[1:] {
		all = all.and(phrase{"\n", "\n"}).and(line)
	}
	return all
}

func (p processor) told() phrase {
	told := phrase{"Processor: ", "处理器："}
	if p.Model != "" {
		told = told.and(say("%s, ", "%s，", p.Model))
	}
	told = told.and(say("%d logical", "%d 个逻辑核心", p.Count))
	if p.LoadPercent != nil {
		told = told.and(say(", load %g%%", "，负载 %g%%", *p.LoadPercent))
	}
	return told
}

func (s space) told() phrase {
	return say("%.1f GiB used of %.1f GiB", "已用 %.1f GiB，共 %.1f GiB", float64(s.Used)/gibibyte, float64(s.Total)/gibibyte)
}

// told is the state, in words.
func (b battery) told() phrase {
	switch b.State {
	case "Charging":
		return phrase{" (charging)", "（充电中）"}
	case "Discharging":
		return phrase{" (discharging)", "（放电中）"}
	case "Not charging":
		return phrase{" (not charging)", "（未充电）"}
	case "Full":
		return phrase{" (full)", "（已充满）"}
	}
	return phrase{}
}
