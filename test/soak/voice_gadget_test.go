//go:build linux

package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/test/voice"
)

const (
	deviceTool    = "say" // of every device that has tools
	deviceTimeout = 2 * time.Second
	soundPause    = 50 * time.Millisecond // 20 frames a second

	replaceLimit = 5 * time.Second // for the connection before to be closed
)

// gadget is a device that comes and goes.
type gadget struct {
	key    string // its alias
	home   *home
	device *voice.Device
	tools  bool
	shared bool // endpoints call it as well
	wire   *cordDialler
	chance *rand.Rand
	sound  []byte

	mu    sync.Mutex
	now   truth
	calls map[*int]bool // of clients, under way: how many there were at once meanwhile
}

func newGadget(h *home, n int, chance *rand.Rand) *gadget {
	id := fmt.Sprintf("02:00:00:00:00:%02x", n)
	g := &gadget{key: fmt.Sprintf("dev-%02d", n), home: h, shared: n < 10, wire: newCordDialler(), chance: chance, sound: make([]byte, 2<<10), calls: make(map[*int]bool)}
	switch n % 10 {
	case 8:
		g.device = voice.AND(id)
	case 9:
		g.device = voice.LumiKt(id)
		g.sound = nil
	default:
		g.device, g.tools = voice.FW(id), true
		if n%2 == 1 {
			g.device = voice.DH(id)
		}
		g.device.Tools = append(g.device.Tools, voice.DeviceTool{
			Name: deviceTool, Description: "Says the text.",
			Schema: `{"type":"object","properties":{"text":{"type":"string"},"ms":{"type":"integer"}},"required":["text"]}`,
		})
		g.device.Run = g.run
	}
	g.device.HTTP = &http.Client{Transport: g.wire.pool}
	return g
}

// run says what it is told to, and who says it.
func (g *gadget) run(name string, arguments json.RawMessage) string {
	var a struct {
		Text string
		MS   int
	}
	if err := json.Unmarshal(arguments, &a); err != nil || name != deviceTool {
		g.home.fig.fault("%s is to run %s with %s: %v", g.key, name, arguments, err)
	}
	g.home.ran(a.Text)
	time.Sleep(time.Duration(a.MS) * time.Millisecond)
	text, _ := json.Marshal(a.Text + " of " + g.key) // a string
	return `"result":{"content":[{"type":"text","text":` + string(text) + `}],"isError":false}`
}

func (g *gadget) stands(now truth) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = now
}

func (g *gadget) stand() truth {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// deviceQueue is how many calls wait for a device.
const deviceQueue = 16

// called notes that a client calls the device. Ended tells, when that is over, behind
// how many calls it may have waited, itself among them: a device carries out one at a
// time. Those that endpoints call as well have all that there is room for.
func (g *gadget) called() (ended func() int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	most := new(int)
	g.calls[most] = true
	for one := range g.calls {
		*one = max(*one, len(g.calls))
	}
	return func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.calls, most)
		if g.shared {
			return deviceQueue + 1
		}
		return *most
	}
}

// live has the device come and go until the calm.
func (g *gadget) live(ctx context.Context) {
	for ctx.Err() == nil && !g.home.calm.Load() {
		if g.chance.IntN(4) == 0 && g.tools {
			g.changeTools()
		}
		s, c := g.dial(ctx)
		for s != nil {
			s, c = g.session(ctx, s, c)
		}
		pass(ctx, time.Duration(100+g.chance.IntN(3000))*time.Millisecond)
	}
}

// changeTools has the device offer one tool more than before, or one less.
func (g *gadget) changeTools() {
	g.home.fig.count("devices: changes of tools")
	g.device.Change(func() {
		tools := append([]voice.DeviceTool(nil), g.device.Tools...)
		if last := len(tools) - 1; strings.HasPrefix(tools[last].Name, "extra") {
			tools = tools[:last]
		} else {
			tools = append(tools, voice.DeviceTool{Name: fmt.Sprintf("extra_%d", g.chance.IntN(3)), Description: "More."})
		}
		g.device.Tools = tools
	})
}

func (g *gadget) dial(ctx context.Context) (*voice.DeviceSocket, *cord) {
	g.stands(truth{})
	began := time.Now()
	s, _, err := g.device.Dial(ctx, g.home.devices)
	if err != nil {
		g.stands(standing(false))
		if ctx.Err() == nil {
			g.home.fig.fault("%s cannot connect: %v", g.key, err)
		}
		return nil, nil
	}
	g.stands(standing(true))
	g.home.fig.count("devices: dials")
	if s.Hear(ctx, `"type":"hello"`) == "" && ctx.Err() == nil {
		g.home.fig.fault("%s was not greeted: %v", g.key, s.Err())
	}
	g.home.fig.took("devices: connected and greeted", time.Since(began))
	return s, g.wire.cord()
}

