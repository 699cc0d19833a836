package callstate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// moment is enough for what Run does somewhat late.
const moment = 2 * late

func TestSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(t)
		d.running(t)
		c := d.Begin(beginning("s", "1"))
		began := time.Now()
		want := hub.CallState{
			Session: "s", Subject: "local", Status: hub.CallCalling, Call: "1", Tool: "x__get_weather", Arguments: `{"city":"Bremen"}`,
			Started: began, MaxRetries: 2, Message: "Getting the weather...",
		}
		if diff := cmp.Diff(want, d.shown("s")); diff != "" {
			t.Error(diff)
		}
		if s := d.shown("s"); !Executing(&s) || Completed(&s) || CanRetry(&s) {
			t.Errorf("derived from %+v", s)
		}
		time.Sleep(time.Second)
		if s := d.shown("s"); Duration(&s, time.Now()) != time.Second {
			t.Errorf("it has taken %v", Duration(&s, time.Now()))
		}
		c.At("weather")
		c.At("weather")
		time.Sleep(time.Second)
		result := []byte(`{"content":[]}`)
		c.End(hub.OutcomeOK, nil, result)
		result[0] = 'x' // is not the tracker's
		want.Status, want.Server, want.Ended, want.Resets = hub.CallSuccess, "weather", time.Now(), time.Now().Add(3*time.Second)
		want.Outcome = hub.OutcomeOK
		want.Message, want.Result = "Got the weather", []byte(`{"content":[]}`)
		if diff := cmp.Diff(want, d.shown("s")); diff != "" {
			t.Error(diff)
		}
		if s := d.shown("s"); Executing(&s) || !Completed(&s) || CanRetry(&s) || Duration(&s, time.Now().Add(time.Hour)) != 2*time.Second {
			t.Errorf("derived from %+v", s)
		}
		time.Sleep(3*time.Second - time.Millisecond)
		if s := d.shown("s"); s.Status != hub.CallSuccess {
			t.Errorf("just before 3 s it is %s", s.Status)
		}
		time.Sleep(moment)
		if s := d.shown("s"); s.Status != hub.CallIdle {
			t.Errorf("after 3 s it is %s", s.Status)
		}
		if got := statuses(d.published()); !slices.Equal(got, []hub.CallStatus{"calling", "calling", "success", "idle"}) {
			t.Errorf("published %v", got)
		}
		if len(d.sessions) != 0 || d.kept != 0 || d.recent.Len()+d.good.Len()+d.bad.Len() != 0 {
			t.Errorf("left: %+v", d.Tracker)
		}
	})
}

func TestFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(t)
		d.running(t)
		c := d.Begin(beginning("s", "1"))
		lost := hub.E(message.ServerExited, errors.New("for the log"), "server", "weather")
		c.Retrying(1, lost)
		if s := d.shown("s"); s.Status != hub.CallRetrying || s.Retries != 1 || s.Code != "server_exited" || s.Message != "Retrying x__get_weather (1/2)..." || !Executing(&s) {
			t.Errorf("retrying: %+v", s)
		}
		c.Retrying(2, lost)
		c.End(hub.OutcomeFailed, lost, nil)
		c.End(hub.OutcomeOK, nil, nil) // only the first end counts
		c.Retrying(3, nil)
		c.At("other")
		s := d.shown("s")
		if s.Status != hub.CallFailed || s.Retries != 2 || s.Error != lost.Text(message.English).String() || CanRetry(&s) ||
			s.Message != message.Friendly(message.English, message.ServerExited, "tools/call") {
			t.Errorf("failed: %+v", s)
		}
		time.Sleep(5*time.Second - time.Millisecond)
		if s := d.shown("s"); s.Status != hub.CallFailed {
			t.Errorf("just before 5 s it is %s", s.Status)
		}
		time.Sleep(moment)
		if got := statuses(d.published()); !slices.Equal(got, []hub.CallStatus{"calling", "retrying", "retrying", "failed", "idle"}) {
			t.Errorf("published %v", got)
		}
	})
}

