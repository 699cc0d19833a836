package message

// About a server.
const (
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
	ServerIdle         Code = "server_idle"
	ServerClosed       Code = "server_closed"
	ServerCertificate  Code = "server_certificate"
	ServerEndpoint     Code = "server_endpoint_refused"
	ServerFallback     Code = "server_fallback_failed"
)

var serverTexts = texts{
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
		Text{"The process ended {count} times within {window}, last with {exit}.{stderr}", "Mend the command or its settings, then run: toolcrib server restart {server}"},
		Text{"进程在 {window} 内结束了 {count} 次，最后一次为 {exit}。{stderr}", "请修正命令或设置后运行：toolcrib server restart {server}"},
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
	ServerIdle: {
		Text{"{url} was silent for too long and is taken for lost.", "It is connected again by itself; if that keeps happening, check the network between."},
		Text{"{url} 长时间没有任何数据，视为已断开。", "会自动重新连接；若反复发生，请检查中间网络。"},
	},
	ServerClosed: {
		Text{"{url} closed the connection: {detail}.", "The server's own log may say more."},
		Text{"{url} 关闭了连接：{detail}。", "服务器自己的日志可能有更多信息。"},
	},
	ServerCertificate: {
		Text{"The certificate of {url} is not signed by an authority that is trusted here; it was issued by {issuer}.", "If you trust that authority, start Toolcrib with --ca-cert and the file of its certificate."},
		Text{"{url} 的证书不是由此处信任的机构签发的，签发者为 {issuer}。", "若信任该机构，请用 --ca-cert 指定其证书文件来启动 Toolcrib。"},
	},
	ServerEndpoint: {
		Text{"{url} wants messages to be sent to {origin}, where its credentials must not go.", "Have the server name an address of its own, or give the URL under which it knows itself."},
		Text{"{url} 要求把消息发往 {origin}，而凭据不应发送到那里。", "请让服务器给出自身的地址，或改用服务器自认的地址。"},
	},
	ServerFallback: {
		Text{"{url} answered HTTP {status} to a POST, as servers of the older HTTP+SSE transport do, and as one of these it failed: {reason}", "Check the URL and the server's own log."},
		Text{"{url} 对 POST 返回 HTTP {status}（旧式 HTTP+SSE 服务器即如此），按旧式连接也失败：{reason}", "请检查地址和服务器日志。"},
	},
}
