package message

// The codes. Each is documented by its text in the catalogue below.
const (
	Internal Code = "internal"

	// A call.
	ToolUnknown     Code = "tool_unknown"
	MethodUnknown   Code = "method_unknown"
	ParamsInvalid   Code = "params_invalid"
	CursorUnknown   Code = "cursor_unknown"
	Timeout         Code = "timeout"
	Cancelled       Code = "cancelled"
	OutcomeUnknown  Code = "outcome_unknown"
	NotAskable      Code = "caller_cannot_be_asked"
	ShuttingDown    Code = "shutting_down"
	TooManySessions Code = "too_many_sessions"

	// A server.
	ServerDisabled     Code = "server_disabled"
	ServerDown         Code = "server_down"
	CommandNotFound    Code = "command_not_found"
	CommandUnusable    Code = "command_unusable"
	NodeMissing        Code = "node_missing"
	UvMissing          Code = "uv_missing"
	ServerExited       Code = "server_exited"
	ServerCrashLoop    Code = "server_crash_loop"
	ServerSilent       Code = "server_silent"
	ServerNotMCP       Code = "server_not_mcp"
	ServerProtocol     Code = "server_protocol"
	ServerUnreachable  Code = "server_unreachable"
	ServerUnauthorized Code = "server_unauthorized"
	ServerHTTPStatus   Code = "server_http_status"
	ServerReplyTooBig  Code = "server_reply_too_big"
	ServerBadReply     Code = "server_bad_reply"
	ServerRefused      Code = "server_refused"
	SessionLost        Code = "server_session_lost"

	// A message from a caller.
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

	// Starting the hub.
	ConfigInvalid    Code = "config_invalid"
	ConfigUnreadable Code = "config_unreadable"
	ListenRefused    Code = "listen_refused"
	ListenTaken      Code = "listen_taken"
	ListenInvalid    Code = "listen_invalid"
	DataDirTaken     Code = "data_dir_taken"
	DataDirUnusable  Code = "data_dir_unusable"
)

