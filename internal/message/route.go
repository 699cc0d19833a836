package message

// About where calls go.
const (
	AllFailed   Code = "all_failed"
	CallRetried Code = "call_retried"
)

var routeTexts = texts{
	AllFailed: {
		Text{`No server could carry out "{tool}" ({attempts}). The last one said: {reason}`, ""},
		Text{"没有服务器能够执行“{tool}”（{attempts}）。最后一个的原因：{reason}", ""},
	},
	CallRetried: {
		Text{"It did not work; retry {n} of {max} follows in {delay}.", ""},
		Text{"未成功，将在 {delay} 后进行第 {n} 次重试（共 {max} 次）。", ""},
	},
}
