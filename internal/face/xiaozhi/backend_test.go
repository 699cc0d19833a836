package xiaozhi

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

// school is a house that is a device of a backend within the process.
type school struct {
	*house
	set     *Backends
	backend *voice.Backend
	kept    string // file with who the hub is
}

func openSchool(t testing.TB, tools map[string]string) *school {
	t.Helper()
	var opt Options
	s := &school{house: open(t, tools, func(o *Options) { opt = *o }), backend: &voice.Backend{}, kept: filepath.Join(t.TempDir(), "backends.json")}
	ln := rig.NewListener(net.Pipe)
	opt.Dial = ln.Dial
	s.set = NewBackends(opt, s.kept)
	web := &http.Server{Handler: s.backend}
	ctx, quit := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = web.Serve(ln) })
	parts.Go(func() { must(t, s.set.Run(ctx)) })
	t.Cleanup(func() {
		quit()
		_ = web.Close()
		parts.Wait()
	})
	return s
}

// lesson runs a test in which time is not real.
func lesson(t *testing.T, tools map[string]string, f func(t *testing.T, s *school)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := openSchool(t, tools)
		synctest.Wait()
		f(t, s)
	})
}

// being is a definition of a backend.
func being(name string, change ...func(*hub.Backend)) hub.Backend {
	b := hub.Backend{Name: name, URL: "ws://peer/xiaozhi/v1/", Token: name + "-0123456789abcdef", Enabled: true}
	for _, f := range change {
		f(&b)
	}
	return b
}

// next is the next connection that the backend gets.
func (s *school) next() *voice.Socket {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	one, err := s.backend.Next(ctx)
	if err != nil {
		s.t.Fatalf("the hub did not connect: %v; %+v", err, s.set.Statuses())
	}
	return one
}

// talk is a conversation in the dialect on the next connection.
func (s *school) talk(dialect func(context.Context, *voice.Socket) (*voice.Talk, error)) *voice.Talk {
	s.t.Helper()
	return s.talkOn(s.next(), dialect)
}

func (s *school) talkOn(one *voice.Socket, dialect func(context.Context, *voice.Socket) (*voice.Talk, error)) *voice.Talk {
	s.t.Helper()
	talk, err := dialect(wait(s.t), one)
	if err != nil {
		s.t.Fatalf("%v; %+v", err, s.set.Statuses())
	}
	synctest.Wait() // until the status is what it has come to
	return talk
}

func (s *school) stands(name string) hub.EndpointStatus {
	s.t.Helper()
	st, ok := s.set.Status(name)
	if !ok {
		s.t.Fatalf("there is no backend %q", name)
	}
	return st
}

