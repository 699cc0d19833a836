package message

// About backends of voice assistants to which the hub is a device.
const (
	BackendAuth          Code = "backend_auth_failed"
	BackendNoHello       Code = "backend_no_hello"
	BackendUndiscovered  Code = "backend_not_discovered"
	BackendTokenUnusable Code = "backend_token_unusable"
	BackendToolLong      Code = "backend_tool_left_out"
)

var backendTexts = texts{
	BackendAuth: {
		Text{`The backend "{backend}" does not let this device in.`, `Check its "token", and whether the backend knows the device. It is tried again every 5 minutes.`},
		Text{"后端“{backend}”拒绝本设备连接。", "请检查其 token，以及该设备是否已在后端绑定。系统每 5 分钟重试一次。"},
	},
	BackendNoHello: {
		Text{`The backend "{backend}" has not greeted within {time}.`, "It is tried again by itself. Backends do not greet devices that nobody has added in their console: its log may show a code for that."},
		Text{"后端“{backend}”在 {time} 内没有返回 hello。", "系统会自动重试。未在后端控制台绑定的设备不会得到应答，其日志中可能有绑定所需的验证码。"},
	},
	BackendUndiscovered: {
		Text{`Where the backend "{backend}" is was not found out: {detail}.`, `It is tried again by itself. Check its "ota" if that goes on, or give it a "url".`},
		Text{"未能获取后端“{backend}”的地址：{detail}。", "系统会自动重试；如持续失败，请检查其 ota，或直接填写 url。"},
	},
	BackendTokenUnusable: {
		Text{`The token of the backend "{backend}" cannot be used: {detail}.`, `Put right what its "token" refers to.`},
		Text{"后端“{backend}”的 token 无法使用：{detail}。", "请更正其 token 所引用的内容。"},
	},
	BackendToolLong: {
		Text{`Some tools are not offered to the backend "{backend}", because the description of each has more than a page of {limit} bytes: {tools}.`, `Shorten their descriptions, or raise "maxList".`},
		Text{"以下工具未提供给后端“{backend}”，因为其描述超过了每页 {limit} 字节的上限：{tools}。", "请缩短其描述，或调大 maxList。"},
	},
}
