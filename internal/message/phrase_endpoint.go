package message

// endpointPhrases are about endpoints of voice assistants, and what is told to them.
var endpointPhrases = map[string]string{
	"\"task_id\" has to be a string, as a call was answered with it": "\"task_id\" 必须是字符串，即调用返回的任务号",
	"it is no URL":                           "不是有效的网址",
	"the answer is the HTTP status %d":       "应答的 HTTP 状态为 %d",
	"there is no address in the answer":      "应答中没有地址",
	"it does not begin with ws:// or wss://": "不是以 ws:// 或 wss:// 开头",
	"[image, %s, %d bytes: not shown here]":  "[图片，%s，%d 字节，此处无法显示]",
	"[audio, %s, %d bytes: not played here]": "[音频，%s，%d 字节，此处无法播放]",
	"[link: %s %s]":                          "[链接：%s %s]",
	"[file: %s, %d bytes: not shown here]":   "[文件：%s，%d 字节，此处无法显示]",
	"[%s: not shown here]":                   "[%s：此处无法显示]",
	"…[cut: %d bytes in all]":                "…[内容过长已截断，原文共 %d 字节]",
	"Result: %s":                             "结果：%s",
}
