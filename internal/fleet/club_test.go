package fleet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// club is a server with resources, of which there may be many connections. It
// writes down what comes on which of them.
type club struct {
	dialer

	mu      sync.Mutex
	out     []io.WriteCloser // the connections, in their order
	heard   []string         // "2 resources/subscribe x://a"
	offers  string           // further capabilities
	refuses string           // a URI that it does not have
	dies    bool             // all but the first connection end with the handshake
	slow    time.Duration    // before it answers resources/subscribe, or a ping
	told    []string         // what the fleet told of updates: "a,b x://a"
}

func newClub() *club {
	c := &club{}
	c.began, c.serve = time.Now(), c.talk
	return c
}

func (c *club) talk(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
	defer w.Close()
	c.mu.Lock()
	n := len(c.out)
	c.out = append(c.out, w)
	c.mu.Unlock()
	in := bufio.NewScanner(r)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				URI, Level   string
				Capabilities json.RawMessage
			}
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return err
		}
		c.mu.Lock()
		c.heard = append(c.heard, strings.TrimSpace(fmt.Sprintf("%d %s %s", n, m.Method, m.Params.URI+m.Params.Level+string(m.Params.Capabilities))))
		refused, slow := m.Method == "resources/subscribe" && m.Params.URI == c.refuses, c.slow
		c.mu.Unlock()
		if c.dies && n > 0 && m.Method == "notifications/initialized" {
			return nil
		}
		if m.ID == nil || m.Method == "" {
			continue
		}
		if (m.Method == "resources/subscribe" || m.Method == "ping") && slow > 0 {
			time.Sleep(slow)
		}
		answer := `"result":{}`
		switch {
		case m.Method == "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"resources":{"subscribe":true}` + c.offers + `},"serverInfo":{"name":"s","version":"1"}}`
		case strings.HasSuffix(m.Method, "/list"):
			answer = `"result":{"tools":[],"resources":[],"resourceTemplates":[],"prompts":[]}`
		case refused:
			answer = `"error":{"code":-32002,"message":"there is no such resource"}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
	}
	return nil
}

// says has the server send a message on its n-th connection.
func (c *club) says(n int, format string, args ...any) {
	c.mu.Lock()
	w := c.out[n]
	c.mu.Unlock()
	fmt.Fprintf(w, format+"\n", args...)
	synctest.Wait()
}

func (c *club) asks(n int) {
	c.says(n, `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
}

func (c *club) updates(n int, uri string) {
	c.says(n, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, uri)
}

// hangUp ends the n-th connection.
func (c *club) hangUp(n int) {
	c.mu.Lock()
	w := c.out[n]
	c.mu.Unlock()
	_ = w.Close()
	synctest.Wait()
}

// hears returns what has come since the last time that has the text in it.
func (c *club) hears(text string) []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, line := range c.heard {
		if strings.Contains(line, text) {
			all = append(all, line)
		}
	}
	c.heard = nil
	return all
}

func (c *club) updated(_ string, callers []string, raw []byte) {
	var m struct{ Params struct{ URI string } }
	_ = json.Unmarshal(raw, &m)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, strings.Join(callers, ",")+" "+m.Params.URI)
}

// expect fails the test unless the fleet has told of exactly these updates since
// the last time.
func (c *club) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.told, want) {
		t.Errorf("told %q, want %q", c.told, want)
	}
	c.told = nil
}

// expectAll is expect where nothing promises an order.
func (c *club) expectAll(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	slices.Sort(c.told)
	c.mu.Unlock()
	slices.Sort(want)
	c.expect(t, want...)
}

// fleet runs a fleet of the server.
func (c *club) fleet(t *testing.T, s hub.Server) *fleet.Fleet {
	t.Helper()
	f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: c.dial, Updated: c.updated})
	synctest.Wait()
	return f
}

// member is a server whose connections are so.
func member(kind hub.Connection) hub.Server {
	s := several(1, 1, 1)
	s.Connection = kind
	return s
}

// asker is a caller that can be asked, mute one that cannot.
func asker(id string) *hub.Caller {
	return &hub.Caller{ID: id, Capabilities: fmt.Appendf(nil, `{"roots":{},"experimental":{%q:{}}}`, id), Exchange: make(ear, 1)}
}

func mute(id string) *hub.Caller { return &hub.Caller{ID: id} }

// take gets a connection for a caller and keeps it.
func take(t *testing.T, f *fleet.Fleet, caller *hub.Caller) *fleet.Use {
	t.Helper()
	use, err := f.Acquire(t.Context(), "s", caller)
	if err != nil {
		t.Fatal(err)
	}
	return use
}

// visit gets a connection for a caller and gives it back.
func visit(t *testing.T, f *fleet.Fleet, caller *hub.Caller) *fleet.Use {
	t.Helper()
	use := take(t, f, caller)
	use.Done(nil)
	return use
}

// stands fails the test unless there are so many connections of callers' own,
// subscriptions and remembered callers.
func stands(t *testing.T, f *fleet.Fleet, callers, subscriptions, guests int) {
	t.Helper()
	synctest.Wait()
	st := f.Status()[0]
	left, _ := f.Left("s")
	if st.Callers != callers || st.Subscriptions != subscriptions || left != guests {
		t.Errorf("%d connections of callers' own, %d subscriptions, %d callers remembered; want %d, %d, %d",
			st.Callers, st.Subscriptions, left, callers, subscriptions, guests)
	}
}

func ended(use *fleet.Use) bool {
	select {
	case <-use.Conn().Done():
		return true
	default:
		return false
	}
}
