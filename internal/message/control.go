package message

// About changing servers and the configuration.
const (
	ServerUnknown Code = "server_unknown"
	ServerExists  Code = "server_exists"
	ServerBuiltin Code = "server_builtin"
	PresetKept    Code = "preset_kept"
	PresetFixed   Code = "preset_fixed"
	EntryIgnored  Code = "entry_ignored"
	ConfigMissing Code = "config_missing"
	ConfigBroken  Code = "config_broken"
	ETagMissing   Code = "etag_missing"
	SecretUnknown Code = "secret_unknown"
	SecretRefused Code = "secret_refused"
	AdminRequired Code = "admin_required"
	BodyInvalid   Code = "body_invalid"
	BodyTooBig    Code = "body_too_big"
	BodyLate      Code = "body_late"
	PathUnknown   Code = "path_unknown"
	TestsBusy     Code = "tests_busy"
)

var controlTexts = texts{
	ServerUnknown: {
		Text{`There is no server "{server}".`, "\"toolcrib server list\" shows those there are."},
		Text{"没有名为“{server}”的服务器。", "可用 toolcrib server list 查看现有服务器。"},
	},
	ServerExists: {
		Text{`There is a server "{server}" already.`, "Change it, or choose another key."},
		Text{"已有名为“{server}”的服务器。", "请修改它，或换一个名称。"},
	},
	ServerBuiltin: {
		Text{`The server "{server}" is built in and cannot be removed.`, "Disable it instead."},
		Text{"服务器“{server}”是内置的，无法移除。", "可将其停用。"},
	},
	PresetKept: {
		Text{`The server "{server}" is a preset and cannot be deleted.`, "Disable it instead."},
		Text{"服务器“{server}”是预置服务器，无法删除。", "可将其停用。"},
	},
	PresetFixed: {
		Text{`The server "{server}" is a preset, and what it runs stays what it is.`, "Change its variables and settings only, or define a server of your own under another key."},
		Text{"服务器“{server}”是预置服务器，其运行的程序不能更改。", "只能修改其环境变量和设置；也可用另一个标识定义自己的服务器。"},
	},
	EntryIgnored: {
		Text{`The entry would make no server "{server}".`, "Give it a \"command\" or a \"url\", and a name that no built-in server has in other programs."},
		Text{"该条目不会产生服务器“{server}”。", "请提供 command 或 url，并避免使用其他程序中内置服务器的名称。"},
	},
	ConfigMissing: {
		Text{"There is no configuration file to write to.", "Start Toolcrib with --config FILE."},
		Text{"没有可写入的配置文件。", "请用 --config FILE 启动 Toolcrib。"},
	},
	ConfigBroken: {
		Text{"The configuration file {path} cannot be used and is not written to: {detail}", "Mend it first; \"toolcrib config check\" names every problem."},
		Text{"配置文件 {path} 无法使用，不会被改写：{detail}", "请先修复；toolcrib config check 会列出所有问题。"},
	},
	ETagMissing: {
		Text{"The request does not say which version of the configuration it changes.", "Send the ETag that came with the text in the header If-Match."},
		Text{"请求没有说明要修改配置的哪个版本。", "请在 If-Match 请求头中带上读取时得到的 ETag。"},
	},
	SecretUnknown: {
		Text{`There is no sealed value "{name}".`, "\"toolcrib secret list\" shows the names."},
		Text{"没有名为“{name}”的密封值。", "可用 toolcrib secret list 查看名称。"},
	},
	SecretRefused: {
		Text{"The value cannot be sealed: {detail}.", "Check the name and the data directory."},
		Text{"无法密封该值：{detail}。", "请检查名称和数据目录。"},
	},
	AdminRequired: {
		Text{"Only an administrator may do this.", "Send the administrator's token as a bearer token; \"toolcrib token show\" says where it is."},
		Text{"只有管理员可以执行此操作。", "请以 Bearer 令牌方式带上管理员令牌；toolcrib token show 会说明其位置。"},
	},
	BodyInvalid: {
		Text{"The request is not valid: {detail}.", "The API is described at /api/v1/openapi.json."},
		Text{"请求无效：{detail}。", "API 说明见 /api/v1/openapi.json。"},
	},
	BodyTooBig: {
		Text{"The request is too large.", "The most that is taken is {limit}."},
		Text{"请求过大。", "最多接受 {limit}。"},
	},
	BodyLate: {
		Text{"The request did not arrive as a whole within {limit}.", "Send it again."},
		Text{"请求未在 {limit} 内完整到达。", "请重新发送。"},
	},
	TestsBusy: {
		Text{"Too many servers are being tested at this moment.", "Try again when one of the tests has ended."},
		Text{"正在测试的服务器过多。", "请等其中一个测试结束后重试。"},
	},
	PathUnknown: {
		Text{"There is nothing at {path}.", "The API is described at /api/v1/openapi.json."},
		Text{"{path} 处没有内容。", "API 说明见 /api/v1/openapi.json。"},
	},
}