// session is one connection; it returns the one that has taken its place, or nil.
func (g *gadget) session(ctx context.Context, s *voice.DeviceSocket, c *cord) (*voice.DeviceSocket, *cord) {
	h := g.home
	quiet := make(chan struct{})
	var speaking sync.WaitGroup
	speaking.Go(func() { g.speak(s, quiet) })
	defer func() {
		s.Drop()
		_ = c.Close()
		<-s.Done()
		g.check(s)
	}()
	until := time.Now().Add(time.Duration(1500+g.chance.IntN(15_000)) * time.Millisecond)
	for ctx.Err() == nil && !h.calm.Load() && time.Now().Before(until) {
		select {
		case <-s.Done():
			h.fig.fault("%s was sent away: %v", g.key, s.Err())
			until = time.Time{}
		case <-time.After(time.Duration(100+g.chance.IntN(400)) * time.Millisecond):
		}
		if g.chance.IntN(3) == 0 {
			h.fig.count("devices: bad frames sent")
			s.Send(badDeviceFrames[g.chance.IntN(len(badDeviceFrames))])
		}
	}
	close(quiet)
	speaking.Wait()
	if ctx.Err() != nil {
		g.stands(truth{})
		return nil, nil
	}
	return g.part(ctx, s, c)
}

// badDeviceFrames are ignored; what looks like an answer in them is none.
var badDeviceFrames = []string{
	``, `{`, `null`, `[]`, `"text"`, "\x00\x01", `{"type":"mcp"}`, `{"type":"mcp","payload":[]}`, `{"type":"mcp","payload":null}`,
	`{"type":"mcp","payload":{"jsonrpc":"2.0","id":1073741824,"result":{"content":[{"type":"text","text":"n0. of nobody"}]}}}`,
	`{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"n0. of nobody"}]}}}`,
	`{"type":"mcp","payload":{"jsonrpc":"2.0","id":-7,"error":{"message":"no "quotes""}}}`,
	`{"type":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/initialized"}}`,
	`{"type":"listen","state":"detect","text":"hello"}`, `{"type":"abort"}`, `{"type":"iot","states":[]}`, strings.Repeat(`[`, 5000),
}

// speak sends sound until it is to be quiet.
func (g *gadget) speak(s *voice.DeviceSocket, quiet <-chan struct{}) {
	tick := time.NewTicker(soundPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Speak(g.sound)
			g.home.fig.count("devices: frames of sound sent")
		case <-quiet:
			return
		case <-s.Done():
			return
		}
	}
}

// part ends the connection in one of all ways that there are.
func (g *gadget) part(ctx context.Context, s *voice.DeviceSocket, c *cord) (*voice.DeviceSocket, *cord) {
	h := g.home
	g.stands(truth{})
	leave := func(code int, reason string) {
		h.fig.count(fmt.Sprintf("devices: closed with %d", code))
		s.Leave(code, reason)
		g.stands(standing(false))
	}
	switch what := g.chance.IntN(12); what {
	case 0, 1:
		leave(1000, "")
	case 2:
		leave(1001, "gone")
	case 3:
		leave(1008, "")
	case 4:
		leave(1009, "")
	case 5:
		leave(1011, "broken")
	case 6:
		leave(4004, "")
	case 7:
		h.fig.count("devices: closed for a frame that was too large")
		s.Send(strings.Repeat("x", 1<<20+1))
		if code := closedSoon(s); code != websocket.StatusMessageTooBig {
			h.fig.fault("%s was closed with %d after a frame that is too large: %v", g.key, code, s.Err())
		}
		g.stands(standing(false))
	case 8, 9:
		h.fig.count("devices: replaced")
		frozen := what == 9
		if frozen {
			h.fig.count("devices: left half-open")
			c.freeze()
			pass(ctx, time.Duration(g.chance.IntN(4000))*time.Millisecond)
		}
		next, wire := g.dial(ctx)
		if next == nil {
			return nil, nil
		}
		if code := websocket.StatusNormalClosure; !frozen && closedSoon(s) != code {
			h.fig.fault("%s has connected anew, and the connection before was closed with %v", g.key, s.Err())
		}
		return next, wire
	default:
		h.fig.count("devices: cut (1006)")
		_ = c.Close()
		g.stands(standing(false))
	}
	return nil, nil
}

// closedSoon waits for the hub to close a connection, and is its code.
func closedSoon(s *voice.DeviceSocket) websocket.StatusCode {
	select {
	case <-s.Done():
		return websocket.CloseStatus(s.Err())
	case <-time.After(replaceLimit):
		return 0
	}
}

// check looks at all that was said on a connection: every request has the session of
// the connection, and an id that no other has.
func (g *gadget) check(s *voice.DeviceSocket) {
	own := ""
	seen := make(map[int32]bool)
	for _, text := range s.Heard() {
		var m struct {
			Type    string `json:"type"`
			Session string `json:"session_id"`
			Payload struct{ ID *int32 }
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			g.home.fig.fault("%s was sent %.200q: %v", g.key, text, err)
			continue
		}
		if own == "" {
			own = m.Session
		}
		if m.Session == "" || m.Session != own {
			g.home.fig.fault("%s has the session %s, and was sent %.200s", g.key, own, text)
		}
		if id := m.Payload.ID; id != nil {
			if seen[*id] {
				g.home.fig.fault("%s was sent the id %d twice", g.key, *id)
			}
			seen[*id] = true
		}
	}
}