// noted is the text of a backend's log.
func (s *school) noted(name string) string {
	lines, _ := s.set.Log(name, 0)
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

// session is the session_id of an answer.
func session(t *testing.T, raw string) string {
	t.Helper()
	e := voice.Opened(raw)
	if e.Type != "mcp" || e.SessionID == nil {
		t.Fatalf("no envelope: %s", raw)
	}
	return *e.SessionID
}

var (
	mac  = regexp.MustCompile(`^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`)
	uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
)

func TestReq22WhoTheDeviceIs(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{
			being("a"), being("b", func(b *hub.Backend) { b.Query = true; b.URL += "?x=%2B+/=" }),
			being("c", func(b *hub.Backend) { b.DeviceID, b.ClientID, b.Token = "aa:bb:cc:dd:ee:01", "c-1", "Basic x y" }),
			being("d", func(b *hub.Backend) { b.Token = "" }),
		})
		var first map[string]identity
		for round := range 2 {
			for range 4 {
				one := s.next()
				h, q := one.Header, must1(url.ParseQuery(strings.ReplaceAll(one.Query, "x=%2B+/=&", "")))
				switch {
				case one.Query != "":
					if !strings.HasPrefix(one.Query, "x=%2B+/=&device-id=") || !mac.MatchString(q.Get("device-id")) || !uuid.MatchString(q.Get("client-id")) || q.Get("authorization") != "Bearer b-0123456789abcdef" || h.Get("Device-Id")+h.Get("Authorization") != "" {
						t.Errorf("%s, %v", one.Query, h)
					}
				case h.Get("Device-Id") == "aa:bb:cc:dd:ee:01":
					if h.Get("Authorization") != "Basic x y" || h.Get("Client-Id") != "c-1" {
						t.Errorf("%v", h)
					}
				default:
					_, given := h["Authorization"]
					if !mac.MatchString(h.Get("Device-Id")) || !uuid.MatchString(h.Get("Client-Id")) || h.Get("Protocol-Version") != "1" || given && h.Get("Authorization") != "Bearer a-0123456789abcdef" {
						t.Errorf("%v", h)
					}
				}
				one.Close(1000, "")
			}
			synctest.Wait()
			var kept map[string]identity
			must(t, json.Unmarshal(must1(os.ReadFile(s.kept)), &kept))
			if len(kept) != 3 || kept["a"] == kept["b"] || round > 0 && (kept["a"] != first["a"] || kept["d"] != first["d"]) {
				t.Errorf("%v, before %v", kept, first)
			}
			first = kept
		}
		all := fmt.Sprintf("%+v", s.set.Statuses()) + s.logged()
		for _, name := range []string{"a", "b", "c", "d"} {
			all += s.noted(name)
		}
		if strings.Contains(all, "0123456789") {
			t.Error("a token is told: " + all)
		}
	})
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Another hub on the same data is the same device.
func TestReq22IdentityIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "backends.json")
	b := being("a")
	d1, c1, err := (&identities{path: path}).of(&b)
	must(t, err)
	d2, c2, err := (&identities{path: path}).of(&b)
	must(t, err)
	if d1 != d2 || c1 != c2 || !mac.MatchString(d1) || !uuid.MatchString(c1) {
		t.Errorf("%s %s, then %s %s", d1, c1, d2, c2)
	}
	b.DeviceID = "x"
	if d3, c3, err := (&identities{path: path}).of(&b); err != nil || d3 != "x" || c3 != c1 {
		t.Errorf("%s %s, %v", d3, c3, err)
	}
	must(t, os.WriteFile(path, []byte("nonsense"), 0o600))
	if _, _, err := (&identities{path: path}).of(&b); err == nil {
		t.Error("a damaged file is taken, and the hub is another device from then on")
	}
}

func TestReq22Discovery(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.backend.OTA = voice.Discovery("ws://peer/xiaozhi/v1/?k=otaquerysecret", "discovered-secret-1")
		s.set.Apply([]hub.Backend{being("a", func(b *hub.Backend) {
			b.URL, b.OTA, b.Token = "", "http://peer/xiaozhi/ota/?key=otakeysecret", ""
			b.Delay, b.MaxDelay = time.Second, 4*time.Second
		})})
		one := s.next()
		asked := s.backend.Asked()[0]
		for _, name := range []string{"Device-Id", "Client-Id", "User-Agent", "Accept-Language", "Activation-Version"} {
			if asked.Header.Get(name) == "" {
				t.Errorf("%s is not told: %v", name, asked.Header)
			}
		}
		if one.Header.Get("Device-Id") != asked.Header.Get("Device-Id") || one.Header.Get("Authorization") != "Bearer discovered-secret-1" || one.Query != "k=otaquerysecret" {
			t.Errorf("%v %s", one.Header, one.Query)
		}
		if !json.Valid([]byte(asked.Body)) || !strings.Contains(asked.Body, asked.Header.Get("Device-Id")) {
			t.Errorf("said %s", asked.Body)
		}
		one.Drop()
		for _, tt := range []struct {
			answer string
			status int
			state  hub.EndpointState
			code   message.Code
		}{
			{`{"websocket":{"url":""},"mqtt":{}}`, 0, hub.EndpointWaiting, message.BackendUndiscovered},
			{`not json`, 0, hub.EndpointWaiting, message.BackendUndiscovered},
			{`{"websocket":{"url":"http://h/"}}`, 0, hub.EndpointWaiting, message.EndpointURLInvalid},
			{`{"websocket":{"url":"ws://${secret:x}/"}}`, 0, hub.EndpointWaiting, message.EndpointURLInvalid},
			{`{}`, 500, hub.EndpointWaiting, message.BackendUndiscovered},
			{`{"activation":{"code":"123456"}}`, 0, hub.EndpointWaiting, message.BackendUndiscovered},
			{`{}`, 401, hub.EndpointAuthFailed, message.BackendAuth},
		} {
			s.backend.Change(func() { s.backend.OTA, s.backend.Status = tt.answer, tt.status })
			time.Sleep(10 * time.Second)
			if st := s.stands("a"); st.State != tt.state || st.Reason == nil || st.Reason.Code != tt.code {
				t.Errorf("%s %d: %+v", tt.answer, tt.status, st)
			}
		}
		if !strings.Contains(s.noted("a"), "123456") {
			t.Error("the code for the console is not told: " + s.noted("a"))
		}
		if all := s.logged() + s.noted("a") + fmt.Sprintf("%+v", s.stands("a")); strings.Contains(all, "otakeysecret") || strings.Contains(all, "otaquerysecret") || strings.Contains(all, "discovered-secret") {
			t.Error("a secret is told: " + all)
		}
	})
}

