package xiaozhi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
	"github.com/toolcrib/toolcrib/test/voice"
)

func TestReq25Noise(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a")})
		talk := s.talk(voice.BackendXS)
		lines := len(strings.Split(s.noted("a"), "\n"))
		// What is for a device, such as sound and what it is to show, is no junk.
		const junk = 10 // of the noise
		for range 50 {
			for _, frame := range voice.BackendNoise() {
				must(t, talk.Send(frame))
			}
			must(t, talk.SendBinary(make([]byte, 2000)))
			must(t, talk.SendBinary(nil))
		}
		if raw, err := talk.Request(wait(t), "77", "ping", ""); err != nil || session(t, raw) != "7b1e0c52-9c1d-4b0e-8f0a-3a1c5f6d7e8f" {
			t.Errorf("%s, %v", raw, err)
		}
		kinds := strings.Count(s.noted("a"), "skipped")
		if st := s.stands("a"); st.State != hub.EndpointConnected || st.Junk != 50*junk {
			t.Errorf("%d of junk, not %d: %+v", st.Junk, 50*junk, st)
		}
		if n := s.set.set.find("a").tally.ignored.Load(); n != 50*11 {
			t.Errorf("%d ignored", n)
		}
		for _, line := range must2(s.set.Log("a", 0)) {
			if strings.Contains(line.Text, "binary") && line.Level != hub.LevelInfo {
				t.Errorf("a warning about sound: %+v", line)
			}
		}
		if more := len(strings.Split(s.noted("a"), "\n")) - lines; more != kinds || kinds > 14 {
			t.Errorf("%d lines, of them %d about what was skipped: %s", more, kinds, s.noted("a"))
		}
		if heard := talk.Heard(); len(heard) != 0 {
			t.Errorf("answered %v", heard)
		}
		time.Sleep(time.Minute)
		must(t, talk.SendBinary(nil))
		must1(talk.Request(wait(t), "78", "ping", ""))
		if again := strings.Count(s.noted("a"), "skipped"); again != kinds+1 {
			t.Errorf("%d lines a minute later, %d before", again, kinds)
		}
		for i := range 1000 { // kinds without end
			must(t, talk.Send(fmt.Sprintf(`{"type":"t%d"}`, i)))
		}
		must1(talk.Request(wait(t), "79", "ping", ""))
		if all := strings.Count(s.noted("a"), "skipped"); all > kinds+1+maxKinds+1 {
			t.Errorf("%d lines", all)
		}
	})
}

func TestReq26KeepAlive(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a", func(b *hub.Backend) { b.KeepAlive = 50 * time.Second })})
		talk := s.talk(voice.BackendXS)
		began := time.Now()
		for i := range 4 {
			must1(talk.Hear(wait(t), `{"type":"ping"}`))
			if took := time.Since(began); took > time.Duration(i+1)*50*time.Second {
				t.Errorf("ping %d after %s", i, took)
			}
			must(t, talk.Send(`{"type":"pong"}`))
		}
	})
}

func TestReq26Reconnect(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a", func(b *hub.Backend) { b.MaxDelay = 7 * time.Second })})
		one := s.next()
		for range 5 { // nobody speaks
			s.talkOn(one, voice.BackendXS)
			time.Sleep(3 * time.Minute)
			one.Close(1000, "")
			began := time.Now()
			one = s.next()
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("connected again after %s", took)
			}
		}
		one.Drop()
		synctest.Wait()
		for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second, 7 * time.Second, 7 * time.Second} {
			retry := time.Until(s.stands("a").Retry)
			if retry < want*8/10 || retry > want*12/10 {
				t.Errorf("the pause is %s, not about %s", retry, want)
			}
			s.next().Drop()
			synctest.Wait()
		}
		// One that says why it lets nobody in, and closes in good order, is not asked again
		// and again.
		one = s.next()
		must(t, one.Send("认证失败"))
		one.Close(1000, "")
		synctest.Wait()
		if retry := time.Until(s.stands("a").Retry); retry < 5*time.Second || !strings.Contains(s.noted("a"), "认证失败") {
			t.Errorf("the pause is %s; %s", retry, s.noted("a"))
		}
	})
}