// What the tool itself says went wrong is the error of the state.
func TestToolError(t *testing.T) {
	d := newDisplay(t)
	for result, want := range map[string][2]string{ // the error, and the message
		`{"isError":true,"content":[{"type":"image","data":""},{"type":"text","text":"permission denied\n"}]}`: {`permission denied\n`, "权限不足，无法执行此操作"},
		`{"isError":true,"code":"E7","content":[{"type":"text","text":"paper jam"}]}`:                          {"paper jam", "工具调用失败，请检查设备状态"},
		`{"isError":true,"content":[]}`:                 {"", "工具调用失败，请检查设备状态"},
		`{"code":-32602,"message":"permission denied"}`: {"permission denied", "操作参数有误，请检查输入"},
		`{"code":-32603,"message":"permission denied"}`: {"permission denied", "服务暂时不可用，请稍后重试"},
		`[]`: {"", "工具调用失败，请检查设备状态"},
	} {
		b := beginning("s", "1")
		b.Lang = message.Chinese
		d.Begin(b).End(hub.OutcomeToolError, nil, []byte(result))
		s := d.shown("s")
		if s.Status != hub.CallFailed || s.Outcome != hub.OutcomeToolError || s.Error != want[0] || s.Code != "" || s.Message != want[1] || string(s.Result) != result || !CanRetry(&s) {
			t.Errorf("%s: %+v", result, s)
		}
	}
}

// Of a call that may have taken effect nobody is told to try again.
func TestUnknownOutcome(t *testing.T) {
	d := newDisplay(t)
	c := d.Begin(beginning("s", "1"))
	if s := d.shown("s"); s.Outcome != "" {
		t.Errorf("under way: %+v", s)
	}
	c.End(hub.OutcomeUnknown, hub.E(message.ServerHTTPStatus, nil, "url", "http://h", "status", "500", "outcome", "unknown"), nil)
	s := d.shown("s")
	if s.Outcome != hub.OutcomeUnknown || s.Code != "server_http_status" || s.Message != message.ClassOutcome.Sentence(message.English, "") ||
		s.Error != "http://h answered HTTP 500. It may have taken effect: check before you repeat it." {
		t.Errorf("got %+v", s)
	}
	if _, err := d.Retry("s"); err != nil || d.shown("s").Outcome != "" {
		t.Errorf("%v, and it shows %+v", err, d.shown("s"))
	}
}

func TestTexts(t *testing.T) {
	d := newDisplay(t)
	configured := hub.CallMessages{Calling: "c", Success: "s", Failed: "f"}
	for name, tt := range map[string]struct {
		change func(*Beginning)
		want   [3]string // while it is called, after success, after failure
	}{
		"known tool": {func(b *Beginning) { b.Lang = message.Chinese }, [3]string{"正在获取天气信息...", "天气信息获取成功", "网络连接出现问题，请检查设备连接状态"}},
		"other tool": {func(b *Beginning) { b.Lang, b.Tool = message.Chinese, "x__y" }, [3]string{"正在执行 x__y...", "x__y 执行成功", "网络连接出现问题，请检查设备连接状态"}},
		"English":    {func(b *Beginning) { b.Tool = "y" }, [3]string{"Running y...", "y succeeded", message.Friendly(message.English, message.Timeout, "")}},
		"configured": {func(b *Beginning) { b.Messages = configured }, [3]string{"c", "s", "f"}},
		"the caller's": {
			func(b *Beginning) { b.Messages, b.UserMessage = configured, "u" },
			[3]string{"u", "u", "u"},
		},
	} {
		b := beginning("s", "1")
		tt.change(&b)
		var got [3]string
		c := d.Begin(b)
		got[0] = d.shown("s").Message
		c.End(hub.OutcomeOK, nil, nil)
		got[1] = d.shown("s").Message
		d.Begin(b).End(hub.OutcomeFailed, hub.E(message.Timeout, nil), nil)
		got[2] = d.shown("s").Message
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// Of several calls of one session the one begun last is shown.
func TestSeveralCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(t)
		d.running(t)
		first := d.Begin(beginning("s", "1"))
		second := d.Begin(beginning("s", "2"))
		third := d.Begin(beginning("s", "3"))
		other := d.Begin(beginning("t", "4"))
		want := func(call string, status hub.CallStatus, others int) {
			t.Helper()
			if s := d.shown("s"); s.Call != call || s.Status != status || s.Others != others {
				t.Errorf("it shows %s, %s and %d others; want %s, %s and %d", s.Call, s.Status, s.Others, call, status, others)
			}
		}
		want("3", hub.CallCalling, 2)
		first.Retrying(1, nil) // shows nothing
		second.End(hub.OutcomeFailed, hub.E(message.Timeout, nil), nil)
		want("3", hub.CallCalling, 1)
		third.End(hub.OutcomeOK, nil, nil)
		want("3", hub.CallSuccess, 1)
		time.Sleep(ShowSuccess + moment)
		want("1", hub.CallRetrying, 0)
		first.End(hub.OutcomeOK, nil, nil)
		want("1", hub.CallSuccess, 0)
		fourth := d.Begin(beginning("s", "5"))
		want("5", hub.CallCalling, 0)
		time.Sleep(time.Hour)
		want("5", hub.CallCalling, 0)
		fourth.End(hub.OutcomeOK, nil, nil)
		other.End(hub.OutcomeOK, nil, nil)
		if got := d.States(nil); len(got) != 2 || got[0].Session != "s" || got[1].Session != "t" {
			t.Errorf("%+v", got)
		}
		if got := d.States(func(s *hub.CallState) bool { return s.Subject == "somebody" }); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Hour)
		want("", hub.CallIdle, 0)
	})
}

