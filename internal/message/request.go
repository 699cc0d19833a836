package message

// About a request, before anybody looks at what it asks for.
const (
	MessageMalformed   Code = "message_malformed"
	MessageInvalid     Code = "message_invalid"
	MessageTooBig      Code = "message_too_big"
	SessionUnknown     Code = "session_unknown"
	SessionMissing     Code = "session_missing"
	VersionUnsupported Code = "version_unsupported"
	HeaderMismatch     Code = "header_mismatch"
	MetaMissing        Code = "meta_missing"
	HostRefused        Code = "host_refused"
	OriginRefused      Code = "origin_refused"
	AcceptRefused      Code = "accept_refused"
	TypeRefused        Code = "content_type_refused"
	BatchRefused       Code = "batch_refused"
	HTTPMethodRefused  Code = "http_method_refused"
)

var requestTexts = texts{
	MessageMalformed: {
		Text{"The message is not valid JSON: {detail}.", ""},
		Text{"消息不是有效的 JSON：{detail}。", ""},
	},
	MessageInvalid: {
		Text{"The message is not valid JSON-RPC 2.0: {detail}.", ""},
		Text{"消息不是有效的 JSON-RPC 2.0：{detail}。", ""},
	},
	MessageTooBig: {
		Text{"The message is larger than {limit}.", ""},
		Text{"消息超过 {limit}。", ""},
	},
	SessionUnknown: {
		Text{"The session is not known here, or has ended.", "Start again with \"initialize\"."},
		Text{"会话未知或已结束。", "请重新发送 initialize。"},
	},
	SessionMissing: {
		Text{"The request names no session.", "Send \"initialize\" first, then its Mcp-Session-Id with every request."},
		Text{"请求未带会话。", "请先发送 initialize，之后每个请求都带上 Mcp-Session-Id。"},
	},
	VersionUnsupported: {
		Text{"The protocol version \"{version}\" is not supported.", "Supported: {known}."},
		Text{"不支持协议版本“{version}”。", "支持：{known}。"},
	},
	HeaderMismatch: {
		Text{"The header {header} does not match the request's body: {detail}.", ""},
		Text{"请求头 {header} 与请求体不一致：{detail}。", ""},
	},
	MetaMissing: {
		Text{"The member \"{member}\" of params._meta is missing or not valid.", ""},
		Text{"params._meta 的成员“{member}”缺失或无效。", ""},
	},
	HostRefused: {
		Text{"Requests for the host \"{host}\" are refused.", "Use 127.0.0.1 or localhost."},
		Text{"拒绝对主机“{host}”的请求。", "请使用 127.0.0.1 或 localhost。"},
	},
	OriginRefused: {
		Text{"Requests from the web origin \"{origin}\" are refused.", ""},
		Text{"拒绝来自网页源“{origin}”的请求。", ""},
	},
	AcceptRefused: {
		Text{"The client accepts neither application/json nor text/event-stream.", "Send both in the Accept header."},
		Text{"客户端既不接受 application/json 也不接受 text/event-stream。", "请在 Accept 请求头中同时列出两者。"},
	},
	TypeRefused: {
		Text{"The content type \"{type}\" is not accepted.", "Send application/json."},
		Text{"不接受内容类型“{type}”。", "请使用 application/json。"},
	},
	BatchRefused: {
		Text{"Batches belong to the protocol version 2025-03-26 only.", "Send one message a request."},
		Text{"批量消息仅属于协议版本 2025-03-26。", "每个请求只发送一条消息。"},
	},
	HTTPMethodRefused: {
		Text{"The HTTP method {method} is not served here.", ""},
		Text{"此处不支持 HTTP 方法 {method}。", ""},
	},
}
