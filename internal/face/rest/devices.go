package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Devices tells about the devices that dial in. Without its functions none do.
type Devices struct {
	Statuses func() []hub.DeviceStatus
	// Log is named as Identify has it.
	Log   func(device string, after uint64) (lines []hub.LogLine, more <-chan struct{}, ok bool)
	Token func(id, client string) string
	// Revoke has none of the tokens be good any more that a device has been given, and sends
	// away who came by one.
	Revoke func(id string) error
	// Identify is the id that a device's id, alias or name stands for, and whether such a
	// device is known, which need not have been here.
	Identify func(device string) (id string, known bool)
	// Nameable reports whether a device, or a program of one, can have the id.
	Nameable func(id string) bool
	Expires  time.Duration // after which a token is of no use
	Address  func() string // at which devices dial in
}

type (
	deviceListOutput struct{ Body api.DeviceList }
	deviceOutput     struct{ Body api.Device }
	deviceInput      struct {
		ID string `path:"id" doc:"Of the device, or its alias"`
	}
	deviceLogInput struct {
		ID     string `path:"id" doc:"Of the device, or its alias"`
		After  uint64 `query:"after" doc:"Only lines after the one with this number"`
		Follow bool   `query:"follow" doc:"Answer with an event stream that goes on"`
	}
	deviceTokenInput struct {
		ID   string `path:"id" doc:"Of the device, which need not have been here yet, or its alias"`
		Body api.DeviceTokenWanted
	}
	deviceTokenOutput struct{ Body api.DeviceToken }
	deviceRevokeInput struct {
		ID string `path:"id" doc:"Of the device, or its alias: a MAC address, or of a device that has been here or was given a token or has settings"`
	}
	deviceRevokeOutput struct{ Body api.DeviceRevoked }
	deviceCallInput    struct {
		ID   string `path:"id" doc:"Of the device, or its alias"`
		Body api.DeviceCall
	}
	deviceCallOutput struct{ Body *api.CallResult }
)

