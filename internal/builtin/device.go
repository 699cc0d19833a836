package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deviceLimit is how long a call of a device tool may take, with all programs
// that it runs.
const deviceLimit = 5 * time.Second

// Descriptions are in English and in Chinese, since the tools are called by
// voice assistants of both.
const (
	setBrightnessDescription = `Sets the screen brightness of this machine in percent, and tells what it then is. 0 can make the screen altogether dark.
设置屏幕亮度（百分比），并返回设置后的实际亮度。0 可能使屏幕完全变黑。`

	adjustVolumeDescription = `Sets the volume of this machine's sound output in percent, and tells what it then is. An output that is muted stays muted.
调整设备音量大小（百分比），并返回调整后的实际音量。已静音的设备保持静音。`

	getVolumeDescription = `Returns the volume of this machine's sound output in percent, and whether it is muted.
获取设备当前音量（百分比），以及是否静音。`

	getBrightnessDescription = `Returns the screen brightness of this machine in percent.
获取当前屏幕亮度（百分比）。`

	getSystemInfoDescription = `Returns what this machine is and how it does: operating system, processor and its load, memory, disk, battery, and how long it has been up. What the machine does not tell is left out.
获取本机的系统信息：操作系统、处理器及负载、内存、磁盘、电池和运行时间。无法获知的项目不会列出。`

	simulatedDescription = `SIMULATED: no real device is read or changed.
模拟：不读取也不改变真实设备。

`
)

// The schemas do not forbid further arguments: some clients send a dummy one
// with every call of a tool that has none.
const (
	noInput = `{"type": "object", "properties": {}}`

	brightnessInput = `{
	"type": "object",
	"properties": {
		"brightness": {"type": "integer", "minimum": 0, "maximum": 100, "description": "screen brightness in percent, 0 to 100 / 屏幕亮度百分比，范围0-100"}
	},
	"required": ["brightness"]
}`

	volumeInput = `{
	"type": "object",
	"properties": {
		"level": {"type": "number", "minimum": 0, "maximum": 100, "description": "target volume in percent, 0 to 100; rounded to a whole number / 目标音量级别，范围0-100，取整"}
	},
	"required": ["level"]
}`
)

type (
	noArgs         struct{}
	brightnessArgs struct {
		Brightness int `json:"brightness"`
	}
	volumeArgs struct {
		Level float64 `json:"level"`
	}

	brightness struct {
		Brightness int  `json:"brightness" jsonschema:"percent, as read from the machine"`
		Simulated  bool `json:"simulated,omitempty" jsonschema:"true if there is no real screen behind it"`
	}
	volume struct {
		Level     int  `json:"level" jsonschema:"percent, as read from the machine; above 100 if the output is amplified"`
		Muted     bool `json:"muted,omitempty" jsonschema:"true if nothing is heard, whatever the level"`
		Simulated bool `json:"simulated,omitempty" jsonschema:"true if there is no real sound output behind it"`
	}
)

// knob is something of a machine that is set in percent.
type knob interface {
	// read returns what is set now, as the machine tells it.
	read(context.Context) (setting, error)
	// turn sets it. The machine may have steps, and take the nearest.
	turn(ctx context.Context, percent int) error
}

// setting is where a knob stands.
type setting struct {
	percent int // 0 to maxPercent
	muted   bool
}

// maxPercent is the most that a setting may be: outputs can be amplified, but
// what is above that is misread.
const maxPercent = 1000

// device answers the calls of the device server.
type device struct {
	// One call at a time, so that what a call reads back is what it has set.
	mu               sync.Mutex
	screen, speakers knob

	system    func(context.Context) systemInfo
	simulated bool
	limit     time.Duration
}

// newMachine returns the machine that the program runs on. goos is its
// operating system, sys is where Linux shows its devices.
func newMachine(goos, sys string) *device {
	d := &device{limit: deviceLimit, system: func(ctx context.Context) systemInfo { return readSystem(ctx, sys) }}
	if goos == "linux" {
		d.screen, d.speakers = backlight{sys: sys}, newSpeakers()
		return d
	}
	d.screen = absent{say(
		"the screen brightness cannot be controlled here: this server can do it on Linux only, and this is %s",
		"无法控制屏幕亮度：只支持 Linux，而本机系统是 %s", goos)}
	d.speakers = absent{say(
		"the volume cannot be controlled here: this server can do it on Linux only, and this is %s",
		"无法控制音量：只支持 Linux，而本机系统是 %s", goos)}
	return d
}

// absent is a knob that the machine does not have.
type absent struct{ why phrase }

func (a absent) read(context.Context) (setting, error) { return setting{}, a.why.err() }
func (a absent) turn(context.Context, int) error       { return a.why.err() }

func (b *Builtins) addDevice(s *mcp.Server, _ map[string]string) {
	d := b.machine
	if b.opt.Simulated("device") {
		d = b.simulated
	}
	d.add(s)
}