// All backends get on with the hub, also that which speaks before it has greeted.
func TestReq22Dialects(t *testing.T) {
	for name, dialect := range map[string]struct {
		of       func(context.Context, *voice.Socket) (*voice.Talk, error)
		revision string
		session  string // of its conversation
		peer     string
	}{
		"XS":    {voice.BackendXS, "2024-11-05", "7b1e0c52-9c1d-4b0e-8f0a-3a1c5f6d7e8f", "XiaozhiClient"},
		"GOA":   {voice.BackendGOA, "2024-11-05", "device-aa_bb_cc_dd_ee_01", "XiaozhiClient"},
		"GOH":   {voice.BackendGOH, "2025-06-18", "c0ffee00-1234-4abc-8def-001122334455", "mcp-go"},
		"plain": {voice.BackendPlain, "2024-11-05", "s-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			lesson(t, tools(), func(t *testing.T, s *school) {
				began := time.Now()
				s.set.Apply([]hub.Backend{being("a", func(b *hub.Backend) { b.DeviceID = "aa:bb:cc:dd:ee:01" })})
				talk := s.talk(dialect.of)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("took %s", took)
				}
				if !strings.Contains(talk.Hello, `"protocolVersion":"`+dialect.revision+`"`) || session(t, talk.Hello) != dialect.session {
					t.Errorf("initialize: %s", talk.Hello)
				}
				if !slices.Contains(names(talk.Tools), "calc__add") {
					t.Errorf("tools: %v", talk.Tools)
				}
				for range 2 { // with ids that begin again
					raw, err := talk.Request(wait(t), "1", "tools/call", `{"name":"calc__add","arguments":{"a":1}}`)
					must(t, err)
					if got, _, _ := text(t, string(voice.Opened(raw).Payload)); got != "add" || session(t, raw) != dialect.session {
						t.Errorf("called: %s", raw)
					}
				}
				if st := s.stands("a"); st.State != hub.EndpointConnected || st.Calls != 2 || st.Callers != 1 || st.Peer != dialect.peer || st.Tools == 0 {
					t.Errorf("%+v", st)
				}
				if all := s.logged() + s.noted("a"); strings.Contains(all, "visionsecret") {
					t.Error("a token is logged: " + all)
				}
			})
		})
	}
}

func TestReq22HelloInTime(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a")})
		one := s.next()
		began := time.Now()
		hello, err := one.Hear(wait(t), "hello")
		must(t, err)
		if took := time.Since(began); took > 500*time.Millisecond || !json.Valid([]byte(hello)) {
			t.Errorf("%s after %s", hello, took)
		}
		if st := s.stands("a"); st.State != hub.EndpointConnecting {
			t.Errorf("before the backend has greeted: %+v", st)
		}
		must(t, one.Send(`{"type":"hello","transport":"udp","session_id":"x"}`)) // of another connection
		<-one.Over()
		if took := time.Since(began); took < 10*time.Second || took > 13*time.Second {
			t.Errorf("waited %s for the greeting", took)
		}
		synctest.Wait()
		if st := s.stands("a"); st.State != hub.EndpointWaiting || st.Reason.Code != message.BackendNoHello {
			t.Errorf("%+v", st)
		}
	})
}
