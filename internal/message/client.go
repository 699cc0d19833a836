package message

// About the command line, and what it asks of a hub.
const (
	HubUnreachable    Code = "hub_unreachable"
	HubAnswerUnusable Code = "hub_answer_unusable"
	HubURLInvalid     Code = "hub_url_invalid"
	HubStartFailed    Code = "hub_start_failed"
	HubStillStarting  Code = "hub_still_starting"
	HubNotRunning     Code = "hub_not_running"
	UsageInvalid      Code = "usage_invalid"
	FileUnreadable    Code = "file_unreadable"
	FileUnwritable    Code = "file_unwritable"
	ArgumentInvalid   Code = "argument_invalid"
	ArgumentType      Code = "argument_type"
	TestFailed        Code = "test_failed"
	QuestionDeclined  Code = "question_declined"
	SecretMissing     Code = "secret_missing"
	CallTimeout       Code = "call_timeout"
)

var clientTexts = texts{
	HubUnreachable: {
		Text{"Toolcrib does not answer at {where}: {detail}.", "Check that it runs there: toolcrib status"},
		Text{"{where} 处的 Toolcrib 没有应答：{detail}。", "请确认它正在运行：toolcrib status"},
	},
	HubAnswerUnusable: {
		Text{"What answered at {where} cannot be understood: {detail}.", "Check the address, and that both sides have the same version: toolcrib version"},
		Text{"无法理解 {where} 的应答：{detail}。", "请检查地址，并确认两边版本一致：toolcrib version"},
	},
	HubURLInvalid: {
		Text{"The hub's URL is not valid.", "Give scheme, host and port, such as --url http://127.0.0.1:8080; credentials go into --token."},
		Text{"Toolcrib 的 URL 无效。", "请给出协议、主机和端口，例如 --url http://127.0.0.1:8080；凭据请用 --token。"},
	},
	HubStartFailed: {
		Text{"A hub was started for this client, but it did not come up: {detail}.", "Run \"toolcrib doctor\"; the hub's own words are in {log}"},
		Text{"已为此客户端启动 Toolcrib，但未能就绪：{detail}。", "请运行 toolcrib doctor；其日志在 {log}"},
	},
	HubStillStarting: {
		Text{"Process {pid} holds the data directory {path}, but does not serve: it is being started or stopped.", "Try again in a moment; if it stays so, end that process."},
		Text{"进程 {pid} 占用数据目录 {path}，但没有提供服务：它正在启动或停止。", "请稍后再试；若一直如此，请结束该进程。"},
	},
	HubNotRunning: {
		Text{"No Toolcrib is running on the data directory {path}.", "Start one with: toolcrib serve"},
		Text{"数据目录 {path} 上没有运行中的 Toolcrib。", "可用此命令启动：toolcrib serve"},
	},
	UsageInvalid: {
		Text{"The command was not understood: {detail}.", "See \"toolcrib {command} --help\"."},
		Text{"无法理解该命令：{detail}。", "请参阅 toolcrib {command} --help。"},
	},
	FileUnreadable: {
		Text{"{path} cannot be read: {detail}.", ""},
		Text{"无法读取 {path}：{detail}。", ""},
	},
	FileUnwritable: {
		Text{"{path} cannot be written: {detail}.", ""},
		Text{"无法写入 {path}：{detail}。", ""},
	},
	ArgumentInvalid: {
		Text{"The tool's arguments cannot be understood: {detail}.", "Give one JSON object, or name=value for texts and numbers and name:=JSON for anything else."},
		Text{"无法理解工具参数：{detail}。", "请给出一个 JSON 对象，或用“名称=值”，其他类型用“名称:=JSON”。"},
	},
	ArgumentType: {
		Text{"The argument \"{name}\" has to be {want}.", "The tool's parameters are shown by: toolcrib tool show {tool}"},
		Text{"参数“{name}”必须是 {want}。", "可用此命令查看工具参数：toolcrib tool show {tool}"},
	},
	TestFailed: {
		Text{"The server \"{server}\" does not work yet: it failed at the step \"{step}\". Nothing was saved.", "Mend what is named above, or save it as it is with --force."},
		Text{"服务器“{server}”尚不可用：在步骤“{step}”失败。未作保存。", "请按上面的提示修正，或加 --force 原样保存。"},
	},
	QuestionDeclined: {
		Text{"The tool has a question, and nobody here can answer it.", "Call it with --trace in a terminal to be asked."},
		Text{"工具提出了问题，但此处无人可答。", "请在终端中加 --trace 调用以回答。"},
	},
	SecretMissing: {
		Text{"No value was given.", "Type it when asked, or pipe it in: toolcrib secret set NAME < FILE"},
		Text{"没有给出值。", "请在提示时输入，或用管道传入：toolcrib secret set NAME < FILE"},
	},
	CallTimeout: {
		Text{`The tool "{tool}" has not answered within {limit}; whether the call took effect is not known.`, "Give it more time with --timeout."},
		Text{"工具“{tool}”在 {limit} 内没有应答；无法确定调用是否已生效。", "可用 --timeout 给它更多时间。"},
	},
}
