package message_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Each code is of one class, and each class has a code.
func TestClasses(t *testing.T) {
	used := make(map[message.Class]bool)
	for _, code := range message.Codes() {
		classes := message.ClassesOf(code)
		if len(classes) != 1 {
			t.Errorf("%s is of the classes %q", code, classes)
			continue
		}
		if !slices.Contains(message.Classes(), classes[0]) || message.ClassOf(code) != classes[0] {
			t.Errorf("%s is of the class %q, and of %q", code, classes[0], message.ClassOf(code))
		}
		used[classes[0]] = true
	}
	for _, class := range message.Classes() {
		if !used[class] {
			t.Errorf("no code is of the class %q", class)
		}
	}
	if got := message.ClassOf("no_such_code"); got != message.ClassInternal {
		t.Errorf("what is not known is of the class %q", got)
	}
}

// What people are told is one sentence, and never a word of the protocol.
func TestSentences(t *testing.T) {
	for _, class := range message.Classes() {
		for _, method := range []string{"tools/call", "tools/list", "initialize", "resources/read", ""} {
			en, zh := class.Sentence(message.English, method), class.Sentence(message.Chinese, method)
			if en == "" || zh == "" || !strings.HasSuffix(en, ".") || strings.Contains(en+zh, "{") {
				t.Errorf("%s, %s: %q, %q", class, method, en, zh)
			}
		}
	}
	for _, test := range []struct {
		code       message.Code
		method, zh string
	}{
		{message.Timeout, "tools/call", "网络连接出现问题，请检查设备连接状态"},
		{message.ServerUnauthorized, "tools/call", "权限不足，无法执行此操作"},
		{message.ServerDown, "tools/list", "设备暂时不可用，请稍后再试"},
		{message.ParamsInvalid, "tools/call", "操作参数有误，请检查输入"},
		{message.ServerBadReply, "", "服务暂时不可用，请稍后重试"},
		{message.Internal, "tools/call", "工具调用失败，请检查设备状态"},
		{message.Internal, "tools/list", "无法获取可用工具列表"},
		{message.Internal, "initialize", "MCP协议初始化失败"},
		{message.Internal, "prompts/get", "操作执行失败，请稍后重试"},
		{message.ToolUnknown, "tools/call", "没有这项功能，请换个方式再试"},
		{message.ToolLike, "tools/call", "没有这项功能，请换个方式再试"},
	} {
		if got := message.Friendly(message.Chinese, test.code, test.method); got != test.zh {
			t.Errorf("%s, %s: %q, want %q", test.code, test.method, got, test.zh)
		}
	}
	if got := message.Friendly("", message.Timeout, ""); got != message.Friendly(message.English, message.Timeout, "") {
		t.Errorf("in no language: %q", got)
	}
}
