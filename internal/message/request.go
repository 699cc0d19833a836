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
	NotInitialized     Code = "not_initialized"
	StreamUnknown      Code = "stream_unknown"
	UpgradeRequired    Code = "upgrade_required"
	HubLost            Code = "hub_lost"
	TokenRequired      Code = "token_required"
	TokenRefused       Code = "token_refused"
	TokenThrottled     Code = "token_throttled"
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
		Text{"Requests for the host \"{host}\" are refused.", "Use 127.0.0.1 or localhost, or name it with --allow-host when Toolcrib starts."},
		Text{"拒绝对主机“{host}”的请求。", "请使用 127.0.0.1 或 localhost，或在启动 Toolcrib 时用 --allow-host 指定它。"},
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
	TokenRequired: {
		Text{"A token is needed here.", "Send one as \"Authorization: Bearer TOKEN\"; \"toolcrib token show\" says where the tokens are kept."},
		Text{"此处需要令牌。", "请以 Authorization: Bearer TOKEN 发送；toolcrib token show 会显示令牌的位置。"},
	},
	TokenRefused: {
		Text{"The credentials in the header Authorization are not known here.", "Send a token of this Toolcrib as \"Authorization: Bearer TOKEN\"; \"toolcrib token show\" says where the tokens are kept."},
		Text{"请求头 Authorization 中的凭据未知。", "请以 Authorization: Bearer TOKEN 发送本 Toolcrib 的令牌；toolcrib token show 会显示令牌的位置。"},
	},
	TokenThrottled: {
		Text{"Too many wrong tokens came from this address.", "Try again in {seconds} seconds, with a token of this Toolcrib."},
		Text{"来自此地址的错误令牌过多。", "请在 {seconds} 秒后用本 Toolcrib 的令牌重试。"},
	},
	NotInitialized: {
		Text{"The conversation on this stream is not open yet.", "Send \"initialize\" first."},
		Text{"此流上的会话尚未打开。", "请先发送 initialize。"},
	},
	StreamUnknown: {
		Text{"There is no event stream with this sessionId, or it has ended.", "Open a new one with GET /sse."},
		Text{"没有带此 sessionId 的事件流，或它已结束。", "请用 GET /sse 重新打开。"},
	},
	UpgradeRequired: {
		Text{"Only WebSocket is spoken at this address.", "Connect with a WebSocket client, or use /mcp for MCP over HTTP."},
		Text{"此地址只支持 WebSocket。", "请用 WebSocket 客户端连接，或使用 /mcp 通过 HTTP 访问 MCP。"},
	},
	HubLost: {
		Text{"Toolcrib went away while it worked on the request; whether it took effect is not known.", "Check before you repeat it."},
		Text{"Toolcrib 在处理请求时中断；无法确定请求是否已生效。", "重复之前请先核实。"},
	},
}