func TestClear(t *testing.T) {
	d := newDisplay(t)
	must := func(err error, code message.Code) {
		t.Helper()
		if (err == nil) != (code == "") || err != nil && !hub.IsCode(err, code) {
			t.Errorf("got %v, want %q", err, code)
		}
	}
	must(d.Clear("s"), "")
	c := d.Begin(beginning("s", "1"))
	must(d.Clear("s"), message.StateUnderWay)
	below := d.Begin(beginning("s", "2"))
	below.End(hub.OutcomeFailed, hub.E(message.Timeout, nil), []byte("{}"))
	must(d.Clear("s"), "")
	if s := d.shown("s"); s.Call != "1" || s.Status != hub.CallCalling {
		t.Errorf("it shows %+v", s)
	}
	c.End(hub.OutcomeOK, nil, []byte("{}"))
	must(d.Clear("s"), "")
	must(d.Clear("s"), "")
	if s := d.shown("s"); s.Status != hub.CallIdle || d.kept != 0 {
		t.Errorf("it shows %+v, and %d bytes are kept", s, d.kept)
	}
}

func TestRetry(t *testing.T) {
	d := newDisplay(t)
	if _, err := d.Retry("s"); !hub.IsCode(err, message.StateNotFailed) {
		t.Errorf("of an idle session: %v", err)
	}
	b := beginning("s", "1")
	raw := string(b.Request.Raw)
	c := d.Begin(b)
	if _, err := d.Retry("s"); !hub.IsCode(err, message.StateNotFailed) {
		t.Errorf("of a call under way: %v", err)
	}
	c.Retrying(1, hub.E(message.Timeout, nil))
	c.End(hub.OutcomeFailed, hub.E(message.Timeout, nil), nil)
	b.Request.Raw[0] = 'x' // is the caller's again
	d.published()
	r, err := d.Retry("s")
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Raw) != raw || r.Principal.Subject != "local" || r.Level != "info" || r.MaxRetries != 0 {
		t.Errorf("got %+v", r)
	}
	s := d.shown("s")
	if s.Status != hub.CallCalling || s.Retries != 2 || s.MaxRetries != 2 || s.Error != "" || s.Message != "Getting the weather..." {
		t.Errorf("it shows %+v", s)
	}
	if _, err := d.Retry("s"); !hub.IsCode(err, message.StateNotFailed) {
		t.Errorf("a second time at once: %v", err)
	}
	again := beginning("s", "2")
	again.Again, again.Server = r.Call, "other"
	if got := d.Begin(again); got != r.Call {
		t.Error("the retry is another call")
	}
	r.Call.End(hub.OutcomeFailed, hub.E(message.Timeout, nil), nil)
	if s := d.shown("s"); s.Call != "2" || s.Server != "other" || s.Retries != 2 || CanRetry(&s) {
		t.Errorf("it shows %+v", s)
	}
	if _, err := d.Retry("s"); !hub.IsCode(err, message.StateExhausted) {
		t.Errorf("more often than allowed: %v", err)
	}
	told := d.published()
	if got := statuses(told); !slices.Equal(got, []hub.CallStatus{"calling", "calling", "failed"}) || told[1].Call != "2" || told[1].Server != "other" {
		t.Errorf("published %+v", told)
	}
}

// What is kept is bounded, for each call and for all.
func TestKept(t *testing.T) {
	d := newDisplay(t)
	b := beginning("s", "1")
	b.Request.Raw = make([]byte, MaxRequest+1)
	d.Begin(b).End(hub.OutcomeFailed, nil, make([]byte, MaxResult+1))
	if s := d.shown("s"); s.Result != nil || d.kept != 0 {
		t.Errorf("%d bytes are kept", d.kept)
	}
	if _, err := d.Retry("s"); !hub.IsCode(err, message.StateNotKept) {
		t.Errorf("got %v", err)
	}
	large := []byte(`"` + strings.Repeat("x", MaxResult-2) + `"`)
	for i := range maxKept/MaxResult + 10 {
		d.Begin(beginning(fmt.Sprint(i), "1")).End(hub.OutcomeOK, nil, large)
	}
	if d.kept > maxKept || d.kept < maxKept-2*MaxResult {
		t.Errorf("%d bytes are kept", d.kept)
	}
	for _, s := range d.States(nil) {
		if err := d.Clear(s.Session); err != nil {
			t.Fatal(err)
		}
	}
	if d.kept != 0 {
		t.Errorf("%d bytes are kept of nothing", d.kept)
	}
}

