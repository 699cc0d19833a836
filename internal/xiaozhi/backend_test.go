package xiaozhi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestReq26Pauses(t *testing.T) {
	b := Backoff{Delay: 2 * time.Second, Max: 7 * time.Second, Even: true}
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second, 7 * time.Second, 7 * time.Second} {
		if got := b.Next(EndingLost, 0.5); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		for _, chance := range []float64{0, 0.5, 0.999} {
			if got := b.Next(EndingClean, chance); got > 2*time.Second || got < time.Second {
				t.Errorf("after a close in good order %s", got)
			}
		}
	}
	for _, tt := range []struct {
		kind Ending
		code int
		want Ending
	}{
		{EndingLost, 1000, EndingClean},
		{EndingLost, 1001, EndingClean},
		{EndingLost, 1005, EndingClean},
		{EndingLost, 1006, EndingLost},
		{EndingReplaced, 1000, EndingReplaced},
		{EndingAuth, 1008, EndingAuth},
		{EndingFailed, 4004, EndingFailed},
		{EndingLost, 1011, EndingLost},
	} {
		if got := OfBackendClose(tt.kind, tt.code, 10*time.Second); got != tt.want {
			t.Errorf("%d is %d", tt.code, got)
		}
		// One that greets and closes at once is not done with anything.
		if got := OfBackendClose(tt.kind, tt.code, 9*time.Second); got != tt.kind {
			t.Errorf("%d at once is %d", tt.code, got)
		}
	}
}

func TestDeviceNames(t *testing.T) {
	given := []string{"self.a.b", "self_a_b", "self.a_b", "x", "x", "天气", "self." + strings.Repeat("long", 20), ""}
	got := DeviceNames(given)
	if got[1] != "self_a_b" || got[3] != "x" {
		t.Errorf("%q", got)
	}
	seen := make(map[string]bool)
	for _, name := range got {
		flat := strings.ReplaceAll(name, ".", "_")
		if !FitsName(flat) || seen[flat] {
			t.Errorf("%q: %q", given, got)
		}
		seen[flat] = true
	}
	if again := DeviceNames(given); !slices.Equal(got, again) {
		t.Errorf("%q, then %q", got, again)
	}
	if got := DeviceNames([]string{"self.a.b", "x"}); got[0] != "self.a.b" {
		t.Errorf("alone it is %q", got)
	}
	// A tool that comes or goes, or the order, gives none the name of another.
	by := func(tools ...string) map[string]string {
		as := make(map[string]string)
		for i, name := range DeviceNames(tools) {
			as[tools[i]] = name
		}
		return as
	}
	all := by("a.b.c", "a_b.c", "a.b_c", "a_b_c")
	for _, tools := range [][]string{{"a_b_c", "a.b_c", "a_b.c", "a.b.c"}, {"a_b.c", "a.b.c"}, {"a.b.c", "a_b.c"}, {"a.b_c", "a_b_c"}} {
		for name, as := range by(tools...) {
			if as != all[name] {
				t.Errorf("of %q %s is %s, of all %s", tools, name, as, all[name])
			}
		}
	}
}

func TestParseDiscovery(t *testing.T) {
	for raw, want := range map[string]Discovered{
		`{"websocket":{"url":" ws://h/ ","token":"t","version":3},"mqtt":{"endpoint":"m"},"firmware":{"url":"x"}}`: {URL: "ws://h/", Token: "t"},
		`{"websocket":{"url":"ws://h/"},"activation":{"code":"123456","message":"x"}}`:                             {URL: "ws://h/", Code: "123456"},
		`{"activation":{"code":"123456"}}`: {Code: "123456"}, `{"mqtt":{}}`: {}, `[]`: {}, `x`: {}, `{"websocket":{"url":7}}`: {}, `{"websocket":null}`: {},
	} {
		if got, ok := ParseDiscovery([]byte(raw)); got != want || ok != (want.URL != "") {
			t.Errorf("%s: %+v %t", raw, got, ok)
		}
	}
}

func TestAsEndpoint(t *testing.T) {
	e := AsEndpoint(&hub.Backend{Name: "a", Enabled: true})
	if e.MaxList != 8000 || e.Delay != 2*time.Second || e.MaxDelay != time.Minute || e.Deadline != 25*time.Second || e.DialTimeout != 10*time.Second || !e.Pages {
		t.Errorf("%+v", e)
	}
	if e := AsEndpoint(&hub.Backend{MaxList: 7}); e.MaxList <= BackendFrame {
		t.Errorf("a page of %d bytes has no room for a tool", e.MaxList)
	}
}

// What is put into an envelope comes out of it as it was.
func FuzzBackendWords(f *testing.F) {
	f.Add([]byte(`{"type":"mcp","session_id":"a\"b","payload":{"id":1}}`), []byte(`{"jsonrpc":"2.0"}`))
	f.Add([]byte(`{"type":"hello","transport":"websocket"}`), []byte(`x`))
	f.Add([]byte(`[{"type":"mcp"}]`), []byte(``))
	f.Fuzz(func(t *testing.T, raw, other []byte) {
		for _, one := range [][]byte{raw, other} {
			e, ok := ParseEnvelope(one, 1<<20)
			if !ok {
				continue
			}
			if !json.Valid(one) {
				t.Fatalf("%q is taken for an envelope", one)
			}
			if e.Payload == nil {
				continue
			}
			again, ok := ParseEnvelope(AppendEnvelope(nil, e.SessionID(), e.Payload), 2<<20)
			if !ok || again.Type != "mcp" || !bytes.Equal(again.Payload, e.Payload) || e.SessionID() != nil && !bytes.Equal(again.Session, e.Session) {
				t.Fatalf("%s became %s", one, again.Raw)
			}
			_, _ = e.Greets(), fmt.Sprint(ParseDiscovery(one))
		}
	})
}
