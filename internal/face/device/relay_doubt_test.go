package device_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/voice"
)

// Requirement 39: what firmware may read otherwise than the hub does not reach the device:
// it would run what is not on record, and its answer be taken for another one.
func TestReq39RelayDoubtful(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		h := relay(t, usual(), backend)
		s, b := h.both(voice.FW(mac), backend)
		const call = `"jsonrpc":"2.0","params":{"name":"self.reboot","arguments":{}},`
		doubtful := []string{
			`{"type":"mcp","payload":{` + call + `"method":"tools/call","method":"x","id":7,"id":1}}`,
			`{"type":"mcp","payload":{` + call + `"Method":"tools/call","id":7}}`,
			`{"type":"mcp","payload":{` + call + `"method":"tools/call","ID":7,"id":1}}`,
			`{"type":"mcp","payload":{` + call + `"method":"tools/call\u0000x","id":7}}`,
			`{"type":"mcp","payload":{` + call + `"method\u0000":"tools/call","id":7}}`,
			`{"type":"mcp","payload":{"jsonrpc":"2.0","method":"tools/call","id":7,"params":{"Name":"self.reboot","name":"self.get_device_status"}}}`,
			`{"type":"mcp","payload":{"jsonrpc":"2.0","method":"tools/call","id":7,"params":{"name":"self.reboot\u0000"}}}`,
			`{"type":"mcp","payload":{"jsonrpc":"2.0","method":"tools/call","id":7,"params":{"name":"self.reboot","arguments":{"a":1,"a":2}}}}`,
			`{"type":"mcp","Payload":{` + call + `"method":"tools/call","id":7},"payload":{}}`,
			`{"Type":"mcp","payload":{` + call + `"method":"tools/call","id":7}}`,
			`{"type":"mcp","type":"tts","payload":{` + call + `"method":"tools/call","id":7}}`,
			`{"type":"mcp\u0000","payload":{` + call + `"method":"tools/call","id":7}}`,
			`{"type":"MCP","payload":{` + call + `"method":"tools/call","id":7}}`,
			`{"type":"mcp","payload":{` + call + `"method":"tools/call"}}`, `{"type":"mcp","payload":{` + call + `"method":"tools/call","id":null}}`,
			`{"type":"mcp","payload":{` + call + `"method":"tools/call","id":7}} and more`,
			"\xef\xbb\xbf \x01" + `{"type":"mcp","payload":{` + call + `"method":"tools/call","id":7}}`,
		}
		before := h.status(mac).Junk
		for _, text := range doubtful {
			if err := b.Send(text); err != nil {
				t.Fatal(err)
			}
		}
		plain := []string{`{"type":"tts","state":"sentence_start","text":"a \u0000 and {\"Type\":\"mcp\"}"}`, `not JSON`, `["type","mcp"]`}
		for _, text := range plain {
			if err := b.Send(text); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		heard := strings.Join(s.Heard(), "\n")
		if strings.Contains(heard, "self.reboot") || strings.Contains(heard, `"id":7`) {
			t.Errorf("the device heard %s", heard)
		}
		for _, text := range plain {
			if !strings.Contains(heard, text) {
				t.Errorf("the device did not hear %s", text)
			}
		}
		if got := h.status(mac).Junk - before; got != int64(len(doubtful)) {
			t.Errorf("%d of %d are counted", got, len(doubtful))
		}
		lines, _, _ := h.door.Log(mac, 0)
		if !strings.Contains(fmt.Sprint(lines), "is discarded") {
			t.Errorf("the log is %v", lines)
		}
	})
}

// What a backend makes up is on record as no tool of the device's, however it spells the
// device.
func TestReq39RelayMadeUpNames(t *testing.T) {
	in(t, func(t *testing.T) {
		backend := &voice.Endpoint{}
		var mu sync.Mutex
		seen := make(map[string]hub.CallRecord)
		conf := hub.Devices{Allow: []string{mac}}
		h := relay(t, conf, backend, func(o *device.Options) {
			o.Witness = func(c hub.CallRecord, _ []byte) func(hub.Outcome, *hub.Error, int) {
				mu.Lock()
				defer mu.Unlock()
				seen[c.Name] = c
				return func(hub.Outcome, *hub.Error, int) {}
			}
		})
		_, b := h.both(voice.FW(strings.ToUpper(mac)), backend)
		for i, name := range []string{"self.reboot", "self.made.up", ""} {
			if err := b.Send(fmt.Sprintf(`{"type":"mcp","payload":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"}}}`, i, name)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for name, offered := range map[string]bool{"self.reboot": true, "self.made.up": false, "": false} {
			c, ok := seen[name]
			if !ok || c.Subject != "relay:"+mac || offered != (c.Tool == name && c.Server == alias) || !offered && (c.Tool != "" || c.Server != "") {
				t.Errorf("of %q is on record %+v", name, c)
			}
		}
	})
}
