package message

import (
	"slices"
	"strings"
)

// JSON-RPC error codes, as servers use them. Devices give those of the range of
// the implementation other meanings than MCP does.
const (
	rpcParse          = -32700
	rpcInvalidRequest = -32600
	rpcMethodUnknown  = -32601
	rpcParams         = -32602
	rpcInternal       = -32603

	rpcUnavailable = -32000 // SDKs: the connection was closed
	rpcTimeout     = -32001 // SDKs and devices
	rpcTwo         = -32002 // MCP: there is no such resource; devices: not permitted
	rpcNotFound    = -32003 // devices

	rpcElicitation = -32042 // MCP 2025-11-25: a person has to go to a URL first
)

// ClassOfAnswer returns the class of a JSON-RPC error that a server has answered
// a request of the method with. What the code says goes before what the text
// says; the text decides only what the code leaves open. It is the server's own.
func ClassOfAnswer(method string, code int, text string) Class {
	switch code {
	case rpcParams:
		return ClassParams
	case rpcParse, rpcInvalidRequest:
		return ClassRequest
	case rpcMethodUnknown, rpcNotFound:
		return ClassUnavailable
	case rpcTimeout:
		return ClassNetwork
	case rpcElicitation:
		return ClassQuestion
	case rpcTwo:
		if strings.HasPrefix(method, "resources/") || ClassOfText(text) == ClassUnavailable {
			return ClassUnavailable
		}
		return ClassPermission
	case rpcInternal, rpcUnavailable:
		return ClassServer
	}
	return ClassOfText(text)
}

// ClassOfStatus returns the class of an HTTP answer with a status that is no
// success.
func ClassOfStatus(status int) Class {
	switch status {
	case 401, 403, 407, 511:
		return ClassPermission
	case 404, 410, 503:
		return ClassUnavailable
	case 408, 502, 504:
		return ClassNetwork
	case 413, 429:
		return ClassLimit
	case 400, 409, 422:
		return ClassParams
	}
	if status >= 400 && status < 500 {
		return ClassRequest
	}
	return ClassServer
}

// ClassOfText returns the class that the text of a server's own error speaks of,
// for want of anything better: of a result that says isError, say. Words count
// only if they are whole. It is [ClassServer] if the text speaks of none.
func ClassOfText(text string) Class {
	if class, ok := spokenOf(text); ok {
		return class
	}
	return ClassServer
}

// spokenOf is the class that a text speaks of; false if it speaks of none.
func spokenOf(text string) (Class, bool) {
	const most = 4 << 10 // what an error says, it says first
	if len(text) > most {
		text = text[:most]
	}
	text = " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), notInWord), " ") + " "
	for _, w := range words {
		if slices.ContainsFunc(w.english, func(s string) bool { return strings.Contains(text, " "+s+" ") }) ||
			slices.ContainsFunc(w.chinese, func(s string) bool { return strings.Contains(text, s) }) {
			return w.class, true
		}
	}
	return "", false
}

// notInWord reports whether a character is no part of a word. Those beyond ASCII
// are: they may be letters.
func notInWord(r rune) bool {
	return r < 0x80 && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
}

// words are those by which a text is taken to be of a class, in the order in
// which they count. In Chinese, which does not part its words, they are phrases
// that are hardly part of other words.
var words = []struct {
	class   Class
	english []string
	chinese []string
}{
	{
		ClassNetwork,
		[]string{
			"timeout", "timed out", "time out", "connection refused", "connection reset", "connection closed", "connection lost",
			"connection error", "connection failed", "network", "econnrefused", "econnreset", "etimedout", "enotfound", "unreachable",
		},
		[]string{
			"超时", "网络连接", "网络错误", "网络异常", "网络故障", "网络中断", "网络断开", "网络不可", "网络不通", "网络请求", "连接失败", "连接被拒绝", "连接断开", "连接中断", "无法连接",
		},
	},
	{
		ClassPermission,
		[]string{"permission", "permissions", "access denied", "unauthorized", "unauthorised", "forbidden", "not authorized", "eacces", "eperm"},
		[]string{"权限", "拒绝访问", "未授权", "无权访问", "无权操作", "无权执行", "无权使用", "禁止访问"},
	},
	{
		ClassLimit,
		[]string{"rate limit", "rate limited", "too many requests", "quota exceeded"},
		[]string{"请求过于频繁", "请求过多", "限流", "超出配额", "配额不足"},
	},
	{
		ClassUnavailable,
		[]string{"not found", "unavailable", "offline", "no such", "does not exist", "enoent"},
		[]string{"不存在", "找不到", "未找到", "不可用", "离线", "不在线"},
	},
	{
		ClassParams,
		[]string{"invalid", "parameter", "parameters", "argument", "arguments", "validation"},
		[]string{"参数", "无效", "不合法"},
	},
}