// What comes of a call goes to nobody but who made it.
// A new session begins anew: what was asked in the one before is not answered there, nor
// is what is asked there with what came of it, though it is the same.
func TestReq26ResultsOfTheSocketBefore(t *testing.T) {
	for _, ended := range []bool{false, true} {
		lesson(t, tools(), func(t *testing.T, s *school) {
			release := make(chan struct{})
			var n atomic.Int64
			s.answer = func(string, string) string {
				nth := n.Add(1)
				if nth == 1 {
					<-release
				}
				return fmt.Sprintf(`"result":{"content":[{"type":"text","text":"%d"}]}`, nth)
			}
			s.set.Apply([]hub.Backend{being("a")})
			first := s.talk(voice.BackendXS)
			must(t, first.Put(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"calc__add","arguments":{"toggle":"light"}}}`))
			synctest.Wait()
			first.Close(1000, "")
			second := s.talk(voice.BackendXS)
			if ended {
				close(release)
				time.Sleep(time.Second)
				if heard := second.Heard(); len(heard) != 0 {
					t.Errorf("the new session got %v", heard)
				}
			}
			if got, err := second.Call(wait(t), "3", "calc__add", `{"toggle":"light"}`); err != nil || got != "2" {
				t.Error(got, err)
			}
			if !ended {
				close(release)
			}
		})
	}
}

func TestReq27Errors(t *testing.T) {
	const nasty = "zeile\"1\"\n第二行\t\\ \u2028 </x>"
	lesson(t, map[string]string{"calc": calculator + "," + tool("fail", "x") + "," + tool("refuse", "x")}, func(t *testing.T, s *school) {
		s.answer = func(name, args string) string {
			quoted := string(must1(json.Marshal(nasty)))
			if name == "refuse" {
				return `"error":{"code":-32000,"message":` + quoted + `}`
			}
			return `"result":{"isError":true,"content":[{"type":"text","text":` + quoted + `}]}`
		}
		s.set.Apply([]hub.Backend{being("a"), being("zh", func(b *hub.Backend) { b.Language, b.DeviceID = message.Chinese, "zh" })})
		for range 2 {
			talk := s.talk(voice.BackendXS)
			for i, ask := range []string{
				`"method":"no\"such\n方法"`, `"method":"tools/call","params":{"name":"没有\"\n"}`, `"method":"tools/call","params":{"name":7}`,
				`"method":"tools/call","params":{}`, `"method":"tools/call"`, `"method":"tools/call","params":[1]`, `"method":"tools/list","params":{"cursor":7}`,
				`"method":"tools/list","params":{"cursor":"\"\n页"}`, `"method":7`,
			} {
				id := fmt.Sprint(100 + i)
				must(t, talk.Put(`{"jsonrpc":"2.0","id":`+id+`,`+ask+`}`))
				raw, err := talk.Hear(wait(t), `"id":`+id+`,`)
				must(t, err)
				var m struct {
					ID    int
					Error *struct {
						Code    int
						Message string
					}
				}
				if err := json.Unmarshal(voice.Opened(raw).Payload, &m); err != nil || m.ID != 100+i || m.Error == nil || m.Error.Code == 0 || m.Error.Message == "" {
					t.Errorf("%s: %s", ask, raw)
				}
			}
			for _, name := range []string{"calc__fail", "calc__refuse"} {
				if _, err := talk.Call(wait(t), "1", name, "{}"); err == nil || !strings.Contains(err.Error(), nasty) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if talk.Header.Get("Device-Id") == "zh" {
				raw, err := talk.Request(wait(t), "9", "nothing", "")
				if err != nil || !regexp.MustCompile(`\p{Han}`).MatchString(raw) {
					t.Error(raw, err)
				}
			}
		}
	})
}

// Who a backend does not let in is not asked again and again.
func TestBackendRefuses(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		status, fault := http.StatusUnauthorized, error(nil)
		s.set.set.opt.Resolve = func(text string) (string, []string, error) { return text, nil, fault }
		s.backend.Endpoint.Status = func(*http.Request) int { return status }
		s.set.Apply([]hub.Backend{being("a")})
		synctest.Wait()
		if st := s.stands("a"); st.State != hub.EndpointAuthFailed || st.Reason.Code != message.BackendAuth || time.Until(st.Retry) < 3*time.Minute {
			t.Errorf("%+v", st)
		}
		status = http.StatusBadRequest // as one of the backends has it
		s.set.Reconnect("a")
		time.Sleep(time.Millisecond)
		if st := s.stands("a"); st.State != hub.EndpointWaiting || st.Reason.Code != message.EndpointHTTPStatus {
			t.Errorf("%+v", st)
		}
		fault = errors.New("no such variable") // of its token
		s.set.Reconnect("a")
		time.Sleep(time.Millisecond)
		if st := s.stands("a"); st.State != hub.EndpointWaiting || st.Reason.Code != message.BackendTokenUnusable {
			t.Errorf("%+v", st)
		}
		status, fault = 0, nil
		s.set.Reconnect("a")
		s.talk(voice.BackendGOH)
		s.set.Apply(nil)
		if all := s.set.Statuses(); len(all) != 0 {
			t.Errorf("%+v", all)
		}
	})
}

// Backends ask for the list once in a connection: when the tools have changed they get
// another one.
func TestBackendHearsOfOtherTools(t *testing.T) {
	lesson(t, tools(), func(t *testing.T, s *school) {
		s.set.Apply([]hub.Backend{being("a")})
		s.talk(voice.BackendXS)
		s.setTools("calc", calculator+","+tool("sub", "x"))
		if got := names(s.talk(voice.BackendXS).Tools); !slices.Contains(got, "calc__sub") {
			t.Errorf("%v", got)
		}
	})
}

// Whatever a backend sends, each answer is in an envelope, and to a request's id.
func FuzzBackendFrames(f *testing.F) {
	for _, seed := range append(voice.BackendNoise(),
		`{"type":"mcp","session_id":"s","payload":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"vision":{"url":"http://h","token":"t"}}}}}`,
		`{"type":"mcp","session_id":"s\"\n","payload":{"id":"a","method":"tools/list","params":{"cursor":"","withUserTools":false}}}`,
		`{"type":"mcp","session_id":7,"payload":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"calc__add","arguments":{"a":1}}}}`,
		`{"type":"hello","transport":"websocket","session_id":"x"}`, `{"payload":{"jsonrpc":"2.0","id":1,"method":7},"type":"mcp","type":"hello"}`,
	) {
		f.Add([]byte(seed))
	}
	h := open(f, tools())
	for len(h.catalog.Snapshot().Entries()) == 0 {
		time.Sleep(time.Millisecond)
	}
	b := being("a")
	set := NewBackends(h.set.opt, filepath.Join(f.TempDir(), "b.json"))
	def := definition{Endpoint: words.AsEndpoint(&b), device: &b}
	e := newEndpoint(set.set, def, "")
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := newConversation(e, nil, &def, nil)
		defer c.end(nil)
		c.take(slices.Clone(raw), def.MaxMessage)
		c.all.Wait()
		for {
			answer, ok := c.out.take()
			if !ok {
				return
			}
			frame, ok := words.ParseEnvelope(answer, 0)
			if !ok || frame.Type != "mcp" || frame.Session == nil || frame.Payload == nil || !json.Valid(answer) {
				t.Fatalf("%s to %s", answer, raw)
			}
			m, err := wire.Scan(frame.Payload, wire.Limits{})
			if err != nil || m.Kind != wire.Response && m.Kind != wire.Failure || len(answer) > 1<<20 {
				t.Fatalf("%s to %s: %v", answer, raw, err)
			}
			if id := string(m.ID.Of(m.Raw)); !strings.Contains(string(raw), id) {
				t.Fatalf("answered %s: %s", id, raw)
			}
			if len(frame.Session) > 2 && !strings.Contains(string(raw), string(frame.Session)) {
				t.Fatalf("in the session %s: %s", frame.Session, raw)
			}
		}
	})
}
