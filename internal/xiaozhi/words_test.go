package xiaozhi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestMask(t *testing.T) {
	for address, want := range map[string]string{
		"wss://api.xiaozhi.me/mcp/?token=eyJhbGciOiJ.abcd":  "wss://api.xiaozhi.me/mcp/?token=…abcd",
		"ws://h:8004/mcp_endpoint/mcp/?token=ab+/cd==&a=b":  "ws://h:8004/mcp_endpoint/mcp/?token=…&a=…",
		"ws://user:secret@h/":                               "ws://…@h/",
		"wss://h/mcp?0123456789abcdef0123456789abcdef01":    "wss://h/mcp?…ef01",
		"wss://h/0123456789abcdef0123456789abcdef01/x#frag": "wss://h/…ef01/x",
		"wss://h/mcp/sk-abcdef1234567890ab/x":               "wss://h/mcp/…90ab/x",
		"wss://h/mcp/abcdef1234567890abcd":                  "wss://h/mcp/…abcd",
		"wss://h/mcp/sk%2Dabcdef1234567890ab":               "wss://h/mcp/…90ab",
		"wss://h/mcp_endpoint/v1/some-quite-long-word/":     "wss://h/mcp_endpoint/v1/some-quite-long-word/",
		"wss://h/mcp/sk-a%62%62%62":                         "wss://h/mcp/…2%62", // a key as it is written
		"wss://h/mcp?hunter2":                               "wss://h/mcp?…",
		"wss://h/mcp?hunter2=&a=b":                          "wss://h/mcp?…&a=…",
		"wss://h/?sk-abcdef1234567890ab=1":                  "wss://h/?…90ab=…",
		"nonsense":                                          "…",
		"":                                                  "…",
		"ws://%zz/?x":                                       "…",
	} {
		if got := Mask(address); got != want {
			t.Errorf("%s is shown as %s", address, got)
		}
	}
}

