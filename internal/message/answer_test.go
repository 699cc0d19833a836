package message_test

import (
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// A code goes before what the text mentions; the text decides only what the code
// leaves open.
func TestClassOfAnswer(t *testing.T) {
	for _, test := range []struct {
		method string
		code   int
		text   string
		want   message.Class
	}{
		{"tools/call", -32602, "Connection timeout: permission denied, not found", message.ClassParams},
		{"tools/call", -32603, "invalid parameter: permission denied", message.ClassServer},
		{"tools/call", -32601, "network timeout", message.ClassUnavailable},
		{"tools/call", -32600, "device offline", message.ClassRequest},
		{"tools/call", -32700, "server unavailable", message.ClassRequest},
		{"tools/call", -32001, "权限不足", message.ClassNetwork},
		{"tools/call", -32000, "invalid argument", message.ClassServer},
		{"tools/call", -32003, "unauthorized", message.ClassUnavailable},
		{"tools/call", -32042, "timeout", message.ClassQuestion},

		// The same number stands for two things.
		{"resources/read", -32002, "permission denied", message.ClassUnavailable},
		{"resources/subscribe", -32002, "", message.ClassUnavailable},
		{"tools/call", -32002, "no", message.ClassPermission},
		{"tools/call", -32002, "the file was not found", message.ClassUnavailable},
		{"tools/call", -32002, "文件不存在", message.ClassUnavailable},
		{"tools/call", -32002, "network", message.ClassPermission},

		// Numbers of a server's own say nothing.
		{"tools/call", 42, "access denied", message.ClassPermission},
		{"tools/call", 42, "设备离线", message.ClassUnavailable},
		{"tools/call", 42, "oops", message.ClassServer},
	} {
		if got := message.ClassOfAnswer(test.method, test.code, test.text); got != test.want {
			t.Errorf("%s, %d, %q: %s, want %s", test.method, test.code, test.text, got, test.want)
		}
	}
}

func TestClassOfText(t *testing.T) {
	for text, want := range map[string]message.Class{
		"Connection timed out after 30s":       message.ClassNetwork,
		"dial tcp: connection refused":         message.ClassNetwork,
		"ECONNRESET":                           message.ClassNetwork,
		"Error: EACCES: permission denied":     message.ClassPermission,
		"HTTP 429 Too Many Requests":           message.ClassLimit,
		"File not found":                       message.ClassUnavailable,
		"printer is offline":                   message.ClassUnavailable,
		"Invalid value":                        message.ClassParams,
		"请求超时":                                 message.ClassNetwork,
		"当前用户没有权限":                             message.ClassPermission,
		"设备不在线":                                message.ClassUnavailable,
		"参数 level 超出范围":                        message.ClassParams,
		"":                                     message.ClassServer,
		"something else":                       message.ClassServer,
		"the server said so":                   message.ClassServer,
		"my-timeout-setting":                   message.ClassNetwork, // hyphens end words
		"the timeouts_table is full":           message.ClassServer,  // words count whole only
		"invalidate the cache":                 message.ClassServer,
		"networking basics":                    message.ClassServer,
		"snapshotnot founder":                  message.ClassServer,
		"permissionless":                       message.ClassServer,
		"网络连接异常":                               message.ClassNetwork,
		"网络不可达":                                message.ClassNetwork,
		"您无权访问该设备":                             message.ClassPermission,
		"神经网络训练失败":                             message.ClassServer, // nor is it a network that machines are in
		"无法确定有无权威来源":                           message.ClassServer,
		"x\x00not\nfound":                      message.ClassUnavailable,
		strings.Repeat("x ", 4096) + "timeout": message.ClassServer, // what is wrong is said first
	} {
		if got := message.ClassOfText(text); got != want {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

func TestClassOfStatus(t *testing.T) {
	for status, want := range map[int]message.Class{
		401: message.ClassPermission, 403: message.ClassPermission, 404: message.ClassUnavailable, 408: message.ClassNetwork,
		429: message.ClassLimit, 413: message.ClassLimit, 422: message.ClassParams, 405: message.ClassRequest, 500: message.ClassServer,
		502: message.ClassNetwork, 503: message.ClassUnavailable, 504: message.ClassNetwork, 302: message.ClassServer,
	} {
		if got := message.ClassOfStatus(status); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
}

func FuzzClassOfText(f *testing.F) {
	f.Add("Connection timed out")
	f.Add("权限不足\xff")
	f.Fuzz(func(t *testing.T, text string) {
		class := message.ClassOfText(text)
		if class.Sentence(message.Chinese, "") == "" {
			t.Errorf("%q is of the class %q", text, class)
		}
	})
}
