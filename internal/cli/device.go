package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
)

type deviceCommands struct {
	List  deviceList          `cmd:"" help:"List the devices that have been here since the hub started." default:"withargs"`
	Show  deviceShow          `cmd:"" help:"Show one device."`
	Token deviceTokenCommands `cmd:"" help:"Make a token with which a device may dial in, or revoke those that it has."`
	Log   deviceLog           `cmd:"" help:"Show the log of a device."`
	Call  deviceCall          `cmd:"" help:"Call a tool of a device, also one that it keeps for people."`
}

type deviceList struct{}

// Run lists the devices.
func (deviceList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		list, err := h.Devices(ctx)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(list)
		}
		say := s.out.say
		if len(list.Devices) == 0 {
			where := say("Devices cannot dial in: toolcrib serve --device-listen HOST:PORT", "设备无法接入：toolcrib serve --device-listen HOST:PORT")
			if list.Address != "" {
				where = say("No devices so far. They dial in at ", "还没有设备。接入地址：") + clean(list.Address)
			}
			s.out.line("%s", where)
			return nil
		}
		rows := make([]row, len(list.Devices))
		for i, d := range list.Devices {
			rows[i] = row{cells: []string{
				s.out.paint(bold, clean(d.Alias)), s.out.presence(d.Online), strconv.Itoa(d.Tools), strconv.FormatInt(d.Calls, 10), ago(d.Since), clean(d.ID),
			}, below: s.out.whyDevice(d)}
		}
		s.out.table([]string{say("ALIAS", "名称"), say("STATE", "状态"), say("TOOLS", "工具"), say("CALLS", "调用"), say("SINCE", "持续"), say("ID", "设备 ID")}, rows)
		return nil
	})
}

func (p *printer) presence(online bool) string {
	if online {
		return p.paint(green, "● "+p.say("online", "在线"))
	}
	return p.paint(dim, "○ "+p.say("offline", "离线"))
}

// whyDevice is why a device has no tools, a line each; that it is away is no fault.
func (p *printer) whyDevice(d api.Device) []string {
	if d.Reason == "" || !d.Online {
		return nil
	}
	lines := []string{p.paint(red, oneLine(d.Reason))}
	if d.Remedy != "" {
		lines = append(lines, "→ "+oneLine(d.Remedy))
	}
	return lines
}

type deviceShow struct {
	ID string `arg:"" help:"Id of the device, or its alias." complete:"device"`
}

// Run shows one device.
func (c *deviceShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		d, err := h.Device(ctx, c.ID)
		if err != nil {
			return h.guess(ctx, err, devices, c.ID)
		}
		if s.JSON {
			return s.out.json(d)
		}
		p, say := s.out, s.out.say
		p.line("%s  %s", p.paint(bold, clean(d.Alias)), p.presence(d.Online))
		for _, line := range p.whyDevice(d) {
			p.line("  %s", line)
		}
		p.fields(
			"ID", clean(d.ID),
			say("Program", "程序"), clean(d.Client),
			say("Since", "持续"), ago(d.Since),
			say("Address", "地址"), clean(d.Address),
			say("Tools", "工具"), strconv.Itoa(d.Tools),
			say("For people", "仅供人使用"), oneLine(strings.Join(d.UserTools, " ")),
			say("Relayed to", "转发到"), clean(d.Relay),
			say("Connected", "已连接"), number(int(d.Connects)),
			say("Calls", "调用"), strconv.FormatInt(d.Calls, 10),
			say("Late answers", "迟到的应答"), number(int(d.Late)),
			say("Not understood", "无法识别"), number(int(d.Junk)),
			say("Sound frames", "音频帧"), number(int(d.Audio)),
		)
		if d.Tools > 0 {
			p.line("%s", p.paint(dim, say("Its tools: ", "查看工具：")+"toolcrib tool list --server "+clean(d.Alias)))
		}
		return nil
	})
}

type deviceTokenCommands struct {
	Create deviceTokenCreate `cmd:"" help:"Make a token with which a device may dial in, and print it: this once." default:"withargs"`
	Revoke deviceTokenRevoke `cmd:"" help:"Have all tokens of a device let nobody in any more."`
}

type deviceTokenCreate struct {
	ID     string `arg:"" help:"Id of the device, usually its MAC address; it need not have been here yet."`
	Client string `help:"Id of the program of the device that alone may use it." placeholder:"ID"`
}

// Run makes a token. Only the token goes to standard output, so that it can be piped
// to where it is kept.
func (c *deviceTokenCreate) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		t, err := h.DeviceToken(ctx, c.ID, api.DeviceTokenWanted{Client: c.Client})
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(t)
		}
		fmt.Fprintf(s.env.Stderr, s.out.say("A token for %s, good until %s:", "%s 的令牌，有效期至 %s：")+"\n", clean(t.Device), t.Expires.Local().Format(time.DateOnly))
		s.out.line("%s", t.Token)
		return nil
	})
}

type deviceTokenRevoke struct {
	ID string `arg:"" help:"Id of the device, or its alias; one with a MAC address need not have been here yet." complete:"device"`
}

// Run revokes the tokens of a device.
func (c *deviceTokenRevoke) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		of, err := h.RevokeDeviceTokens(ctx, c.ID)
		if err != nil {
			return h.guess(ctx, err, devices, c.ID)
		}
		if s.JSON {
			return s.out.json(of)
		}
		s.out.line(s.out.say("No token of %s made so far is good any more.", "%s 此前创建的令牌均已失效。"), clean(of.Device))
		return nil
	})
}

type deviceLog struct {
	ID string `arg:"" help:"Id of the device, or its alias." complete:"device"`
	logFlags
}

// Run shows the log of a device.
func (c *deviceLog) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(h *link) error {
		log, err := h.DeviceLog(ctx, c.ID, 0)
		if err != nil {
			return h.guess(ctx, err, devices, c.ID)
		}
		return s.tail(ctx, log, c.Follow, c.Lines, func(last uint64) iter.Seq2[api.LogLine, error] { return h.FollowDeviceLog(ctx, c.ID, last) })
	})
}

type deviceCall struct {
	ID        string   `arg:"" help:"Id of the device, or its alias." complete:"device"`
	Tool      string   `arg:"" help:"Name of the tool, such as self.reboot."`
	Arguments []string `arg:"" optional:"" help:"One JSON object; or NAME=VALUE ... (NAME:=JSON for what is no text); or \"-\" for JSON on standard input."`
}

// Run calls the tool and prints its result. If the tool says that it failed, the
// exit code is 3.
func (c *deviceCall) Run(ctx context.Context, s *session) error {
	whole, each, err := parseArguments(c.Arguments, s.env.Stdin)
	if err != nil {
		return err
	}
	if len(each) > 0 {
		if whole, err = object(each, c.Tool, nil); err != nil {
			return err
		}
	}
	return s.with(ctx, func(h *link) error {
		result, err := h.CallDevice(ctx, c.ID, api.DeviceCall{Tool: c.Tool, Arguments: whole})
		if err != nil {
			return h.guess(ctx, err, devices, c.ID)
		}
		return s.result(result, "")
	})
}