// The session that called longest ago goes first. Its call ends as it would.
func TestManySessions(t *testing.T) {
	d := newDisplay(t)
	calls := make([]*Call, MaxSessions)
	for i := range calls {
		calls[i] = d.Begin(beginning(fmt.Sprint(i), "1"))
	}
	d.published()
	d.Begin(beginning("0", "2"))
	d.Begin(beginning("new", "1"))
	if got := d.published(); len(got) != 3 || got[1].Session != "1" || got[1].Status != hub.CallIdle {
		t.Errorf("published %+v", got)
	}
	calls[1].At("x")
	calls[1].Retrying(1, nil)
	calls[1].End(hub.OutcomeFailed, nil, nil)
	if got := d.published(); len(got) != 0 || len(d.sessions) != MaxSessions || d.kept != 0 {
		t.Errorf("published %+v of a session that is forgotten", got)
	}
}

func TestNobody(t *testing.T) {
	var d *Tracker
	c := d.Begin(beginning("s", "1"))
	c.At("x")
	c.Retrying(1, nil)
	c.End(hub.OutcomeOK, nil, nil)
	if _, ok := d.State("s"); ok || d.States(nil) != nil || d.Clear("s") != nil {
		t.Error("a tracker that is none shows something")
	}
	if _, err := d.Retry("s"); !hub.IsCode(err, message.StateNotFailed) {
		t.Errorf("got %v", err)
	}
}

// While nobody wants each change, of those of a session within a moment only the
// last one is published; from then on that somebody does, each is.
func TestConflation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(t)
		d.running(t)
		d.sub.Conflate(true)
		want := func(when string, want ...hub.CallStatus) {
			t.Helper()
			if got := statuses(d.published()); !slices.Equal(got, want) {
				t.Errorf("%s %v is published, not %v", when, got, want)
			}
		}
		for range 3 {
			d.Begin(beginning("s", "1")).End(hub.OutcomeOK, nil, nil)
		}
		d.Begin(beginning("s", "2"))
		last := d.Begin(beginning("x", "3"))
		time.Sleep(tellAfter - time.Millisecond)
		synctest.Wait()
		want("before the moment is over")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		want("after it", "calling", "calling")
		time.Sleep(time.Hour)
		last.End(hub.OutcomeOK, nil, nil)
		time.Sleep(tellAfter)
		synctest.Wait()
		want("at a later end", "success")

		d.Begin(beginning("s", "4"))
		d.sub.Conflate(false)
		d.Begin(beginning("s", "5")).End(hub.OutcomeOK, nil, nil)
		want("if each is wanted", "calling", "success")
		time.Sleep(tellAfter)
		synctest.Wait()
		want("once more")

		d.sub.Conflate(true)
		d.Begin(beginning("y", "6"))
		if err := d.Clear("x"); err != nil {
			t.Error(err)
		}
		want("of what is forgotten", "idle")
		d.stop()
		want("at the end", "calling")
	})
}

func TestSessionNames(t *testing.T) {
	p := hub.Principal{Subject: "local", Door: hub.DoorREST}
	all := []string{Session(p, ""), Session(p, hub.SessionRef("x")), Session(p, Named(p, "x")), Session(p, Named(hub.Principal{Subject: "caller"}, "x")), Named(p, "y")}
	slices.Sort(all)
	if len(slices.Compact(all)) != 5 || Named(p, "") != "" || !slices.Contains(all, "rest:local") {
		t.Errorf("%q", all)
	}
	// Two tenants may have callers of one name, and one name may look like another
	// tenant's.
	seen := make(map[string]bool)
	for _, p := range []hub.Principal{
		{Subject: "b", Door: hub.DoorREST},
		{Subject: "b", Door: hub.DoorREST, Tenant: "a"},
		{Subject: "a:b", Door: hub.DoorREST},
		{Subject: "@a:b", Door: hub.DoorREST},
		{Subject: "b:b", Door: hub.DoorREST, Tenant: "a"},
	} {
		for _, name := range []string{Session(p, ""), Named(p, "x"), Named(p, "y")} {
			if seen[name] {
				t.Errorf("%+v has %q, which is taken", p, name)
			}
			seen[name] = true
		}
	}
}

// BenchmarkCall is one call that goes well: a beginning, an end, two publications.
func BenchmarkCall(b *testing.B) {
	d := New(Options{})
	begin := beginning("s", "1")
	result := []byte(`{"content":[{"type":"text","text":"5"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		d.Begin(begin).End(hub.OutcomeOK, nil, result)
	}
}
