package message

// About a call.
const (
	Internal        Code = "internal"
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
	ServerStopped   Code = "server_stopped"
)

var callTexts = texts{
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
		Text{`The server "{server}" did not answer within {limit}.`, "Try again if it does no harm twice, or raise the server's \"timeout\" in the configuration."},
		Text{"服务器“{server}”在 {limit} 内没有应答。", "如重复执行无害请重试，或在配置中调大该服务器的 timeout。"},
	},
	Cancelled: {
		Text{"The call was cancelled.", ""},
		Text{"调用已取消。", ""},
	},
	OutcomeUnknown: {
		Text{`The server "{server}" was lost or stopped while it worked on the call; whether the call took effect is not known.`, "Check before you repeat it."},
		Text{"服务器“{server}”在处理调用时中断或被停止；无法确定调用是否已生效。", "重复调用前请先核实。"},
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
	ServerStopped: {
		Text{`The server "{server}" was stopped by an operator.`, "Start it with \"toolcrib server start {server}\"."},
		Text{"服务器“{server}”已被人工停止。", "可用 toolcrib server start {server} 启动。"},
	},
}