var catalogue = map[Code]struct{ en, zh Text }{
	Internal: {
		Text{"Something went wrong inside Toolcrib.", "The hub's log has the details."},
		Text{"Toolcrib 内部出错。", "详情见日志。"},
	},

	ToolUnknown: {
		Text{`There is no tool named "{tool}".`, "List the tools again; names may have changed."},
		Text{"没有名为“{tool}”的工具。", "请重新获取工具列表，名称可能已变。"},
	},
	MethodUnknown: {
		Text{`The method "{method}" is not served here.`, ""},
		Text{"此处不提供方法“{method}”。", ""},
	},
	ParamsInvalid: {
		Text{"The request's parameters are not valid: {detail}.", ""},
		Text{"请求参数无效：{detail}。", ""},
	},
	CursorUnknown: {
		Text{"The cursor is not one of this list, or too old.", "Start the list again without a cursor."},
		Text{"游标不属于此列表或已过期。", "请不带游标重新获取列表。"},
	},
	Timeout: {
		Text{`The server "{server}" did not answer within {limit}.`, "Try again, or raise the server's \"timeout\" in the configuration."},
		Text{"服务器“{server}”在 {limit} 内没有应答。", "请重试，或在配置中调大该服务器的 timeout。"},
	},
	Cancelled: {
		Text{"The call was cancelled.", ""},
		Text{"调用已取消。", ""},
	},
	OutcomeUnknown: {
		Text{`The server "{server}" was lost while it worked on the call; whether the call took effect is not known.`, "Check before you repeat it."},
		Text{"服务器“{server}”在处理调用时中断；无法确定调用是否已生效。", "重复调用前请先核实。"},
	},
	NotAskable: {
		Text{"The caller cannot be asked questions.", ""},
		Text{"无法向调用方提问。", ""},
	},
	ShuttingDown: {
		Text{"Toolcrib is stopping.", "Try again when it is back."},
		Text{"Toolcrib 正在停止。", "请待其恢复后重试。"},
	},
	TooManySessions: {
		Text{"There are {limit} open sessions, and no more are accepted.", "End sessions that are not used any more, or wait until idle ones expire."},
		Text{"已有 {limit} 个会话，不再接受新会话。", "请结束不用的会话，或等待空闲会话过期。"},
	},

	ServerDisabled: {
		Text{`The server "{server}" is disabled.`, "Set \"enabled\" to true in the configuration."},
		Text{"服务器“{server}”已停用。", "请在配置中将 enabled 设为 true。"},
	},
	ServerDown: {
		Text{`The server "{server}" is not available: {reason}`, ""},
		Text{"服务器“{server}”不可用：{reason}", ""},
	},
	CommandNotFound: {
		Text{`The command "{command}" was not found.`, "Install it, or give its full path in \"command\". Searched: {path}"},
		Text{"找不到命令“{command}”。", "请安装它，或在 command 中写完整路径。已搜索：{path}"},
	},
	CommandUnusable: {
		Text{`The command "{command}" cannot be run: {detail}.`, "Check the path, its permissions and \"cwd\"."},
		Text{"命令“{command}”无法运行：{detail}。", "请检查路径、权限和 cwd。"},
	},
	NodeMissing: {
		Text{`The command "{command}" needs Node.js, which was not found.`, "Install Node.js 20 or newer, so that \"node\" and \"npx\" are on the PATH. Searched: {path}"},
		Text{"命令“{command}”需要 Node.js，但没有找到。", "请安装 Node.js 20 或更高版本，使 node 与 npx 在 PATH 中。已搜索：{path}"},
	},
	UvMissing: {
		Text{`The command "{command}" belongs to uv, which was not found.`, "Install uv, so that \"uv\" and \"uvx\" are on the PATH. Searched: {path}"},
		Text{"命令“{command}”属于 uv，但没有找到。", "请安装 uv，使 uv 与 uvx 在 PATH 中。已搜索：{path}"},
	},
	ServerExited: {
		Text{"The process ended ({exit}).{stderr}", "Run the command by hand to see more."},
		Text{"进程已结束（{exit}）。{stderr}", "请手动运行该命令查看更多信息。"},
	},
	ServerCrashLoop: {
		Text{"The process ended {count} times within {window}, last with {exit}.{stderr}", "Mend the command or its settings, then start Toolcrib again."},
		Text{"进程在 {window} 内结束了 {count} 次，最后一次为 {exit}。{stderr}", "请修正命令或设置后重新启动 Toolcrib。"},
	},
	ServerSilent: {
		Text{"The server did not answer \"{method}\" within {limit}.{stderr}", "Run the command or open the URL by hand; is it an MCP server?"},
		Text{"服务器在 {limit} 内没有应答“{method}”。{stderr}", "请手动运行该命令或打开该地址，确认它是 MCP 服务器。"},
	},
	ServerNotMCP: {
		Text{"What answered is no MCP server: {detail}.", "Check the command or the URL; MCP endpoints often end in /mcp."},
		Text{"应答方不是 MCP 服务器：{detail}。", "请检查命令或地址；MCP 端点常以 /mcp 结尾。"},
	},
	ServerProtocol: {
		Text{"The server speaks the protocol version \"{version}\", which Toolcrib does not.", "Update the server. Versions known here: {known}."},
		Text{"服务器使用协议版本“{version}”，Toolcrib 不支持。", "请更新该服务器。已知版本：{known}。"},
	},
	ServerUnreachable: {
		Text{"No connection to {url}: {detail}.", "Check that the server runs and that the address is right."},
		Text{"无法连接 {url}：{detail}。", "请确认服务器已运行且地址正确。"},
	},
	ServerUnauthorized: {
		Text{"{url} asks for credentials (HTTP {status}).", "Add the server's key to \"headers\" in the configuration."},
		Text{"{url} 要求认证（HTTP {status}）。", "请在配置的 headers 中加入该服务器的密钥。"},
	},
	ServerHTTPStatus: {
		Text{"{url} answered HTTP {status}.", "Check the URL and the server's own log."},
		Text{"{url} 返回 HTTP {status}。", "请检查地址和服务器日志。"},
	},
	ServerReplyTooBig: {
		Text{"The server sent a message of more than {limit}.", "Ask for less at once."},
		Text{"服务器发来的消息超过 {limit}。", "请减少单次请求的数据量。"},
	},
	ServerBadReply: {
		Text{"The server's answer cannot be used: {detail}.", "This is a fault of the server."},
		Text{"服务器的应答无法使用：{detail}。", "这是该服务器的问题。"},
	},
	ServerRefused: {
		Text{"The server refused \"{method}\": {detail}", ""},
		Text{"服务器拒绝了“{method}”：{detail}", ""},
	},
	SessionLost: {
		Text{"The server has forgotten the session.", "It is opened again at the next call."},
		Text{"服务器已丢失会话。", "下次调用时会重新建立。"},
	},

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

	ConfigInvalid: {
		Text{"{path}:{line}:{column}: {detail}", ""},
		Text{"{path}:{line}:{column}：{detail}", ""},
	},
	ConfigUnreadable: {
		Text{"The configuration file {path} cannot be read: {detail}.", "Check the path given with --config."},
		Text{"无法读取配置文件 {path}：{detail}。", "请检查 --config 给出的路径。"},
	},
	ListenRefused: {
		Text{"Listening on {address} is refused: anybody who reaches it could use every tool.", "Listen on 127.0.0.1 or [::1]; other addresses need authentication, which this version does not have."},
		Text{"拒绝在 {address} 上监听：任何能访问它的人都可使用所有工具。", "请监听 127.0.0.1 或 [::1]；其他地址需要认证，此版本尚不支持。"},
	},
	ListenTaken: {
		Text{"The address {address} is already in use.", "Is Toolcrib already running? Choose another one with --listen."},
		Text{"地址 {address} 已被占用。", "Toolcrib 是否已在运行？可用 --listen 另选地址。"},
	},
	ListenInvalid: {
		Text{"\"{address}\" is not an address to listen on: {detail}.", "Give host and port, such as 127.0.0.1:8080."},
		Text{"“{address}”不是可监听的地址：{detail}。", "请给出主机和端口，例如 127.0.0.1:8080。"},
	},
	DataDirTaken: {
		Text{"The data directory {path} is used by another Toolcrib (process {pid}).", "Stop that one, or choose another directory with --data-dir."},
		Text{"数据目录 {path} 正被另一个 Toolcrib（进程 {pid}）使用。", "请停止它，或用 --data-dir 另选目录。"},
	},
	DataDirUnusable: {
		Text{"The data directory {path} cannot be used: {detail}.", "Mend it, or choose another one with --data-dir."},
		Text{"数据目录 {path} 无法使用：{detail}。", "请修复它，或用 --data-dir 另选目录。"},
	},
}
