package message

// sentences is what a person who knows nothing of MCP is told of each class.
// Those of the first five are what devices of Lumi say.
var sentences = map[Class]struct{ en, zh string }{
	ClassNetwork:     {"There is a problem with the network connection. Please check that the device is connected.", "网络连接出现问题，请检查设备连接状态"},
	ClassPermission:  {"You do not have permission to do this.", "权限不足，无法执行此操作"},
	ClassUnavailable: {"The device is not available at the moment. Please try again later.", "设备暂时不可用，请稍后再试"},
	ClassParams:      {"Something about the input is not right. Please check it.", "操作参数有误，请检查输入"},
	ClassServer:      {"The service is not available at the moment. Please try again later.", "服务暂时不可用，请稍后重试"},
	ClassRequest:     {"The request was not understood. Please connect again and retry.", "请求无法识别，请重新连接后再试"},
	ClassQuestion:    {"This needs an answer from a person, and there was none.", "此操作需要有人确认或回答，但没有得到回应"},
	ClassCancelled:   {"This was cancelled.", "操作已取消"},
	ClassLimit:       {"This is more than can be handled at once. Please try again later.", "请求过多或内容过大，请稍后再试"},
	ClassOutcome:     {"It is not known whether this was done. Please check before you repeat it.", "无法确定操作是否已完成，请先核实再决定是否重试"},
	ClassConfig:      {"A setting has to be corrected first. Please ask your administrator.", "配置有误，请联系管理员检查设置"},
}

// fallbacks is what is told by the method where the class says nothing.
var fallbacks = map[string]struct{ en, zh string }{
	"tools/call": {"The tool could not be called. Please check the device.", "工具调用失败，请检查设备状态"},
	"tools/list": {"The list of available tools could not be had.", "无法获取可用工具列表"},
	"initialize": {"MCP could not be initialized.", "MCP协议初始化失败"},
	"":           {"This could not be done. Please try again later.", "操作执行失败，请稍后重试"},
}

// own is what is told of a code that the sentence of its class does not fit.
var own = map[Code]struct{ en, zh string }{
	ToolUnknown: {"There is no such function here. Please ask for something else.", "没有这项功能，请换个方式再试"},
	ToolLike:    {"There is no such function here. Please ask for something else.", "没有这项功能，请换个方式再试"},
}

// Sentence is one sentence about an error of the class, for a person who knows
// nothing of MCP; where the class says nothing it is about the method.
func (c Class) Sentence(lang Lang, method string) string {
	said, ok := sentences[c]
	if !ok {
		return unclassified(lang, method)
	}
	if lang == Chinese {
		return said.zh
	}
	return said.en
}

// unclassified is the sentence about an error of which no class says anything.
func unclassified(lang Lang, method string) string {
	said, ok := fallbacks[method]
	if !ok {
		said = fallbacks[""]
	}
	if lang == Chinese {
		return said.zh
	}
	return said.en
}

// Friendly is the sentence about an error with the code: the code's own if it has
// one, else [Class.Sentence] of its class.
func Friendly(lang Lang, code Code, method string) string {
	said, ok := own[code]
	switch {
	case !ok:
		return ClassOf(code).Sentence(lang, method)
	case lang == Chinese:
		return said.zh
	}
	return said.en
}

// FriendlyText is the sentence about an error of which only the server's own text is
// known: by the class that the text speaks of or, if it speaks of none, about the
// method.
func FriendlyText(lang Lang, text, method string) string {
	if class, ok := spokenOf(text); ok {
		return class.Sentence(lang, method)
	}
	return unclassified(lang, method)
}