// What was filled into an address is masked wherever it stands there, and is in no
// text.
func TestMaskFilled(t *testing.T) {
	for _, tt := range []struct {
		address, filled, want, text string
	}{
		{"wss://h/mcp/hunter2secret/x", "hunter2secret", "wss://h/mcp/…cret/x", "dial hunter2secret: no"},
		{"wss://h/mcp/a-hunter2-b", "hunter2\n", "wss://h/mcp/a-…-b", "dial a-hunter2-b: no"},
		{"wss://hunter2secret/mcp", "hunter2secret", "wss://…cret/mcp", "no host hunter2secret"},
		{"wss://h/mcp/?token=x", "wss://h/mcp/?token=x", "wss://h/mcp/?token=…", "no"}, // an address is no secret by itself
	} {
		if got := Mask(tt.address, tt.filled); got != tt.want {
			t.Errorf("%s is shown as %s", tt.address, got)
		}
		if got := Redact(tt.text, Secrets(tt.address, tt.filled)); strings.Contains(got, "hunter2") {
			t.Errorf("%q is logged", got)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("wss://h/mcp/?token=%2B0123456789secret")
	f.Add("ws://u:p@h/x?y=1;2")
	f.Fuzz(func(t *testing.T, address string) {
		shown := Mask(address)
		text := Redact("dial "+address+" failed", Secrets(address))
		for _, secret := range Secrets(address) {
			if len(secret) >= 16 && address != secret && !strings.Contains("dial  failed…", secret) && (strings.Contains(shown, secret) || strings.Contains(text, secret)) {
				t.Fatalf("%q stands in %q or %q", secret, shown, text)
			}
		}
	})
}

func TestExpiry(t *testing.T) {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjk0NzMxODQwMH0.c2ln"
	for address, want := range map[string]int64{
		"ws://h/?token=" + jwt: 947318400, "ws://h/?a=b&token=" + jwt: 947318400, "ws://h/?token=a.b.c": 0, "ws://h/?token=" + jwt[:30]: 0,
		"ws://h/?token=QUJD+/==": 0, "ws://h/": 0, "": 0, "ws://h/?token=e30.eyJleHAiOiJ4In0.x": 0,
	} {
		if got := Expiry(address); got.IsZero() != (want == 0) || want != 0 && got.Unix() != want {
			t.Errorf("%s ends %v", address, got)
		}
	}
}

func TestBackoff(t *testing.T) {
	b := Backoff{Delay: time.Second, Max: 10 * time.Second}
	var pauses []time.Duration
	for range 6 {
		pauses = append(pauses, b.Next(EndingLost, 0.5))
	}
	if want := []time.Duration{1e9, 2e9, 4e9, 8e9, 10e9, 10e9}; !slices.Equal(pauses, want) {
		t.Errorf("%v", pauses)
	}
	b.Reset()
	for e, want := range map[Ending][2]time.Duration{
		EndingFailed: {5 * time.Second, 5 * time.Second}, EndingReplaced: {30 * time.Second, 30 * time.Second}, EndingAuth: {4 * time.Minute, 6 * time.Minute},
	} {
		b.Reset()
		if low, high := b.Next(e, 0), b.Next(e, 1); low != want[0] || high != want[1] {
			t.Errorf("%d: %v, %v", e, low, high)
		}
	}
	if OfStatus(http.StatusUnauthorized) != EndingAuth || OfStatus(http.StatusForbidden) != EndingAuth || OfStatus(502) != EndingLost {
		t.Error("a status")
	}
}

func TestScanTakesWhatPeersSend(t *testing.T) {
	for raw, kind := range map[string]wire.Kind{
		`{"jsonrpc":"2.0","id":0,"method":"ping","params":null}`: wire.Request,
		`{"id":1,"method":"tools/list"}`:                         wire.Request,
		` {"method":"x","params":null,"id":null} ` + "\n":        wire.Notification,
		`{"jsonrpc":"2.0","id":null,"method":"x"}`:               wire.Notification,
		`{"jsonrpc":"1.0","id":1,"method":"x"}`:                  wire.Invalid,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":7}`:       wire.Invalid,
		`{"jsonrpc":"2.0","id":{},"method":"x"}`:                 wire.Invalid,
		`null`:                                                   wire.Invalid,
	} {
		if m, err := Scan([]byte(raw), 1<<20); m.Kind != kind || (err != nil) != (kind == wire.Invalid) {
			t.Errorf("%s is %d, %v", raw, m.Kind, err)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{"id":1,"method":"tools/list","params":null}`, `{"method":"x","id":null}`, `[]`, `{"jsonrpc":"2.0","id":"a_n_1","result":{}}`, `{"id":null,"params":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		m, err := Scan(raw, 1<<20)
		if !bytes.Equal(raw, before) {
			t.Fatal("changed what it read")
		}
		if err == nil && (m.Kind == wire.Invalid || !json.Valid(m.Raw)) {
			t.Fatalf("%s", m.Raw)
		}
		if id := m.ID.Of(m.Raw); id != nil && !bytes.Contains(raw, id) {
			t.Fatalf("an id that nobody has sent: %s", id)
		}
	})
}

func TestEnvelope(t *testing.T) {
	e, ok := ParseEnvelope([]byte(`{"type":"mcp","session_id":"a\"b","payload":{"id":1}}`), 1<<20)
	if !ok || e.Type != "mcp" || string(e.Session) != `"a\"b"` || string(e.Payload) != `{"id":1}` {
		t.Errorf("%+v", e)
	}
	if got := string(AppendEnvelope(nil, e.Session, e.Payload)); got != `{"session_id":"a\"b","type":"mcp","payload":{"id":1}}` {
		t.Errorf("%s", got)
	}
	if got := string(AppendEnvelope(nil, nil, []byte(`{}`))); got != `{"session_id":"","type":"mcp","payload":{}}` {
		t.Errorf("%s", got)
	}
	for _, raw := range []string{"", "Authorization: Bearer x", "null", "[]", `{"type":"mcp"`, "\xff"} {
		if _, ok := ParseEnvelope([]byte(raw), 1<<20); ok {
			t.Errorf("%q is an envelope", raw)
		}
	}
	if e, ok := ParseEnvelope([]byte(`{"type":7,"session_id":null,"payload":"x"}`), 1<<20); !ok || e.Type != "" || e.Session != nil || e.Payload != nil {
		t.Errorf("%+v", e)
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"session_id":"x","type":"mcp","payload":{"jsonrpc":"2.0","id":1,"result":{}}}`))
	f.Add([]byte(`{"type":"hello","version":1,"features":{"mcp":true}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, ok := ParseEnvelope(raw, 1<<20)
		if !ok {
			return
		}
		if e.Payload == nil {
			return
		}
		again, ok := ParseEnvelope(AppendEnvelope(nil, e.Session, e.Payload), 1<<21)
		if !ok || again.Type != "mcp" || !bytes.Equal(again.Payload, e.Payload) || e.Session != nil && !bytes.Equal(again.Session, e.Session) {
			t.Fatalf("%s became %s", raw, again.Raw)
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("self.get_status", "self_get_status", "天气")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if a == b || b == c || a == c {
			return // a catalog has no two
		}
		as := Names([]string{a, b, c})
		for i, name := range as {
			if !FitsName(name) || slices.Contains(as[:i], name) {
				t.Fatalf("%q", as)
			}
		}
		if !slices.Equal(as, Names([]string{a, b, c})) {
			t.Fatal("others the next time")
		}
		if FitsName(a) && as[0] != a {
			t.Fatalf("%q became %q", a, as[0])
		}
		says := func(name string) (string, bool) { return "X__" + name, name == a }
		if text := Rewrite(b+" "+a+" "+c, says); strings.ReplaceAll(text, "X__", "") != b+" "+a+" "+c {
			t.Fatalf("%q", text)
		}
	})
}

func TestDefaults(t *testing.T) {
	e := WithDefaults(hub.Endpoint{})
	if got := fmt.Sprint(e.Deadline, e.MaxResult, e.MaxTools, e.MaxList, e.MaxMessage, e.Concurrency, e.Queue, e.Ping, e.PingTimeout, e.Delay, e.MaxDelay, e.DialTimeout); got != "25s 8192 64 65536 4194304 16 64 25s 15s 1s 1m0s 10s" {
		t.Errorf("%s", got)
	}
	if e := WithDefaults(hub.Endpoint{MaxResult: 1 << 30, Delay: time.Hour}); e.MaxResult != MaxFrame || e.MaxDelay != time.Hour {
		t.Errorf("%+v", e)
	}
}
