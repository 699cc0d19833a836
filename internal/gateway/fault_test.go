package gateway_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// failure is the error of an answer.
type failure struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    map[string]any `json:"data"`
}

func failed(t *testing.T, a gateway.Answer) failure {
	t.Helper()
	var m struct{ Error failure }
	if err := json.Unmarshal([]byte(text(a)), &m); err != nil {
		t.Fatalf("%v: %s", err, text(a))
	}
	return m.Error
}

// The language is that of the caller's profile, then the one that it asks for,
// then the hub's.
func TestLanguage(t *testing.T) {
	usual := message.English
	h := start(t, &scripted{}, gateway.Options{Language: func() message.Lang { return usual }})
	defer h.stop()
	h.catalog.SetViews(nil, []hub.Profile{{Client: "speaker*", Language: message.Chinese}, {Client: "other"}})
	for _, test := range []struct {
		client, accept string
		usual, want    message.Lang
	}{
		{"", "", message.English, message.English},
		{"", "", message.Chinese, message.Chinese},
		{"", "en", message.Chinese, message.English},
		{"", "fr", message.Chinese, message.Chinese},
		{"other", "zh-CN,zh;q=0.9", message.English, message.Chinese},
		{"speaker 1", "", message.English, message.Chinese},
		{"speaker 1", "en", message.English, message.Chinese},
	} {
		usual = test.usual
		c := &gateway.Caller{Principal: hub.Local(hub.DoorMCP), Viewer: hub.Viewer{Client: test.client}, Era: protocol.Modern, Accept: test.accept}
		got := failed(t, h.Request(t.Context(), c, msg(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}`), &ear{}))
		want := message.For(test.want, message.ToolUnknown, message.Args{"tool": "none"}).String()
		if got.Message != want || got.Data["userMessage"] != message.Friendly(test.want, message.ToolUnknown, "tools/call") {
			t.Errorf("%+v: %+v", test, got)
		}
		if got.Data["code"] != "tool_unknown" || got.Data["class"] != "unavailable" || got.Data["tool"] != "none" || len(got.Data) != 4 {
			t.Errorf("%+v: its data are %v", test, got.Data)
		}
	}
}

// Devices find in the data what they look for there; the causes of errors, which
// may hold secrets, are in none of it.
func TestDeviceFault(t *testing.T) {
	secret := errors.New("Bearer s3cret")
	e := hub.E(message.ServerUnreachable, secret, "url", "http://h", "class", "x").With("detail", message.Say("no answer in time"))
	got := failed(t, gateway.Fault(protocol.Legacy, []byte("7"), e, gateway.Voice{Lang: message.Chinese, Method: "tools/call", Device: true}))
	at, _ := got.Data["timestamp"].(string)
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(at) {
		t.Errorf("the time is %q", at)
	}
	delete(got.Data, "timestamp")
	want := map[string]any{
		"code": "server_unreachable", "class": "network", "userMessage": "网络连接出现问题，请检查设备连接状态", "method": "tools/call",
		"original_error": "No connection to http://h: no answer in time. Check that the server runs and that the address is right.",
		"url":            "http://h", "detail": "没有及时应答",
	}
	if len(got.Data) != len(want) {
		t.Errorf("the data are %v", got.Data)
	}
	for name, value := range want {
		if got.Data[name] != value {
			t.Errorf("%s is %v, want %v", name, got.Data[name], value)
		}
	}
	if got.Message != "无法连接 http://h：没有及时应答。请确认服务器已运行且地址正确。" {
		t.Errorf("the message is %q", got.Message)
	}

	// Elsewhere method is a value of the text.
	plain := gateway.Fault(protocol.Legacy, nil, hub.E(message.MethodUnknown, secret, "method", "x/y"), gateway.Voice{Method: "z"})
	if got := failed(t, plain); got.Data["method"] != "x/y" || got.Data["original_error"] != nil || got.Data["timestamp"] != nil ||
		!strings.Contains(got.Message, `"x/y"`) || strings.Contains(string(plain.Raw), "s3cret") {
		t.Errorf("got %s", plain.Raw)
	}
}

// That a call may have taken effect is said by the outcome, the class, the sentence
// and the advice, whatever the code.
func TestDoubtfulFault(t *testing.T) {
	for e, want := range map[*hub.Error]string{
		hub.E(message.Timeout, nil, "server", "s", "limit", "2s", "outcome", "unknown"): "服务器“s”在 2s 内没有应答。调用可能已经生效，重复调用前请先核实。",
		hub.E(message.OutcomeUnknown, nil, "server", "s"):                               "服务器“s”在处理调用时中断或被停止；无法确定调用是否已生效。重复调用前请先核实。",
	} {
		a := gateway.Fault(protocol.Legacy, []byte("7"), e, gateway.Voice{Lang: message.Chinese, Method: "tools/call"})
		got := failed(t, a)
		if got.Message != want || got.Data["class"] != "outcome" || got.Data["userMessage"] != "无法确定操作是否已完成，请先核实再决定是否重试" ||
			got.Data["outcome"] != "unknown" || strings.Count(string(a.Raw), `"outcome":`) != 1 {
			t.Errorf("got %s", a.Raw)
		}
	}
}

// What a server answers decides the class where the hub's code only says that it
// refused.
func TestAnswerClass(t *testing.T) {
	for _, test := range []struct {
		e    *hub.Error
		want message.Class
	}{
		{hub.E(message.ServerHTTPStatus, nil, "status", "429"), message.ClassLimit},
		{hub.E(message.ServerHTTPStatus, nil, "status", "an error"), message.ClassServer},
		{hub.E(message.ServerRefused, nil, "method", "tools/call", "answer", "-32602", "detail", "permission denied"), message.ClassParams},
		{hub.E(message.ServerRefused, nil, "method", "resources/read", "answer", "-32002", "detail", "no"), message.ClassUnavailable},
		{hub.E(message.ServerRefused, nil, "method", "tools/call", "answer", "-32002", "detail", "no"), message.ClassPermission},
		{hub.E(message.ServerRefused, nil, "detail", "permission denied"), message.ClassServer},
		{hub.E(message.Timeout, nil, "status", "429"), message.ClassNetwork},
		{hub.E(message.Timeout, nil, "outcome", "unknown"), message.ClassOutcome},
		{hub.E(message.ServerHTTPStatus, nil, "status", "500", "outcome", "unknown"), message.ClassOutcome},
		{hub.E(message.Cancelled, nil, "outcome", "unknown"), message.ClassOutcome},
	} {
		if got := test.e.Class(); got != test.want {
			t.Errorf("%v is of the class %s, want %s", test.e, got, test.want)
		}
	}
}