// devices registers what is about devices.
func (d *Door) devices() {
	const place = "/devices/{id}"
	add(d, operation{
		id: "listDevices", method: http.MethodGet, path: "/devices", group: aboutVoice, needs: hub.MayOperate, hubwide: true,
		summary: "Every device that has been here since the hub started",
	}, func(ctx context.Context, _ *struct{}) (*deviceListOutput, error) {
		out := &deviceListOutput{api.DeviceList{Devices: []api.Device{}}}
		for _, st := range d.deviceStatuses() {
			out.Body.Devices = append(out.Body.Devices, deviceView(lang(ctx), &st))
		}
		if where := d.opt.Devices.Address; where != nil {
			out.Body.Address = where()
		}
		return out, nil
	})
	add(d, operation{
		id: "getDevice", method: http.MethodGet, path: place, group: aboutVoice, needs: hub.MayOperate, hubwide: true,
		summary: "One device", errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, in *deviceInput) (*deviceOutput, error) {
		st, err := d.device(in.ID)
		if err != nil {
			return nil, failed(err)
		}
		return &deviceOutput{deviceView(lang(ctx), &st)}, nil
	})
	add(d, operation{
		id: "getDeviceLog", method: http.MethodGet, path: place + "/log", group: aboutVoice, needs: hub.MayOperate, hubwide: true,
		summary: "The end of a device's log, and what comes next", errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
		about: "With `follow=true` the answer is an event stream: an event named `line` for each of the lines and each that comes, until the hub stops.",
	}, func(_ context.Context, in *deviceLogInput) (*streamOutput, error) {
		return d.tail(in.After, in.Follow, func(after uint64) ([]hub.LogLine, <-chan struct{}, error) {
			if read := d.opt.Devices.Log; read != nil {
				if lines, more, ok := read(in.ID, after); ok {
					return lines, more, nil
				}
			}
			return nil, nil, unknownDevice(in.ID)
		})
	})
	streamed[api.Log, api.LogLine](d, "getDeviceLog", "The lines, oldest first; or one in each event")
	add(d, operation{
		id: "makeDeviceToken", method: http.MethodPost, path: place + "/token", group: aboutVoice, needs: hub.MayManage, hubwide: true, limit: 1,
		summary: "Make a token with which a device may dial in", example: map[string]any{},
		about:  "It is kept nowhere, and holds until it expires. The device shows it as a bearer token.",
		errors: []int{http.StatusNotFound},
	}, func(_ context.Context, in *deviceTokenInput) (*deviceTokenOutput, error) {
		token := d.opt.Devices.Token
		if token == nil {
			return nil, failed(unknownDevice(in.ID))
		}
		id, known := d.opt.Devices.Identify(in.ID)
		fits := d.opt.Devices.Nameable
		if !known && !fits(id) || in.Body.Client != "" && !fits(in.Body.Client) {
			return nil, failed(unnameable())
		}
		return &deviceTokenOutput{api.DeviceToken{
			Device: id, Token: token(id, in.Body.Client), Expires: time.Now().Add(d.opt.Devices.Expires).UTC().Truncate(time.Second),
		}}, nil
	})
	add(d, operation{
		id: "revokeDeviceTokens", method: http.MethodDelete, path: place + "/token", group: aboutVoice, needs: hub.MayManage, hubwide: true,
		summary: "Have the tokens of a device let nobody in any more",
		about: "Of all that were made for it so far, by the hub as well; the answer says for which device that is. Who came by one is sent away: the device, and both sides of its endpoint pair. " +
			"A device that needs no token may come again without, and tokens that are made from then on are good.",
		errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, func(_ context.Context, in *deviceRevokeInput) (*deviceRevokeOutput, error) {
		revoke := d.opt.Devices.Revoke
		if revoke == nil {
			return nil, failed(unknownDevice(in.ID))
		}
		id, known := d.opt.Devices.Identify(in.ID)
		switch {
		case !known && !d.opt.Devices.Nameable(id):
			return nil, failed(unnameable())
		case !known: // else a name that is misspelt would seem to be dealt with
			return nil, failed(unknownDevice(in.ID))
		}
		if err := revoke(id); err != nil {
			return nil, failed(err)
		}
		return &deviceRevokeOutput{api.DeviceRevoked{Device: id}}, nil
	})
	add(d, operation{
		id: "callDevice", method: http.MethodPost, path: place + "/call", group: aboutVoice, needs: hub.MayOperate, hubwide: true, limit: 1,
		summary: "Have a person call a tool of a device",
		about: "The only way to the tools that a device keeps for people, such as a restart; others can be called this way, too. " +
			"Rules, approval and the record hold as for every call.",
		example: map[string]any{"tool": "self.reboot", "arguments": map[string]any{}},
		errors:  unanswered(),
	}, d.callDevice)
}

// unnameable is the error of what no device can call itself.
func unnameable() *hub.Error {
	return unfit(message.Say(`the id of a device, and "client", must be 1 to 128 ASCII characters without "|" and blanks`))
}

func (d *Door) callDevice(ctx context.Context, in *deviceCallInput) (*deviceCallOutput, error) {
	st, err := d.device(in.ID)
	if err != nil {
		return nil, failed(err)
	}
	m, err := callMessage(&api.Call{Tool: st.Alias + "__" + in.Body.Tool, Arguments: in.Body.Arguments}, false)
	if err != nil {
		return nil, failed(err)
	}
	who := viewer(ctx, "")
	who.Person = true
	if err := d.owns(&who, &st, st.Alias+"__"+in.Body.Tool); err != nil {
		return nil, failed(err)
	}
	result, err := d.do(ctx, &call.Request{Principal: principal(ctx), Viewer: who, Message: m, Lang: lang(ctx), Exchange: silent{}})
	if err != nil {
		return nil, failed(err)
	}
	return &deviceCallOutput{result}, nil
}

// owns makes sure that what a name stands for is a device's own tool: a server of the
// configuration may be called as the device is, or have a tool whose whole name is this
// one. What stands for nothing is told by the call itself.
func (d *Door) owns(who *hub.Viewer, st *hub.DeviceStatus, name string) error {
	view, err := d.opt.Catalog.View(*who)
	if err != nil {
		return err
	}
	e, ok := view.Tool(name)
	if !ok {
		e, ok = view.PeopleTool(name)
	}
	if ok && (e.Server.Kind != hub.KindDevice || e.Server.Name != st.ID) {
		return hub.E(message.DeviceOffline, nil, "device", message.Quote(st.ID))
	}
	return nil
}

func (d *Door) deviceStatuses() []hub.DeviceStatus {
	if d.opt.Devices.Statuses == nil {
		return nil
	}
	return d.opt.Devices.Statuses()
}

// device is the one that has been here which a name stands for.
func (d *Door) device(name string) (hub.DeviceStatus, error) {
	id := name
	if identify := d.opt.Devices.Identify; identify != nil {
		id, _ = identify(name)
	}
	for _, st := range d.deviceStatuses() {
		if strings.EqualFold(st.ID, id) {
			return st, nil
		}
	}
	return hub.DeviceStatus{}, unknownDevice(name)
}

func unknownDevice(id string) *hub.Error {
	return hub.E(message.DeviceUnknown, nil, "device", message.Quote(id))
}

func deviceView(l message.Lang, st *hub.DeviceStatus) api.Device {
	v := api.Device{
		ID: st.ID, Alias: st.Alias, Client: st.Client, Online: st.Online, Since: st.Since, Address: st.Address,
		Tools: st.Tools, UserTools: some(st.UserTools), Relay: st.Relay,
		Connects: st.Connects, Calls: st.Calls, Late: st.Late, Junk: st.Junk, Audio: st.Audio,
	}
	if st.Reason != nil {
		text := st.Reason.Text(l)
		v.Code, v.Reason, v.Remedy = string(st.Reason.Code), text.What, text.Remedy
	}
	return v
}
