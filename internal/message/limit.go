package message

// About arguments that are none, and about calls that have to wait.
const (
	ArgumentsInvalid Code = "arguments_invalid"
	Limited          Code = "limited"
	QueueFull        Code = "queue_full"
	QueueExpired     Code = "queue_expired"
	CallWaits        Code = "call_waits"
)

var limitTexts = texts{
	ArgumentsInvalid: {
		Text{`The arguments are not what the tool "{tool}" takes: {detail}.`, "Correct them and call it again."},
		Text{"参数不符合工具“{tool}”的要求：{detail}。", "请更正后重新调用。"},
	},
	Limited: {
		Text{"Calls {what} come too fast; {rate} are allowed.", "Try again in {retry_after} s."},
		Text{"{what}的调用过于频繁，上限为{rate}。", "请在 {retry_after} 秒后重试。"},
	},
	QueueFull: {
		Text{"Too many calls {what} wait for their turn already ({waiting}).", "Try again in {retry_after} s."},
		Text{"{what}的调用排队已满（{waiting} 个）。", "请在 {retry_after} 秒后重试。"},
	},
	QueueExpired: {
		Text{"The call waited for its turn among those {what} for {waited}, and did not get it.", "Try again later; nothing was sent."},
		Text{"{what}的调用排队等候 {waited} 后仍未轮到。", "请稍后重试，调用并未发出。"},
	},
	CallWaits: {
		Text{"The call waits for its turn; {ahead} go before it.", ""},
		Text{"调用正在排队，前面还有 {ahead} 个。", ""},
	},
}
