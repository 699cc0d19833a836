package message

// About endpoints of voice assistants, and calls that end later than their callers
// wait.
const (
	EndpointURLInvalid   Code = "endpoint_url_invalid"
	EndpointDuplicate    Code = "endpoint_duplicate"
	EndpointUnreachable  Code = "endpoint_unreachable"
	EndpointHTTPStatus   Code = "endpoint_http_status"
	EndpointAuth         Code = "endpoint_auth_failed"
	EndpointReplacedBy   Code = "endpoint_replaced"
	EndpointClosed       Code = "endpoint_closed"
	EndpointLost         Code = "endpoint_lost"
	EndpointFailing      Code = "endpoint_failing"
	EndpointSilent       Code = "endpoint_silent"
	EndpointTooBig       Code = "endpoint_message_too_big"
	EndpointManyTools    Code = "endpoint_many_tools"
	EndpointLongList     Code = "endpoint_long_list"
	EndpointListCut      Code = "endpoint_list_cut"
	EndpointTokenEnds    Code = "endpoint_token_ends"
	EndpointTokenEnded   Code = "endpoint_token_ended"
	EndpointToolsMissing Code = "endpoint_tools_missing"
	EndpointBusy         Code = "endpoint_busy"
	ResponseTooBig       Code = "response_too_big"
	CallLate             Code = "call_late"
	CallLateEqual        Code = "call_late_equal"
	CallLateStopped      Code = "call_late_stopped"
	TaskRuns             Code = "task_runs"
	TaskUnknown          Code = "task_unknown"
	ApprovalSpoken       Code = "approval_spoken"
	EndpointUnknown      Code = "endpoint_unknown"
	BackendUnknown       Code = "backend_unknown"
	EndpointIdle         Code = "endpoint_not_enabled"
)

