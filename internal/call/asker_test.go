package call

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// asking is a server of 2026-07-28 whose tool asks back, and then says who it is.
func asking(key string) func(p *peer) {
	return func(p *peer) {
		for {
			n, ok := p.next()
			switch {
			case !ok:
				return
			case n.Method == "initialize":
				p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`, n.ID)
			case n.Method == "server/discover":
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, n.ID)
			case n.Method == "tools/list":
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[{"name":"ask","inputSchema":{"type":"object"}}]}}`, n.ID)
			case n.Method == "tools/call" && bytes.Contains(p.in.Bytes(), []byte(`"inputResponses"`)):
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":"%s heard it"}]}}`, n.ID, key)
			case n.Method == "tools/call":
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"of \u0022%s","inputRequests":{}}}`, n.ID, key)
			case n.ID != nil:
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, n.ID)
			}
		}
	}
}

// What a caller answers to a question goes to the server that has asked it, or to
// nobody.
func TestAnswersGoToWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, d := doing("a"), doing("b"), doing("d")
		b.Order, d.Order = 1, 2
		a.Pool, b.Pool = "pool", "pool"
		c := newCrib(t, map[string]func(p *peer){"a": asking("a"), "b": asking("b"), "d": asking("d")}, a, b, d)
		synctest.Wait()
		asked := make(map[string]bool)
		for range 4 {
			res, err := c.ask("tools/call", `"name":"pool__ask"`)
			if err != nil {
				t.Fatal(err)
			}
			asked[res.Server] = true
			answer := `"inputResponses":{},"requestState":"of \"` + res.Server + `"`
			for _, name := range []string{"pool__ask", "ask"} {
				if then, err := c.ask("tools/call", `"name":"`+name+`",`+answer); err != nil || then.Server != res.Server {
					t.Errorf("%s: %s has asked, and the answer goes to %+v, %v", name, res.Server, then, err)
				}
			}
		}
		if len(asked) != 2 {
			t.Errorf("asked have %v", asked)
		}

		// A state that is not known, as of a question before a restart, is for equals of the first.
		if err := c.fleet.Stop(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if res, err := c.ask("tools/call", `"name":"ask","inputResponses":{},"requestState":"of old"`); err != nil || res.Server != "b" {
			t.Errorf("got %+v, %v", res, err)
		}
		if err := c.fleet.Stop(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		for _, state := range []string{`of \"a`, `of \"b`} {
			if res, err := c.ask("tools/call", `"name":"ask","inputResponses":{},"requestState":"`+state+`"`); !hub.IsCode(err, message.ToolUnknown) {
				t.Errorf("%s: got %+v, %v", state, res, err)
			}
		}
		if res, err := c.ask("tools/call", `"name":"ask"`); err != nil || res.Server != "d" {
			t.Errorf("a new call: got %+v, %v", res, err)
		}
	})
}
