package message

// About the life of a server, and about what is known of its tools.
const (
	ServerUnhealthy    Code = "server_unhealthy"
	ServerReconnects   Code = "server_reconnect_limit"
	ServerNotRestarted Code = "server_not_restarted"
	ServerBroken       Code = "server_circuit_open"
	SandboxMissing     Code = "sandbox_unavailable"
	SandboxUnusable    Code = "sandbox_unusable"
	ToolChanged        Code = "tool_changed"
	DriftStale         Code = "drift_stale"
	LeaseUnknown       Code = "lease_unknown"
	IndexInvalid       Code = "index_invalid"
)

var lifeTexts = texts{
	ServerUnhealthy: {
		Text{"The server did not answer {count} health checks in a row.", "It is connected anew by itself; if that keeps happening, its log may say why."},
		Text{"服务器连续 {count} 次没有应答健康检查。", "会自动重新连接；若反复发生，请查看其日志。"},
	},
	ServerReconnects: {
		Text{"The server was not reached in {count} attempts in a row, as many as \"maxReconnectAttempts\" allows. The last time: {reason}", "Mend that, then run: toolcrib server start {server}"},
		Text{"连续 {count} 次未能连接服务器，已达 maxReconnectAttempts 的上限。最后一次：{reason}", "请解决后运行：toolcrib server start {server}"},
	},
	ServerNotRestarted: {
		Text{"The server has ended and is not started again by itself: {reason}", "Run: toolcrib server start {server}"},
		Text{"服务器已结束，不会自动再启动：{reason}", "请运行：toolcrib server start {server}"},
	},
	ServerBroken: {
		Text{`The last {count} calls of the server "{server}" failed; none is sent to it before {until}.`, "Try again later, or see what is wrong: toolcrib server log {server}"},
		Text{"服务器“{server}”最近 {count} 次调用都失败了；{until} 之前不再发送调用。", "请稍后再试，或查看原因：toolcrib server log {server}"},
	},
	SandboxMissing: {
		Text{"The server is to run in a sandbox, which this system cannot give: {detail}.", "Run Toolcrib on Linux 6.7 or newer with Landlock, or take \"sandbox\" out of the server's entry."},
		Text{"该服务器要求在沙箱中运行，但本系统无法提供：{detail}。", "请在启用 Landlock 的 Linux 6.7 或更新内核上运行，或从该服务器的配置中去掉 sandbox。"},
	},
	SandboxUnusable: {
		Text{"The server's sandbox cannot be made: {detail}.", "Check the paths in \"sandbox\"."},
		Text{"无法建立该服务器的沙箱：{detail}。", "请检查 sandbox 中的路径。"},
	},
	ToolChanged: {
		Text{`The tool {tool} of the pinned server "{server}" is not described as it was accepted.`, "See what changed: toolcrib server drift {server}; accept it with: toolcrib server accept {server}"},
		Text{"已锁定的服务器“{server}”改变了工具 {tool} 的描述，与已接受的不同。", "查看变化：toolcrib server drift {server}；接受：toolcrib server accept {server}"},
	},
	DriftStale: {
		Text{`The tool {tool} of the server "{server}" is not as it was shown any more; nothing was accepted.`, "See what changed: toolcrib server drift {server}"},
		Text{"服务器“{server}”的工具 {tool} 已与显示时不同，未接受任何更改。", "请重新查看变化：toolcrib server drift {server}"},
	},
	LeaseUnknown: {
		Text{"Nobody called {holder} holds a lease.", "See who does: toolcrib lease list"},
		Text{"没有名为 {holder} 的租约。", "查看现有租约：toolcrib lease list"},
	},
	IndexInvalid: {
		Text{"The text is no tool index: {detail}.", "An index has \"version\": \"1.0.0\" and \"servers\"; see docs/tool-index.md."},
		Text{"该文本不是工具索引：{detail}。", "索引应包含 \"version\": \"1.0.0\" 和 \"servers\"；见 docs/tool-index.zh-CN.md。"},
	},
}