var endpointTexts = texts{
	EndpointURLInvalid: {
		Text{`The address of "{endpoint}" cannot be used: {detail}.`, `It has to begin with wss:// or ws://, as the console of the assistant shows it.`},
		Text{"“{endpoint}”的地址无法使用：{detail}。", "地址须以 wss:// 或 ws:// 开头，请从智能体控制台重新复制。"},
	},
	EndpointDuplicate: {
		Text{`"{endpoint}" has the same address as "{other}", and is not connected a second time.`, "Remove one of them."},
		Text{"“{endpoint}”与“{other}”的地址相同，不会重复连接。", "请删除其中一个。"},
	},
	EndpointUnreachable: {
		Text{`"{endpoint}" was not reached: {detail}.`, "It is tried again by itself. Check the address and the network if that goes on."},
		Text{"无法连接“{endpoint}”：{detail}。", "系统会自动重试；如持续失败，请检查地址和网络。"},
	},
	EndpointHTTPStatus: {
		Text{`"{endpoint}" answered with the HTTP status {status} in place of a WebSocket.`, "It is tried again by itself. Check the address if that goes on."},
		Text{"“{endpoint}”返回 HTTP 状态 {status}，未建立 WebSocket。", "系统会自动重试；如持续失败，请检查地址。"},
	},
	EndpointAuth: {
		Text{`"{endpoint}" refuses the token of its address.`, "Copy the address anew from the console of the assistant. It is tried again every 5 minutes."},
		Text{"“{endpoint}”拒绝了地址中的令牌。", "请从智能体控制台重新复制接入点地址。系统每 5 分钟重试一次。"},
	},
	EndpointReplacedBy: {
		Text{`Another program has connected to "{endpoint}" with the same address, and took its place.`, "Have only one program use the address. It is tried again after a while."},
		Text{"另有程序以相同地址连接了“{endpoint}”，本连接已被替换。", "请确保同一地址只由一个程序使用。系统稍后会重试。"},
	},
	EndpointClosed: {
		Text{`"{endpoint}" closed the connection (code {code}{note}).`, "It is dialled again by itself."},
		Text{"“{endpoint}”关闭了连接（代码 {code}{note}）。", "系统会自动重新连接。"},
	},
	EndpointLost: {
		Text{`The connection to "{endpoint}" was lost: {detail}.`, "It is dialled again by itself."},
		Text{"与“{endpoint}”的连接中断：{detail}。", "系统会自动重新连接。"},
	},
	EndpointFailing: {
		Text{`"{endpoint}" closed the connection with the code 4004, which the cloud gives for many causes: too many assistants connected on one account, a device removed, or a failure of its own.`, "It is dialled again by itself. Look at the assistant in the console if that goes on."},
		Text{"“{endpoint}”以代码 4004 关闭了连接；云端在多种情况下使用该代码，如同一账号连接的智能体过多、智能体已被删除或云端自身故障。", "系统会自动重新连接；如持续出现，请在控制台检查该智能体。"},
	},
	EndpointSilent: {
		Text{`"{endpoint}" has not answered for {time}; the connection was given up.`, "It is dialled again by itself."},
		Text{"“{endpoint}”已有 {time} 没有应答，连接已放弃。", "系统会自动重新连接。"},
	},
	EndpointTooBig: {
		Text{`"{endpoint}" sent a message of {size} bytes; {limit} are allowed. The connection was closed.`, `Raise its "maxMessage" if that is meant to be.`},
		Text{"“{endpoint}”发送了 {size} 字节的消息，上限为 {limit}。连接已关闭。", "如属正常情况，请调大其 maxMessage。"},
	},
	EndpointManyTools: {
		Text{`"{endpoint}" is offered {tools} tools; from {limit} on assistants choose badly, and some refuse the list.`, `Give it a group, or "allow" only those that are needed.`},
		Text{"“{endpoint}”提供了 {tools} 个工具；超过 {limit} 个时智能体的选择效果会变差，有的会拒绝整个列表。", "请为其指定分组，或用 allow 只保留需要的工具。"},
	},
	EndpointLongList: {
		Text{`The list of tools of "{endpoint}" has {size} bytes, which is more than {limit}.`, `Give it a group, or "allow" only those that are needed.`},
		Text{"“{endpoint}”的工具列表有 {size} 字节，超过 {limit} 字节。", "请为其指定分组，或用 allow 只保留需要的工具。"},
	},
	EndpointListCut: {
		Text{`{dropped} tools are not offered to "{endpoint}", because its list would have more than {limit} bytes.`, `Give it a group, or "allow" only those that are needed.`},
		Text{"有 {dropped} 个工具未提供给“{endpoint}”，否则其列表将超过 {limit} 字节。", "请为其指定分组，或用 allow 只保留需要的工具。"},
	},
	EndpointToolsMissing: {
		Text{`"{endpoint}" needs what is not there: {tools}.`, `Correct "requiredTools" of the endpoint, or add and enable the servers. They are kept running as soon as they are there.`},
		Text{"“{endpoint}”需要的内容不存在：{tools}。", "请修正该接入点的 requiredTools，或添加并启用相应的服务器；出现后会自动保持运行。"},
	},
	EndpointTokenEnds: {
		Text{`The token of "{endpoint}" is good until {at} only.`, "Copy the address anew from the console of the assistant before."},
		Text{"“{endpoint}”的令牌将于 {at} 到期。", "请在此之前从智能体控制台重新复制接入点地址。"},
	},
	EndpointTokenEnded: {
		Text{`The token of "{endpoint}" was good until {at}.`, "Copy the address anew from the console of the assistant."},
		Text{"“{endpoint}”的令牌已于 {at} 到期。", "请从智能体控制台重新复制接入点地址。"},
	},
	EndpointBusy: {
		Text{`{limit} calls of this connection are under way or wait already.`, "Try again when some of them have ended."},
		Text{"此连接已有 {limit} 个调用在进行或等待。", "请等待其中一部分结束后重试。"},
	},
	ResponseTooBig: {
		Text{`The answer has {size} bytes; no more than {limit} can be sent on this connection.`, "Ask for less."},
		Text{"结果有 {size} 字节，超过此连接的上限 {limit} 字节。", "请缩小查询范围。"},
	},
	CallLate: {
		Text{`"{tool}" has not ended yet and goes on in the background, as the task {task}.`, `Tell the user to ask again in a moment. The same call, or {pickup} with the task_id "{task}", then gives the result, which is kept for 10 minutes.`},
		Text{"“{tool}”尚未完成，正在后台继续执行，任务号为 {task}。", `请告诉用户稍后再问。届时以相同参数再次调用，或用 task_id "{task}" 调用 {pickup}，即可取得结果；结果保留 10 分钟。`},
	},
	CallLateEqual: {
		Text{`"{tool}" has not ended yet and goes on in the background.`, "Tell the user to ask again in a moment. The same call then gives the result, which is kept for 10 minutes."},
		Text{"“{tool}”尚未完成，正在后台继续执行。", "请告诉用户稍后再问。届时以相同参数再次调用，即可取得结果；结果保留 10 分钟。"},
	},
	CallLateStopped: {
		Text{`"{tool}" did not end within {limit} and was cancelled; whether it took effect is not known.`, "Check before you repeat it."},
		Text{"“{tool}”未能在 {limit} 内完成，已取消；无法确定是否已生效。", "重复调用前请先核实。"},
	},
	TaskRuns: {
		Text{"The task {task} is still under way.", "Ask again in a moment."},
		Text{"任务 {task} 仍在执行。", "请稍后再问。"},
	},
	TaskUnknown: {
		Text{`There is no task "{task}" of yours, or its result is not kept any more.`, "Make the call again."},
		Text{"没有您的任务“{task}”，或其结果已不再保留。", "请重新调用。"},
	},
	ApprovalSpoken: {
		Text{`"{tool}" is not done yet: a person has to confirm it first.`, "Tell the user that somebody has to agree to it in Toolcrib, and to say it again then."},
		Text{"“{tool}”尚未执行：需要有人先确认。", "请告诉用户：此操作须在 Toolcrib 中由人确认，确认后再说一遍即可执行。"},
	},
	EndpointUnknown: {
		Text{`There is no endpoint "{endpoint}".`, "See which there are with: toolcrib xiaozhi endpoint list"},
		Text{"没有接入点“{endpoint}”。", "可用以下命令查看现有接入点：toolcrib xiaozhi endpoint list"},
	},
	BackendUnknown: {
		Text{`There is no backend "{backend}".`, "See which there are with: toolcrib xiaozhi backend list"},
		Text{"没有后端“{backend}”。", "可用以下命令查看现有后端：toolcrib xiaozhi backend list"},
	},
	EndpointIdle: {
		Text{`"{name}" is not connected by this hub.`, `It has "enabled": false, the same address as another one, or the hub does not run: toolcrib serve`},
		Text{"本中心没有连接“{name}”。", `它被设为 "enabled": false，或与另一个地址相同，或中心没有运行：toolcrib serve`},
	},
}