// add adds the tools.
func (d *device) add(s *mcp.Server) {
	s.AddReceivingMiddleware(refuseOutOfRange)
	tool := func(name, title, description, input string, notes *mcp.ToolAnnotations) *mcp.Tool {
		if d.simulated {
			description = simulatedDescription + description
		}
		return &mcp.Tool{Name: name, Title: title, Description: description, InputSchema: json.RawMessage(input), Annotations: notes}
	}
	no := false
	change := &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
	mcp.AddTool(s, tool("set_brightness", "Set the screen brightness", setBrightnessDescription, brightnessInput, change), d.setBrightness)
	mcp.AddTool(s, tool("adjust_volume", "Set the volume", adjustVolumeDescription, volumeInput, change), d.adjustVolume)
	mcp.AddTool(s, tool("get_current_volume", "Current volume", getVolumeDescription, noInput, readOnly()), d.currentVolume)
	mcp.AddTool(s, tool("get_current_brightness", "Current screen brightness", getBrightnessDescription, noInput, readOnly()), d.currentBrightness)
	mcp.AddTool(s, tool("get_system_info", "System information", getSystemInfoDescription, noInput, readOnly()), d.systemInfo)
}

// refuseOutOfRange answers calls with a percentage that is none, which is what
// models get wrong most. The SDK would answer that 201/2 is greater than
// 100.000000; everything else in the schemas is left to it.
func refuseOutOfRange(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok {
			if err := percentFault(call.Params.Arguments); err != nil {
				res := &mcp.CallToolResult{}
				res.SetError(err)
				return res, nil
			}
		}
		return next(ctx, method, req)
	}
}

// percentFault is what is wrong with a number among the arguments. Arguments
// that cannot be read are for others to complain of.
func percentFault(args json.RawMessage) error {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return nil
	}
	for _, name := range []string{"brightness", "level"} {
		text := string(given[name])
		n, err := strconv.ParseFloat(text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			continue // no number
		}
		if n < 0 || n > 100 {
			return say("%s must be from 0 to 100, and is %s", "%s 必须在 0 到 100 之间，而收到的是 %s", name, shorten(text)).err()
		}
	}
	return nil
}

func (d *device) setBrightness(ctx context.Context, _ *mcp.CallToolRequest, args brightnessArgs) (*mcp.CallToolResult, brightness, error) {
	now, err := d.set(ctx, d.screen, args.Brightness)
	if err != nil {
		return nil, brightness{}, err
	}
	told := say("The screen brightness is now %d%%", "屏幕亮度已设置为%d%%", now.percent).and(now.unlike(args.Brightness))
	return d.mark(told).result(), d.brightness(now), nil
}

func (d *device) currentBrightness(ctx context.Context, _ *mcp.CallToolRequest, _ noArgs) (*mcp.CallToolResult, brightness, error) {
	now, err := d.get(ctx, d.screen)
	if err != nil {
		return nil, brightness{}, err
	}
	told := say("The screen brightness is %d%%", "当前屏幕亮度为%d%%", now.percent)
	return d.mark(told).result(), d.brightness(now), nil
}

func (d *device) adjustVolume(ctx context.Context, _ *mcp.CallToolRequest, args volumeArgs) (*mcp.CallToolResult, volume, error) {
	wanted := int(math.Round(args.Level))
	now, err := d.set(ctx, d.speakers, wanted)
	if err != nil {
		return nil, volume{}, err
	}
	told := say("The volume is now %d%%", "音量已调整到%d%%", now.percent).and(now.unlike(wanted)).and(now.silence())
	return d.mark(told).result(), d.volume(now), nil
}

func (d *device) currentVolume(ctx context.Context, _ *mcp.CallToolRequest, _ noArgs) (*mcp.CallToolResult, volume, error) {
	now, err := d.get(ctx, d.speakers)
	if err != nil {
		return nil, volume{}, err
	}
	told := say("The volume is %d%%", "当前音量为%d%%", now.percent).and(now.silence())
	return d.mark(told).result(), d.volume(now), nil
}

func (d *device) systemInfo(ctx context.Context, _ *mcp.CallToolRequest, _ noArgs) (*mcp.CallToolResult, systemInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	info := d.system(ctx)
	info.Simulated = d.simulated
	return d.mark(info.told()).result(), info, nil
}

// get reads a knob.
func (d *device) get(ctx context.Context, k knob) (setting, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	return k.read(ctx)
}

// set turns a knob, and returns what the machine then says.
func (d *device) set(ctx context.Context, k knob, percent int) (setting, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	if err := k.turn(ctx, percent); err != nil {
		return setting{}, err
	}
	return k.read(ctx)
}

func (d *device) brightness(now setting) brightness {
	return brightness{Brightness: now.percent, Simulated: d.simulated}
}

func (d *device) volume(now setting) volume {
	return volume{Level: now.percent, Muted: now.muted, Simulated: d.simulated}
}

// mark says that something is simulated, if it is.
func (d *device) mark(p phrase) phrase {
	if !d.simulated {
		return p
	}
	return p.and(phrase{" (simulated)", "（模拟）"})
}

// unlike says that the machine took another setting than it was told.
func (s setting) unlike(wanted int) phrase {
	if s.percent == wanted {
		return phrase{}
	}
	return say(" (%d%% was asked for)", "（要求的是%d%%）", wanted)
}

// silence says that the output is muted, if it is.
func (s setting) silence() phrase {
	if !s.muted {
		return phrase{}
	}
	return phrase{" (muted)", "（已静音）"}
}
