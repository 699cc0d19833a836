package message

// About resources, prompts, questions and views.
const (
	ResourceUnknown Code = "resource_unknown"
	PromptUnknown   Code = "prompt_unknown"
	GroupUnknown    Code = "group_unknown"
	ToolLike        Code = "tool_unknown_like"
	NotOffered      Code = "not_offered"
	QuestionForeign Code = "question_of_other_revision"
	QuestionUnasked Code = "question_not_declared"
	QuestionTooMany Code = "too_many_questions"
	QuestionExpired Code = "question_not_answered"
	CallersTooMany  Code = "too_many_own_connections"

	SubscriptionsTooMany Code = "too_many_subscriptions"

	EventUnknown Code = "event_unknown"

	LinkRefused Code = "link_refused"
	ResultGone  Code = "result_gone"
	ResultKept  Code = "result_kept"
)

var viewTexts = texts{
	ResourceUnknown: {
		Text{"There is no resource {uri}.", "List the resources and their templates again; they may have changed."},
		Text{"没有资源 {uri}。", "请重新获取资源和资源模板列表，它们可能已变。"},
	},
	PromptUnknown: {
		Text{"There is no prompt {prompt}.", "List the prompts again; names may have changed."},
		Text{"没有提示 {prompt}。", "请重新获取提示列表，名称可能已变。"},
	},
	GroupUnknown: {
		Text{"There is no group {group}.", "See what there is: toolcrib group list"},
		Text{"没有分组 {group}。", "查看现有分组：toolcrib group list"},
	},
	ToolLike: {
		Text{`There is no tool named "{tool}".`, "These are like it: {names}."},
		Text{"没有名为“{tool}”的工具。", "相近的有：{names}。"},
	},
	NotOffered: {
		Text{`The server "{server}" does not offer {method}.`, "See what it offers: toolcrib server show {server}"},
		Text{"服务器“{server}”不提供 {method}。", "查看其提供的功能：toolcrib server show {server}"},
	},
	QuestionForeign: {
		Text{"The server asks its caller in the way of MCP {theirs}, which a caller of MCP {ours} cannot answer.", "Use a client that speaks MCP {theirs}."},
		Text{"服务器按 MCP {theirs} 的方式向调用方提问，而 MCP {ours} 的调用方无法回答。", "请使用支持 MCP {theirs} 的客户端。"},
	},
	QuestionUnasked: {
		Text{"This caller cannot be asked: it did not declare {capability}.", ""},
		Text{"无法询问该调用方：它没有声明 {capability}。", ""},
	},
	QuestionTooMany: {
		Text{"Too many questions are open with this caller already ({limit}).", ""},
		Text{"该调用方未回答的问题已达上限（{limit}）。", ""},
	},
	QuestionExpired: {
		Text{"The caller has not answered within {limit}.", ""},
		Text{"调用方在 {limit} 内没有回答。", ""},
	},
	CallersTooMany: {
		Text{`{limit} callers have connections of their own to the server "{server}" already, and all of them are in use.`, "Try again later, or raise \"maxCallers\" in the server's entry."},
		Text{"已有 {limit} 个调用方独占连接到服务器“{server}”，且都在使用。", "请稍后再试，或提高该服务器配置中的 maxCallers。"},
	},
	SubscriptionsTooMany: {
		Text{`This caller has subscribed to {limit} resources of the server "{server}" already.`, "Unsubscribe from what is not needed any more."},
		Text{"该调用方已订阅服务器“{server}”的 {limit} 个资源。", "请取消不再需要的订阅。"},
	},
	EventUnknown: {
		Text{"There is no stream to resume behind the event {event}.", "Open the stream without Last-Event-ID, and send what was not answered again if that is safe."},
		Text{"没有可从事件 {event} 之后继续的流。", "请不带 Last-Event-ID 重新打开流；未得到应答的请求，在安全的前提下可以重发。"},
	},
	LinkRefused: {
		Text{"What the link {uri} leads to was not fetched: {detail}.", ""},
		Text{"没有获取链接 {uri} 的内容：{detail}。", ""},
	},
	ResultKept: {
		Text{"The result has {size} bytes, which is more than this server's results may have at once.", "Read it with resources/read, page by page ({pages}), from {first} to {last}. It is kept for 10 minutes."},
		Text{"结果有 {size} 字节，超过该服务器单次结果的上限。", "请用 resources/read 读取其 {pages} 页，从 {first} 到 {last}。保留 10 分钟。"},
	},
	ResultGone: {
		Text{"The result {uri} is not kept any more.", "Call the tool again."},
		Text{"结果 {uri} 已不再保留。", "请重新调用该工具。"},
	},
}
