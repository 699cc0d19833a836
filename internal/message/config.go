package message

// About the configuration while the hub runs.
const (
	PlaceholderUnresolved Code = "placeholder_unresolved"
	SettingUnresolved     Code = "setting_unresolved"
	ConfigStale           Code = "config_stale"
	ConfigUnwritable      Code = "config_unwritable"

	// About other programs' files.
	ClientUnknown        Code = "client_unknown"
	ImportKeyUnknown     Code = "import_key_unknown"
	ClientFileMissing    Code = "client_file_missing"
	ClientNotConnectable Code = "client_not_connectable"
	ClientNeedsProgram   Code = "client_needs_program"
	BackupMissing        Code = "backup_missing"
)

var configTexts = texts{
	PlaceholderUnresolved: {
		Text{`The server "{server}" cannot be started: {placeholder} cannot be filled in: {reason}.`, "Mend that, then run: toolcrib server restart {server}"},
		Text{"服务器“{server}”无法启动：{placeholder} 无法填入：{reason}。", "请修正后运行：toolcrib server restart {server}"},
	},
	SettingUnresolved: {
		Text{`"{setting}" of the configuration cannot be used: {placeholder} cannot be filled in: {reason}.`, "Mend that, then start Toolcrib again."},
		Text{"配置中的“{setting}”无法使用：{placeholder} 无法填入：{reason}。", "请修正后重新启动 Toolcrib。"},
	},
	ConfigStale: {
		Text{"The configuration file {path} was changed by somebody else meanwhile.", "Read it again, and repeat the change."},
		Text{"配置文件 {path} 已被他人修改。", "请重新读取后再修改。"},
	},
	ConfigUnwritable: {
		Text{"The file {path} cannot be written: {detail}.", "Check the permissions of the file and of its directory."},
		Text{"无法写入文件 {path}：{detail}。", "请检查该文件及其目录的权限。"},
	},
	ClientUnknown: {
		Text{`The program "{client}" is not known.`, "Known: {known}."},
		Text{"未知的程序“{client}”。", "已知：{known}。"},
	},
	ImportKeyUnknown: {
		Text{`The file has no server "{server}".`, "It has: {known}."},
		Text{"该文件中没有服务器“{server}”。", "其中有：{known}。"},
	},
	ClientFileMissing: {
		Text{"There is no file of {client}. Looked for: {paths}.", "Start the program once, or name the file itself."},
		Text{"没有找到 {client} 的文件。已查找：{paths}。", "请先启动一次该程序，或直接给出文件。"},
	},
	ClientNotConnectable: {
		Text{"Toolcrib does not write to the file of {client}.", "Known to be connected: {known}."},
		Text{"Toolcrib 不写入 {client} 的文件。", "可连接：{known}。"},
	},
	ClientNeedsProgram: {
		Text{"The file of {client} takes programs only, no URL.", "Connect it without --url."},
		Text{"{client} 的文件只接受程序，不接受 URL。", "请不带 --url 连接。"},
	},
	BackupMissing: {
		Text{"There is no backup of {path}.", "Nothing was changed."},
		Text{"{path} 没有备份。", "未做任何更改。"},
	},
}
